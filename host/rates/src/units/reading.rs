//! Reads units and the rates that are set at them, and prepares each version for answers once.
//!
//! A request reads the unit's record, which is small, and finds the rest in memory. Threads of lower priority read and
//! prepare what is missing, with a permit of the requester, so that many large units do not slow down others.

use std::sync::Arc;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tillgate_base::app::App;
use tillgate_base::data::etag::{self, Etag};
use tillgate_base::data::records::{Records, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::RateKey;
use tillgate_store::Revision;

use super::answers::{not_set, set_list, unit_json};
use super::prepared::{Prepared, Weighed};
use super::rate_list::RateList;
use super::rate_text::Reference;
use super::set_rates::StoredRates;
use super::unit::{Unit, UnitId, no_unit};

/// The prepared answers of all tenants.
#[derive(Debug)]
pub(crate) struct ReadCache {
    units: Prepared<UnitView>,
    /// The rates that units use.
    pub(crate) used: Prepared<RateList>,
}

impl ReadCache {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            units: Prepared::new()?,
            used: Prepared::new()?,
        })
    }
}

/// A unit as it is answered.
#[derive(Debug)]
pub(crate) struct UnitView {
    pub(crate) id: UnitId,
    pub(crate) revision: Revision,
    pub(crate) unit: Unit,
    /// The unit as JSON, written by [`unit_json`].
    pub(crate) json: Bytes,
    pub(crate) etag: Etag,
    /// The rates that are set at it.
    pub(crate) rates: RateList,
}

impl Weighed for UnitView {
    fn bytes(&self) -> usize {
        // The unit's settings take about as much memory as their JSON.
        2 * self.json.len() + self.rates.bytes()
    }
}

impl UnitView {
    async fn read(records: &Records, id: &UnitId) -> Result<Self> {
        let keys = [id.key(), id.rates_key()];
        let mut entries = records.entries(&keys).await?.into_iter();
        let (unit, rates) = (entries.next().flatten(), entries.next().flatten());
        let unit = decode_entry::<Unit>(id.as_str(), &unit.ok_or_else(|| no_unit(id))?)?;
        let rates = rates.map(|entry| StoredRates::read(entry.value));
        let rates = rates.transpose()?.unwrap_or_default().rates;
        let by = unit.record.last_modified_by.as_ref();
        let json = unit_json(id, &unit.record.settings, by)?;
        Ok(Self {
            id: id.clone(),
            revision: unit.revision,
            etag: etag::of_text(&json),
            json,
            rates: set_list(&rates)?,
            unit: unit.record,
        })
    }

    /// Returns the value of a rate that is set at the unit, a decimal, and the day of the document that it comes from.
    ///
    /// # Errors
    /// [`Error::Bug`] when it is damaged.
    pub(crate) fn rate_value(&self, key: RateKey) -> Result<Option<(String, Option<String>)>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Value<'a> {
            #[serde(borrow)]
            rate_value: &'a RawValue,
            #[serde(default)]
            reference: Option<Reference>,
        }
        let Some(rate) = self.rates.get(key) else {
            return Ok(None);
        };
        let value: Value<'_> = serde_json::from_slice(&rate)
            .map_err(|cause| Error::Bug(format!("a rate is damaged: {cause}")))?;
        let date = value.reference.map(|reference| reference.date);
        Ok(Some((value.rate_value.get().to_owned(), date)))
    }

    /// Returns the JSON of a rate that is set at the unit: `{ exchangeRateType, currencyIdFrom, currencyIdTo,
    /// rateValue, createdDate, createdBy?, lastModified?, reference?, managedBy? }`.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub(crate) fn rate(&self, key: RateKey) -> Result<Bytes> {
        self.rates.get(key).ok_or_else(|| not_set(key))
    }
}

/// A reader of what a tenant has.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(crate) app: &'a Arc<App>,
    pub(crate) records: Records,
    pub(crate) cache: &'a ReadCache,
}

impl Reading<'_> {
    /// Returns a unit, prepared for answers.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Unavailable`].
    pub(crate) async fn unit(&self, id: &UnitId) -> Result<Arc<UnitView>> {
        let entry = self.records.get_bytes(&id.key()).await?;
        let revision = entry.ok_or_else(|| no_unit(id))?.revision;
        let version = format!("{}@{}", id.as_str(), revision.0);
        let make = async {
            let (records, id) = (self.records.clone(), id.clone());
            let read = async move { UnitView::read(&records, &id).await };
            self.app.workers.run_reading(read).await?
        };
        let partition = self.records.partition();
        self.cache.units.get(partition, version, make).await
    }
}
