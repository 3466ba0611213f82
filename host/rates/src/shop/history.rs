//! The history of what is set at each business unit: rows of its place and its markup, and rows of pairs.
//!
//! A row has what a change changed, before and after; the time is in its key. The state at a time is therefore the one
//! before the first row that follows, or what is set now, and a page of a rate's history is read from the rows of its
//! time. The pairs of a unit are divided into buckets, so that a change of ten thousand rates has few rows, and a page
//! of one pair reads few others. The author and the note of a change have a row of their own, once for all of its
//! pairs. Rows are retained for 400 days, unless configured otherwise (`retention.rs`).
//!
//! A row says which rates come from a document; `quotes.rs` has the days on which those were published.
//! `history_page.rs` computes from both what a unit used at any time.

use std::collections::BTreeMap;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tillgate_api::rate::key;
use tillgate_api::schema::{made_by, note};
use tillgate_base::data::note::Note;
use tillgate_base::data::records::{Change, PAGE, Records, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::By;
use tillgate_engine::rate::RateKey;
use tillgate_store::clock::Timestamp;

use crate::units::json::to_json;
use crate::units::set_rates::SetRate;
use crate::units::tree::Node;
use crate::units::unit::{UnitId, UnitSettings};

/// The prefix of the records of the history.
pub(crate) const HISTORY: &str = "rates-history/";

/// The parts of a key in place of a bucket: in rows of a unit's place, and of who has changed it.
const PLACES: &str = "unit";
const MADE: &str = "made";

/// The number of buckets for the pairs of a unit.
const BUCKETS: u32 = 64;

/// A state before and after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changed<T> {
    pub(crate) before: T,
    pub(crate) after: T,
}

impl<T> Changed<T> {
    const fn state_mut(&mut self, is_after: bool) -> &mut T {
        if is_after {
            &mut self.after
        } else {
            &mut self.before
        }
    }
}

/// The author of a change and the reason for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Made {
    #[schemars(schema_with = "made_by")]
    pub(crate) by: By,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "note")]
    pub(crate) note: Option<Note>,
}

/// The place of a unit, and its markup for all pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Placed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent_id: Option<UnitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) markup_percentage: Option<String>,
}

impl Placed {
    pub(crate) fn of(settings: &UnitSettings) -> Self {
        Self {
            parent_id: settings.parent_id.clone(),
            markup_percentage: settings.markup_percentage.clone(),
        }
    }
}

/// The decimals that are set at a unit for a pair. The first direction is that of the smaller key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PairState {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<String>,
    /// The day of the document that it comes from: `2026-11-20`; `None` if people have set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate_date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) opposite: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) opposite_date: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) markup: Option<String>,
}

impl PairState {
    /// Returns whether either direction is set.
    pub(super) const fn has_rate(&self) -> bool {
        self.rate.is_some() || self.opposite.is_some()
    }

    /// Sets the rate of a direction.
    fn set(&mut self, key: RateKey, rate: &SetRate) {
        let value = Some(rate.value.clone());
        let date = rate.reference.as_ref().map(|it| it.date.clone());
        if key == pair_of(key) {
            (self.rate, self.rate_date) = (value, date)
        } else {
            (self.opposite, self.opposite_date) = (value, date)
        }
    }
}

/// A pair that a change changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ChangedPair {
    #[serde(flatten, with = "key")]
    key: RateKey,
    #[serde(flatten)]
    state: Changed<PairState>,
}

/// Returns the key of a pair's first direction.
pub(crate) fn pair_of(key: RateKey) -> RateKey {
    key.min(key.opposite())
}

/// The effects of a change of a unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The unit's place, if it changed; a state is `None` where the unit does not exist.
    place: Option<Changed<Option<Placed>>>,
    /// The pairs that changed, by the key of their first direction.
    pairs: BTreeMap<RateKey, Changed<PairState>>,
}

impl Entry {
    /// Compares two states of a unit.
    pub(crate) fn between(before: Option<&Node>, after: Option<&Node>) -> Self {
        let place = |node: Option<&Node>| node.map(|node| Placed::of(&node.unit().settings));
        let place = Changed {
            before: place(before),
            after: place(after),
        };
        let mut pairs: BTreeMap<RateKey, Changed<PairState>> = BTreeMap::new();
        for (node, is_after) in [(before, false), (after, true)] {
            let Some(node) = node else { continue };
            for (key, rate) in node.rates.rates.iter() {
                let state = pairs.entry(pair_of(key)).or_default().state_mut(is_after);
                state.set(key, rate);
            }
            for markup in &node.unit().settings.markups {
                let state = pairs.entry(pair_of(markup.key)).or_default();
                state.state_mut(is_after).markup = Some(markup.markup_percentage.clone());
            }
        }
        pairs.retain(|_, changed| changed.before != changed.after);
        Self {
            place: (place.before != place.after).then_some(place),
            pairs,
        }
    }

    /// Returns the rates whose values changed, each direction on its own.
    pub(crate) fn changed_rates(&self) -> Vec<RateKey> {
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

    /// Adds its rows to the change that it describes.
    ///
    /// # Errors
    /// [`Error::Bug`] for what has no JSON form.
    pub(crate) fn record(
        &self,
        change: &mut Change,
        id: &UnitId,
        at: Timestamp,
        made: &Made,
    ) -> Result<()> {
        if self.place.is_some() || !self.pairs.is_empty() {
            change.put(&made_key(id, at), made)?;
        }
        if let Some(place) = &self.place {
            change.put(&row_key(&place_prefix(id), at), place)?;
        }
        let pairs = self.pairs.iter().map(|(key, state)| ChangedPair {
            key: *key,
            state: state.clone(),
        });
        for (key, row) in rows(id, at, pairs)? {
            change.put_bytes(&key, row);
        }
        Ok(())
    }
}

/// Returns the rows of pairs that changed at a time: keys and JSON.
///
/// # Errors
/// [`Error::Bug`] for what has no JSON form.
fn rows(
    id: &UnitId,
    at: Timestamp,
    pairs: impl Iterator<Item = ChangedPair>,
) -> Result<Vec<(String, Bytes)>> {
    let mut buckets: BTreeMap<u32, Vec<ChangedPair>> = BTreeMap::new();
    for pair in pairs {
        buckets.entry(bucket_of(pair.key)).or_default().push(pair);
    }
    let row = |(bucket, pairs)| Ok((row_key(&bucket_prefix(id, bucket), at), to_json(&pairs)?));
    buckets.into_iter().map(row).collect()
}

fn place_prefix(id: &UnitId) -> String {
    format!("{HISTORY}{}/{PLACES}/", id.as_str())
}

fn made_key(id: &UnitId, at: Timestamp) -> String {
    row_key(&format!("{HISTORY}{}/{MADE}/", id.as_str()), at)
}

fn bucket_prefix(id: &UnitId, bucket: u32) -> String {
    format!("{HISTORY}{}/{bucket:02}/", id.as_str())
}

/// Returns the bucket of a pair, which is part of stored keys and so must never change.
fn bucket_of(key: RateKey) -> u32 {
    let key = pair_of(key);
    let texts = [
        key.rate_type.as_str(),
        key.pair.from().as_str(),
        key.pair.to().as_str(),
    ];
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(0u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    }) % BUCKETS
}

fn row_key(prefix: &str, at: Timestamp) -> String {
    format!("{prefix}{:020}", at.0)
}

/// Returns when the row of a key was made.
pub(crate) fn time_of(key: &str) -> Option<Timestamp> {
    let (_, at) = key.rsplit_once('/')?;
    at.parse().ok().map(Timestamp)
}

/// Rows from a time on, oldest first.
#[derive(Debug)]
pub(super) struct Rows<T> {
    pub(super) rows: Vec<(Timestamp, Changed<T>)>,
    /// The time up to which they were read; `None` if all were.
    pub(super) until: Option<Timestamp>,
}

/// Returns whether the row of a time is the first of a unit's place: that of its creation.
///
/// # Errors
/// [`Error::Unavailable`].
pub(super) async fn is_first_place(records: &Records, id: &UnitId, at: Timestamp) -> Result<bool> {
    let page = records.scan(&place_prefix(id), None, 1).await?;
    Ok(page.entries.first().and_then(|(key, _)| time_of(key)) == Some(at))
}

/// Returns who has made changes of units, each at its time.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a row is damaged.
pub(super) async fn made(
    records: &Records,
    changes: &[(&UnitId, Timestamp)],
) -> Result<Vec<Option<Made>>> {
    let keys = changes.iter().map(|(id, at)| made_key(id, *at));
    let keys: Vec<String> = keys.collect();
    let entries = records.entries(&keys).await?;
    let made = keys.iter().zip(entries).map(|(key, entry)| {
        let row = entry.map(|entry| decode_entry(key, &entry)).transpose()?;
        Ok(row.map(|row| row.record))
    });
    made.collect()
}

/// Returns the places of a unit from a time on, at most `max` rows.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a row is damaged.
pub(super) async fn places(
    records: &Records,
    id: &UnitId,
    since: Timestamp,
    max: usize,
) -> Result<Rows<Option<Placed>>> {
    let Read { rows, until } = read(records, &place_prefix(id), since, max).await?;
    Ok(Rows { rows, until })
}

/// Returns what was set for a pair at a unit from a time on; reads `max` rows of its bucket at a time.
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
    let prefix = bucket_prefix(id, bucket_of(key));
    let of_pair = |(at, pairs): (Timestamp, Vec<ChangedPair>)| {
        let pair = pairs.into_iter().find(|pair| pair.key == pair_of(key))?;
        Some((at, pair.state))
    };
    let (mut rows, mut since) = (Vec::new(), since);
    loop {
        let read: Read<Vec<ChangedPair>> = read(records, &prefix, since, max).await?;
        rows.extend(read.rows.into_iter().filter_map(of_pair));
        match read.until {
            // Only the pair's first row tells what held before it.
            Some(until) if rows.is_empty() => since = Timestamp(until.0 + 1),
            until => return Ok(Rows { rows, until }),
        }
    }
}

/// Returns when a rate was first set for a pair at a unit, as far as is known: the beginning of time if that was before
/// the first row.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a row is damaged.
pub(super) async fn first_set(
    records: &Records,
    id: &UnitId,
    key: RateKey,
) -> Result<Option<Timestamp>> {
    let mut since = Timestamp(0);
    loop {
        let Rows { rows, until } = pair(records, id, key, since, PAGE).await?;
        for (at, Changed { before, after }) in rows {
            if before.has_rate() {
                return Ok(Some(Timestamp(0)));
            }
            if after.has_rate() {
                return Ok(Some(at));
            }
        }
        match until {
            Some(until) => since = Timestamp(until.0 + 1),
            None => return Ok(None),
        }
    }
}

/// Stored rows, and the time up to which they were read.
struct Read<T> {
    rows: Vec<(Timestamp, T)>,
    until: Option<Timestamp>,
}

async fn read<T: DeserializeOwned>(
    records: &Records,
    prefix: &str,
    since: Timestamp,
    max: usize,
) -> Result<Read<T>> {
    let after = since.0.checked_sub(1);
    let after = after.map(|before| row_key(prefix, Timestamp(before)));
    let page = records.scan(prefix, after.as_deref(), max).await?;
    let mut rows = Vec::with_capacity(page.entries.len());
    for (key, entry) in &page.entries {
        let at = time_of(key).ok_or_else(|| Error::Bug(format!("{key} has no time")))?;
        rows.push((at, decode_entry(key, entry)?.record));
    }
    let last = rows.last().map(|(at, _)| *at);
    Ok(Read {
        rows,
        until: last.filter(|_| page.more),
    })
}
