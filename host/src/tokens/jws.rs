//! A signed JWT in its compact form, taken apart and not yet believed.
//!
//! Strict: unpadded base64url without bits to spare, exactly three parts, a header of JSON whose members are there
//! once. Keys that a header brings along (`jwk`, `jku`, `x5c`, `x5u`) are never looked at. Pure; `verify.rs` and
//! `trusted/` decide.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// The longest token that is looked at.
pub(super) const MAX_TOKEN: usize = 8 << 10;

/// How far the clocks of hosts may differ: seconds.
pub(super) const LEEWAY: u64 = 5;

/// What a header says that matters.
#[derive(Deserialize)]
pub(super) struct Header {
    pub(super) alg: String,
    pub(super) kid: String,
    pub(super) typ: Option<String>,
    /// Whether there is one: none of its extensions is known.
    #[serde(default, deserialize_with = "present")]
    pub(super) crit: bool,
}

/// A member that must not be there, whatever its value.
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

/// When a token is valid: seconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validity {
    pub(super) nbf: u64,
    pub(super) exp: u64,
}

impl Validity {
    /// Nothing, when it is now.
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

/// A token that names nobody.
pub(super) const fn refuse<T>(why: &'static str) -> Result<T> {
    Err(Error::Unauthenticated(why))
}

/// The parts of a token.
pub(super) struct Jws<'t> {
    /// Header and payload, as they are signed.
    pub(super) signed: &'t str,
    /// The signature, unpadded base64url.
    pub(super) signature: &'t str,
    header: &'t str,
    payload: &'t str,
}

impl<'t> Jws<'t> {
    /// Takes a token apart, if it has three parts and none is empty.
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

    /// The payload's bytes.
    pub(super) fn payload(&self) -> Option<Vec<u8>> {
        decode(self.payload)
    }

    /// The payload as claims of a known shape.
    pub(super) fn claims<C: DeserializeOwned>(&self) -> Option<C> {
        object(&self.payload()?)
    }
}

/// Unpadded base64url, without bits to spare.
fn decode(part: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(part).ok()
}

/// A JSON object: serde would take an array of its members' values too.
fn object<T: DeserializeOwned>(json: &[u8]) -> Option<T> {
    let is_object = json.trim_ascii_start().starts_with(b"{");
    is_object.then(|| serde_json::from_slice(json).ok())?
}
