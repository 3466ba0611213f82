//! From a token to its caller: the checks of `tokens.md`, "Verifying a caller", in that order.
//!
//! A token that was verified is remembered with its client's slot until it expires; what its client may do is read from
//! the slot every time, so revoking works at once. A user's token of a trusted issuer goes its own way after its header
//! (`trusted/`); what its holder's roles hold is looked up every time as well.

use std::sync::Arc;

use serde::Deserialize;

use super::Tokens;
use super::caller::Caller;
use super::jws::{Audience, Header, Jws, LEEWAY, MAX_TOKEN, Validity, refuse};
use super::registry::{Registry, Slot, Standing};
use super::trusted::User;
use crate::clock::Timestamp;
use crate::error::Result;
use crate::follow::Follow;

/// The claims that decide. Types are strict: an `exp` that is a string or a fraction is none.
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

/// A token that was verified.
#[derive(Clone, Debug)]
pub(super) struct Verified {
    holder: Holder,
    validity: Validity,
    /// Until when that is remembered.
    until: Timestamp,
}

#[derive(Clone, Debug)]
enum Holder {
    Client(Arc<Slot>),
    User(Arc<User>),
}

impl Verified {
    fn caller(&self, registry: &Registry, now: Timestamp) -> Result<Caller> {
        self.validity.check(now)?;
        match &self.holder {
            Holder::Client(slot) => caller(slot.load().as_deref()),
            Holder::User(user) => Ok(user.caller(registry)),
        }
    }

    /// Whether it need not be verified anew.
    pub(super) fn matters(&self, now: Timestamp) -> bool {
        now < self.until && self.validity.check(now).is_ok()
    }
}

fn caller(standing: Option<&Standing>) -> Result<Caller> {
    let Some(standing) = standing else {
        return refuse("the token's client is gone");
    };
    if !standing.authorized {
        return refuse("the token's client is not authorized");
    }
    Ok(Caller {
        tenant: standing.tenant.clone(),
        subject: Arc::clone(&standing.id),
        permissions: standing.permissions,
        platform: standing.platform,
    })
}

impl Tokens {
    /// The caller that a token names.
    ///
    /// # Errors
    /// [`Unauthenticated`](crate::error::Error::Unauthenticated) saying why it names none;
    /// [`Unavailable`](crate::error::Error::Unavailable) when the store is away and the client is not in memory, or what
    /// is in memory is older than a second.
    pub async fn verify(&self, token: &str) -> Result<Caller> {
        let now = self.clock.now();
        self.registry.be_fresh(now).await?;
        if let Some(verified) = self.remembered.get(token)
            && now < verified.until
        {
            return verified.caller(&self.registry, now);
        }
        let verified = self.check(token, now).await?;
        let caller = verified.caller(&self.registry, now)?;
        self.remembered.insert(token, verified, now);
        Ok(caller)
    }

    async fn check(&self, token: &str, now: Timestamp) -> Result<Verified> {
        if token.len() > MAX_TOKEN {
            return refuse("the token is longer than 8 KiB");
        }
        let Some(jws) = Jws::split(token) else {
            return refuse("the token is no signed JWT");
        };
        let Some(header) = jws.header() else {
            return refuse("the token's header is none");
        };
        if header.crit {
            return refuse("the token's header has critical members that are not known");
        }
        if header
            .typ
            .as_deref()
            .is_some_and(|typ| !matches!(typ, "JWT" | "at+jwt" | "application/at+jwt"))
        {
            return refuse("the token is of another type");
        }
        match self.trusted.issuer_of(&jws) {
            None => self.check_own(&jws, &header, now).await,
            Some(issuer) => {
                let (user, validity) = issuer.check(&jws, &header, now).await?;
                Ok(Verified {
                    holder: Holder::User(Arc::new(user)),
                    validity,
                    until: issuer.remembers_until(now),
                })
            }
        }
    }

    /// The checks of a token that this service has issued.
    async fn check_own(&self, jws: &Jws<'_>, header: &Header, now: Timestamp) -> Result<Verified> {
        if header.alg != "RS256" {
            return refuse("the token's alg is not RS256");
        }
        let Some(key) = self.registry.keys().find(&header.kid, now).cloned() else {
            return refuse("the token's kid is not known");
        };
        if !key.signed(jws.signed.as_bytes(), jws.signature) {
            return refuse("the token's signature is wrong");
        }
        let Some(claims) = jws.claims() else {
            return refuse("the token's claims are none");
        };
        let TokenClaims { iss, aud, .. } = &claims;
        if *iss != self.issuer {
            return refuse("the token is of another issuer");
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
            return refuse("the token's sub is not its client");
        }
        let Some(slot) = self.registry.slot(&claims.client_id).await? else {
            return refuse("the token's client is gone");
        };
        // The same claims give the same id: a token of a client that was deleted is none of the one that came after.
        let registered = slot
            .load()
            .as_ref()
            .map(|standing| standing.registered.seconds());
        if registered.is_some_and(|registered| iat.saturating_add(LEEWAY) < registered) {
            return refuse("the token's client is gone");
        }
        Ok(Verified {
            holder: Holder::Client(slot),
            validity,
            until: Timestamp(u64::MAX),
        })
    }
}
