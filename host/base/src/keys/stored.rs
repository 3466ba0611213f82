//! The stored keys of a ring: which one signs, how one follows another, and when one is removed.
//!
//! RSA 2048, one record for all hosts. A new key is published at once and signs once every cache of the published keys
//! has it; the key before it is removed when the last token that it signed has expired (`tokens.md`, "Keys"). The
//! record, the [`Schedule`] and the time determine all of that. A job only removes what is no longer needed: the
//! private half of a key once it no longer signs, then the rest of it. Pure; `ring.rs` makes the keys ready for use.

use std::time::Duration;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::problem::KEY_WAITING;
use tillgate_store::clock::Timestamp;

use super::new_key::{Jwk, NewKey};
use crate::error::{Error, Result};

/// Added to each duration, because the hosts' clocks differ and their caches may be a second old.
const MARGIN: Duration = Duration::from_secs(10);

/// The durations that determine how long a key waits before it signs, and how long it stays afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The time for which others may cache the published keys.
    pub max_age: Duration,
    /// The lifetime of a signed token.
    pub token_lifetime: Duration,
}

/// The stored keys of a ring, the newest last.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct StoredKeys(Vec<StoredKey>);

#[derive(Clone, Deserialize, Serialize)]
pub(super) struct StoredKey {
    pub(super) kid: String,
    pub(super) public: Jwk,
    /// PKCS #8, base64url; `None` once it no longer signs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) private: Option<String>,
    /// PEM; `None` in a ring that publishes no certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) certificate: Option<String>,
    pub(super) signs_from: Timestamp,
}

impl std::fmt::Debug for StoredKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredKey")
            .field("kid", &self.kid)
            .finish_non_exhaustive()
    }
}

/// The stage of a key's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SigningKeyStatus")]
pub enum Phase {
    /// The key is published, so that verifiers know it before it signs.
    Published,
    /// The key signs new tokens.
    Signing,
    /// The key no longer signs; tokens that it signed may still be valid.
    Retiring,
}

/// A key as operators see it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SigningKey")]
pub struct KeyState {
    /// The id of the key.
    pub kid: String,
    /// The stage of the key's life.
    pub status: Phase,
    /// The time from which it signs.
    #[schemars(extend("format" = "date-time"))]
    pub signs_from: String,
    /// The time at which it is removed; absent until another key follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub until: Option<String>,
}

/// The removed keys and parts of keys, by key id.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// Keys whose private half was removed.
    pub private_halves: Vec<String>,
    /// Keys that were removed.
    pub keys: Vec<String>,
}

impl StoredKeys {
    /// Returns a record without the private halves of its keys: enough to verify, not to sign.
    #[must_use]
    pub fn public_halves(record: &[u8]) -> Bytes {
        let mut keys: Self = serde_json::from_slice(record).unwrap_or_default();
        for key in &mut keys.0 {
            key.private = None;
        }
        serde_json::to_vec(&keys).unwrap_or_default().into()
    }

    /// Creates the record of the first start, whose key signs at once.
    #[must_use]
    pub fn first(key: &NewKey, now: Timestamp) -> Self {
        let mut keys = Self::default();
        keys.push(key, now);
        keys
    }

    /// Publishes a key that will sign.
    ///
    /// # Errors
    /// [`Error::Conflict`] while another published key does not sign yet.
    pub fn rotate(&mut self, key: &NewKey, now: Timestamp, schedule: Schedule) -> Result<()> {
        if let Some(waiting) = self.0.last().filter(|newest| now < newest.signs_from) {
            let detail = format!(
                "the key {} is already published and signs from {}",
                waiting.kid,
                waiting.signs_from.to_millis_text()
            );
            return Err(Error::Conflict(KEY_WAITING, detail));
        }
        self.push(key, now.plus(schedule.max_age).plus(MARGIN));
        Ok(())
    }

    fn push(&mut self, key: &NewKey, signs_from: Timestamp) {
        self.0.push(StoredKey {
            kid: key.kid.clone(),
            public: key.public.clone(),
            private: Some(key.private.clone()),
            certificate: key.certificate.clone(),
            signs_from,
        });
    }

    /// Removes what is no longer needed: the private half of a key that no longer signs, and keys whose tokens have all
    /// expired.
    pub fn retire(&mut self, now: Timestamp, schedule: Schedule) -> Retired {
        let expired = (0..self.0.len())
            .take_while(|index| self.removal(*index, schedule).is_some_and(|at| at <= now))
            .count();
        let mut retired = Retired {
            keys: self.0.drain(..expired).map(|key| key.kid).collect(),
            ..Retired::default()
        };
        for index in 0..self.0.len() {
            let is_over = self.end_of_signing(index).is_some_and(|end| end <= now);
            if is_over
                && let Some(key) = self.0.get_mut(index)
                && key.private.take().is_some()
            {
                retired.private_halves.push(key.kid.clone());
            }
        }
        retired
    }

    /// Returns the time of the next removal.
    #[must_use]
    pub fn next_retirement(&self, schedule: Schedule) -> Option<Timestamp> {
        let each = self.0.iter().enumerate();
        each.filter_map(|(index, key)| match key.private {
            Some(_) => self.end_of_signing(index),
            None => self.removal(index, schedule),
        })
        .min()
    }

    /// Returns the keys as operators see them, the newest last.
    #[must_use]
    pub fn states(&self, now: Timestamp, schedule: Schedule) -> Vec<KeyState> {
        let each = self.0.iter().enumerate();
        each.filter_map(|(index, key)| {
            let removal = self.removal(index, schedule);
            let is_there = removal.is_none_or(|at| now < at);
            is_there.then(|| KeyState {
                kid: key.kid.clone(),
                status: self.phase(index, key, now),
                signs_from: key.signs_from.to_millis_text(),
                until: removal.map(Timestamp::to_millis_text),
            })
        })
        .collect()
    }

    fn phase(&self, index: usize, key: &StoredKey, now: Timestamp) -> Phase {
        if now < key.signs_from {
            return Phase::Published;
        }
        match self.0.get(index + 1) {
            Some(next) if next.signs_from <= now => Phase::Retiring,
            _ => Phase::Signing,
        }
    }

    /// Returns each key with the time of its removal.
    pub(super) fn iter(
        &self,
        schedule: Schedule,
    ) -> impl Iterator<Item = (&StoredKey, Option<Timestamp>)> {
        let each = self.0.iter().enumerate();
        each.map(move |(index, key)| (key, self.removal(index, schedule)))
    }

    /// Returns the time from which no host signs with a key.
    fn end_of_signing(&self, index: usize) -> Option<Timestamp> {
        let next = self.0.get(index + 1)?;
        Some(next.signs_from.plus(MARGIN))
    }

    /// Returns the time when the last token that a key signed has expired, which is some time after the next key signs.
    fn removal(&self, index: usize, schedule: Schedule) -> Option<Timestamp> {
        let next = self.0.get(index + 1)?;
        Some(next.signs_from.plus(schedule.token_lifetime).plus(MARGIN))
    }
}
