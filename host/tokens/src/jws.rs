//! A signed JWT in its compact form, parsed but not yet verified.
//!
//! Parsing is strict: unpadded base64url without trailing bits, exactly three parts, a JSON header without duplicate
//! members. Keys in a header (`jwk`, `jku`, `x5c`, `x5u`) are never used. This module is pure.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tillgate_base::error::{Error, Result};
use tillgate_store::clock::Timestamp;

/// The longest token that is read, in bytes: the token of a user in 200 groups fits.
pub(super) const MAX_TOKEN: usize = 12 << 10;

/// The clock skew that is tolerated between hosts, in seconds.
pub(super) const LEEWAY: u64 = 5;

/// The members of a header that are used.
#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    pub(super) kid: String,
    pub(super) typ: Option<String>,
    /// `true` if the member is present: no extension is supported.
    #[serde(default, deserialize_with = "present")]
    pub(super) crit: bool,
}

/// Returns `true` for any value, because the member must not be present.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// The audience of a token: one or several.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    pub(super) fn contains(&self, audience: &str) -> bool {
        match self {
            Self::One(one) => one == audience,
            Self::Several(several) => several.iter().any(|one| one == audience),
        }
    }
}

/// The validity of a token, in seconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validity {
    pub(super) nbf: u64,
    pub(super) exp: u64,
}

impl Validity {
    /// Fails unless the token is valid now.
    pub(super) fn check(self, now: Timestamp) -> Result<()> {
        if now.seconds() >= self.exp.saturating_add(LEEWAY) {
            return refuse("the token has expired");
        }
        if self.nbf > now.seconds().saturating_add(LEEWAY) {
            return refuse("the token is not valid yet");
        }
        Ok(())
    }
}

pub(super) const fn refuse<T>(why: &'static str) -> Result<T> {
    Err(Error::Unauthenticated(why))
}

/// The parts of a token.
pub(super) struct Jws<'t> {
    /// The JWS signing input: header and payload.
    pub(super) signed: &'t str,
    /// The signature in unpadded base64url.
    pub(super) signature: &'t str,
    header: &'t str,
    payload: &'t str,
}

impl<'t> Jws<'t> {
    /// Splits a token, or returns `None` unless it has three parts and none is empty.
    pub(super) fn split(token: &'t str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let parts = [header, payload, signature];
        let whole = parts
            .iter()
            .all(|part| !part.is_empty() && !part.contains('.'));
        whole.then_some(Self {
            signed,
            signature,
            header,
            payload,
        })
    }

    pub(super) fn header(&self) -> Option<Header> {
        object(&decode(self.header)?)
    }

    pub(super) fn payload(&self) -> Option<Vec<u8>> {
        decode(self.payload)
    }

    /// Parses the payload as claims.
    pub(super) fn claims<C: DeserializeOwned>(&self) -> Option<C> {
        object(&self.payload()?)
    }
}

/// Decodes unpadded base64url without trailing bits.
fn decode(part: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(part).ok()
}

/// Parses a JSON object. Serde alone would also accept an array of the members' values.
fn object<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    let is_object = json.trim_ascii_start().starts_with(b"{");
    is_object.then(|| serde_json::from_slice(json).ok())?
}
