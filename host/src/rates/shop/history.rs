//! The history of what is set at each business unit: rows of where it stands and its markup, and rows of each pair.
//!
//! A row says what a change changed, with what was there before and after; the time is in its key. So the state at a time is
//! that before the first row that follows, or what is set now, and a page of a rate's history is read from the rows of its
//! time alone. Rows are retained 400 days (`retention.rs`). `values.rs` computes from them what a unit used at any time.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tillgate_engine::rate::RateKey;

use crate::clock::Timestamp;
use crate::data::records::{Change, Records, decode_entry};
use crate::error::{Error, Result};
use crate::rates::units::json::to_json;
use crate::rates::units::tree::Node;
use crate::rates::units::unit::{UnitId, UnitSettings};

/// The records of the history.
pub(in crate::rates) const HISTORY: &str = "rates-history/";

/// What stands in a key in place of a pair.
const PLACES: &str = "unit";

/// Before and after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::rates) struct Changed<T> {
    pub(in crate::rates) before: T,
    pub(in crate::rates) after: T,
}

/// Where a unit stands, and its markup for all pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rates) struct Placed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) parent_id: Option<UnitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) markup_percentage: Option<String>,
}

impl Placed {
    pub(in crate::rates) fn of(settings: &UnitSettings) -> Self {
        Self {
            parent_id: settings.parent_id.clone(),
            markup_percentage: settings.markup_percentage.clone(),
        }
    }
}

/// What is set at a unit for a pair: decimals. The first direction is that of the smaller key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rates) struct PairState {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) rate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) opposite: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) markup: Option<String>,
}

impl PairState {
    /// The rate of a direction.
    fn rate_mut(&mut self, key: RateKey) -> &mut Option<String> {
        match key == pair_of(key) {
            true => &mut self.rate,
            false => &mut self.opposite,
        }
    }
}

/// The key of a pair's first direction.
pub(in crate::rates) fn pair_of(key: RateKey) -> RateKey {
    key.min(key.opposite())
}

/// What a change of a unit changed.
#[derive(Clone, Debug, Default)]
pub(in crate::rates) struct Entry {
    /// Where it stands, if that changed; `None` where it does not exist.
    place: Option<Changed<Option<Placed>>>,
    /// The pairs that changed, by the key of their first direction.
    pairs: BTreeMap<RateKey, Changed<PairState>>,
}

impl Entry {
    /// What changed between two states of a unit.
    pub(in crate::rates) fn between(before: Option<&Node>, after: Option<&Node>) -> Self {
        let place = |node: Option<&Node>| node.map(|node| Placed::of(&node.unit().settings));
        let place = Changed {
            before: place(before),
            after: place(after),
        };
        let mut pairs: BTreeMap<RateKey, Changed<PairState>> = BTreeMap::new();
        for (node, is_after) in [(before, false), (after, true)] {
            let Some(node) = node else { continue };
            let mut state = |key: RateKey| {
                let changed = pairs.entry(pair_of(key)).or_default();
                match is_after {
                    true => &mut changed.after,
                    false => &mut changed.before,
                }
            };
            for (key, rate) in node.rates.rates.iter() {
                *state(key).rate_mut(key) = Some(rate.value.clone());
            }
            for markup in &node.unit().settings.markups {
                state(markup.key).markup = Some(markup.markup_percentage.clone());
            }
        }
        pairs.retain(|_, changed| changed.before != changed.after);
        Self {
            place: (place.before != place.after).then_some(place),
            pairs,
        }
    }

    /// The rates whose values changed, each direction of its own.
    pub(in crate::rates) fn changed_rates(&self) -> Vec<RateKey> {
        let mut changed = Vec::new();
        for (key, Changed { before, after }) in &self.pairs {
            if before.rate != after.rate {
                changed.push(*key);
            }
            if before.opposite != after.opposite {
                changed.push(key.opposite());
            }
        }
        changed
    }

    /// Adds the rows of it to the change that it is about.
    ///
    /// # Errors
    /// [`Error::Bug`] for what has no JSON form.
    pub(in crate::rates) fn record(
        &self,
        change: &mut Change,
        id: &UnitId,
        at: Timestamp,
    ) -> Result<()> {
        if let Some(place) = &self.place {
            change.put(&row_key(&place_prefix(id), at), place)?;
        }
        for (key, pair) in &self.pairs {
            change.put(&row_key(&pair_prefix(id, *key), at), pair)?;
        }
        Ok(())
    }
}

fn place_prefix(id: &UnitId) -> String {
    format!("{HISTORY}{}/{PLACES}/", id.as_str())
}

fn pair_prefix(id: &UnitId, key: RateKey) -> String {
    let key = pair_of(key);
    let (from, to) = (key.pair.from().as_str(), key.pair.to().as_str());
    let rate_type = key.rate_type.as_str();
    format!("{HISTORY}{}/{rate_type} {from} {to}/", id.as_str())
}

fn row_key(prefix: &str, at: Timestamp) -> String {
    format!("{prefix}{:020}", at.0)
}

/// When the row of a key was made.
pub(in crate::rates) fn time_of(key: &str) -> Option<Timestamp> {
    let (_, at) = key.rsplit_once('/')?;
    at.parse().ok().map(Timestamp)
}

/// The row of a rate that was imported for a time in the past: its key and its JSON.
///
/// # Errors
/// [`Error::Bug`] for what has no JSON form.
pub(in crate::rates) fn backdated(
    id: &UnitId,
    at: Timestamp,
    key: RateKey,
    value: Changed<Option<String>>,
) -> Result<(String, Bytes)> {
    let mut row = Changed::<PairState>::default();
    *row.before.rate_mut(key) = value.before;
    *row.after.rate_mut(key) = value.after;
    Ok((row_key(&pair_prefix(id, key), at), to_json(&row)?))
}

/// When the oldest row of a pair was made, if there is one.
///
/// # Errors
/// [`Error::Unavailable`].
pub(in crate::rates) async fn oldest(
    records: &Records,
    id: &UnitId,
    key: RateKey,
) -> Result<Option<Timestamp>> {
    let page = records.scan(&pair_prefix(id, key), None, 1).await?;
    Ok(page.entries.first().and_then(|(key, _)| time_of(key)))
}

/// Rows from a time on, oldest first; with [`Rows::until`], only those up to then were read.
#[derive(Debug)]
pub(super) struct Rows<T> {
    pub(super) rows: Vec<(Timestamp, Changed<T>)>,
    pub(super) until: Option<Timestamp>,
}

/// Where a unit stood from a time on, `max` rows at most.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a row is damaged.
pub(super) async fn places(
    records: &Records,
    id: &UnitId,
    since: Timestamp,
    max: usize,
) -> Result<Rows<Option<Placed>>> {
    read(records, &place_prefix(id), since, max).await
}

/// What was set for a pair at a unit from a time on, `max` rows at most.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a row is damaged.
pub(super) async fn pair(
    records: &Records,
    id: &UnitId,
    key: RateKey,
    since: Timestamp,
    max: usize,
) -> Result<Rows<PairState>> {
    read(records, &pair_prefix(id, key), since, max).await
}

async fn read<T: DeserializeOwned>(
    records: &Records,
    prefix: &str,
    since: Timestamp,
    max: usize,
) -> Result<Rows<T>> {
    let after = since.0.checked_sub(1);
    let after = after.map(|before| row_key(prefix, Timestamp(before)));
    let page = records.scan(prefix, after.as_deref(), max).await?;
    let mut rows = Vec::with_capacity(page.entries.len());
    for (key, entry) in &page.entries {
        let at = time_of(key).ok_or_else(|| Error::Bug(format!("{key} has no time")))?;
        rows.push((at, decode_entry(key, entry)?.record));
    }
    let last = rows.last().map(|(at, _)| *at);
    Ok(Rows {
        rows,
        until: last.filter(|_| page.more),
    })
}
