//! A bounded cache of signed bearer tokens, by audience: one signature serves an hour of deliveries.
//!
//! Each audience has an entry with its own lock: the first delivery that finds no usable token signs one while the
//! others to that audience wait for it. The identity provider decides which key signs, and when.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Mutex as Lock;

/// The most audiences in a generation; the cache has two generations.
const GENERATION: usize = 4_096;

/// The time before its expiry at which a token is renewed, in seconds (`webhooks.md`, "A delivery").
const RENEWED_BEFORE: u64 = 5 * 60;

/// A signed token. Times are seconds since the epoch.
#[derive(Debug)]
pub(crate) struct Bearer {
    /// The id of the key that signed it.
    pub(crate) kid: String,
    pub(crate) token: Arc<str>,
    pub(crate) issued: u64,
    pub(crate) expires: u64,
}

impl Bearer {
    /// Returns whether deliveries may use it while the key `kid` signs. Setting the clock back does not make it last
    /// longer.
    pub(crate) fn is_usable(&self, kid: &str, now: u64) -> bool {
        self.kid == kid && self.issued <= now && now.saturating_add(RENEWED_BEFORE) < self.expires
    }
}

/// The token of one audience.
pub(crate) type Entry = Lock<Option<Bearer>>;

#[derive(Debug, Default)]
pub(crate) struct BearerCache(Mutex<Generations>);

/// A full young generation becomes the old one, and entries of the old one that were not used since are dropped.
#[derive(Debug, Default)]
struct Generations {
    young: HashMap<Arc<str>, Arc<Entry>>,
    old: HashMap<Arc<str>, Arc<Entry>>,
}

impl BearerCache {
    pub(crate) fn count(&self) -> usize {
        let generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        generations.young.len() + generations.old.len()
    }

    pub(crate) fn entry(&self, audience: &str) -> Arc<Entry> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = generations.young.get(audience) {
            return Arc::clone(entry);
        }
        let old = generations.old.remove_entry(audience);
        let (audience, entry) = old.unwrap_or_else(|| (Arc::from(audience), Arc::default()));
        if generations.young.len() >= GENERATION {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(audience, Arc::clone(&entry));
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_for_stays_and_the_number_of_audiences_is_bounded() {
        let cache = BearerCache::default();
        let often = cache.entry("often");
        let once = cache.entry("once");
        for number in 0..3 * GENERATION {
            cache.entry(&number.to_string());
            assert!(Arc::ptr_eq(&often, &cache.entry("often")));
        }
        assert!(!Arc::ptr_eq(&once, &cache.entry("once")));
        let generations = cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(generations.young.len() + generations.old.len() <= 2 * GENERATION);
    }

    #[test]
    fn a_token_is_usable_with_its_key_until_five_minutes_before_it_expires() {
        let bearer = Bearer {
            kid: "a".to_owned(),
            token: "token".into(),
            issued: 1_000,
            expires: 4_600,
        };
        let rows = [
            ("a", 1_000, true),
            ("a", 4_299, true),
            ("a", 4_300, false),
            ("a", 999, false),
            ("b", 1_000, false),
        ];
        for (kid, now, expected) in rows {
            assert_eq!(bearer.is_usable(kid, now), expected, "{kid} {now}");
        }
    }
}
