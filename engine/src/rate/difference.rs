//! Compares the rates that a shop uses with those it used before, and returns the rates that it holds from then on.
//!
//! Pure: `before` is what the shop held, `after` is the result of [`used_rates`](super::used_rates), and the time is an
//! argument. The first three lists form a rates-changed message (`given.md`, 6.1); the fourth is what the shop holds.

use super::{RateKey, UsedRate, sorted_keys};

/// A rate that a shop uses, with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldRate<'a> {
    /// The rate.
    pub used: UsedRate<'a>,
    /// The time when the shop first got it, in RFC 3339.
    pub created_date: &'a str,
    /// The time when its value, with or without markup, last changed, in RFC 3339. For a new rate, the time when the
    /// shop got it.
    pub last_modified: Option<&'a str>,
}

/// The changes for a shop. Every list is sorted by type, source and target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference<'a> {
    /// Rates that the shop did not have before.
    pub created: Vec<HeldRate<'a>>,
    /// Rates that the shop already had, in pairs where either direction now has another value, with or without markup.
    pub updated: Vec<HeldRate<'a>>,
    /// Rates that the shop no longer has, as it last used them.
    pub deleted: Vec<HeldRate<'a>>,
    /// All rates that the shop holds now.
    pub rates: Vec<HeldRate<'a>>,
}

impl Difference<'_> {
    /// Returns whether nothing changed for the shop, so that there is no message.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.updated.is_empty() && self.deleted.is_empty()
    }
}

/// The rate of one key, before and after.
struct Change<'r, 'a> {
    key: RateKey,
    before: Option<&'r HeldRate<'a>>,
    after: Option<&'r UsedRate<'a>>,
}

impl Change<'_, '_> {
    /// Returns whether the rate exists before and after, with different values. Who set it and where does not count:
    /// replacing a shop's own rate with an equal one of its company is no change (`rates.md`, "The topic").
    fn is_modified(&self) -> bool {
        // Neither has trailing zeros, so equal values have equal bytes; comparing Decimals would rescale them first.
        let bytes = |rate: &UsedRate<'_>| {
            [rate.value.value(), rate.value_with_markup.value()].map(|value| value.serialize())
        };
        self.before
            .zip(self.after)
            .is_some_and(|(before, after)| bytes(&before.used) != bytes(after))
    }
}

/// Returns the difference between what a shop held and what it uses now. The first rate with a given key counts.
///
/// `created_date` stays the same while a rate changes; for a new rate it is `at`, even if the rate existed earlier.
/// `last_modified` becomes `at` if the rate's own value changed (`rates.md`, "Which rates a shop uses"). An updated
/// pair is listed in both directions, because "both directions are always present" (`given.md`, 6.1), although often
/// only one changed: the opposite of a rate in the thousands rarely changes in six decimals.
#[must_use]
pub fn difference<'a>(
    before: &[HeldRate<'a>],
    after: &[UsedRate<'a>],
    at: &'a str,
) -> Difference<'a> {
    let changes = changes(before, after);
    let mut difference = Difference::default();
    for change in &changes {
        let used = match (change.before, change.after) {
            (Some(deleted), None) => {
                difference.deleted.push(*deleted);
                continue;
            }
            (_, Some(used)) => *used,
            (None, None) => continue,
        };
        let Some(before) = change.before else {
            let new = HeldRate {
                used,
                created_date: at,
                last_modified: Some(at),
            };
            difference.created.push(new);
            difference.rates.push(new);
            continue;
        };
        let is_modified = change.is_modified();
        let last_modified = if is_modified {
            Some(at)
        } else {
            before.last_modified
        };
        let now = HeldRate {
            used,
            created_date: before.created_date,
            last_modified,
        };
        if is_modified || is_opposite_modified(&changes, change.key) {
            difference.updated.push(now);
        }
        difference.rates.push(now);
    }
    difference
}

/// Returns the rates of every key before and after, sorted by key.
fn changes<'r, 'a>(before: &'r [HeldRate<'a>], after: &'r [UsedRate<'a>]) -> Vec<Change<'r, 'a>> {
    let key_at = |index: usize| match before.get(index) {
        Some(rate) => Some(rate.used.key),
        None => after.get(index - before.len()).map(|rate| rate.key),
    };
    let mut changes: Vec<Change<'r, 'a>> = Vec::new();
    for (key, index) in sorted_keys(before.len() + after.len(), &key_at) {
        if changes.last().is_none_or(|last| last.key != key) {
            changes.push(Change {
                key,
                before: None,
                after: None,
            });
        }
        let Some(change) = changes.last_mut() else {
            continue;
        };
        match index.checked_sub(before.len()) {
            None => change.before = change.before.or_else(|| before.get(index)),
            Some(index) => change.after = change.after.or_else(|| after.get(index)),
        }
    }
    changes
}

fn is_opposite_modified(changes: &[Change<'_, '_>], key: RateKey) -> bool {
    changes
        .binary_search_by(|change| change.key.cmp(&key.opposite()))
        .ok()
        .and_then(|index| changes.get(index))
        .is_some_and(Change::is_modified)
}
