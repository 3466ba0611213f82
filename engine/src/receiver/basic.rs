//! Verifies the scheme Basic: compares a username and a password with those that the webhook was created with.
//!
//! Several can be valid at once, so that a password can be changed without losing a delivery.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use super::options::Credentials;
use super::refusal::Refusal;

/// The digests of the valid credentials. All digests have the same length, however long the sent credentials are.
pub(super) struct BasicScheme(Vec<[u8; 32]>);

impl std::fmt::Debug for BasicScheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BasicScheme")
    }
}

impl BasicScheme {
    pub(super) fn new(credentials: &[Credentials]) -> Self {
        let digest = |credentials: &Credentials| {
            let Credentials { username, password } = credentials;
            Sha256::digest(format!("{username}:{password}")).into()
        };
        Self(credentials.iter().map(digest).collect())
    }

    /// Checks the value of the Authorization header.
    pub(super) fn verify(&self, authorization: Option<&[u8]>) -> Result<(), Refusal> {
        let value = authorization.ok_or(Refusal::MissingCredentials)?;
        let (scheme, sent) = value.split_at_checked(6).ok_or(Refusal::WrongScheme)?;
        if !scheme.eq_ignore_ascii_case(b"Basic ") {
            return Err(Refusal::WrongScheme);
        }
        let sent = BASE64_STANDARD.decode(sent);
        let sent = Sha256::digest(sent.map_err(|_| Refusal::MalformedCredentials)?);
        // All are compared, each to its end, so that the time does not reveal how much of a guess was right.
        let equals = self.0.iter().map(|expected| expected.ct_eq(&sent));
        if bool::from(equals.fold(Choice::from(0), |any, one| any | one)) {
            return Ok(());
        }
        Err(Refusal::WrongCredentials)
    }
}
