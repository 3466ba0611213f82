//! Counts deliveries and failed attempts by webhook and hour.
//!
//! Each host has its own counts, so that no other host writes them; they are added up when they are read (`health.rs`).

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

/// The most counts in memory.
const MAX_COUNTED: usize = 50_000;

/// The key prefix of counts; `{hour}/{webhook}/{host}` follows.
pub(crate) const COUNTS: &str = "webhook-counts/";

/// The counts of a webhook in an hour.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, Serialize)]
pub(crate) struct Counts {
    pub(crate) delivered: u64,
    pub(crate) failed: u64,
}

/// An attempt to count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) webhook: Uuid,
    pub(crate) at: Timestamp,
    pub(crate) has_succeeded: bool,
}

/// The counts of this host since it started, for this hour and the one before.
#[derive(Debug)]
pub(super) struct HostCounts {
    /// Tells the counts of this host from those of others, and from its own before a restart.
    host: Uuid,
    counts: HashMap<(u64, Uuid), Counts>,
    newest_hour: u64,
}

impl HostCounts {
    pub(super) fn new() -> Self {
        Self {
            host: Uuid::new_v4(),
            counts: HashMap::new(),
            newest_hour: 0,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.counts.len()
    }

    /// Counts attempts; returns the changed records by key.
    pub(super) fn add(&mut self, all: impl Iterator<Item = Counted>) -> HashMap<String, Counts> {
        let mut changed = HashMap::new();
        for counted in all {
            let (hour, webhook) = (hour_of(counted.at), counted.webhook);
            if hour > self.newest_hour {
                self.newest_hour = hour;
                self.counts.retain(|(of, _), _| of + 1 >= hour);
            }
            if self.counts.len() >= MAX_COUNTED && !self.counts.contains_key(&(hour, webhook)) {
                // The stored counts stay; this host goes on under a new id, and reading adds up both.
                self.counts.clear();
                self.host = Uuid::new_v4();
            }
            let counts = self.counts.entry((hour, webhook)).or_default();
            if counted.has_succeeded {
                counts.delivered += 1
            } else {
                counts.failed += 1
            }
            let key = format!("{}{webhook}/{}", hour_prefix(hour), self.host);
            changed.insert(key, *counts);
        }
        changed
    }
}

/// Returns the hour of a time, since the epoch.
pub(crate) const fn hour_of(at: Timestamp) -> u64 {
    at.seconds() / 3_600
}

pub(crate) fn hour_prefix(hour: u64) -> String {
    format!("{COUNTS}{hour:010}/")
}

/// Returns the hour and the webhook in a record's key.
pub(super) fn read_key(key: &str) -> Option<(u64, Uuid)> {
    let (hour, rest) = key.strip_prefix(COUNTS)?.split_once('/')?;
    let (webhook, _) = rest.split_once('/')?;
    Some((hour.parse().ok()?, Uuid::try_parse(webhook).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_counted_by_webhook_and_hour_and_two_hours_are_kept() {
        let mut host = HostCounts::new();
        let attempt = |hour: u64, webhook, has_succeeded| Counted {
            webhook: Uuid::from_u128(webhook),
            at: Timestamp(hour * 3_600_000_000),
            has_succeeded,
        };
        let first = [(7, 1, true), (7, 1, false), (7, 2, true), (8, 1, true)];
        let changed = host.add(first.into_iter().map(|(h, w, s)| attempt(h, w, s)));
        let mut found: Vec<_> = changed
            .iter()
            .filter_map(|(key, counts)| Some((read_key(key)?, counts.delivered, counts.failed)))
            .collect();
        found.sort_unstable();
        let [one, two] = [1, 2].map(Uuid::from_u128);
        assert_eq!(
            found,
            [((7, one), 1, 1), ((7, two), 1, 0), ((8, one), 1, 0)]
        );
        let again = host.add([attempt(7, 1, true)].into_iter());
        assert_eq!(again.values().map(|it| it.delivered).sum::<u64>(), 2);
        host.add([attempt(9, 1, true)].into_iter());
        assert_eq!(host.counts.len(), 2, "of hours 8 and 9");
    }

    #[test]
    fn no_attempt_is_lost_when_there_are_too_many_webhooks_to_count() {
        let mut host = HostCounts::new();
        let mut stored = HashMap::new();
        for _ in 0..2 {
            let all = (0..110_000).map(|webhook| Counted {
                webhook: Uuid::from_u128(webhook),
                at: Timestamp(0),
                has_succeeded: true,
            });
            stored.extend(host.add(all));
            assert!(host.counts.len() <= MAX_COUNTED);
        }
        let delivered: u64 = stored.values().map(|counts| counts.delivered).sum();
        assert_eq!(delivered, 220_000);
    }
}
