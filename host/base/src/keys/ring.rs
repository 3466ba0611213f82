//! A ring's keys, ready for use: the one that signs, those whose tokens are accepted, and the JWK set and certificates
//! that are published of them.
//!
//! Rebuilt whenever the stored record changes; the time determines what each key does.

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Serialize;
use tillgate_store::clock::Timestamp;

use super::new_key::{JwkSet, bug};
use super::stored::{Schedule, StoredKey, StoredKeys};
use crate::data::etag::{self, Etag};
use crate::error::Result;

/// The keys of a ring, ready for use.
#[derive(Debug)]
pub struct KeyRing {
    /// The newest last; never empty.
    keys: Vec<Arc<SigningKey>>,
    /// The published documents of each stage: at index `n`, those of the keys from `n` on.
    published: Vec<Published>,
}

/// The keys of one stage, as verifiers read them.
#[derive(Debug)]
struct Published {
    jwk_set: PublicDocument,
    /// A map from key id to certificate.
    certificates: PublicDocument,
}

/// A signing key, ready for use.
#[derive(Debug)]
pub struct SigningKey {
    kid: String,
    /// `None` once it no longer signs.
    pair: Option<KeyPair>,
    public: DecodingKey,
    signs_from: Timestamp,
    removal: Option<Timestamp>,
}

/// A JSON document that is served without a token, encoded once.
#[derive(Clone, Debug)]
pub struct PublicDocument {
    /// The JSON.
    pub json: Bytes,
    /// Its entity tag.
    pub etag: Etag,
}

impl KeyRing {
    /// Parses the stored keys.
    ///
    /// # Errors
    /// [`crate::error::Error::Bug`] when a key is damaged, or there is no key.
    pub fn new(stored: &StoredKeys, schedule: Schedule) -> Result<Self> {
        let mut keys = Vec::new();
        for (key, removal) in stored.iter(schedule) {
            keys.push(Arc::new(SigningKey::new(key, removal)?));
        }
        if keys.is_empty() {
            return Err(bug("there is no signing key"));
        }
        let stored: Vec<_> = stored.iter(schedule).map(|(key, _)| key).collect();
        let stages = (0..stored.len()).filter_map(|first| stored.get(first..));
        let published = stages.map(Published::new).collect::<Result<_>>()?;
        Ok(Self { keys, published })
    }

    /// Returns the key that signs now: the newest one whose time has come, or else the oldest that can sign.
    #[must_use]
    pub fn signing(&self, now: Timestamp) -> Option<&Arc<SigningKey>> {
        let mut able = self.keys.iter().filter(|key| key.pair.is_some());
        let started = able.clone().rfind(|key| key.signs_from <= now);
        started.or_else(|| able.next())
    }

    /// Returns the key with this id, as long as a token that it signed may be valid.
    #[must_use]
    pub fn find(&self, kid: &str, now: Timestamp) -> Option<&Arc<SigningKey>> {
        self.keys
            .iter()
            .find(|key| key.kid == kid && key.is_valid(now))
    }

    /// Returns the JWK set that is published now.
    #[must_use]
    pub fn jwk_set(&self, now: Timestamp) -> Option<&PublicDocument> {
        Some(&self.published(now)?.jwk_set)
    }

    /// Returns the certificates that are published now, by key id.
    #[must_use]
    pub fn certificates(&self, now: Timestamp) -> Option<&PublicDocument> {
        Some(&self.published(now)?.certificates)
    }

    fn published(&self, now: Timestamp) -> Option<&Published> {
        let first = self.keys.iter().position(|key| key.is_valid(now))?;
        self.published.get(first)
    }
}

impl Published {
    fn new(keys: &[&StoredKey]) -> Result<Self> {
        let jwks = keys.iter().map(|key| key.public.published(&key.kid));
        let certified = keys
            .iter()
            .filter_map(|key| Some((&key.kid, key.certificate.as_deref()?)));
        Ok(Self {
            jwk_set: PublicDocument::new(&JwkSet {
                keys: jwks.collect(),
            })?,
            certificates: PublicDocument::new(&certified.collect::<BTreeMap<_, _>>())?,
        })
    }
}

impl PublicDocument {
    /// Encodes a document.
    ///
    /// # Errors
    /// [`crate::error::Error::Bug`] when it has no JSON form.
    pub fn new(document: &impl Serialize) -> Result<Self> {
        let json = serde_json::to_vec(document).map_err(|cause| bug(&cause.to_string()))?;
        let etag = etag::of_text(&json);
        Ok(Self {
            json: json.into(),
            etag,
        })
    }
}

impl SigningKey {
    fn new(stored: &StoredKey, removal: Option<Timestamp>) -> Result<Self> {
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
            removal,
        })
    }

    fn is_valid(&self, now: Timestamp) -> bool {
        self.removal.is_none_or(|at| now < at)
    }

    /// Returns its id, the RFC 7638 thumbprint.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Signs with RS256, which takes a good part of a millisecond. The key pair does it directly: `jsonwebtoken` would
    /// parse and check the key for each signature, which takes longer than signing.
    ///
    /// # Errors
    /// [`crate::error::Error::Bug`] when the key no longer signs.
    pub fn sign(&self, text: &[u8]) -> Result<Vec<u8>> {
        let pair = self.pair.as_ref();
        let pair = pair.ok_or_else(|| bug("a key that no longer signs was to sign"))?;
        let mut signature = vec![0; pair.public_modulus_len()];
        let rng = SystemRandom::new();
        let signed = pair.sign(&RSA_PKCS1_SHA256, &rng, text, &mut signature);
        signed.map_err(|_| bug("signing failed"))?;
        Ok(signature)
    }

    /// Returns whether `signature`, in unpadded base64url, is this key's RS256 signature of a text.
    #[must_use]
    pub fn verifies(&self, text: &[u8], signature: &str) -> bool {
        jsonwebtoken::crypto::verify(signature, text, &self.public, Algorithm::RS256)
            .unwrap_or(false)
    }
}
