//! The rates that are set at a business unit, as they are stored and answered.
//!
//! All rates of a unit are one record: whether they can be set together is a matter of all of them (a rate whose opposite
//! vanishes needs the opposite). The record is a list in the shape that the module reads.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tillgate_engine::rate::{Currency, Pair, Rate, RateKey, RateType};

use super::number::Exact;
use crate::error::{Error, Result};

/// The most rates that may be set at one unit.
pub(in crate::rates) const MAX_SET: usize = 10_000;

/// Type and currencies, as they are written in requests and in the store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyText {
    /// `SALES`, `PURCHASE` or `INTERCOMPANY`.
    pub exchange_rate_type: String,
    /// The source.
    pub currency_id_from: String,
    /// The target.
    pub currency_id_to: String,
}

impl KeyText {
    /// The text of a key.
    #[must_use]
    pub fn of(key: RateKey) -> Self {
        Self {
            exchange_rate_type: key.rate_type.as_str().to_owned(),
            currency_id_from: key.pair.from().as_str().to_owned(),
            currency_id_to: key.pair.to().as_str().to_owned(),
        }
    }

    /// The key of a text that was stored.
    ///
    /// # Errors
    /// [`Error::Bug`] when it is damaged.
    pub fn key(&self) -> Result<RateKey> {
        key_of(
            &self.exchange_rate_type,
            &self.currency_id_from,
            &self.currency_id_to,
        )
        .map_err(|_| Error::Bug(format!("{self:?} is not a rate's key")))
    }
}

/// The key of three texts.
pub(in crate::rates) fn key_of(
    rate_type: &str,
    from: &str,
    to: &str,
) -> Result<RateKey, tillgate_engine::rate::Invalid> {
    Ok(RateKey {
        rate_type: RateType::parse(rate_type)?,
        pair: Pair::new(Currency::parse(from)?, Currency::parse(to)?)?,
    })
}

/// Where an imported rate comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::rates) struct Reference {
    /// Whose it is: `ECB`.
    pub source: String,
    /// The day that it is of: `2026-11-20`.
    pub date: String,
    /// Whether a later document of this source had no rate of this currency any more.
    #[serde(default)]
    pub stale: bool,
}

/// A rate that is set, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rates) struct SetRate {
    /// Type and currencies.
    #[serde(flatten)]
    pub key: KeyText,
    /// Its value, a decimal.
    pub rate_value: String,
    /// When it was first set.
    pub created_date: String,
    /// Who set its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// When its value was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
    /// The document that it was imported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Reference>,
}

/// A rate that is set, as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rates) struct SetRateAnswer<'a> {
    #[serde(flatten)]
    key: &'a KeyText,
    rate_value: &'a RawValue,
    created_date: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a Reference>,
}

impl SetRate {
    pub(in crate::rates) fn answer(&self) -> Result<SetRateAnswer<'_>> {
        Ok(SetRateAnswer {
            key: &self.key,
            rate_value: self.rate_value.exact()?,
            created_date: &self.created_date,
            created_by: self.created_by.as_deref(),
            last_modified: self.last_modified.as_deref(),
            reference: self.reference.as_ref(),
        })
    }
}

/// All rates that are set at a unit, by type, source and target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::rates) struct SetRates(BTreeMap<RateKey, SetRate>);

/// What is to be set at a unit.
#[derive(Clone, Debug)]
pub(in crate::rates) struct NewRate {
    pub(in crate::rates) key: RateKey,
    pub(in crate::rates) rate: Rate,
    pub(in crate::rates) reference: Option<Reference>,
}

/// What happened to a rate that was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rates) enum Outcome {
    Created,
    Updated,
    Unchanged,
}

impl SetRates {
    /// The rates of a record; none without one.
    pub(in crate::rates) fn read(record: Option<&Bytes>) -> Result<Self> {
        let Some(record) = record else {
            return Ok(Self::default());
        };
        let list: Vec<SetRate> = serde_json::from_slice(record)
            .map_err(|cause| Error::Bug(format!("the rates of a unit are damaged: {cause}")))?;
        let keyed = list.into_iter().map(|rate| Ok((rate.key.key()?, rate)));
        Ok(Self(keyed.collect::<Result<_>>()?))
    }

    /// The record, in the shape in which the module reads the rates of a level.
    pub(in crate::rates) fn record(&self) -> Result<Bytes> {
        let list: Vec<&SetRate> = self.0.values().collect();
        let json = serde_json::to_vec(&list).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(json.into())
    }

    pub(in crate::rates) fn iter(&self) -> impl Iterator<Item = (RateKey, &SetRate)> {
        self.0.iter().map(|(key, rate)| (*key, rate))
    }

    pub(in crate::rates) fn get(&self, key: RateKey) -> Option<&SetRate> {
        self.0.get(&key)
    }

    pub(in crate::rates) fn len(&self) -> usize {
        self.0.len()
    }

    pub(in crate::rates) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets a rate. One that has the value already stays as it is, but for the document that it comes from.
    pub(in crate::rates) fn set(&mut self, new: &NewRate, by: &str, at: &str) -> Outcome {
        let value = new.rate.value().to_string();
        match self.0.get_mut(&new.key) {
            Some(rate) if rate.rate_value == value => {
                rate.reference.clone_from(&new.reference);
                Outcome::Unchanged
            }
            Some(rate) => {
                rate.rate_value = value;
                rate.created_by = Some(by.to_owned());
                rate.last_modified = Some(at.to_owned());
                rate.reference.clone_from(&new.reference);
                Outcome::Updated
            }
            None => {
                let rate = SetRate {
                    key: KeyText::of(new.key),
                    rate_value: value,
                    created_date: at.to_owned(),
                    created_by: Some(by.to_owned()),
                    last_modified: Some(at.to_owned()),
                    reference: new.reference.clone(),
                };
                self.0.insert(new.key, rate);
                Outcome::Created
            }
        }
    }

    /// Removes a rate; whether there was one.
    pub(in crate::rates) fn remove(&mut self, key: RateKey) -> bool {
        self.0.remove(&key).is_some()
    }

    /// Marks the rates of a source that are of an earlier day than `date`: a later document has them no more.
    pub(in crate::rates) fn mark_stale(&mut self, source: &str, types: &[RateType], date: &str) {
        for (key, rate) in &mut self.0 {
            if let Some(reference) = &mut rate.reference
                && types.contains(&key.rate_type)
                && reference.source == source
                && reference.date.as_str() < date
            {
                reference.stale = true;
            }
        }
    }
}
