//! The values of a rate that a unit used over time, for charts: computed again, exactly, by the module from what was set at
//! the unit and above it at each moment (`timeline.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use tillgate_engine::rate::RateKey;

use super::timeline::{Timeline, UnitStates};
use super::{history, math};
use crate::app::App;
use crate::clock::Timestamp;
use crate::data::records::Records;
use crate::error::Result;
use crate::rates::units::json::number;
use crate::rates::units::tree::Tree;
use crate::rates::units::unit::{UnitId, no_unit};

/// How many moments are computed at once.
const AT_ONCE: usize = 1_000;

/// Which values are read.
#[derive(Clone, Debug)]
pub(in crate::rates) struct HistoryQuery {
    /// The unit.
    pub(in crate::rates) unit: UnitId,
    /// The rate.
    pub(in crate::rates) key: RateKey,
    /// From when on.
    pub(in crate::rates) since: Timestamp,
    /// Whether `since` is where an earlier page ended, so that the value at that time is known.
    pub(in crate::rates) goes_on: bool,
    /// How many values at most.
    pub(in crate::rates) limit: usize,
}

/// Values over time, oldest first: `{ items: [{ at, rateValue?, rateValueWithMarkup?, setAt? }], next? }`. Without a value
/// the unit used no such rate from then on.
#[derive(Debug, Serialize)]
pub(in crate::rates) struct Values {
    items: Vec<Value>,
    /// Where the next page begins, when there may be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

#[derive(Debug, Serialize)]
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

/// The values of a rate that a unit used over time.
///
/// # Errors
/// [`Error::NotFound`](crate::error::Error::NotFound) for an unknown unit;
/// [`Error::Unavailable`](crate::error::Error::Unavailable).
pub(in crate::rates) async fn values(
    app: &Arc<App>,
    records: &Records,
    query: &HistoryQuery,
) -> Result<Values> {
    let timeline = Timeline {
        unit: &query.unit,
        units: read_units(records, query).await?,
    };
    let mut items: Vec<Value> = Vec::new();
    let mut last: Option<Option<RateValue>> = None;
    let moments = timeline.moments(query.since);
    for moments in moments.chunks(AT_ONCE) {
        let calls = moments
            .iter()
            .map(|at| Ok(math::used_call(&timeline.levels(*at)?)));
        let used = math::used(app, calls.collect::<Result<_>>()?).await?;
        for (at, used) in moments.iter().zip(used) {
            let rate = value_of(&used, query.key)?;
            let is_first = last.is_none();
            if last.as_ref() == Some(&rate) || (is_first && rate.is_none()) {
                last = Some(rate);
                continue;
            }
            last = Some(rate.clone());
            if is_first && query.goes_on {
                continue;
            }
            if items.len() == query.limit {
                let next = items.last().map(|item| item.at.0.to_string());
                return Ok(Values { items, next });
            }
            items.push(Value { at: *at, rate });
        }
    }
    Ok(Values { items, next: None })
}

fn value_of(used: &[u8], key: RateKey) -> Result<Option<RateValue>> {
    let rates = math::read_rates(used)?;
    let found = rates.into_iter().find(|rate| rate.is_of(key));
    Ok(found.map(|rate| RateValue {
        rate_value: rate.rate_value.to_owned(),
        rate_value_with_markup: rate.rate_value_with_markup.unwrap_or_default().to_owned(),
        set_at: rate.set_at.unwrap_or_default().into_owned(),
    }))
}

/// The units that a unit has ever stood below, and itself.
async fn read_units(
    records: &Records,
    query: &HistoryQuery,
) -> Result<HashMap<UnitId, UnitStates>> {
    let mut tree = Tree::new(records);
    if tree.node(&query.unit).await?.is_none() {
        return Err(no_unit());
    }
    let pair = [query.key, query.key.opposite()];
    let mut units = HashMap::new();
    let mut open = vec![query.unit.clone()];
    while let Some(id) = open.pop() {
        if units.contains_key(&id) {
            continue;
        }
        let entries = history::entries(records, &id, pair).await?;
        let node = tree.node(&id).await?;
        let states = UnitStates::new(node.as_deref(), pair, &entries);
        open.extend(states.parents().cloned());
        units.insert(id, states);
    }
    Ok(units)
}
