//! The effect of a request on a unit: computes its new state from its current one, and an answer.
//!
//! Pure. `place.rs` checks that the tree allows it, `validation.rs` that the rates can be set together; `unit_edit.rs`
//! writes it. Imports have a plan of their own (`reference/import.rs`).

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::VERSION_OUTDATED;
use tillgate_base::data::etag::{self, Etag, Preconditions, Written};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::By;
use tillgate_engine::rate::RateKey;

use crate::units::answers::{not_set, rate_json, set_list, unit_json};
use crate::units::set_rates::{NewRate, SetRate, SetRates, SetResult};
use crate::units::tree::Node;
use crate::units::unit::{UnitId, UnitSettings};

/// The new state of a unit.
#[derive(Debug)]
pub(crate) enum After<'r> {
    /// It stays as it is.
    Same,
    /// It is created with these settings, or gets them; the rates that are set at it stay.
    Settings(UnitSettings),
    /// It gets these rates; its settings stay.
    Rates(SetRates, Places<'r>),
    /// It is removed, with all that is set at it.
    Removed,
}

/// A rate of a request, and its place there.
#[derive(Clone, Debug)]
pub(crate) struct Placed<T> {
    pub(crate) value: T,
    /// A JSON path: `$.set[0]`.
    pub(crate) path: String,
}

/// The places of rates in a request, so that a fault of a rate can be named by its place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Places<'r> {
    /// One rate, whose value is the body.
    One(RateKey),
    /// Lists of rates.
    Lists(&'r [Placed<NewRate>]),
    /// A document of reference rates.
    Document,
}

impl Places<'_> {
    /// Returns the path of all rates.
    pub(super) const fn root(self) -> &'static str {
        match self {
            Self::One(_) | Self::Lists(_) => "$",
            Self::Document => "$.document",
        }
    }

    /// Returns the path of a rate's value; `None` for a rate that the request does not set.
    pub(super) fn of(self, key: RateKey) -> Option<String> {
        match self {
            Self::One(one) => (one == key).then(|| "$.rateValue".to_owned()),
            Self::Lists(set) => {
                let rate = set.iter().find(|rate| rate.value.key == key)?;
                Some(format!("{}.rateValue", rate.path))
            }
            Self::Document => Some("$.document".to_owned()),
        }
    }
}

/// Rates to set and to delete together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bulk {
    pub(crate) set: Vec<Placed<NewRate>>,
    pub(crate) delete: Vec<RateKey>,
}

/// The number of rates that a bulk change created, updated, deleted and left as they were.
#[derive(Clone, Copy, Debug, Default, JsonSchema, Serialize)]
pub(crate) struct RateCounts {
    /// Rates that were not set before.
    created: usize,
    /// Rates with a new value.
    updated: usize,
    /// Rates that are no longer set.
    deleted: usize,
    /// Rates that stay as they were.
    unchanged: usize,
}

/// Creates or replaces a unit for the editor `by`. Returns its JSON.
pub(crate) fn put_unit(
    before: Option<&Node>,
    id: &UnitId,
    settings: &UnitSettings,
    preconditions: &Preconditions,
    by: &By,
) -> Result<(After<'static>, (Written, Bytes))> {
    check_unit(preconditions, before)?;
    let written = Written::new(before.is_some());
    if let Some(before) = before.filter(|before| before.unit().settings == *settings) {
        return Ok((After::Same, (written, before.json()?)));
    }
    let json = unit_json(id, settings, Some(by))?;
    Ok((After::Settings(settings.clone()), (written, json)))
}

/// Removes a unit, with the rates that are set at it, which must be of `rates_version` if that is named.
pub(crate) fn delete_unit(
    unit: &Node,
    preconditions: &Preconditions,
    rates_version: Option<&str>,
) -> Result<(After<'static>, ())> {
    check_unit(preconditions, Some(unit))?;
    if let Some(version) = rates_version {
        let list = set_list(&unit.rates.rates)?;
        let version = etag::without_suffixes(version);
        // The entity tag of a compressed answer is weak.
        if *list.etag() != *version.strip_prefix("W/").unwrap_or(&version) {
            let what = "the rates set at the unit are not the version that ifRatesMatch names";
            return Err(Error::Outdated(VERSION_OUTDATED, what.to_owned()));
        }
    }
    Ok((After::Removed, ()))
}

/// Sets one rate for the editor `by` at the time `at`. Returns its JSON.
pub(crate) fn put_rate(
    unit: &Node,
    new: &NewRate,
    preconditions: &Preconditions,
    by: &str,
    at: &str,
) -> Result<(After<'static>, (Written, Bytes))> {
    let old = &unit.rates.rates;
    check_rate(preconditions, new.key, old.get(new.key))?;
    let mut rates = old.clone();
    let written = match rates.set(new, by, at) {
        SetResult::Created => Written::Created,
        SetResult::Updated | SetResult::Unchanged => Written::Replaced,
    };
    let set = rates.get(new.key);
    let set = set.ok_or_else(|| Error::Bug("the rate was not set".to_owned()))?;
    let json = rate_json(new.key, set)?;
    let after = after(old, rates, Places::One(new.key));
    Ok((after, (written, json)))
}

pub(crate) fn delete_rate(
    unit: &Node,
    key: RateKey,
    preconditions: &Preconditions,
) -> Result<(After<'static>, ())> {
    let old = &unit.rates.rates;
    let set = old.get(key).ok_or_else(|| not_set(key))?;
    check_rate(preconditions, key, Some(set))?;
    let mut rates = old.clone();
    rates.remove(key);
    Ok((after(old, rates, Places::Lists(&[])), ()))
}

/// Sets and removes many rates. Returns the counts and the entity tag of the resulting list.
pub(crate) fn change_rates<'r>(
    unit: &Node,
    bulk: &'r Bulk,
    preconditions: &Preconditions,
    by: &str,
    at: &str,
) -> Result<(After<'r>, (RateCounts, Etag))> {
    let old = &unit.rates.rates;
    preconditions.check(Some(set_list(old)?.etag()))?;
    let (mut rates, mut counts) = (old.clone(), RateCounts::default());
    for new in &bulk.set {
        match rates.set(&new.value, by, at) {
            SetResult::Created => counts.created += 1,
            SetResult::Updated => counts.updated += 1,
            SetResult::Unchanged => counts.unchanged += 1,
        }
    }
    for key in &bulk.delete {
        if rates.remove(*key) {
            counts.deleted += 1
        } else {
            counts.unchanged += 1
        }
    }
    let etag = set_list(&rates)?.etag().clone();
    Ok((after(old, rates, Places::Lists(&bulk.set)), (counts, etag)))
}

/// Returns the new state of a unit that gets these rates.
pub(crate) fn after<'r>(old: &SetRates, rates: SetRates, places: Places<'r>) -> After<'r> {
    if rates == *old {
        After::Same
    } else {
        After::Rates(rates, places)
    }
}

fn check_unit(preconditions: &Preconditions, before: Option<&Node>) -> Result<()> {
    let json = before.map(Node::json).transpose()?;
    let etag = json.map(|json| etag::of_text(&json));
    preconditions.check(etag.as_ref())
}

fn check_rate(preconditions: &Preconditions, key: RateKey, rate: Option<&SetRate>) -> Result<()> {
    let json = rate.map(|rate| rate_json(key, rate)).transpose()?;
    preconditions.check(json.map(|json| etag::of_text(&json)).as_ref())
}
