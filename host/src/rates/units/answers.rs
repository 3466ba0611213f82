//! What is answered of units and of the rates that are set at them: JSON, whose digest is the entity tag.

use bytes::Bytes;
use tillgate_engine::rate::RateKey;

use super::json::to_json;
use super::rate_text::RateText;
use super::set_rates::{SetRate, SetRates};
use super::tree::{Node, Tree};
use super::unit::{Unit, UnitAnswer, UnitId, UnitSettings, no_unit, units_prefix};
use crate::data::records::{PAGE, Records, decode_entry};
use crate::error::{Error, Result};

/// A unit: `{ id, type, parentId?, name?, markupPercentage?, markups? }`.
pub(in crate::rates) fn unit_json(id: &UnitId, settings: &UnitSettings) -> Result<Bytes> {
    to_json(&UnitAnswer::new(id, settings)?)
}

/// The rates that are set at a unit: a list of what [`rate_json`] writes.
pub(in crate::rates) fn rates_json(rates: &SetRates) -> Result<Bytes> {
    let texts: Vec<RateText<'_>> = rates.iter().map(|(key, rate)| rate.text(key)).collect();
    let list: Vec<_> = texts.iter().map(RateText::answered).collect();
    to_json(&list)
}

/// A rate that is set: `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue, createdDate, createdBy?,
/// lastModified?, reference? }`.
pub(in crate::rates) fn rate_json(key: RateKey, rate: &SetRate) -> Result<Bytes> {
    to_json(&rate.text(key).answered())
}

/// All units of a tenant, by id: a list of what [`unit_json`] writes.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a unit is damaged.
pub(in crate::rates) async fn units(records: &Records) -> Result<Bytes> {
    let mut list = Vec::from(*b"[");
    let mut after: Option<String> = None;
    loop {
        let page = records.scan(units_prefix(), after.as_deref(), PAGE).await?;
        for (key, entry) in &page.entries {
            let unit = decode_entry::<Unit>(key, entry)?.record;
            let id = key.strip_prefix(units_prefix()).and_then(UnitId::new);
            let id = id.ok_or_else(|| Error::Bug(format!("{key} is not a unit")))?;
            if list.len() > 1 {
                list.push(b',');
            }
            list.extend(unit_json(&id, &unit.settings)?);
        }
        after = page.entries.last().map(|(key, _)| key.clone());
        if !page.more || after.is_none() {
            list.push(b']');
            return Ok(list.into());
        }
    }
}

/// A unit, as [`unit_json`] writes it.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Unavailable`].
pub(in crate::rates) async fn unit(records: &Records, id: &UnitId) -> Result<Bytes> {
    unit_json(id, &node(records, id).await?.unit().settings)
}

/// The rates that are set at a unit, as [`rates_json`] writes them.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Unavailable`].
pub(in crate::rates) async fn set_rates(records: &Records, id: &UnitId) -> Result<Bytes> {
    rates_json(&node(records, id).await?.rates.rates)
}

/// A rate that is set at a unit, as [`rate_json`] writes it.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Unavailable`].
pub(in crate::rates) async fn set_rate(
    records: &Records,
    id: &UnitId,
    key: RateKey,
) -> Result<Bytes> {
    let node = node(records, id).await?;
    rate_json(key, node.rates.rates.get(key).ok_or_else(not_set)?)
}

async fn node(records: &Records, id: &UnitId) -> Result<std::sync::Arc<Node>> {
    Tree::new(records).node(id).await?.ok_or_else(no_unit)
}

/// A unit does not set the rate of a request.
pub(in crate::rates) fn not_set() -> Error {
    Error::NotFound("this rate is not set at the business unit".to_owned())
}
