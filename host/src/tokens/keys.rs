//! The keys that sign tokens, as they are kept: which one signs, how one follows another, when one goes.
//!
//! RSA 2048, kept in the store as one record and shared by all hosts. A new key is published at once, signs once every
//! cache of the JWKS has it, and the one before it goes when the last token it signed has expired (`tokens.md`, "Keys").
//! All that follows from the record and the time; a job only removes what is of no use any more: the private half of a
//! key once it does not sign, then the rest of it. Pure; `keyring.rs` makes the keys ready for use.

use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// How long a token is valid: `expires_in`.
pub const TOKEN_LIFE: Duration = Duration::from_secs(3_599);

/// How long others may keep the JWKS.
pub const JWKS_MAX_AGE: Duration = Duration::from_secs(300);

/// What is added to each span, since hosts' clocks differ and memory may be a second old.
const MARGIN: Duration = Duration::from_secs(10);

/// All signing keys, as they are kept; the newest last.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct StoredKeys(Vec<StoredKey>);

/// A signing key, as it is kept.
#[derive(Clone, Deserialize, Serialize)]
pub(super) struct StoredKey {
    pub(super) kid: String,
    pub(super) public: Jwk,
    /// PKCS #8, base64url; `None` once it does not sign any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) private: Option<String>,
    pub(super) signs_from: Timestamp,
}

impl std::fmt::Debug for StoredKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredKey")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

/// A key pair that nobody knows yet. Takes a tenth of a second or so to make.
pub struct NewKey {
    kid: String,
    public: Jwk,
    private: String,
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKey")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

impl NewKey {
    /// Makes one.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn generate() -> Result<Self> {
        let pair = KeyPair::generate(KeySize::Rsa2048).map_err(|_| bug("no key was made"))?;
        let private: Pkcs8V1Der<'_> = pair
            .as_der()
            .map_err(|_| bug("a key that was made has no form"))?;
        let private = BASE64_URL_SAFE_NO_PAD.encode(private.as_ref());
        let public = Jwk::of(&pair);
        Ok(Self {
            kid: public.thumbprint(),
            public,
            private,
        })
    }

    /// The key's id.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }
}

/// Where a key is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Published, so that others know it when it signs.
    Published,
    /// New tokens are signed with it.
    Signing,
    /// It signs no more; tokens that it signed may be valid.
    Retiring,
}

/// A key as operators see it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyState {
    /// Its id.
    pub kid: String,
    /// Where it is in its life.
    pub status: Phase,
    /// From when it signs.
    pub signs_from: String,
    /// When it goes; unknown while no other follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

/// What was removed of keys, by their ids.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// Those whose private half went.
    pub silenced: Vec<String>,
    /// Those that went.
    pub gone: Vec<String>,
}

impl StoredKeys {
    /// The record of the first start: the key signs at once.
    #[must_use]
    pub fn first(key: &NewKey, now: Timestamp) -> Self {
        let mut keys = Self::default();
        keys.push(key, now);
        keys
    }

    /// Publishes a key that will sign.
    ///
    /// # Errors
    /// [`Error::Conflict`] while another that does not sign yet is published.
    pub fn rotate(&mut self, key: &NewKey, now: Timestamp) -> Result<()> {
        if let Some(waiting) = self.0.last().filter(|newest| now < newest.signs_from) {
            let detail = format!(
                "the key {} is published already and signs from {}",
                waiting.kid,
                waiting.signs_from.to_millis_text()
            );
            return Err(Error::Conflict(detail));
        }
        self.push(key, now.plus(JWKS_MAX_AGE).plus(MARGIN));
        Ok(())
    }

    fn push(&mut self, key: &NewKey, signs_from: Timestamp) {
        self.0.push(StoredKey {
            kid: key.kid.clone(),
            public: key.public.clone(),
            private: Some(key.private.clone()),
            signs_from,
        });
    }

    /// Removes what is of no use any more: the private half of a key that does not sign, and keys that no valid token
    /// was signed with.
    pub fn retire(&mut self, now: Timestamp) -> Retired {
        let gone = (0..self.0.len())
            .take_while(|index| self.until(*index).is_some_and(|until| until <= now))
            .count();
        let mut retired = Retired {
            gone: self.0.drain(..gone).map(|key| key.kid).collect(),
            ..Retired::default()
        };
        for index in 0..self.0.len() {
            let silent = self.silent(index).is_some_and(|silent| silent <= now);
            if silent
                && let Some(key) = self.0.get_mut(index)
                && key.private.take().is_some()
            {
                retired.silenced.push(key.kid.clone());
            }
        }
        retired
    }

    /// When something is to be removed next.
    #[must_use]
    pub fn next_retirement(&self) -> Option<Timestamp> {
        let each = self.0.iter().enumerate();
        each.filter_map(|(index, key)| match key.private {
            Some(_) => self.silent(index),
            None => self.until(index),
        })
        .min()
    }

    /// The keys as operators see them, the newest last.
    #[must_use]
    pub fn states(&self, now: Timestamp) -> Vec<KeyState> {
        let each = self.0.iter().enumerate();
        each.filter(|(index, _)| self.until(*index).is_none_or(|until| now < until))
            .map(|(index, key)| KeyState {
                kid: key.kid.clone(),
                status: self.phase(index, key, now),
                signs_from: key.signs_from.to_millis_text(),
                until: self.until(index).map(Timestamp::to_millis_text),
            })
            .collect()
    }

    fn phase(&self, index: usize, key: &StoredKey, now: Timestamp) -> Phase {
        if now < key.signs_from {
            return Phase::Published;
        }
        match self.0.get(index + 1) {
            Some(next) if next.signs_from <= now => Phase::Retiring,
            _ => Phase::Signing,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&StoredKey, Option<Timestamp>)> {
        let each = self.0.iter().enumerate();
        each.map(|(index, key)| (key, self.until(index)))
    }

    /// When no host signs with a key any more.
    fn silent(&self, index: usize) -> Option<Timestamp> {
        let next = self.0.get(index + 1)?;
        Some(next.signs_from.plus(MARGIN))
    }

    /// When the last token that a key signed has expired: some time after the next key signs.
    fn until(&self, index: usize) -> Option<Timestamp> {
        let next = self.0.get(index + 1)?;
        Some(next.signs_from.plus(TOKEN_LIFE).plus(MARGIN))
    }
}

/// The public half of a key: modulus and exponent, unpadded base64url.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Jwk {
    pub(super) n: String,
    pub(super) e: String,
}

impl Jwk {
    fn of(pair: &KeyPair) -> Self {
        let public = pair.public_key();
        let text = |number: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(number);
        Self {
            n: text(public.modulus().big_endian_without_leading_zero()),
            e: text(public.exponent().big_endian_without_leading_zero()),
        }
    }

    /// RFC 7638: the required members, in order, without white space.
    fn thumbprint(&self) -> String {
        let members = format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, self.e, self.n);
        BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(members))
    }

    pub(super) fn to_json(&self, kid: &str) -> serde_json::Value {
        json!({
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": kid,
            "n": self.n,
            "e": self.e,
        })
    }
}

pub(super) fn bug(what: &str) -> Error {
    Error::Bug(what.to_owned())
}
