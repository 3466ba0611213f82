//! The signing keys, ready for use: the one that signs, those whose tokens are taken, and what is published of them.
//!
//! Made from the record of `keys.rs` whenever it changes (`registry.rs`); what holds at a moment follows from the time.

use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::json;

use super::keys::{StoredKey, StoredKeys, bug};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::etag::{self, Etag};

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
    /// `None` once it signs no more.
    pair: Option<KeyPair>,
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
    /// [`crate::error::Error::Bug`] when one is damaged, or none is there.
    pub fn new(stored: &StoredKeys) -> Result<Self> {
        let (mut keys, mut jwks) = (Vec::new(), Vec::new());
        for (key, until) in stored.iter() {
            keys.push(Arc::new(SigningKey::new(key, until)?));
            jwks.push(key.public.to_json(&key.kid));
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
        let mut able = self.keys.iter().filter(|key| key.pair.is_some());
        let begun = able.clone().rfind(|key| key.signs_from <= now);
        begun.or_else(|| able.next())
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
    fn new(stored: &StoredKey, until: Option<Timestamp>) -> Result<Self> {
        let damaged = || bug("a signing key is damaged");
        let public = DecodingKey::from_rsa_components(&stored.public.n, &stored.public.e)
            .map_err(|_| damaged())?;
        let pair = stored.private.as_ref().map(|private| {
            let private = BASE64_URL_SAFE_NO_PAD.decode(private).ok();
            private.and_then(|private| KeyPair::from_pkcs8(&private).ok())
        });
        Ok(Self {
            kid: stored.kid.clone(),
            pair: pair.map(|pair| pair.ok_or_else(damaged)).transpose()?,
            public,
            signs_from: stored.signs_from,
            until,
        })
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
    /// [`crate::error::Error::Bug`], never so far.
    pub fn sign(&self, text: &[u8]) -> Result<Vec<u8>> {
        let pair = self.pair.as_ref();
        let pair = pair.ok_or_else(|| bug("a key that signs no more was asked to"))?;
        let mut signature = vec![0; pair.public_modulus_len()];
        let rng = SystemRandom::new();
        let signed = pair.sign(&RSA_PKCS1_SHA256, &rng, text, &mut signature);
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
