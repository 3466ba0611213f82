//! Tokens of users, issued by trusted issuers (`tokens.md`, "Verifying a caller", "IAM user tokens").
//!
//! The `iss` of a token selects the issuer before the signature is checked, and only the keys of that issuer are then
//! tried: a key of one issuer never verifies a token of another, whatever their key ids. A token of an issuer that is
//! not configured causes no request. `key_set.rs` reads keys, `source.rs` fetches them, and `user.rs` reads the claims.

mod key_set;
mod source;
mod user;

use std::sync::Arc;
use std::time::Duration;

use tillgate_base::config;
use tillgate_base::egress::shown;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_engine::json::{Document, Node, Scalar};
use tillgate_store::clock::{Clock, Timestamp};

use self::source::IssuerKeys;
use self::user::ClaimMapping;
pub(super) use self::user::User;
use super::jws::{Header, Jws, Validity, refuse};

/// The time for which a verified token is trusted without checking its signature again. After it, a key that its issuer
/// has withdrawn verifies nothing.
const TRUST: Duration = Duration::from_secs(5 * 60);

#[derive(Debug)]
pub(super) struct TrustedIssuers(Vec<TrustedIssuer>);

/// An issuer other than this service.
#[derive(Debug)]
pub(super) struct TrustedIssuer {
    issuer: String,
    audiences: Vec<String>,
    keys: Arc<IssuerKeys>,
    claims: ClaimMapping,
}

impl TrustedIssuers {
    /// Starts to fetch the keys of the configured issuers.
    ///
    /// # Errors
    /// [`Error::Bug`] naming the issuer whose keys cannot be read from their file, or whose URL is malformed.
    pub(super) async fn start(
        configured: &[config::TrustedIssuer],
        platform: &TenantId,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self> {
        let mut issuers = Vec::with_capacity(configured.len());
        for trusted in configured {
            let keys = IssuerKeys::start(&trusted.issuer, &trusted.jwks, Arc::clone(clock)).await;
            let keys = keys.map_err(|cause| {
                Error::Bug(format!(
                    "the trusted issuer {}: {cause}",
                    shown(&trusted.issuer)
                ))
            })?;
            issuers.push(TrustedIssuer {
                issuer: trusted.issuer.clone(),
                audiences: trusted.audiences.clone(),
                keys,
                claims: ClaimMapping::new(trusted, platform),
            });
        }
        Ok(Self(issuers))
    }

    /// Returns the issuer with this name, if it is trusted.
    pub(super) fn find(&self, issuer: &str) -> Option<&TrustedIssuer> {
        self.0.iter().find(|trusted| trusted.issuer == issuer)
    }
}

/// Returns the trusted issuers whose keys cannot be read from their files, with the reasons. A host does not start
/// then.
pub async fn issuers_without_keys(configured: &[config::TrustedIssuer]) -> Vec<String> {
    let mut without = Vec::new();
    for trusted in configured {
        if let Err(cause) = IssuerKeys::check_file(&trusted.jwks).await {
            without.push(format!("{}: {cause}", shown(&trusted.issuer)));
        }
    }
    without
}

impl TrustedIssuer {
    /// Returns the user that a token names, and when the token is valid.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] saying why it names none.
    pub(super) async fn check(
        &self,
        jws: &Jws<'_>,
        header: &Header,
        now: Timestamp,
    ) -> Result<(User, Validity)> {
        let Some(keys) = self.keys.of(&header.kid, now).await else {
            return refuse("the token's kid is unknown");
        };
        let Some(algorithm) = keys.algorithm(&header.alg) else {
            return refuse("the token's alg is not one of its issuer's keys");
        };
        if !keys.verify(&header.kid, algorithm, jws) {
            return refuse("the token's signature is invalid");
        }
        let payload = jws.payload().unwrap_or_default();
        let Ok(claims) = Document::parse(&payload) else {
            return refuse("the token's claims are malformed");
        };
        let claims = claims.root();
        if !self.is_audience(claims) {
            return refuse("the token is for another audience");
        }
        let Some(validity) = validity(claims) else {
            return refuse("the token's exp or nbf is not a whole number of seconds");
        };
        validity.check(now)?;
        Ok((self.claims.user(&self.issuer, claims)?, validity))
    }

    /// Returns the time until which a token that is verified now is trusted.
    pub(super) fn trusts_until(&self, now: Timestamp) -> Timestamp {
        now.plus(TRUST)
    }

    /// Returns whether the token is for one of the issuer's configured audiences.
    fn is_audience(&self, claims: Node<'_, '_>) -> bool {
        let ours = |node: Node<'_, '_>| {
            let named = node.text();
            named.is_some_and(|named| self.audiences.iter().any(|ours| *ours == **named))
        };
        claims.member("aud").is_some_and(|aud| match aud.scalar() {
            Scalar::Array => {
                aud.children().all(|one| one.text().is_some()) && aud.children().any(ours)
            }
            _ => ours(aud),
        })
    }
}

/// Reads `exp` and, if present, `nbf` as whole seconds.
fn validity(claims: Node<'_, '_>) -> Option<Validity> {
    let seconds = |node: Node<'_, '_>| match node.scalar() {
        Scalar::Integer(seconds) => u64::try_from(*seconds).ok(),
        _ => None,
    };
    let exp = seconds(claims.member("exp")?)?;
    let nbf = claims.member("nbf").map_or(Some(0), seconds)?;
    Some(Validity { nbf, exp })
}
