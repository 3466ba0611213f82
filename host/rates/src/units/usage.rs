//! Counts the business units and rates of a tenant in one record, which is written in the same commit as what it
//! counts. Also records which units have rates, so that they are found among many that have none.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_base::config::Config;
use tillgate_base::data::quota::{self, Usage, exchange};
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};

use super::json::to_json;
use super::tree::Node;
use super::unit::{MAX_DEPTH, Unit, UnitId};

const USAGE: &str = "rates-usage";
const WITH_RATES: &str = "unit-with-rates/";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counts {
    pub(crate) units: u64,
    /// The bytes of the units' settings.
    pub(crate) unit_bytes: u64,
    /// The rates that are set.
    pub(crate) rates: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Quotas {
    pub(crate) units: u64,
    pub(crate) unit_bytes: u64,
    pub(crate) rates: u64,
}

impl Quotas {
    pub(crate) const fn of(config: &Config) -> Self {
        let quotas = &config.quotas;
        Self {
            units: quotas.business_units,
            unit_bytes: quotas.business_unit_bytes.as_u64(),
            rates: quotas.exchange_rates,
        }
    }
}

/// The tenant's use of each quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RatesUsage {
    /// The business units.
    pub business_units: Usage,
    /// The bytes of the JSON of the business units.
    pub business_unit_bytes: Usage,
    /// The rates that are set at business units.
    pub exchange_rates: Usage,
    /// Changes and initial states that have shops left to visit.
    pub rate_passes: Usage,
}

impl Counts {
    fn of(node: Option<&Node>) -> Result<Self> {
        let Some(node) = node else {
            return Ok(Self::default());
        };
        Ok(Self {
            units: 1,
            unit_bytes: quota::count(to_json(&node.unit().settings)?.len()),
            rates: quota::count(node.rates.rates.len()),
        })
    }

    /// Reads the counts of a tenant.
    ///
    /// # Errors
    /// [`Error::Unavailable`].
    pub(crate) async fn read(records: &Records) -> Result<Self> {
        let read: Option<Versioned<Self>> = records.get(USAGE).await?;
        Ok(read.map(|read| read.record).unwrap_or_default())
    }

    /// Returns the usage of each quota.
    pub(crate) fn usage(self, quotas: &Quotas, rate_passes: Usage) -> RatesUsage {
        let usage = |used, quota| Usage { used, quota };
        RatesUsage {
            business_units: usage(self.units, quotas.units),
            business_unit_bytes: usage(self.unit_bytes, quotas.unit_bytes),
            exchange_rates: usage(self.rates, quotas.rates),
            rate_passes,
        }
    }
}

/// Adds the tenant's new counts to a change of a unit.
///
/// # Errors
/// [`Error::Conflict`] when they exceed a quota; [`Error::Unavailable`].
pub(crate) async fn count(
    records: &Records,
    change: &mut Change,
    before: Option<&Node>,
    after: Option<&Node>,
    quotas: &Quotas,
) -> Result<()> {
    let (old, new) = (Counts::of(before)?, Counts::of(after)?);
    if old.rates != new.rates
        && let Some(node) = after.or(before)
    {
        let key = format!("{WITH_RATES}{}", node.id.as_str());
        match new.rates {
            0 => change.delete(&key),
            rates => change.put(&key, &rates)?,
        }
    }
    if old == new {
        return Ok(());
    }
    let read: Option<Versioned<Counts>> = records.get(USAGE).await?;
    change.expect(USAGE, read.as_ref());
    let now = read.map(|read| read.record).unwrap_or_default();
    let counts = Counts {
        units: exchange(
            "business units",
            now.units,
            [old.units, new.units],
            quotas.units,
        )?,
        unit_bytes: exchange(
            "bytes of business units",
            now.unit_bytes,
            [old.unit_bytes, new.unit_bytes],
            quotas.unit_bytes,
        )?,
        rates: exchange(
            "exchange rates",
            now.rates,
            [old.rates, new.rates],
            quotas.rates,
        )?,
    };
    change.put(USAGE, &counts)
}

/// Returns the number of rates that are set at a unit and at those above it.
///
/// # Errors
/// [`Error::Unavailable`]; [`Error::Bug`] when a record is damaged.
pub(crate) async fn rates_from(records: &Records, id: &UnitId) -> Result<usize> {
    let (mut rates, mut next) = (0, Some(id.clone()));
    for _ in 0..=MAX_DEPTH {
        let Some(id) = next.take() else { break };
        let keys = [id.key(), format!("{WITH_RATES}{}", id.as_str())];
        let mut entries = records.entries(&keys).await?.into_iter();
        let (unit, with_rates) = (entries.next().flatten(), entries.next().flatten());
        let count = with_rates.map(|entry| decode_entry::<usize>(id.as_str(), &entry));
        rates += count.transpose()?.map_or(0, |count| count.record);
        let unit = unit.map(|entry| decode_entry::<Unit>(id.as_str(), &entry));
        next = unit
            .transpose()?
            .and_then(|unit| unit.record.settings.parent_id);
    }
    Ok(rates)
}

/// Returns the units of a tenant that have rates, with the number of rates of each.
///
/// # Errors
/// [`Error::Unavailable`].
pub(crate) async fn units_with_rates(records: &Records) -> Result<Vec<(UnitId, usize)>> {
    let mut units = Vec::new();
    let mut pages = records.pages(WITH_RATES);
    while let Some(entries) = pages.next().await? {
        for (key, entry) in &entries {
            let id = key.strip_prefix(WITH_RATES).and_then(UnitId::new);
            let count = std::str::from_utf8(&entry.value).ok();
            let count = count.and_then(|count| count.parse().ok());
            let (Some(id), Some(count)) = (id, count) else {
                return Err(Error::Bug(format!("{key} is damaged")));
            };
            units.push((id, count));
        }
    }
    Ok(units)
}
