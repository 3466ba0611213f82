//! Reads the rates that a unit uses, and converts amounts with them.
//!
//! A shop uses what its messages have said, so that readers and subscribers of the topic see the same. A COMPANY or
//! GROUP is answered as a shop directly below it would see it (`rates.md`, "Which rates a shop uses").

use std::sync::Arc;

use bytes::Bytes;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tillgate_api::rate::{counted_currency, decimal, number};
use tillgate_base::app::App;
use tillgate_base::data::records::Records;
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::RateKey;

use super::math;
use super::used_record::{is_shared, read_used};
use crate::units::answers::not_set;
use crate::units::calendar::business_days_since;
use crate::units::json::to_json;
use crate::units::rate_answers::UsedRateAnswer;
use crate::units::rate_list::RateList;
use crate::units::rate_text::RateText;
use crate::units::reading::{Reading, UnitView};
use crate::units::tree::Tree;
use crate::units::unit::{MAX_DEPTH, UnitId, UnitType, no_unit};

/// The most reads of a unit whose rates keep changing.
const MAX_ATTEMPTS: usize = 8;

/// Returns the rates that a unit uses: a list of `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue,
/// rateValueWithMarkup, createdDate, createdBy?, lastModified?, setAt, asOf?, ageInBusinessDays?, stale? }`, by type,
/// source and target. Only reference rates have the last three.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit; [`Error::Busy`] when its rates keep changing; [`Error::Unavailable`].
pub(crate) async fn used_rates(reading: &Reading<'_>, id: &UnitId) -> Result<Arc<RateList>> {
    for _ in 0..MAX_ATTEMPTS {
        let unit = reading.unit(id).await?;
        let read = match unit.unit.settings.unit_type {
            UnitType::Store => used_by_shop(reading, &unit).await,
            UnitType::Company | UnitType::Group => used_below(reading, &unit).await,
        };
        match read {
            Err(Error::Busy) => {}
            read => return read,
        }
    }
    Err(Error::Busy)
}

async fn used_by_shop(reading: &Reading<'_>, shop: &UnitView) -> Result<Arc<RateList>> {
    let Some(key) = shop.unit.used_rates.clone() else {
        return Ok(Arc::new(RateList::new(
            std::iter::empty(),
            UsedRateAnswer::new,
        )?));
    };
    // The key of a shared record names its content; the record of one shop changes with its unit.
    let version = if is_shared(&key) {
        key.clone()
    } else {
        format!("{key}@{}", shop.revision.0)
    };
    let (records, today) = (reading.records.clone(), today(reading.app));
    let read = async move {
        let used = read_used(&records, Some(&key)).await?;
        let mut rates = math::read_rates(&used)?;
        add_ages(&mut rates, today);
        RateList::new(rates.into_iter(), UsedRateAnswer::new)
    };
    made_once(reading, version, today, read).await
}

/// Returns what a shop directly below a unit would use. The dates are those of the rates as they are set.
async fn used_below(reading: &Reading<'_>, unit: &Arc<UnitView>) -> Result<Arc<RateList>> {
    let mut version = format!("below {}@{}", unit.id.as_str(), unit.revision.0);
    let (mut next, mut levels) = (unit.unit.settings.parent_id.clone(), 0);
    while let Some(id) = next {
        let above = reading.unit(&id).await.map_err(|error| match error {
            // The unit above was removed in the meantime.
            Error::NotFound(..) => Error::Busy,
            other => other,
        })?;
        levels += 1;
        if levels > 2 * MAX_DEPTH {
            return Err(Error::Busy);
        }
        version.push_str(&format!(" {}@{}", above.id.as_str(), above.revision.0));
        next = above.unit.settings.parent_id.clone();
    }
    let (app, records, id) = (
        Arc::clone(reading.app),
        reading.records.clone(),
        unit.id.clone(),
    );
    let today = today(reading.app);
    let read = async move { compute_below(&app, &records, &id, today).await };
    made_once(reading, version, today, read).await
}

async fn compute_below(
    app: &App,
    records: &Records,
    id: &UnitId,
    today: Option<Date>,
) -> Result<RateList> {
    let mut tree = Tree::new(records);
    let node = tree.node(id).await?.ok_or_else(|| no_unit(id))?;
    let path = tree.above(node.unit()).await?;
    let nodes = || std::iter::once(&node).chain(&path.nodes);
    let used = math::used_at(app, &nodes().map(AsRef::as_ref).collect::<Vec<_>>())?;
    let mut rates = math::read_rates(&used)?;
    for rate in &mut rates {
        let key = rate.key()?;
        let at = nodes().find(|node| rate.set_at.as_deref() == Some(node.id.as_str()));
        let set = at.map(|node| &node.rates.rates);
        if let Some(set) = set.and_then(|set| set.get(key).or_else(|| set.get(key.opposite()))) {
            rate.created_date = Some(&set.created_date);
            rate.last_modified = set.last_modified.as_deref();
        }
    }
    add_ages(&mut rates, today);
    RateList::new(rates.into_iter(), UsedRateAnswer::new)
}

/// Returns the current day in UTC.
fn today(app: &App) -> Option<Date> {
    app.clock.now().to_millis_text().get(..10)?.parse().ok()
}

/// Adds their age to reference rates (`rates.md`, "Guard against slips").
fn add_ages(rates: &mut [RateText<'_>], today: Option<Date>) {
    let Some(today) = today else { return };
    // Most rates are of the same day.
    let mut latest: Option<(&str, Option<u32>)> = None;
    for rate in rates {
        let Some(day) = rate.as_of else { continue };
        let age = match latest {
            Some((same, age)) if same == day => age,
            _ => day.parse().ok().map(|day| business_days_since(day, today)),
        };
        latest = Some((day, age));
        rate.age_in_business_days = age;
    }
}

/// Returns a list that is made once for a version and a day: ages change with the day.
async fn made_once(
    reading: &Reading<'_>,
    mut version: String,
    today: Option<Date>,
    read: impl Future<Output = Result<RateList>> + Send + 'static,
) -> Result<Arc<RateList>> {
    if let Some(today) = today {
        version.push_str(&format!(" on {today}"));
    }
    let make = async { reading.app.workers.run_reading(read).await? };
    let partition = reading.records.partition();
    reading.cache.used.get(partition, version, make).await
}

/// An amount to convert.
#[derive(Clone, Debug)]
pub(crate) struct Conversion {
    /// The unit whose rate applies.
    pub(crate) unit: UnitId,
    /// The rate: its target is the currency to convert from, its source the currency to convert to.
    pub(crate) key: RateKey,
    /// The amount, a decimal.
    pub(crate) amount: String,
    /// True to apply the rate with markup.
    pub(crate) with_markup: bool,
}

/// A converted amount.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Converted<'a> {
    /// The amount in `currency`, rounded to its minor unit.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "decimal")]
    amount: String,
    #[schemars(schema_with = "counted_currency")]
    currency: &'a str,
    #[schemars(with = "UsedRateAnswer<'_>")]
    rate: &'a RawValue,
}

/// Converts an amount with a rate that a unit uses. Returns `{ amount, currency, rate }`, the amount rounded to the
/// minor unit of its currency.
///
/// # Errors
/// [`Error::NotFound`] for an unknown unit, or a rate that it does not use; [`Error::Invalid`] for an amount that becomes
/// too large; [`Error::Unavailable`].
pub(crate) async fn convert(reading: &Reading<'_>, conversion: &Conversion) -> Result<Bytes> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Values<'a> {
        #[serde(borrow)]
        currency_id_from: &'a str,
        #[serde(borrow)]
        rate_value: &'a RawValue,
        #[serde(borrow)]
        rate_value_with_markup: Option<&'a RawValue>,
    }
    let used = used_rates(reading, &conversion.unit).await?;
    let rate = used.get(conversion.key);
    let rate = rate.ok_or_else(|| not_set(conversion.key))?;
    let damaged = |cause: serde_json::Error| Error::Bug(format!("a rate is damaged: {cause}"));
    let values: Values<'_> = serde_json::from_slice(&rate).map_err(damaged)?;
    let with_markup = values.rate_value_with_markup;
    let with_markup = with_markup.filter(|_| conversion.with_markup);
    let value = with_markup.unwrap_or(values.rate_value).get();
    let currency = values.currency_id_from;
    let converted = Converted {
        amount: math::convert(reading.app, &conversion.amount, value, currency)?,
        currency,
        rate: serde_json::from_slice(&rate).map_err(damaged)?,
    };
    to_json(&converted)
}
