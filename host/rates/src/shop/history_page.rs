//! The values of a rate that a unit used over time, for charts. The module computes them again, exactly, from what was
//! set at the unit and above it at each moment (`timeline.rs`).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::rate::{decimal, number};
use tillgate_api::schema::time;
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::RateKey;
use tillgate_store::clock::Timestamp;

use super::history::{Changed, Made, PairState, Placed, pair_of};
use super::published::{Published, open_until};
use super::quotes::{self, PairDay};
use super::timeline::{Timeline, UnitStates};
use super::{history, math};
use crate::units::reading::Reading;
use crate::units::unit::{MAX_DEPTH, UnitId};

/// The number of moments to compute at once.
const AT_ONCE: usize = 200;

/// The fewest rows to read of each unit: not every change of a unit changes what those below it use.
const MIN_ROWS: usize = 100;

/// The most units for a page: more than a unit can stand below at one time.
const MAX_UNITS: usize = 4 * MAX_DEPTH;

/// A query for values of a rate.
#[derive(Clone, Debug)]
pub(crate) struct HistoryQuery {
    pub(crate) unit: UnitId,
    pub(crate) key: RateKey,
    pub(crate) since: Timestamp,
    /// True if an earlier page ended at `since`, so that the value at that time is known.
    pub(crate) goes_on: bool,
    /// The most values to return.
    pub(crate) limit: usize,
}

/// Values of a rate over time, oldest first.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "RateHistory")]
pub(crate) struct HistoryPage {
    /// The values, each with the time from which the unit used it. An item without a value means that it had none.
    items: Vec<Item>,
    /// The `cursor` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A value. `by` is absent if no change was made at that time, as with the first value and published values.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "HistoricRate")]
struct Item {
    /// The time from which the unit used the value.
    #[serde(serialize_with = "millis")]
    #[schemars(schema_with = "time")]
    at: Timestamp,
    #[serde(flatten)]
    rate: Option<RateValue>,
    #[serde(flatten)]
    made: Option<Made>,
}

#[derive(Clone, Debug, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct RateValue {
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "decimal")]
    rate_value: String,
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "decimal")]
    rate_value_with_markup: String,
    set_at: String,
}

fn millis<S: serde::Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&at.to_millis_text())
}

/// Returns the values of a rate that a unit used over time. A page may have fewer than its limit, and another after it.
///
/// # Errors
/// [`Error::NotFound`](tillgate_base::error::Error::NotFound) for an unknown unit;
/// [`Error::Unavailable`](tillgate_base::error::Error::Unavailable).
pub(crate) async fn page(reading: &Reading<'_>, query: &HistoryQuery) -> Result<HistoryPage> {
    reading.unit(&query.unit).await?;
    let timeline = read_timeline(reading, query).await?;
    let mut values = computed(reading, query, &timeline).await?;
    say_who(reading, &timeline, &mut values.items).await?;
    Ok(values)
}

/// Computes the values of a timeline.
async fn computed(
    reading: &Reading<'_>,
    query: &HistoryQuery,
    timeline: &Timeline<'_>,
) -> Result<HistoryPage> {
    let moments = timeline.moments(query.since);
    let mut items: Vec<Item> = Vec::new();
    let mut last: Option<Option<RateValue>> = None;
    for moments in moments.chunks(AT_ONCE) {
        let calls = moments
            .iter()
            .map(|at| Ok(math::used_call(&timeline.levels(*at)?)));
        let calls = calls.collect::<Result<Vec<_>>>()?;
        let used = reading
            .app
            .run_blocking(|app| math::used(app, calls))
            .await??;
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
                return Ok(HistoryPage { items, next });
            }
            let made = None;
            items.push(Item {
                at: *at,
                rate,
                made,
            });
        }
    }
    let next = timeline.until.map(|until| until.0.to_string());
    Ok(HistoryPage { items, next })
}

/// Adds to each value who made the change that brought it.
async fn say_who(reading: &Reading<'_>, timeline: &Timeline<'_>, items: &mut [Item]) -> Result<()> {
    for items in items.chunks_mut(AT_ONCE) {
        let changed = items.iter_mut().filter_map(|item| {
            let set_at = item.rate.as_ref().map(|rate| rate.set_at.as_str());
            let unit = timeline.changed_at(item.at, set_at)?;
            Some(((unit, item.at), item))
        });
        let (changes, items): (Vec<_>, Vec<_>) = changed.unzip();
        let made = history::made(&reading.records, &changes).await?;
        for (item, made) in items.into_iter().zip(made) {
            item.made = made;
        }
    }
    Ok(())
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

/// Reads the states of the unit, and of those that it has stood below in the time of the page.
async fn read_timeline<'q>(reading: &Reading<'_>, query: &'q HistoryQuery) -> Result<Timeline<'q>> {
    let (pair, since) = (pair_of(query.key), query.since);
    let max = (query.limit + 1).max(MIN_ROWS);
    let mut timeline = Timeline {
        unit: &query.unit,
        pair,
        units: HashMap::new(),
        until: None,
    };
    // Units that matter earlier come first, so that a page that needs too many can end before the others.
    let mut open = BinaryHeap::from([Reverse((since, query.unit.clone()))]);
    while let Some(Reverse((from, id))) = open.pop() {
        if timeline.until.is_some_and(|until| from > until) {
            break;
        }
        if timeline.units.contains_key(&id) {
            continue;
        }
        if timeline.units.len() >= MAX_UNITS && from > since {
            timeline.until = Some(Timestamp(from.0 - 1));
            break;
        }
        // Read what is set now first: what changes in the meantime has a row.
        let (place, state) = now(reading, &id, pair).await?;
        let mut places = history::places(&reading.records, &id, since, max).await?;
        // Imports add rates of the past. Before a unit was created, it is taken to have stood where it was created.
        if let Some((at, Changed { before, after })) = places.rows.first_mut()
            && before.is_none()
            && history::is_first_place(&reading.records, &id, *at).await?
        {
            before.clone_from(after);
        }
        let pairs = history::pair(&reading.records, &id, pair, since, max).await?;
        let days = quotes::pair(&reading.records, &id, pair, since, max).await?;
        for until in [places.until, pairs.until, days.until]
            .into_iter()
            .flatten()
        {
            timeline.until = Some(timeline.until.map_or(until, |at| at.min(until)));
        }
        let first = pairs.rows.first().map_or(&state, |(_, row)| &row.before);
        let published = published(reading, &id, pair, days.days, first).await?;
        let states = UnitStates::new(place, state, places, pairs, published);
        open.extend(
            states
                .parents(since)
                .map(|(from, id)| Reverse((from, id.clone()))),
        );
        timeline.units.insert(id, states);
    }
    Ok(timeline)
}

/// Returns what was published of a pair; `first` is what was set for it at the time where the history begins.
async fn published(
    reading: &Reading<'_>,
    id: &UnitId,
    pair: RateKey,
    days: Vec<PairDay>,
    first: &PairState,
) -> Result<Published> {
    if days.is_empty() {
        return Ok(Published::default());
    }
    let open_until = open_until(&reading.records, id, pair, first).await?;
    Published::new(reading.app, pair, days, open_until).await
}

/// Returns what is set at a unit now, if it still exists.
async fn now(
    reading: &Reading<'_>,
    id: &UnitId,
    pair: RateKey,
) -> Result<(Option<Placed>, PairState)> {
    let unit = match reading.unit(id).await {
        Err(Error::NotFound(..)) => return Ok((None, PairState::default())),
        unit => unit?,
    };
    let settings = &unit.unit.settings;
    let markup = settings
        .markups
        .iter()
        .find(|markup| pair_of(markup.key) == pair);
    let (rate, rate_date) = unit.rate_value(pair)?.unzip();
    let (opposite, opposite_date) = unit.rate_value(pair.opposite())?.unzip();
    let state = PairState {
        rate,
        rate_date: rate_date.flatten(),
        opposite,
        opposite_date: opposite_date.flatten(),
        markup: markup.map(|markup| markup.markup_percentage.clone()),
    };
    Ok((Some(Placed::of(settings)), state))
}
