//! The JSON answers for units and for the rates that are set at them. The digest of the JSON is the entity tag.

use bytes::Bytes;
use tillgate_api::problem::RATE_NOT_FOUND;
use tillgate_api::rate::key;
use tillgate_base::data::records::{Records, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::By;
use tillgate_engine::rate::RateKey;

use super::json::to_json;
use super::rate_answers::SetRateAnswer;
use super::rate_list::RateList;
use super::set_rates::{SetRate, SetRates};
use super::unit::{Unit, UnitAnswer, UnitId, UnitSettings, units_prefix};

/// The number of units to read at once; a unit with a thousand markups has 100 KB.
const READ_AT_ONCE: usize = 50;

/// Returns a unit's JSON: `{ id, type, parentId?, name?, markupPercentage?, markups?, tolerancePercentage?,
/// tolerances?, managedBy?, lastModifiedBy? }`.
pub(crate) fn unit_json(
    id: &UnitId,
    settings: &UnitSettings,
    last_modified_by: Option<&By>,
) -> Result<Bytes> {
    to_json(&UnitAnswer::new(id, settings, last_modified_by)?)
}

/// Returns the rates that are set at a unit, each as [`rate_json`] writes it.
pub(crate) fn set_list(rates: &SetRates) -> Result<RateList> {
    RateList::new(rates.iter().map(|(key, rate)| rate.text(key)), |rate| {
        Ok(SetRateAnswer::from(rate))
    })
}

/// Returns the JSON of a rate that is set: `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue, createdDate,
/// createdBy?, lastModified?, reference?, managedBy? }`.
pub(crate) fn rate_json(key: RateKey, rate: &SetRate) -> Result<Bytes> {
    to_json(&SetRateAnswer::from(rate.text(key)))
}

/// A list of units by id, each as [`unit_json`] writes it.
#[derive(Debug)]
pub(crate) struct UnitPage {
    /// JSON.
    pub(crate) list: Vec<u8>,
    /// The last unit of the list, if more follow.
    pub(crate) next: Option<UnitId>,
}

/// Returns the units of a tenant after a given one: at most `max`, and no more once the list has `max_bytes`.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a unit is damaged.
pub(crate) async fn units(
    records: &Records,
    after: Option<&UnitId>,
    max: usize,
    max_bytes: usize,
) -> Result<UnitPage> {
    let (mut list, mut count) = (Vec::from(*b"["), 0);
    let mut after = after.map(UnitId::key);
    loop {
        let read = READ_AT_ONCE.min(max - count);
        let page = records.scan(units_prefix(), after.as_deref(), read).await?;
        for (index, (key, entry)) in page.entries.iter().enumerate() {
            let unit = decode_entry::<Unit>(key, entry)?.record;
            let id = key.strip_prefix(units_prefix()).and_then(UnitId::new);
            let id = id.ok_or_else(|| Error::Bug(format!("{key} is not a unit")))?;
            if list.len() > 1 {
                list.push(b',');
            }
            list.extend(unit_json(
                &id,
                &unit.settings,
                unit.last_modified_by.as_ref(),
            )?);
            count += 1;
            let is_full = count == max || list.len() >= max_bytes;
            if is_full && (page.more || index + 1 < page.entries.len()) {
                list.push(b']');
                return Ok(UnitPage {
                    list,
                    next: Some(id),
                });
            }
        }
        after = page.entries.last().map(|(key, _)| key.clone());
        if !page.more || after.is_none() {
            list.push(b']');
            return Ok(UnitPage { list, next: None });
        }
    }
}

/// Returns the error for a rate that the unit does not set.
pub(crate) fn not_set(key: RateKey) -> Error {
    Error::missing(RATE_NOT_FOUND, key::text(key))
}
