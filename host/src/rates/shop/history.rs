//! The history of what is set at each business unit: an entry for each change of it.
//!
//! An entry says what the change changed, with what was there before and after; the time is in its key. So the state at a
//! time is that before the first entry that follows, or what is set now. Entries are retained 400 days (`retention.rs`).
//! `values.rs` computes from them what a unit used at any time.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tillgate_engine::rate::RateKey;

use crate::clock::Timestamp;
use crate::data::records::{Change, Records, decode_entry};
use crate::error::{Error, Result};
use crate::rates::units::json::to_json;
use crate::rates::units::rate_key;
use crate::rates::units::tree::Node;
use crate::rates::units::unit::{UnitId, UnitSettings};

/// The records of the history.
pub(in crate::rates) const HISTORY: &str = "rates-history/";

/// How many entries are read at once: one of an import has all of its rates.
const READ_AT_ONCE: usize = 32;

/// What a change of a unit changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rates) struct Entry {
    /// Its settings, if they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) settings: Option<Changed<UnitSettings>>,
    /// The rates whose values changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(in crate::rates) rates: Vec<ChangedRate>,
}

/// Before and after a change; `None` where there was nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::rates) struct Changed<T> {
    pub(in crate::rates) before: Option<T>,
    pub(in crate::rates) after: Option<T>,
}

/// A rate that was set to another value, set first, or removed: decimals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::rates) struct ChangedRate {
    #[serde(flatten, with = "rate_key")]
    pub(in crate::rates) key: RateKey,
    #[serde(flatten)]
    pub(in crate::rates) value: Changed<String>,
}

impl Entry {
    /// What changed between two states of a unit.
    pub(in crate::rates) fn between(before: Option<&Node>, after: Option<&Node>) -> Self {
        let [old, new] = [before, after].map(|node| node.map(|node| &node.unit().settings));
        let mut values: BTreeMap<RateKey, [Option<&str>; 2]> = BTreeMap::new();
        for (state, place) in [(before, 0), (after, 1)] {
            for (key, rate) in state.iter().flat_map(|node| node.rates.rates.iter()) {
                let value = values.entry(key).or_default();
                if let Some(place) = value.get_mut(place) {
                    *place = Some(&rate.value);
                }
            }
        }
        let changed = values
            .into_iter()
            .filter(|(_, [before, after])| before != after);
        Self {
            settings: (old != new).then(|| Changed {
                before: old.cloned(),
                after: new.cloned(),
            }),
            rates: changed
                .map(|(key, [before, after])| ChangedRate {
                    key,
                    value: Changed {
                        before: before.map(str::to_owned),
                        after: after.map(str::to_owned),
                    },
                })
                .collect(),
        }
    }

    fn is_empty(&self) -> bool {
        self.settings.is_none() && self.rates.is_empty()
    }
}

fn prefix(id: &UnitId) -> String {
    format!("{HISTORY}{}/", id.as_str())
}

fn key(id: &UnitId, at: Timestamp) -> String {
    format!("{}{:020}", prefix(id), at.0)
}

/// When the entry of a key was made.
pub(in crate::rates) fn time_of(key: &str) -> Option<Timestamp> {
    let (_, at) = key.rsplit_once('/')?;
    at.parse().ok().map(Timestamp)
}

/// Adds an entry to the change that it is about.
pub(in crate::rates) fn record(
    change: &mut Change,
    id: &UnitId,
    at: Timestamp,
    entry: &Entry,
) -> Result<()> {
    if entry.is_empty() {
        return Ok(());
    }
    change.put(&key(id, at), entry)
}

/// The record of rates that were imported for a time in the past: its key and its JSON.
pub(in crate::rates) fn backdated(
    id: &UnitId,
    at: Timestamp,
    rates: Vec<ChangedRate>,
) -> Result<(String, Bytes)> {
    let entry = Entry {
        settings: None,
        rates,
    };
    Ok((key(id, at), to_json(&entry)?))
}

/// When the oldest entry of a unit was made, if there is one.
pub(in crate::rates) async fn oldest(records: &Records, id: &UnitId) -> Result<Option<Timestamp>> {
    let page = records.scan(&prefix(id), None, 1).await?;
    Ok(page.entries.first().and_then(|(key, _)| time_of(key)))
}

/// All entries of a unit that say something of its settings or of a pair, oldest first. All are needed: the state at a
/// time is what the entry before it says, and only the oldest has none.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when an entry is damaged.
pub(super) async fn entries(
    records: &Records,
    id: &UnitId,
    pair: [RateKey; 2],
) -> Result<Vec<(Timestamp, Entry)>> {
    let prefix = prefix(id);
    let mut entries = Vec::new();
    let mut after = None;
    loop {
        let page = records.scan(&prefix, after.as_deref(), READ_AT_ONCE);
        let page = page.await?;
        for (key, entry) in &page.entries {
            let at = time_of(key).ok_or_else(|| Error::Bug(format!("{key} has no time")))?;
            let mut entry: Entry = decode_entry(key, entry)?.record;
            entry.rates.retain(|rate| pair.contains(&rate.key));
            if !entry.is_empty() {
                entries.push((at, entry));
            }
        }
        after = page.entries.last().map(|(key, _)| key.clone());
        if !page.more || after.is_none() {
            return Ok(entries);
        }
    }
}
