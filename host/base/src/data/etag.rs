//! Entity tags, the versions of resources, and the preconditions of a request (RFC 9110, section 13).

use std::borrow::Cow;

use headers::IfNoneMatch;
use http::HeaderValue;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tillgate_api::problem::{ALREADY_EXISTS, VERSION_OUTDATED};

use crate::error::{Error, Result};

/// A strong entity tag, in quotes.
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

/// Entity tags without what proxies that compress add to them, within the quotes.
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

/// What a PUT did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It created something.
    Created,
    /// It replaced something else.
    Replaced,
    /// It changed nothing, because the same was stored. The audit log has no line of it.
    Unchanged,
}

impl Written {
    /// The result of a PUT that stores something, by whether something existed.
    #[must_use]
    pub const fn new(existed: bool) -> Self {
        if existed {
            Self::Replaced
        } else {
            Self::Created
        }
    }
}

/// The entity tags of a request's header, compared weakly; without any when the header was malformed.
#[derive(Clone, Debug)]
pub struct EntityTags(pub Option<IfNoneMatch>);

impl EntityTags {
    /// Whether one of them is this tag, or they are `*`.
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

/// What a PUT or DELETE requires of the current state.
#[derive(Clone, Debug, Default)]
pub struct Preconditions {
    /// `If-Match`: it is one of these versions.
    pub tags: Option<EntityTags>,
    /// `If-None-Match: *`: there is nothing.
    pub absent: bool,
}

impl Preconditions {
    /// Succeeds when they hold for the current state, whose entity tag is `etag`.
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

/// The digest in an entity tag, without its quotes.
#[must_use]
pub fn digest(etag: &Etag) -> &str {
    etag.to_str().unwrap_or_default().trim_matches('"')
}
