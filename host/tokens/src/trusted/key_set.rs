//! The keys of an issuer, read from its JWK set (RFC 7517). Keys are read one by one, so that a damaged or unknown key
//! does not affect the others.
//!
//! Only public keys for signatures count: a secret (`oct`), a key with a private member, another `use` or a weak
//! modulus is left out. This module is pure.

use std::str::FromStr;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use crate::jws::Jws;

/// The most keys that are read from a set.
const MAX_KEYS: usize = 100;

/// The shortest RSA modulus, in base64url digits: 2048 bits.
const MIN_MODULUS: usize = 342;

const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// The keys of an issuer; at least one.
#[derive(Debug)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug)]
struct Key {
    kid: String,
    /// The algorithms that it may sign with.
    algorithms: Vec<Algorithm>,
    public: DecodingKey,
}

impl KeySet {
    /// Reads a JWK set. Also returns how many of its keys were left out.
    ///
    /// # Errors
    /// A sentence that says why the text is not a set, or that it has no usable key.
    pub(super) fn read(json: &[u8]) -> Result<(Self, usize), String> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set: Set = serde_json::from_slice(json)
            .map_err(|cause| format!("it is not a JWK set: {cause}"))?;
        let given = set.keys.len();
        let keys: Vec<Key> = set
            .keys
            .into_iter()
            .take(MAX_KEYS)
            .filter_map(Key::read)
            .collect();
        if keys.is_empty() {
            return Err("the JWK set has no key that can verify signatures".to_owned());
        }
        let left_out = given - keys.len();
        Ok((Self(keys), left_out))
    }

    /// Returns whether a key has this id.
    pub(super) fn has(&self, kid: &str) -> bool {
        self.0.iter().any(|key| key.kid == kid)
    }

    /// Returns the algorithm with this name, if one of the keys may sign with it.
    pub(super) fn algorithm(&self, name: &str) -> Option<Algorithm> {
        let algorithm = Algorithm::from_str(name).ok()?;
        let used = self.0.iter().any(|key| key.algorithms.contains(&algorithm));
        used.then_some(algorithm)
    }

    /// Returns whether a key with this id signed a token. Several keys of different types may have the same id.
    pub(super) fn verify(&self, kid: &str, algorithm: Algorithm, jws: &Jws<'_>) -> bool {
        let (signature, text) = (jws.signature, jws.signed.as_bytes());
        let mut keys = self.0.iter();
        keys.any(|key| {
            key.kid == kid
                && key.algorithms.contains(&algorithm)
                && jsonwebtoken::crypto::verify(signature, text, &key.public, algorithm)
                    .unwrap_or(false)
        })
    }
}

impl Key {
    fn read(value: Value) -> Option<Self> {
        // A key that was published with its private half is no longer secret.
        if value.get("d").is_some() || value.get("k").is_some() {
            return None;
        }
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let common = &jwk.common;
        let signs = common
            .public_key_use
            .as_ref()
            .is_none_or(|purpose| *purpose == PublicKeyUse::Signature);
        let verifies = common
            .key_operations
            .as_ref()
            .is_none_or(|operations| operations.contains(&KeyOperations::Verify));
        if !(signs && verifies) {
            return None;
        }
        let of_its_type: &[Algorithm] = match &jwk.algorithm {
            AlgorithmParameters::RSA(rsa) if rsa.n.len() >= MIN_MODULUS => RSA,
            AlgorithmParameters::EllipticCurve(ec) => match ec.curve {
                EllipticCurve::P256 => &[Algorithm::ES256],
                EllipticCurve::P384 => &[Algorithm::ES384],
                _ => return None,
            },
            AlgorithmParameters::OctetKeyPair(okp) if okp.curve == EllipticCurve::Ed25519 => {
                &[Algorithm::EdDSA]
            }
            _ => return None,
        };
        let algorithms = match &common.key_algorithm {
            None => of_its_type.to_vec(),
            Some(named) => {
                let named = Algorithm::from_str(&named.to_string()).ok()?;
                of_its_type.contains(&named).then(|| vec![named])?
            }
        };
        Some(Self {
            kid: common.key_id.clone().filter(|kid| !kid.is_empty())?,
            algorithms,
            public: DecodingKey::from_jwk(&jwk).ok()?,
        })
    }
}
