//! The rates that are set at a business unit.
//!
//! All rates of a unit are one record, because only all of them together show whether they can be set: a rate whose
//! opposite vanishes needs the opposite. The record is a list in the form that the module reads, so that it is written
//! once for both.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::{Rate, RateKey, RateType};

use super::json::to_json;
use super::rate_text::{RateText, Reference};

/// The record of a unit without rates.
const NO_RATES: Bytes = Bytes::from_static(b"[]");

/// A rate that is set. Its place in [`SetRates`] has its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SetRate {
    /// The value: a decimal as the engine writes it, so that equal values are equal texts.
    pub(crate) value: String,
    /// The time when it was first set.
    pub(crate) created_date: String,
    /// The client or user that set its value.
    pub(crate) created_by: Option<String>,
    /// The time when its value was last changed.
    pub(crate) last_modified: Option<String>,
    /// The document that it was imported from.
    pub(crate) reference: Option<Reference>,
    /// The program that manages it.
    pub(crate) managed_by: Option<ManagedBy>,
}

impl SetRate {
    /// Returns the rate with its key, as it is written.
    pub(crate) fn text(&self, key: RateKey) -> RateText<'_> {
        RateText {
            created_date: Some(&self.created_date),
            created_by: self.created_by.as_deref().map(Cow::Borrowed),
            last_modified: self.last_modified.as_deref(),
            reference: self.reference.as_ref().map(Cow::Borrowed),
            managed_by: self.managed_by.as_ref().map(Cow::Borrowed),
            ..RateText::new(key, &self.value)
        }
    }

    fn read(rate: RateText<'_>) -> Result<(RateKey, Self)> {
        let key = rate.key()?;
        let created_date = rate.created_date;
        let created_date = created_date.ok_or_else(|| damaged("a rate has no createdDate"))?;
        let read = Self {
            value: rate.rate_value.to_owned(),
            created_date: created_date.to_owned(),
            created_by: rate.created_by.map(Cow::into_owned),
            last_modified: rate.last_modified.map(str::to_owned),
            reference: rate.reference.map(Cow::into_owned),
            managed_by: rate.managed_by.map(Cow::into_owned),
        };
        Ok((key, read))
    }
}

/// All rates that are set at a unit, by type, source and target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SetRates(BTreeMap<RateKey, SetRate>);

/// A rate to set at a unit.
#[derive(Clone, Debug)]
pub struct NewRate {
    pub(crate) key: RateKey,
    pub(crate) rate: Rate,
    pub(crate) reference: Option<Reference>,
    pub(crate) managed_by: Option<ManagedBy>,
}

impl NewRate {
    /// Creates a rate that is set by hand.
    #[must_use]
    pub const fn new(key: RateKey, rate: Rate) -> Self {
        Self {
            key,
            rate,
            reference: None,
            managed_by: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetResult {
    Created,
    Updated,
    Unchanged,
}

impl SetRates {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RateKey, &SetRate)> {
        self.0.iter().map(|(key, rate)| (*key, rate))
    }

    pub(crate) fn get(&self, key: RateKey) -> Option<&SetRate> {
        self.0.get(&key)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets a rate. If it has the value already, only its reference and its manager change.
    pub(crate) fn set(&mut self, new: &NewRate, by: &str, at: &str) -> SetResult {
        let value = new.rate.value().to_string();
        match self.0.get_mut(&new.key) {
            Some(rate) => {
                rate.reference.clone_from(&new.reference);
                rate.managed_by.clone_from(&new.managed_by);
                if rate.value == value {
                    return SetResult::Unchanged;
                }
                rate.value = value;
                rate.created_by = Some(by.to_owned());
                rate.last_modified = Some(at.to_owned());
                SetResult::Updated
            }
            None => {
                let rate = SetRate {
                    value,
                    created_date: at.to_owned(),
                    created_by: Some(by.to_owned()),
                    last_modified: Some(at.to_owned()),
                    reference: new.reference.clone(),
                    managed_by: new.managed_by.clone(),
                };
                self.0.insert(new.key, rate);
                SetResult::Created
            }
        }
    }

    /// Removes a rate and returns whether it was set.
    pub(crate) fn remove(&mut self, key: RateKey) -> bool {
        self.0.remove(&key).is_some()
    }

    /// Returns the rates of some pairs in both directions; a pair is named by either direction.
    pub(crate) fn of_pairs(&self, pairs: &BTreeSet<RateKey>) -> Self {
        let both = pairs.iter().flat_map(|key| [*key, key.opposite()]);
        let rates = both.filter_map(|key| Some((key, self.0.get(&key)?.clone())));
        Self(rates.collect())
    }

    /// Marks those rates of a source as stale that are of an earlier day than `date` and missing in its document.
    pub(crate) fn mark_stale(
        &mut self,
        source: &str,
        types: &[RateType],
        date: &str,
        is_missing: impl Fn(RateKey) -> bool,
    ) {
        for (key, rate) in &mut self.0 {
            if let Some(reference) = &mut rate.reference
                && types.contains(&key.rate_type)
                && is_missing(*key)
                && reference.source == source
                && reference.date.as_str() < date
            {
                reference.stale = true;
            }
        }
    }
}

/// The rates of a unit and their record, each made from the other once.
#[derive(Debug)]
pub(crate) struct StoredRates {
    pub(crate) rates: SetRates,
    /// The record: JSON, a list as the module reads it.
    pub(crate) record: Bytes,
}

impl Default for StoredRates {
    fn default() -> Self {
        Self {
            rates: SetRates::default(),
            record: NO_RATES,
        }
    }
}

impl StoredRates {
    /// Reads the rates of a record.
    ///
    /// # Errors
    /// [`Error::Bug`] when it is damaged.
    pub(crate) fn read(record: Bytes) -> Result<Self> {
        let list: Vec<RateText<'_>> =
            serde_json::from_slice(&record).map_err(|cause| damaged(&cause.to_string()))?;
        let rates = list.into_iter().map(SetRate::read);
        let rates = SetRates(rates.collect::<Result<_>>()?);
        Ok(Self { rates, record })
    }

    /// Returns the rates with their record.
    ///
    /// # Errors
    /// [`Error::Bug`] for rates that have no JSON form.
    pub(crate) fn new(rates: SetRates) -> Result<Self> {
        let list: Vec<RateText<'_>> = rates.iter().map(|(key, rate)| rate.text(key)).collect();
        let record = to_json(&list)?;
        Ok(Self { rates, record })
    }
}

fn damaged(cause: &str) -> Error {
    Error::Bug(format!("the rates of a unit are damaged: {cause}"))
}
