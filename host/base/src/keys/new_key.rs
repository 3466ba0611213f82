//! A key pair before it is stored: RSA 2048, its public half as a JWK, and a self-signed X.509 certificate if its ring
//! publishes certificates.
//!
//! The certificate only carries the key: no authority has signed it, and a key is valid because it is published
//! (`stored.rs`). Making both takes about a tenth of a second.

use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyUsagePurpose, PKCS_RSA_SHA256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tillgate_store::clock::Timestamp;

use crate::error::{Error, Result};

/// A certificate is valid this long before its key was made, for receivers whose clocks are behind.
const CLOCK_MARGIN: Duration = Duration::from_secs(24 * 60 * 60);

/// 9999-12-31T23:59:59Z, in seconds since the epoch: a certificate that does not expire by itself (RFC 5280, 4.1.2.5).
const NO_EXPIRY: u64 = 253_402_300_799;

/// A key pair that is not stored yet.
pub struct NewKey {
    pub(super) kid: String,
    pub(super) public: Jwk,
    /// PKCS #8, base64url.
    pub(super) private: String,
    /// PEM.
    pub(super) certificate: Option<String>,
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKey")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

impl NewKey {
    /// Generates a key pair.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn generate() -> Result<Self> {
        let (key, _) = Self::pair()?;
        Ok(key)
    }

    /// Generates a key pair, and its certificate with this common name.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn certified(common_name: &str, now: Timestamp) -> Result<Self> {
        let (mut key, pkcs8) = Self::pair()?;
        let certificate = self_signed(&pkcs8, common_name, now);
        key.certificate = Some(certificate.map_err(|cause| Error::Bug(cause.to_string()))?);
        Ok(key)
    }

    /// Generates a key pair, and returns it with its private half in PKCS #8.
    fn pair() -> Result<(Self, Vec<u8>)> {
        let pair =
            KeyPair::generate(KeySize::Rsa2048).map_err(|_| bug("generating a key failed"))?;
        let private: Pkcs8V1Der<'_> = pair
            .as_der()
            .map_err(|_| bug("a generated key cannot be encoded"))?;
        let public = Jwk::of(&pair);
        let key = Self {
            kid: public.thumbprint(),
            public,
            private: BASE64_URL_SAFE_NO_PAD.encode(private.as_ref()),
            certificate: None,
        };
        Ok((key, private.as_ref().to_vec()))
    }

    /// Returns the key's id.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }
}

/// Returns a key's certificate in PEM. Its serial number is made from the key.
fn self_signed(pkcs8: &[u8], common_name: &str, now: Timestamp) -> Result<String, rcgen::Error> {
    let pair = rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8.into(), &PKCS_RSA_SHA256)?;
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, common_name);
    let at = |seconds: u64| {
        rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds.min(NO_EXPIRY))
    };
    let mut certificate = CertificateParams::default();
    certificate.distinguished_name = subject;
    certificate.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    certificate.not_before = at(now.minus(CLOCK_MARGIN).seconds());
    certificate.not_after = at(NO_EXPIRY);
    Ok(certificate.self_signed(&pair)?.pem())
}

/// A set of public keys (RFC 7517).
#[derive(Debug, JsonSchema, Serialize)]
pub struct JwkSet {
    #[schemars(length(min = 1))]
    pub(super) keys: Vec<PublishedJwk>,
}

/// A public key.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Jwk", deny_unknown_fields)]
pub(super) struct PublishedJwk {
    #[schemars(extend("const" = "RS256"))]
    alg: &'static str,
    /// The exponent, unpadded base64url.
    e: String,
    /// The thumbprint of RFC 7638.
    kid: String,
    #[schemars(extend("const" = "RSA"))]
    kty: &'static str,
    /// The modulus, unpadded base64url.
    n: String,
    #[serde(rename = "use")]
    #[schemars(extend("const" = "sig"))]
    usage: &'static str,
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

    /// Returns the key in its published form, with an id.
    pub(super) fn published(&self, kid: &str) -> PublishedJwk {
        PublishedJwk {
            alg: "RS256",
            e: self.e.clone(),
            kid: kid.to_owned(),
            kty: "RSA",
            n: self.n.clone(),
            usage: "sig",
        }
    }
}

pub(super) fn bug(what: &str) -> Error {
    Error::Bug(what.to_owned())
}
