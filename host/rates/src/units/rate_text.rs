//! A rate with its decimals as text: as it is stored, and as it is passed to and from the module. A rate that is set at
//! a unit has no value with markup, no `setAt` and no `asOf`; a rate that a shop uses has no `reference` and no
//! `managedBy`. `rate_answers.rs` has the forms that are answered and sent.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::rate::key;
use tillgate_base::data::managed_by::ManagedBy;
use tillgate_base::error::{Error, Result};
use tillgate_engine::rate::RateKey;

/// The source of an imported rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Reference {
    #[schemars(extend("const" = "ECB"))]
    pub(crate) source: String,
    /// The day of the rate.
    #[schemars(extend("format" = "date"))]
    pub(crate) date: String,
    /// `true` if a later document of this source no longer had a rate of this currency.
    #[serde(default)]
    pub(crate) stale: bool,
}

/// A rate with its decimals as text; times are RFC 3339, in UTC.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RateText<'a> {
    /// `SALES`, `PURCHASE` or `INTERCOMPANY`.
    pub(crate) exchange_rate_type: &'a str,
    /// The source currency.
    pub(crate) currency_id_from: &'a str,
    /// The target currency.
    pub(crate) currency_id_to: &'a str,
    /// Units of the source for one unit of the target.
    pub(crate) rate_value: &'a str,
    /// The value less the markup; absent from a rate that is only set.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate_value_with_markup: Option<&'a str>,
    /// The time when it was first set, or when the shop first got it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) created_date: Option<&'a str>,
    /// The client or user that set its value.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) created_by: Option<Cow<'a, str>>,
    /// The time when its value was last changed.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_modified: Option<&'a str>,
    /// The unit that decided it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) set_at: Option<Cow<'a, str>>,
    /// The document that it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<Cow<'a, Reference>>,
    /// The program that manages it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) managed_by: Option<Cow<'a, ManagedBy>>,
    /// For a rate that is used, the day of the document that it was imported from.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) as_of: Option<&'a str>,
    /// The age of that day in business days; only for answers, since it changes with the day.
    #[serde(skip)]
    pub(crate) age_in_business_days: Option<u32>,
}

impl<'a> RateText<'a> {
    /// Creates a rate without the optional members.
    pub(crate) fn new(key: RateKey, value: &'a str) -> Self {
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

    /// Parses its key.
    ///
    /// # Errors
    /// [`Error::Bug`] when the stored rate is damaged.
    pub(crate) fn key(&self) -> Result<RateKey> {
        let (rate_type, from, to) = (
            self.exchange_rate_type,
            self.currency_id_from,
            self.currency_id_to,
        );
        let key = key::parse(rate_type, from, to);
        key.map_err(|_| Error::Bug(format!("{rate_type} {from} {to} is not a rate's key")))
    }

    /// Returns whether this is the rate of a key.
    pub(crate) fn is_of(&self, key: RateKey) -> bool {
        self.currency_id_from == key.pair.from().as_str()
            && self.currency_id_to == key.pair.to().as_str()
            && self.exchange_rate_type == key.rate_type.as_str()
    }
}
