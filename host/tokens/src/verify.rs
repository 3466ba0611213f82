//! Verifies the token of a caller: the checks of `tokens.md`, "Verifying a caller", in that order.
//!
//! A verified token is cached with the access cell of its client until it expires. The client's permissions are read
//! from the cell every time, so a revocation takes effect at once. A token of a trusted issuer is checked in `trusted/`
//! from its `alg` on; the permissions of its user's roles are looked up every time as well.

use std::sync::Arc;

use serde::Deserialize;
use tillgate_base::data::feed::{Staleness, Subscriber};
use tillgate_base::error::Result;
use tillgate_base::identity::Caller;
use tillgate_store::clock::Timestamp;

use super::Tokens;
use super::jws::{Audience, Header, Jws, LEEWAY, MAX_TOKEN, Validity, refuse};
use super::registry::{AccessCell, ClientAccess, Registry};
use super::trusted::User;

const UNTRUSTED: &str = "the token's iss is not an issuer that is trusted here";

/// The claims that are checked. Types are strict: an `exp` that is a string or a fraction is malformed.
#[derive(Deserialize)]
struct TokenClaims {
    iss: String,
    aud: Audience,
    exp: u64,
    nbf: u64,
    iat: u64,
    sub: String,
    client_id: String,
}

/// The claim that names the issuer of a token.
#[derive(Deserialize)]
struct Issuer {
    iss: String,
}

/// A verified token.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    subject: Subject,
    validity: Validity,
    /// The time until which the cache may return it.
    until: Timestamp,
}

#[derive(Clone, Debug)]
enum Subject {
    Client(Arc<AccessCell>),
    User(Arc<User>),
}

impl Verified {
    fn caller(&self, registry: &Registry, now: Timestamp) -> Result<Arc<Caller>> {
        self.validity.check(now)?;
        match &self.subject {
            Subject::Client(cell) => caller(cell.load().as_deref()),
            Subject::User(user) => Ok(Arc::new(user.caller(registry))),
        }
    }

    /// Returns whether the cache may still return it.
    pub(super) fn is_usable(&self, now: Timestamp) -> bool {
        now < self.until && self.validity.check(now).is_ok()
    }
}

fn caller(access: Option<&ClientAccess>) -> Result<Arc<Caller>> {
    let Some(access) = access else {
        return refuse("the token's client no longer exists");
    };
    if !access.authorized {
        return refuse("the token's client is not authorized");
    }
    Ok(Arc::clone(&access.caller))
}

impl Tokens {
    /// Returns the caller that a token names, and how stale the answer from memory is.
    ///
    /// # Errors
    /// [`Unauthenticated`](tillgate_base::error::Error::Unauthenticated) saying why it names none;
    /// [`Unavailable`](tillgate_base::error::Error::Unavailable) when the store is unavailable and the client is not in
    /// memory, or what is in memory is older than `max_stale_callers`.
    pub async fn verify(&self, token: &str) -> Result<(Arc<Caller>, Staleness)> {
        let now = self.clock.now();
        let staleness = self
            .registry
            .ensure_within(now, self.max_stale_callers)
            .await?;
        let known = self.token_cache.find(token, |verified| {
            let is_current = now < verified.until;
            is_current.then(|| verified.caller(&self.registry, now))
        });
        if let Some(caller) = known {
            return Ok((caller?, staleness));
        }
        let verified = Box::pin(self.check(token, now)).await?;
        let caller = verified.caller(&self.registry, now)?;
        self.token_cache.insert(token, verified, now);
        Ok((caller, staleness))
    }

    async fn check(&self, token: &str, now: Timestamp) -> Result<Verified> {
        if token.len() > MAX_TOKEN {
            return refuse("the token is longer than 12 KiB");
        }
        let Some(jws) = Jws::split(token) else {
            return refuse("the token is not a signed JWT");
        };
        let Some(header) = jws.header() else {
            return refuse("the token's header is malformed");
        };
        if header.crit {
            return refuse("the token's header has critical members that are not supported");
        }
        if header
            .typ
            .as_deref()
            .is_some_and(|typ| !matches!(typ, "JWT" | "at+jwt" | "application/at+jwt"))
        {
            return refuse("the token has the wrong type");
        }
        // The issuer is not verified yet: it only says whose keys to try.
        let Some(Issuer { iss }) = jws.claims() else {
            return self.check_own(&jws, &header, now).await;
        };
        if let Some(issuer) = self.trusted.find(&iss) {
            let (user, validity) = issuer.check(&jws, &header, now).await?;
            return Ok(Verified {
                subject: Subject::User(Arc::new(user)),
                validity,
                until: issuer.trusts_until(now),
            });
        }
        if iss != self.issuer {
            return refuse(UNTRUSTED);
        }
        self.check_own(&jws, &header, now).await
    }

    /// Checks a token that this service has issued.
    async fn check_own(&self, jws: &Jws<'_>, header: &Header, now: Timestamp) -> Result<Verified> {
        if header.alg != "RS256" {
            return refuse("the token's alg is not RS256");
        }
        let Some(key) = self.keys.ring().find(&header.kid, now).cloned() else {
            return refuse("the token's kid is unknown");
        };
        if !key.verifies(jws.signed.as_bytes(), jws.signature) {
            return refuse("the token's signature is invalid");
        }
        let Some(claims) = jws.claims() else {
            return refuse("the token's claims are malformed");
        };
        let TokenClaims { iss, aud, .. } = &claims;
        if *iss != self.issuer {
            return refuse(UNTRUSTED);
        }
        if !aud.contains(&self.audience) {
            return refuse("the token is for another audience");
        }
        self.check_client(&claims, now).await
    }

    async fn check_client(&self, claims: &TokenClaims, now: Timestamp) -> Result<Verified> {
        let &TokenClaims { nbf, exp, iat, .. } = claims;
        let validity = Validity { nbf, exp };
        validity.check(now)?;
        if claims.sub != claims.client_id {
            return refuse("the token's sub is not its client_id");
        }
        let Some(cell) = self.registry.cell(&claims.client_id).await? else {
            return refuse("the token's client no longer exists");
        };
        // The same claims give the same id, so a token of a deleted client must not be valid for one that was
        // registered after it.
        let registered = cell
            .load()
            .as_ref()
            .map(|access| access.registered.seconds());
        if registered.is_some_and(|registered| iat.saturating_add(LEEWAY) < registered) {
            return refuse("the token's client no longer exists");
        }
        Ok(Verified {
            subject: Subject::Client(cell),
            validity,
            until: Timestamp(u64::MAX),
        })
    }
}
