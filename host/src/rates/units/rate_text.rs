//! A rate as it is written: one struct for all of its shapes, each of which has some of the members, in this order.
//!
//! | where | decimals | currencies | members beside type, currencies and value |
//! |---|---|---|---|
//! | set at a unit, in the store | text | `currencyIdFrom`, `currencyIdTo` | dates, `createdBy`, `reference`, `managedBy` |
//! | used, from and to the module | text | the same | with markup, dates, `createdBy`, `setAt`, `asOf` |
//! | answered | numbers | the same | the same, `reference` and `managedBy` or how old it is |
//! | in a message (`given.md`, 2.5) | numbers | `sourceCurrencyCode`, `targetCurrencyCode` | with markup, dates, `createdBy` |

use std::borrow::Cow;

use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};
use tillgate_engine::rate::RateKey;

use super::calendar::STALE_DAYS;
use super::json::exact;
use super::rate_key;
use crate::data::managed_by::{MEMBER, ManagedBy};
use crate::error::{Error, Result};

/// Where an imported rate comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::rates) struct Reference {
    /// Whose it is: `ECB`.
    pub(in crate::rates) source: String,
    /// The day that it is of: `2026-11-20`.
    pub(in crate::rates) date: String,
    /// Whether a later document of this source had no rate of this currency any more.
    #[serde(default)]
    pub(in crate::rates) stale: bool,
}

/// A rate with its decimals as text; times are RFC 3339, in UTC.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::rates) struct RateText<'a> {
    /// `SALES`, `PURCHASE` or `INTERCOMPANY`.
    pub(in crate::rates) exchange_rate_type: &'a str,
    /// The source.
    pub(in crate::rates) currency_id_from: &'a str,
    /// The target.
    pub(in crate::rates) currency_id_to: &'a str,
    /// Units of the source for one of the target.
    pub(in crate::rates) rate_value: &'a str,
    /// The same with the markup taken off; not of a rate that is only set.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) rate_value_with_markup: Option<&'a str>,
    /// When it was first set, or the shop first got it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) created_date: Option<&'a str>,
    /// The client or user that set its value.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) created_by: Option<Cow<'a, str>>,
    /// When its value was last changed.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) last_modified: Option<&'a str>,
    /// The unit that decided it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) set_at: Option<Cow<'a, str>>,
    /// The document that it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) reference: Option<Cow<'a, Reference>>,
    /// Which program manages it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) managed_by: Option<Cow<'a, ManagedBy>>,
    /// Of a rate that is used: the day of the document that it was imported from.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(in crate::rates) as_of: Option<&'a str>,
    /// How many business days old that is: for answers alone, since it changes with the day.
    #[serde(skip)]
    pub(in crate::rates) age_in_business_days: Option<u32>,
}

impl<'a> RateText<'a> {
    /// A value without any of the optional members.
    pub(in crate::rates) fn new(key: RateKey, value: &'a str) -> Self {
        Self {
            exchange_rate_type: key.rate_type.as_str(),
            currency_id_from: key.pair.from().as_str(),
            currency_id_to: key.pair.to().as_str(),
            rate_value: value,
            rate_value_with_markup: None,
            created_date: None,
            created_by: None,
            last_modified: None,
            set_at: None,
            reference: None,
            managed_by: None,
            as_of: None,
            age_in_business_days: None,
        }
    }

    /// Its key.
    ///
    /// # Errors
    /// [`Error::Bug`] when what was stored is damaged.
    pub(in crate::rates) fn key(&self) -> Result<RateKey> {
        let (rate_type, from, to) = (
            self.exchange_rate_type,
            self.currency_id_from,
            self.currency_id_to,
        );
        let key = rate_key::parse(rate_type, from, to);
        key.map_err(|_| Error::Bug(format!("{rate_type} {from} {to} is not a rate's key")))
    }

    /// Whether it is the rate of a key.
    pub(in crate::rates) fn is_of(&self, key: RateKey) -> bool {
        self.currency_id_from == key.pair.from().as_str()
            && self.currency_id_to == key.pair.to().as_str()
            && self.exchange_rate_type == key.rate_type.as_str()
    }

    /// As it is answered: `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue, … }`.
    pub(in crate::rates) const fn answered(&self) -> RateNumbers<'_, 'a> {
        RateNumbers {
            rate: self,
            shape: Shape::Answer,
        }
    }

    /// As it is in a message: `{ exchangeRateType, sourceCurrencyCode, targetCurrencyCode, rateValue, … }`.
    pub(in crate::rates) const fn sent(&self) -> RateNumbers<'_, 'a> {
        RateNumbers {
            rate: self,
            shape: Shape::Message,
        }
    }
}

/// A rate with its decimals as JSON numbers.
#[derive(Debug)]
pub(in crate::rates) struct RateNumbers<'r, 'a> {
    rate: &'r RateText<'a>,
    shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Answer,
    Message,
}

impl Serialize for RateNumbers<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (rate, is_answer) = (self.rate, self.shape == Shape::Answer);
        let [from, to] = match self.shape {
            Shape::Answer => ["currencyIdFrom", "currencyIdTo"],
            Shape::Message => ["sourceCurrencyCode", "targetCurrencyCode"],
        };
        let mut members = serializer.serialize_map(None)?;
        members.serialize_entry("exchangeRateType", rate.exchange_rate_type)?;
        members.serialize_entry(from, rate.currency_id_from)?;
        members.serialize_entry(to, rate.currency_id_to)?;
        let numbers = [
            ("rateValue", Some(rate.rate_value)),
            ("rateValueWithMarkup", rate.rate_value_with_markup),
        ];
        for (name, text) in numbers {
            if let Some(text) = text {
                let number = exact(text).map_err(S::Error::custom)?;
                members.serialize_entry(name, number)?;
            }
        }
        let texts = [
            ("createdDate", rate.created_date),
            ("createdBy", rate.created_by.as_deref()),
            ("lastModified", rate.last_modified),
            ("setAt", rate.set_at.as_deref().filter(|_| is_answer)),
            ("asOf", rate.as_of.filter(|_| is_answer)),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                members.serialize_entry(name, text)?;
            }
        }
        if let Some(reference) = rate.reference.as_ref().filter(|_| is_answer) {
            members.serialize_entry("reference", reference)?;
        }
        if let Some(managed_by) = rate.managed_by.as_ref().filter(|_| is_answer) {
            members.serialize_entry(MEMBER, managed_by)?;
        }
        if let Some(age) = rate.age_in_business_days.filter(|_| is_answer) {
            members.serialize_entry("ageInBusinessDays", &age)?;
            if age >= STALE_DAYS {
                members.serialize_entry("stale", &true)?;
            }
        }
        members.end()
    }
}
