//! The keys of an issuer, read from its JWK set (RFC 7517): one by one, so that one that is damaged, or of a kind that
//! is not known, leaves the others.
//!
//! Public keys for signatures alone: a secret (`oct`), a private member, another `use` or a weak modulus is no key.
//! Pure.

use std::str::FromStr;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;

use crate::tokens::jws::Jws;

/// The most keys of a set that are looked at.
const MAX_KEYS: usize = 100;

/// The least length of an RSA modulus in base64url digits: 2048 bits.
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
    /// What it may have signed with.
    algorithms: Vec<Algorithm>,
    public: DecodingKey,
}

impl KeySet {
    /// Reads a JWK set; answers how many of its keys were left out, too.
    ///
    /// # Errors
    /// A sentence about a text that is no set, or has no key that is of use.
    pub(super) fn read(json: &[u8]) -> Result<(Self, usize), String> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set: Set = serde_json::from_slice(json)
            .map_err(|cause| format!("the answer is not a JWK set: {cause}"))?;
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

    /// Whether there is a key of an id.
    pub(super) fn has(&self, kid: &str) -> bool {
        self.0.iter().any(|key| key.kid == kid)
    }

    /// The algorithm of a name, when one of the keys may sign with it.
    pub(super) fn algorithm(&self, name: &str) -> Option<Algorithm> {
        let algorithm = Algorithm::from_str(name).ok()?;
        let used = self.0.iter().any(|key| key.algorithms.contains(&algorithm));
        used.then_some(algorithm)
    }

    /// Whether a key of this id signed a token. Several may have one id when they are of different kinds.
    pub(super) fn signed(&self, kid: &str, algorithm: Algorithm, jws: &Jws<'_>) -> bool {
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
        // A private member beside public ones: whoever published it has no secret any more.
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
        let of_its_kind: &[Algorithm] = match &jwk.algorithm {
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
            None => of_its_kind.to_vec(),
            Some(named) => {
                let named = Algorithm::from_str(&named.to_string()).ok()?;
                of_its_kind.contains(&named).then(|| vec![named])?
            }
        };
        Some(Self {
            kid: common.key_id.clone().filter(|kid| !kid.is_empty())?,
            algorithms,
            public: DecodingKey::from_jwk(&jwk).ok()?,
        })
    }
}
