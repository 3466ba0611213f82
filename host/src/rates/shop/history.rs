//! The history of what is set at each business unit, from which the rates that a unit used at any time are computed
//! again, exactly: by the module, from what was set at it and above it at that time.
//!
//! An entry says what a change of the unit changed, with what was there before and after; the time is in its key. So the
//! state at a time is that before the first entry that follows, or what is set now. Entries are kept 400 days
//! (`retention.rs`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tillgate_engine::rate::RateKey;

use super::math;
use crate::app::App;
use crate::clock::Timestamp;
use crate::data::records::{Change, Records, decode_entry};
use crate::error::{Error, Result};
use crate::rates::units::number::Exact;
use crate::rates::units::set_rate::{KeyText, SetRates};
use crate::rates::units::tree::Tree;
use crate::rates::units::unit::{MAX_DEPTH, UnitId, UnitSettings, no_unit};

/// The records of the history.
pub(in crate::rates) const HISTORY: &str = "rates-history/";

/// How many moments are computed at once.
const AT_ONCE: usize = 1_000;

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

/// A rate that was set to another value, set first, or removed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::rates) struct ChangedRate {
    #[serde(flatten)]
    pub(in crate::rates) key: KeyText,
    #[serde(flatten)]
    pub(in crate::rates) value: Changed<String>,
}

impl Entry {
    /// What changed between two states of a unit.
    pub(in crate::rates) fn between(
        before: Option<(&UnitSettings, &SetRates)>,
        after: Option<(&UnitSettings, &SetRates)>,
    ) -> Self {
        let settings = [before, after].map(|state| state.map(|(settings, _)| settings.clone()));
        let [old, new] = settings;
        let mut values: BTreeMap<RateKey, Changed<String>> = BTreeMap::new();
        for (state, is_after) in [(before, false), (after, true)] {
            for (key, rate) in state.iter().flat_map(|(_, rates)| rates.iter()) {
                let value = values.entry(key).or_insert(Changed {
                    before: None,
                    after: None,
                });
                let place = if is_after {
                    &mut value.after
                } else {
                    &mut value.before
                };
                *place = Some(rate.rate_value.clone());
            }
        }
        let changed = values
            .into_iter()
            .filter(|(_, value)| value.before != value.after);
        Self {
            settings: (old != new).then_some(Changed {
                before: old,
                after: new,
            }),
            rates: changed
                .map(|(key, value)| ChangedRate {
                    key: KeyText::of(key),
                    value,
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

/// What is asked of the history.
#[derive(Clone, Debug)]
pub struct Question {
    /// The unit.
    pub unit: UnitId,
    /// The rate.
    pub key: RateKey,
    /// From when on.
    pub since: Timestamp,
    /// Whether `since` is where an earlier page ended, so that the value at that time is known.
    pub goes_on: bool,
    /// How many values at most.
    pub limit: usize,
}

/// Values over time, oldest first.
#[derive(Debug, Serialize)]
pub struct Values {
    items: Vec<Value>,
    /// Where the next page begins, when there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) next: Option<String>,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Value {
    #[serde(serialize_with = "millis")]
    at: Timestamp,
    #[serde(flatten)]
    rate: Option<RateValue>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct RateValue {
    #[serde(serialize_with = "number")]
    rate_value: String,
    #[serde(serialize_with = "number")]
    rate_value_with_markup: String,
    set_at: String,
}

fn millis<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&at.to_millis_text())
}

fn number<S: serde::Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let number: Result<&RawValue> = text.exact();
    number
        .map_err(serde::ser::Error::custom)?
        .serialize(serializer)
}

/// The values of a rate that a unit used over time.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit; when the store is away.
pub(in crate::rates) async fn values(
    app: &Arc<App>,
    records: &Records,
    question: &Question,
) -> Result<Values> {
    let units = read_units(records, question).await?;
    let timeline = Timeline::new(question, units);
    let mut items: Vec<Value> = Vec::new();
    let mut last: Option<Option<RateValue>> = None;
    let moments = timeline.moments();
    for moments in moments.chunks(AT_ONCE) {
        let calls = moments
            .iter()
            .map(|at| Ok(math::used_call(&timeline.levels(*at)?)));
        let used = math::used(app, calls.collect::<Result<_>>()?).await?;
        for (at, used) in moments.iter().zip(used) {
            let rate = value_of(&used, question.key)?;
            let is_first = last.is_none();
            if last.as_ref() == Some(&rate) || (is_first && rate.is_none()) {
                last = Some(rate);
                continue;
            }
            last = Some(rate.clone());
            if is_first && question.goes_on {
                continue;
            }
            if items.len() == question.limit {
                let next = items.last().map(|item| item.at.0.to_string());
                return Ok(Values { items, next });
            }
            items.push(Value { at: *at, rate });
        }
    }
    Ok(Values { items, next: None })
}

fn value_of(used: &[u8], key: RateKey) -> Result<Option<RateValue>> {
    let key = KeyText::of(key);
    let rates = math::read_rates(used)?;
    let found = rates.into_iter().find(|rate| {
        rate.currency_id_from == key.currency_id_from && rate.currency_id_to == key.currency_id_to
    });
    Ok(found.map(|rate| RateValue {
        rate_value: rate.rate_value.to_owned(),
        rate_value_with_markup: rate.rate_value_with_markup.to_owned(),
        set_at: rate.set_at.unwrap_or_default().into_owned(),
    }))
}

/// A unit's state over time: what holds from each moment on, the first from the beginning.
#[derive(Debug)]
struct States<T>(BTreeMap<Timestamp, T>);

impl<T: Clone> States<T> {
    /// The states of `now` and of changes in their order.
    fn new(now: T, changes: impl Iterator<Item = (Timestamp, T, T)>) -> Self {
        let mut states = BTreeMap::new();
        for (at, before, after) in changes {
            if states.is_empty() {
                states.insert(Timestamp(0), before);
            }
            states.insert(at, after);
        }
        if states.is_empty() {
            states.insert(Timestamp(0), now);
        }
        Self(states)
    }

    fn at(&self, at: Timestamp) -> Option<&T> {
        self.0.range(..=at).next_back().map(|(_, state)| state)
    }
}

/// What a unit set over time, as far as it matters to one pair.
#[derive(Debug)]
struct UnitStates {
    settings: States<Option<UnitSettings>>,
    /// The two directions.
    rates: [(RateKey, States<Option<String>>); 2],
}

/// The units that a unit has ever stood below since the time asked for, and itself.
async fn read_units(records: &Records, question: &Question) -> Result<HashMap<UnitId, UnitStates>> {
    let mut tree = Tree::new(records);
    if tree.node(&question.unit).await?.is_none() {
        return Err(no_unit());
    }
    let pair = [question.key, question.key.opposite()].map(KeyText::of);
    let mut units = HashMap::new();
    let mut open = vec![question.unit.clone()];
    while let Some(id) = open.pop() {
        if units.contains_key(&id) {
            continue;
        }
        let entries = read_entries(records, &id, &pair).await?;
        let node = tree.node(&id).await?;
        let settings_now = node.as_ref().map(|node| node.unit().settings.clone());
        let rates_now = match &node {
            Some(node) => node.set_rates()?,
            None => SetRates::default(),
        };
        let changes = entries.iter().filter_map(|(at, entry)| {
            let Changed { before, after } = entry.settings.clone()?;
            Some((*at, before, after))
        });
        let mut changes: Vec<_> = changes.collect();
        // Imports add rates of the past: before it was created, a unit is taken to have stood where it was then.
        if let Some((_, before @ None, after)) = changes.first_mut() {
            before.clone_from(after);
        }
        let settings = States::new(settings_now, changes.into_iter());
        let states_of = |key: RateKey| {
            let text = KeyText::of(key);
            let now = rates_now.get(key).map(|rate| rate.rate_value.clone());
            let changes = entries.iter().filter_map(|(at, entry)| {
                let rate = entry.rates.iter().find(|rate| rate.key == text)?;
                let Changed { before, after } = rate.value.clone();
                Some((*at, before, after))
            });
            (key, States::new(now, changes))
        };
        let rates = [states_of(question.key), states_of(question.key.opposite())];
        let parents = settings.0.values().flatten();
        open.extend(parents.filter_map(|settings| settings.parent_id.clone()));
        units.insert(id, UnitStates { settings, rates });
    }
    Ok(units)
}

/// All that is kept of a unit and a pair: the state at a time is what the entry before it says, and only the oldest has
/// none.
async fn read_entries(
    records: &Records,
    id: &UnitId,
    pair: &[KeyText; 2],
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

struct Timeline<'q> {
    question: &'q Question,
    units: HashMap<UnitId, UnitStates>,
}

impl<'q> Timeline<'q> {
    fn new(question: &'q Question, units: HashMap<UnitId, UnitStates>) -> Self {
        Self { question, units }
    }

    /// When anything changed, and the time asked for.
    fn moments(&self) -> Vec<Timestamp> {
        let since = self.question.since;
        let mut moments = vec![since];
        for unit in self.units.values() {
            moments.extend(unit.settings.0.keys());
            for (_, states) in &unit.rates {
                moments.extend(states.0.keys());
            }
        }
        moments.retain(|at| *at >= since);
        moments.sort_unstable();
        moments.dedup();
        moments
    }

    /// The levels that the unit stood at, its own first, with the one pair.
    fn levels(&self, at: Timestamp) -> Result<String> {
        let mut levels: Vec<String> = Vec::new();
        let mut next = Some(&self.question.unit);
        while let Some(id) = next {
            let unit = self.units.get(id);
            let settings = unit.and_then(|unit| unit.settings.at(at)?.as_ref());
            let (Some(unit), Some(settings)) = (unit, settings) else {
                break;
            };
            if levels.len() > 2 * MAX_DEPTH {
                // Two moves by hosts whose clocks differ: for a moment, units seem to stand below each other.
                break;
            }
            levels.push(level(id, settings, unit, at).to_string());
            next = settings.parent_id.as_ref();
        }
        Ok(levels.join(","))
    }
}

fn level(
    id: &UnitId,
    settings: &UnitSettings,
    unit: &UnitStates,
    at: Timestamp,
) -> serde_json::Value {
    let rates = unit.rates.iter().filter_map(|(key, states)| {
        let value = states.at(at)?.as_ref()?;
        let key = KeyText::of(*key);
        Some(json!({
            "exchangeRateType": key.exchange_rate_type,
            "currencyIdFrom": key.currency_id_from,
            "currencyIdTo": key.currency_id_to,
            "rateValue": value,
        }))
    });
    json!({
        "businessUnitId": id,
        "markupPercentage": settings.markup_percentage,
        "markups": settings.markups,
        "rates": rates.collect::<Vec<_>>(),
    })
}

/// The entry of rates that were imported for a time in the past.
pub(in crate::rates) fn backdated(
    id: &UnitId,
    at: Timestamp,
    rates: Vec<ChangedRate>,
) -> Result<(String, Bytes)> {
    let entry = Entry {
        settings: None,
        rates,
    };
    let json = serde_json::to_vec(&entry).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok((key(id, at), json.into()))
}
