//! From a token to its caller: the checks of `tokens.md`, "Verifying a caller", in that order.
//!
//! A token that was verified is remembered with its client's slot until it expires; what its client may do is read from
//! the slot every time, so revoking works at once. Asking for a remembered token costs one look-up under a lock that is
//! shared by few and written rarely.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Tokens;
use super::caller::Caller;
use super::registry::{Slot, Standing};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::follow::Follow;

/// The longest token that is looked at.
const MAX_TOKEN: usize = 8 << 10;

/// How far the clocks of hosts may differ: seconds.
const LEEWAY: u64 = 5;

/// How many tokens are remembered: shards, and tokens of each.
const SHARDS: usize = 16;
const PER_SHARD: usize = 2_048;

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: String,
    typ: Option<String>,
    #[serde(default, deserialize_with = "present")]
    crit: bool,
}

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

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    fn contains(&self, audience: &str) -> bool {
        match self {
            Self::One(one) => one == audience,
            Self::Several(several) => several.iter().any(|one| one == audience),
        }
    }
}

/// A member that must not be there, whatever its value.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| true)
}

/// A token that was verified.
#[derive(Clone, Debug)]
struct Verified {
    slot: Arc<Slot>,
    /// Seconds since the epoch.
    nbf: u64,
    exp: u64,
}

impl Verified {
    fn caller(&self, now: Timestamp) -> Result<Caller> {
        self.is_of(now)?;
        caller(self.slot.load().as_deref())
    }

    fn is_of(&self, now: Timestamp) -> Result<()> {
        if now.seconds() >= self.exp.saturating_add(LEEWAY) {
            return refuse("the token has expired");
        }
        if self.nbf > now.seconds().saturating_add(LEEWAY) {
            return refuse("the token is not valid yet");
        }
        Ok(())
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

fn refuse<T>(why: &'static str) -> Result<T> {
    Err(Error::Unauthenticated(why))
}

impl Tokens {
    /// The caller that a token names.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] saying why it names none; [`Error::Unavailable`] when the store is away and the client
    /// is not in memory, or what is in memory is older than a second.
    pub async fn verify(&self, token: &str) -> Result<Caller> {
        let now = self.clock.now();
        self.registry.be_fresh(now).await?;
        if let Some(verified) = self.remembered.get(token) {
            return verified.caller(now);
        }
        let verified = self.check(token, now).await?;
        let caller = verified.caller(now)?;
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
        if header.alg != "RS256" {
            return refuse("the token's alg is not RS256");
        }
        if header.crit {
            return refuse("the token's header has critical members that are not known");
        }
        if header
            .typ
            .is_some_and(|typ| !matches!(typ.as_str(), "JWT" | "at+jwt"))
        {
            return refuse("the token is of another type");
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
        if claims.iss != self.issuer {
            return refuse("the token is of another issuer");
        }
        if !claims.aud.contains(&self.audience) {
            return refuse("the token is for another audience");
        }
        self.check_client(&claims, now).await
    }

    async fn check_client(&self, claims: &TokenClaims, now: Timestamp) -> Result<Verified> {
        let &TokenClaims { nbf, exp, iat, .. } = claims;
        let times = Verified {
            slot: Arc::default(),
            nbf,
            exp,
        };
        times.is_of(now)?;
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
        Ok(Verified { slot, ..times })
    }
}

/// A JWS in its compact form.
struct Jws<'t> {
    signed: &'t str,
    header: &'t str,
    payload: &'t str,
    signature: &'t str,
}

impl<'t> Jws<'t> {
    fn split(token: &'t str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        let parts = [header, payload, signature];
        let whole = parts
            .iter()
            .all(|part| !part.is_empty() && !part.contains('.'));
        whole.then_some(Self {
            signed,
            header,
            payload,
            signature,
        })
    }

    /// Unpadded base64url, without bits to spare.
    fn decode(part: &str) -> Option<Vec<u8>> {
        BASE64_URL_SAFE_NO_PAD.decode(part).ok()
    }

    fn header(&self) -> Option<Header> {
        serde_json::from_slice(&Self::decode(self.header)?).ok()
    }

    fn claims(&self) -> Option<TokenClaims> {
        serde_json::from_slice(&Self::decode(self.payload)?).ok()
    }
}

/// Tokens that were verified, by their whole text.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    shards: [RwLock<Shard>; SHARDS],
}

type Shard = HashMap<Box<str>, Verified, foldhash::quality::RandomState>;

impl Remembered {
    fn get(&self, token: &str) -> Option<Verified> {
        let shard = self
            .shard(token)?
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        shard.get(token).cloned()
    }

    fn insert(&self, token: &str, verified: Verified, now: Timestamp) {
        let Some(shard) = self.shard(token) else {
            return;
        };
        let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
        if shard.len() >= PER_SHARD {
            shard.retain(|_, verified| verified.is_of(now).is_ok());
        }
        if shard.len() >= PER_SHARD {
            // Any half: their owners pay for one signature more.
            let mut keep = false;
            shard.retain(|_, _| {
                keep = !keep;
                keep
            });
        }
        shard.insert(token.into(), verified);
    }

    /// Signatures are as good as random, and only tokens whose signature was right get in.
    fn shard(&self, token: &str) -> Option<&RwLock<Shard>> {
        let tail = token.as_bytes().iter().rev().skip(1).take(4);
        let sum: usize = tail.map(|byte| usize::from(*byte)).sum();
        self.shards.get(sum % SHARDS)
    }
}
