//! Rates as they are answered and sent, with their decimals as JSON numbers.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::rate::{
    Key, counted_currency, number, priced_currency, rate_type, rate_value, rate_value_with_markup,
};
use tillgate_api::schema::time;
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::error::{Error, Result};

use super::calendar::STALE_DAYS;
use super::rate_text::{RateText, Reference};

/// A rate that is set at a unit.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SetRate")]
pub(crate) struct SetRateAnswer<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    /// The price of one unit of `currencyIdTo` in `currencyIdFrom`: at most six decimals and 15 significant digits.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "rate_value")]
    rate_value: &'a str,
    /// The time when the rate was first set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    created_date: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<Cow<'a, str>>,
    /// The time when its value last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    last_modified: Option<&'a str>,
    /// The document that the rate was imported from.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<Cow<'a, Reference>>,
    /// The program that manages it.
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<Cow<'a, ManagedBy>>,
}

impl<'a> From<RateText<'a>> for SetRateAnswer<'a> {
    fn from(rate: RateText<'a>) -> Self {
        Self {
            key: key_of(&rate),
            rate_value: rate.rate_value,
            created_date: rate.created_date,
            created_by: rate.created_by,
            last_modified: rate.last_modified,
            reference: rate.reference,
            managed_by: rate.managed_by,
        }
    }
}

/// A rate that a unit uses.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UsedRate")]
pub(crate) struct UsedRateAnswer<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    /// The price of one unit of `currencyIdTo` in `currencyIdFrom`: at most six decimals and 15 significant digits.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "rate_value")]
    rate_value: &'a str,
    /// The rate with the markup taken off.
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "rate_value_with_markup")]
    rate_value_with_markup: &'a str,
    /// The time when the unit first got the rate.
    #[schemars(schema_with = "time")]
    created_date: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<Cow<'a, str>>,
    /// The time when its value or markup last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    last_modified: Option<&'a str>,
    /// The unit at which it is set.
    set_at: Cow<'a, str>,
    /// The day of a reference rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    as_of: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    age_in_business_days: Option<u32>,
    /// `true` if a reference rate is two business days old or older.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("const" = true))]
    stale: Option<bool>,
}

impl<'a> UsedRateAnswer<'a> {
    /// # Errors
    /// [`Error::Bug`] for a rate that is only set.
    pub(crate) fn new(rate: RateText<'a>) -> Result<Self> {
        let age = rate.age_in_business_days;
        Ok(Self {
            key: key_of(&rate),
            rate_value: rate.rate_value,
            rate_value_with_markup: used(rate.rate_value_with_markup)?,
            created_date: used(rate.created_date)?,
            created_by: rate.created_by,
            last_modified: rate.last_modified,
            set_at: used(rate.set_at)?,
            as_of: rate.as_of,
            age_in_business_days: age,
            stale: age.is_some_and(|age| age >= STALE_DAYS).then_some(true),
        })
    }
}

// `given.md`, 2.5.
/// A rate: one unit of the target currency is worth `rateValue` units of the source currency.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageRate<'r> {
    #[schemars(schema_with = "rate_type")]
    exchange_rate_type: &'r str,
    #[schemars(schema_with = "counted_currency")]
    source_currency_code: &'r str,
    #[schemars(schema_with = "priced_currency")]
    target_currency_code: &'r str,
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "rate_value")]
    rate_value: &'r str,
    #[serde(serialize_with = "number")]
    #[schemars(schema_with = "rate_value_with_markup")]
    rate_value_with_markup: &'r str,
    /// The time when the shop first got the rate.
    #[schemars(schema_with = "time")]
    created_date: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<&'r str>,
    /// The time when its value or markup last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    last_modified: Option<&'r str>,
}

impl<'r> MessageRate<'r> {
    /// # Errors
    /// [`Error::Bug`] for a rate that is only set.
    pub(crate) fn new(rate: &'r RateText<'_>) -> Result<Self> {
        Ok(Self {
            exchange_rate_type: rate.exchange_rate_type,
            source_currency_code: rate.currency_id_from,
            target_currency_code: rate.currency_id_to,
            rate_value: rate.rate_value,
            rate_value_with_markup: used(rate.rate_value_with_markup)?,
            created_date: used(rate.created_date)?,
            created_by: rate.created_by.as_deref(),
            last_modified: rate.last_modified,
        })
    }
}

/// Returns a member that every used rate has.
fn used<T>(member: Option<T>) -> Result<T> {
    member.ok_or_else(|| Error::Bug("a rate that is used lacks a member".to_owned()))
}

fn key_of<'a>(rate: &RateText<'a>) -> Key<'a> {
    Key {
        exchange_rate_type: rate.exchange_rate_type.into(),
        currency_id_from: rate.currency_id_from.into(),
        currency_id_to: rate.currency_id_to.into(),
    }
}
