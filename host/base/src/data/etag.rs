//! Entity tags (the versions of resources), and the preconditions of a request (RFC 9110, section 13).

use std::borrow::Cow;

use headers::IfNoneMatch;
use http::HeaderValue;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tillgate_api::problem::{ALREADY_EXISTS, VERSION_OUTDATED};

use crate::error::{Error, Result};

/// A strong entity tag, in quotes.
pub type Etag = HeaderValue;

/// Returns the entity tag of a text: its SHA-256.
#[must_use]
pub fn of_text(text: &[u8]) -> Etag {
    of_digest(&Sha256::digest(text))
}

/// Returns the entity tag of a digest.
#[must_use]
pub fn of_digest(digest: &[u8]) -> Etag {
    let quoted = format!("\"{}\"", hex::encode(digest));
    Etag::from_str(&quoted).unwrap_or(Etag::from_static("\"\""))
}

/// Returns the entity tag of a value that is sent as JSON.
///
/// # Errors
/// [`Error::Bug`] for a value that has no JSON form.
pub fn of_json(value: &impl Serialize) -> Result<Etag> {
    let json = serde_json::to_vec(value).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(of_text(&json))
}

/// Removes the suffixes that compressing proxies add to entity tags, within the quotes.
#[must_use]
pub fn without_suffixes(tags: &str) -> Cow<'_, str> {
    let mut tags = Cow::Borrowed(tags);
    for suffix in ["--gzip\"", "-gzip\"", ";gzip\"", "-br\"", "-zstd\""] {
        if tags.contains(suffix) {
            tags = tags.replace(suffix, "\"").into();
        }
    }
    tags
}

/// The effect of a PUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It created something.
    Created,
    /// It replaced something else.
    Replaced,
    /// It changed nothing, because the same was already stored. The audit log has no line for it.
    Unchanged,
}

impl Written {
    /// Returns the effect of a PUT that stores something, given whether something existed.
    #[must_use]
    pub const fn new(existed: bool) -> Self {
        if existed {
            Self::Replaced
        } else {
            Self::Created
        }
    }
}

/// The entity tags of a request's header, compared weakly; `None` when the header was malformed.
#[derive(Clone, Debug)]
pub struct EntityTags(pub Option<IfNoneMatch>);

impl EntityTags {
    /// Returns whether one of the tags is this one, or they are `*`.
    #[must_use]
    pub fn contain(&self, etag: &Etag) -> bool {
        let Some(tags) = &self.0 else { return false };
        let etag = etag
            .to_str()
            .ok()
            .and_then(|text| text.parse::<headers::ETag>().ok());
        etag.is_some_and(|etag| !tags.precondition_passes(&etag))
    }
}

/// The requirements of a PUT or DELETE on the current state.
#[derive(Clone, Debug, Default)]
pub struct Preconditions {
    /// `If-Match`: the resource has one of these versions.
    pub tags: Option<EntityTags>,
    /// `If-None-Match: *`: the resource does not exist.
    pub absent: bool,
}

impl Preconditions {
    /// Checks that the preconditions hold for the current state, whose entity tag is `etag`.
    ///
    /// # Errors
    /// [`Error::Outdated`] when they do not.
    pub fn check(&self, etag: Option<&Etag>) -> Result<()> {
        if self.absent && etag.is_some() {
            return Err(Error::Outdated(
                ALREADY_EXISTS,
                "it already exists".to_owned(),
            ));
        }
        let matched = match (&self.tags, etag) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(tags), Some(etag)) => tags.contain(etag),
        };
        if matched {
            return Ok(());
        }
        Err(Error::Outdated(
            VERSION_OUTDATED,
            "it is not the version that If-Match names".to_owned(),
        ))
    }
}

/// Returns the digest in an entity tag, without its quotes.
#[must_use]
pub fn digest(etag: &Etag) -> &str {
    etag.to_str().unwrap_or_default().trim_matches('"')
}
