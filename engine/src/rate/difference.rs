//! How the rates that a shop uses differ from those it used before, and what it holds from then on.
//!
//! Pure: `before` is what the shop held, `after` what [`used_rates`](super::used_rates) says now, the time comes in as
//! text. The host turns the three lists into a rates-changed message (`given.md`, 6.1) and keeps the fourth.

use super::{RateKey, UsedRate, in_order};

/// A rate that a shop holds: used, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldRate<'a> {
    /// As it is used.
    pub used: UsedRate<'a>,
    /// When the shop first got it; RFC 3339.
    pub created_date: &'a str,
    /// When its value, with or without markup, last changed; RFC 3339. A rate that is new was changed when it came.
    pub last_modified: Option<&'a str>,
}

/// What changed for a shop. Lists are by type, from and to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference<'a> {
    /// Rates the shop did not have.
    pub created: Vec<HeldRate<'a>>,
    /// Rates the shop had, of a pair of which either direction now has another value, with or without markup.
    pub updated: Vec<HeldRate<'a>>,
    /// Rates the shop no longer has, as it last used them.
    pub deleted: Vec<HeldRate<'a>>,
    /// All that the shop holds now.
    pub rates: Vec<HeldRate<'a>>,
}

impl Difference<'_> {
    /// Whether nothing changed that a shop would notice: no message then.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.created.is_empty() && self.updated.is_empty() && self.deleted.is_empty()
    }
}

/// What a shop had and has of one key.
struct Change<'r, 'a> {
    key: RateKey,
    before: Option<&'r HeldRate<'a>>,
    after: Option<&'r UsedRate<'a>>,
}

impl Change<'_, '_> {
    /// Whether it was there, still is, and has another value. Who set it and where does not count: a shop's own rate
    /// that gives way to an equal one of its company is no change (`rates.md`, "The topic").
    fn is_another_value(&self) -> bool {
        // Neither has trailing zeros, so equal values are equal bytes; Decimal's own comparison would first rescale.
        let bytes = |rate: &UsedRate<'_>| {
            [rate.value.value(), rate.value_with_markup.value()].map(|value| value.serialize())
        };
        self.before
            .zip(self.after)
            .is_some_and(|(before, after)| bytes(&before.used) != bytes(after))
    }
}

/// The difference between what a shop held and what it uses now; of several rates with one key the first counts.
///
/// `createdDate` stays while a rate changes and is `at` for one that is new, also after it was gone; `lastModified`
/// becomes `at` where the rate's own value changed (`rates.md`, "Which rates a shop uses"). An updated pair is told in
/// both directions, as "both directions are always present" (`given.md`, 6.1): the opposite of a rate in the thousands
/// often stays the same in six decimals, and only one of the two is then modified.
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
            (Some(gone), None) => {
                difference.deleted.push(*gone);
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
        let is_modified = change.is_another_value();
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

/// What there was and is of every key, by key.
fn changes<'r, 'a>(before: &'r [HeldRate<'a>], after: &'r [UsedRate<'a>]) -> Vec<Change<'r, 'a>> {
    let key_at = |place: usize| match before.get(place) {
        Some(rate) => Some(rate.used.key),
        None => after.get(place - before.len()).map(|rate| rate.key),
    };
    let mut changes: Vec<Change<'r, 'a>> = Vec::new();
    for (key, place) in in_order(before.len() + after.len(), &key_at) {
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
        match place.checked_sub(before.len()) {
            None => change.before = change.before.or_else(|| before.get(place)),
            Some(place) => change.after = change.after.or_else(|| after.get(place)),
        }
    }
    changes
}

fn is_opposite_modified(changes: &[Change<'_, '_>], key: RateKey) -> bool {
    changes
        .binary_search_by(|change| change.key.cmp(&key.opposite()))
        .ok()
        .and_then(|place| changes.get(place))
        .is_some_and(Change::is_another_value)
}
