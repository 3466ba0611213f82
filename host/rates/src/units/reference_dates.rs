//! The days of the reference rates of each unit. They are in one partition for all tenants, so that a host can
//! count the old ones (`rates.md`, "Guard against slips").
//!
//! No commit writes for two tenants. An edit that changes the day of a unit's rates therefore adds a job for the unit
//! to its commit, and the job writes the days that the unit has by then (`reference/ages.rs`).

use std::collections::BTreeMap;

use bytes::Bytes;
use tillgate_base::data::records::Change;
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;

use super::set_rates::SetRates;
use super::tree::Node;
use super::unit::UnitId;

pub(crate) const QUEUE: &str = "reference-dates";

/// The partition of the records of all tenants, and the prefix of their keys.
pub(crate) const PARTITION: &str = "reference-dates";
pub(crate) const DATES: &str = "dates/";

/// The newest day of each type of reference rate: `{ "SALES": "2026-11-20" }`. Single currencies may be of earlier
/// days; those that a source no longer has always are.
pub(crate) type Dates = BTreeMap<String, String>;

pub(crate) fn key(tenant: &TenantId, unit: &UnitId) -> String {
    format!("{DATES}{tenant}/{}", unit.as_str())
}

/// Returns the newest day of each type of reference rate that is set at a unit.
pub(crate) fn dates(rates: &SetRates) -> Dates {
    let mut newest: BTreeMap<&str, &str> = BTreeMap::new();
    for (key, rate) in rates.iter() {
        if let Some(reference) = &rate.reference {
            let day = newest.entry(key.rate_type.as_str()).or_default();
            *day = (*day).max(reference.date.as_str());
        }
    }
    let owned = newest.into_iter();
    owned
        .map(|(of, day)| (of.to_owned(), day.to_owned()))
        .collect()
}

/// Adds the job that writes the days of a unit's rates to a change of the unit, if the days differ.
pub(crate) fn plan(change: &mut Change, before: Option<&Node>, after: Option<&Node>) {
    let of = |node: Option<&Node>| {
        node.map(|node| dates(&node.rates.rates))
            .unwrap_or_default()
    };
    let unit = after.or(before);
    if let Some(unit) = unit.filter(|_| of(before) != of(after)) {
        change.enqueue(QUEUE, unit.id.as_str(), Timestamp(0), Bytes::new());
    }
}
