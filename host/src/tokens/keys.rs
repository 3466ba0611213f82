//! The keys that sign tokens: which one signs, which are published, when one goes.
//!
//! RSA 2048, kept in the store as one record and shared by all hosts. A new key is published at once, signs once every
//! cache of the JWKS has it, and the one before it goes when the last token it signed has expired (`tokens.md`, "Keys").
//! Everything here follows from the record and the time; nothing is scheduled.

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::etag::{self, Etag};

/// How long a token is valid: `expires_in`.
pub const TOKEN_LIFE: Duration = Duration::from_secs(3_599);

/// How long others may keep the JWKS.
pub const JWKS_MAX_AGE: Duration = Duration::from_secs(300);

/// What is added to each span, since hosts' clocks differ and memory may be a second old.
const MARGIN: Duration = Duration::from_secs(10);

/// All signing keys, as they are kept; the newest last.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct StoredKeys(Vec<StoredKey>);

#[derive(Clone, Deserialize, Serialize)]
struct StoredKey {
    kid: String,
    /// PKCS #8, base64url.
    private: String,
    signs_from: Timestamp,
}

impl std::fmt::Debug for StoredKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredKey")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

/// A key pair that nobody knows yet. Takes a tenth of a second or so to make.
#[derive(Debug)]
pub struct NewKey {
    kid: String,
    private: String,
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
        Ok(Self {
            kid: Jwk::of(&pair).thumbprint(),
            private,
        })
    }

    /// The key's id.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }
}

impl StoredKeys {
    /// The record of the first start: the key signs at once.
    #[must_use]
    pub fn first(key: &NewKey, now: Timestamp) -> Self {
        let mut keys = Self::default();
        keys.push(key, now);
        keys
    }

    /// Publishes a key that will sign; drops those that no valid token was signed with.
    ///
    /// # Errors
    /// [`Error::Conflict`] while another that does not sign yet is published.
    pub fn rotate(&mut self, key: &NewKey, now: Timestamp) -> Result<()> {
        if self.0.last().is_some_and(|newest| now < newest.signs_from) {
            let detail = "a new key is published already and does not sign yet";
            return Err(Error::Conflict(detail.to_owned()));
        }
        let gone = (0..self.0.len())
            .take_while(|index| self.is_gone(*index, now))
            .count();
        self.0.drain(..gone);
        self.push(key, now.plus(JWKS_MAX_AGE).plus(MARGIN));
        Ok(())
    }

    fn push(&mut self, key: &NewKey, signs_from: Timestamp) {
        let (kid, private) = (key.kid.clone(), key.private.clone());
        self.0.push(StoredKey {
            kid,
            private,
            signs_from,
        });
    }

    fn is_gone(&self, index: usize, now: Timestamp) -> bool {
        self.until(index).is_some_and(|until| until <= now)
    }

    /// When the last token that a key signed has expired: some time after the next key signs.
    fn until(&self, index: usize) -> Option<Timestamp> {
        let next = self.0.get(index + 1)?;
        Some(next.signs_from.plus(TOKEN_LIFE).plus(MARGIN))
    }
}

/// The signing keys, ready for use.
#[derive(Debug)]
pub struct KeyRing {
    /// The newest last; never empty.
    keys: Vec<Arc<SigningKey>>,
    /// What is published as long as the key of that place is not gone.
    published: Vec<Published>,
}

/// A signing key, ready for use.
#[derive(Debug)]
pub struct SigningKey {
    kid: String,
    pair: KeyPair,
    public: DecodingKey,
    signs_from: Timestamp,
    until: Option<Timestamp>,
}

/// A document that anyone may read, as it is answered.
#[derive(Clone, Debug)]
pub struct Published {
    /// The JSON.
    pub json: Bytes,
    /// Its entity tag.
    pub etag: Etag,
}

impl KeyRing {
    /// Parses the keys, once.
    ///
    /// # Errors
    /// [`Error::Bug`] when one is damaged, or none is there.
    pub fn new(stored: &StoredKeys) -> Result<Self> {
        let mut keys = Vec::with_capacity(stored.0.len());
        let mut jwks = Vec::with_capacity(stored.0.len());
        for (index, key) in stored.0.iter().enumerate() {
            let (key, jwk) = SigningKey::new(key, stored.until(index))?;
            keys.push(Arc::new(key));
            jwks.push(jwk.to_json());
        }
        if keys.is_empty() {
            return Err(bug("there is no signing key"));
        }
        let phases = (0..jwks.len()).map(|first| jwks.iter().skip(first).collect::<Vec<_>>());
        let published = phases
            .map(|keys| Published::new(&json!({ "keys": keys })))
            .collect();
        Ok(Self { keys, published })
    }

    /// The key that signs now: the newest whose time has come.
    #[must_use]
    pub fn signing(&self, now: Timestamp) -> Option<&Arc<SigningKey>> {
        let begun = self.keys.iter().rev().find(|key| key.signs_from <= now);
        begun.or_else(|| self.keys.first())
    }

    /// The key of an id, as long as a token that it signed may be valid.
    #[must_use]
    pub fn find(&self, kid: &str, now: Timestamp) -> Option<&Arc<SigningKey>> {
        self.keys
            .iter()
            .find(|key| key.kid == kid && key.is_there(now))
    }

    /// What is published now.
    #[must_use]
    pub fn published(&self, now: Timestamp) -> Option<&Published> {
        let first = self.keys.iter().position(|key| key.is_there(now))?;
        self.published.get(first)
    }
}

impl Published {
    /// Some JSON, with its entity tag.
    #[must_use]
    pub fn new(document: &serde_json::Value) -> Self {
        let json = Bytes::from(document.to_string());
        let etag = etag::of_text(&json);
        Self { json, etag }
    }
}

impl SigningKey {
    fn new(stored: &StoredKey, until: Option<Timestamp>) -> Result<(Self, Jwk)> {
        let damaged = || bug("a signing key is damaged");
        let private = BASE64_URL_SAFE_NO_PAD
            .decode(&stored.private)
            .map_err(|_| damaged())?;
        let pair = KeyPair::from_pkcs8(&private).map_err(|_| damaged())?;
        let public = DecodingKey::from_rsa_raw_components(
            pair.public_key()
                .modulus()
                .big_endian_without_leading_zero(),
            pair.public_key()
                .exponent()
                .big_endian_without_leading_zero(),
        );
        let jwk = Jwk::of(&pair);
        let (kid, signs_from) = (stored.kid.clone(), stored.signs_from);
        Ok((
            Self {
                kid,
                pair,
                public,
                signs_from,
                until,
            },
            jwk,
        ))
    }

    fn is_there(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// Its id, the RFC 7638 thumbprint.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Signs, RS256. Takes a good part of a millisecond. By the key pair itself: `jsonwebtoken` would parse and check
    /// the key anew for each signature, which takes longer than signing.
    ///
    /// # Errors
    /// [`Error::Bug`], never so far.
    pub fn sign(&self, text: &[u8]) -> Result<Vec<u8>> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        let rng = SystemRandom::new();
        let signed = self
            .pair
            .sign(&RSA_PKCS1_SHA256, &rng, text, &mut signature);
        signed.map_err(|_| bug("a text was not signed"))?;
        Ok(signature)
    }

    /// Whether the key signed a text, RS256; the signature is unpadded base64url.
    #[must_use]
    pub fn signed(&self, text: &[u8], signature: &str) -> bool {
        jsonwebtoken::crypto::verify(signature, text, &self.public, Algorithm::RS256)
            .unwrap_or(false)
    }
}

/// The public half of a key.
struct Jwk {
    n: String,
    e: String,
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

    fn to_json(&self) -> serde_json::Value {
        json!({
            "kty": "RSA",
            "use": "sig",
            "alg": "RS256",
            "kid": self.thumbprint(),
            "n": self.n,
            "e": self.e,
        })
    }
}

fn bug(what: &str) -> Error {
    Error::Bug(what.to_owned())
}
