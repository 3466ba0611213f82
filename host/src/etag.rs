//! Versions of what callers read and write: entity tags, and what must hold of them (RFC 9110, section 13).

use http::HeaderValue;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// What a caller shows to say which version it has: a strong entity tag, in quotes.
pub type Etag = HeaderValue;

/// The entity tag of a text: its SHA-256.
#[must_use]
pub fn of_text(text: &[u8]) -> Etag {
    of_digest(&Sha256::digest(text))
}

/// The entity tag of a digest.
#[must_use]
pub fn of_digest(digest: &[u8]) -> Etag {
    let quoted = format!("\"{}\"", hex::encode(digest));
    Etag::from_str(&quoted).unwrap_or(Etag::from_static("\"\""))
}

/// The entity tag of something that is answered as JSON.
///
/// # Errors
/// [`Error::Bug`] for what has no JSON form.
pub fn of_json(value: &impl Serialize) -> Result<Etag> {
    let json = serde_json::to_vec(value).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(of_text(&json))
}

/// Whether a PUT made something or replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// There was nothing.
    Created,
    /// There was something.
    Replaced,
}

/// What a PUT or DELETE asks of what is there.
#[derive(Clone, Debug, Default)]
pub struct Preconditions {
    /// `If-Match`: one of these, or anything when one is `*`.
    pub tags: Option<Vec<String>>,
    /// `If-None-Match: *`: nothing.
    pub absent: bool,
}

impl Preconditions {
    /// Nothing, when they hold for what is there, whose entity tag is `etag`.
    ///
    /// # Errors
    /// [`Error::Outdated`] when they do not.
    pub fn hold(&self, etag: Option<&Etag>) -> Result<()> {
        if self.absent && etag.is_some() {
            return Err(Error::Outdated("it is there already".to_owned()));
        }
        let matched = match (&self.tags, etag) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(tags), Some(etag)) => tags.iter().any(|tag| tag == "*" || tag == etag),
        };
        if matched {
            return Ok(());
        }
        Err(Error::Outdated(
            "it is not the version of If-Match".to_owned(),
        ))
    }
}
