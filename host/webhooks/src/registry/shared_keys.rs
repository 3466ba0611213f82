//! The shared keys of a webhook over time (`webhooks.md`, "A delivery": Rotation). After a rotation with an overlap the
//! old key keeps signing until the overlap ends; there are never more than two. Pure.

use std::sync::Arc;
use std::time::Duration;

use tillgate_api::values::parse_duration;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Secret;
use tillgate_engine::signature::SharedKey;
use tillgate_store::clock::Timestamp;

use super::webhook::{PreviousKey, Settings, Webhook};

const MAX_OVERLAP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The keys that sign at a time.
#[derive(Debug)]
pub(crate) struct Keys {
    /// The webhook's current key.
    pub(crate) present: SharedKey,
    /// The key before it, while that is still used.
    pub(crate) previous: Option<SharedKey>,
}

impl Keys {
    /// Returns the key to sign with where there is room for one signature: receivers know the old key for certain.
    pub(crate) fn of_one_value(&self) -> &SharedKey {
        self.previous.as_ref().unwrap_or(&self.present)
    }

    /// Returns all of them, newest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &SharedKey> {
        [&self.present].into_iter().chain(&self.previous)
    }
}

impl Settings {
    /// Returns the keys that sign at a time.
    pub(crate) fn keys(&self, at: Timestamp) -> Result<Option<Keys>> {
        let Some(present) = &self.shared_key else {
            return Ok(None);
        };
        let previous = self.previous_key.as_ref().filter(|old| old.is_used(at));
        Ok(Some(Keys {
            present: parse(present)?,
            previous: previous.map(|old| parse(&old.key)).transpose()?,
        }))
    }
}

impl Webhook {
    /// Gives it a new key; the one that it had keeps signing for `overlap`. A key before that ends at once.
    pub(crate) fn rotate_key(&mut self, key: Secret, now: Timestamp, overlap: Duration) {
        let old = self.settings.shared_key.replace(key);
        let old = old.filter(|_| !overlap.is_zero());
        self.settings.previous_key = old.map(|key| PreviousKey {
            key,
            ends_at: now.plus(overlap),
        });
    }

    /// Returns the webhook as it is at a time: without an old key that has ended.
    pub(crate) fn as_of(mut self: Arc<Self>, now: Timestamp) -> Arc<Self> {
        let old = self.settings.previous_key.as_ref();
        if old.is_some_and(|old| !old.is_used(now)) {
            Arc::make_mut(&mut self).end_previous_key(now);
        }
        self
    }

    /// Drops the old key once it has ended.
    pub(crate) fn end_previous_key(&mut self, now: Timestamp) {
        let ended = self.settings.previous_key.take_if(|old| !old.is_used(now));
        if let Some(ended) = ended {
            self.key_changed_at = Some(ended.ends_at);
        }
    }

    /// Returns whether the keys that signed at a time are known and may sign now.
    pub(crate) fn has_had_its_keys_since(&self, at: Timestamp, now: Timestamp) -> bool {
        let changed = self.key_changed_at.unwrap_or(self.last_modified);
        let ended = self.settings.previous_key.as_ref();
        let ended = ended.filter(|old| !old.is_used(now)).map(|old| old.ends_at);
        changed.max(ended.unwrap_or(changed)) <= at
    }
}

impl PreviousKey {
    fn is_used(&self, at: Timestamp) -> bool {
        at < self.ends_at
    }
}

/// Reads the time for which the old key keeps signing, such as `24h`.
///
/// # Errors
/// The rule that the text breaks.
pub(crate) fn overlap(text: &str) -> Result<Duration, &'static str> {
    let overlap = parse_duration(text).filter(|overlap| *overlap <= MAX_OVERLAP);
    overlap.ok_or("must be a duration such as 0s, 1h, 24h or 7 days, at most 7 days")
}

fn parse(key: &Secret) -> Result<SharedKey> {
    let damaged = || Error::Bug("a stored shared key is malformed".to_owned());
    SharedKey::parse(key.reveal()).ok_or_else(damaged)
}
