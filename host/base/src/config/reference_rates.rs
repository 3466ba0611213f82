//! The tables of `[[reference_rates]]`: the document that is imported every day, the place where its rates are set, and
//! the time (`rates.md`, "Reference rates").
//!
//! Only the import checks that the tenant and the business unit exist: they may be created later.

use std::path::{Path, PathBuf};

use jiff::civil::Time;
use serde::{Deserialize, Serialize};
use tillgate_api::rate::is_unit_id;
use tillgate_engine::rate::RateType;

use super::as_text::{rate_types, time_of_day};
use super::safe_url::is_safe_url;
use crate::identity::TenantId;

/// A document of reference rates that is imported every day.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceRates {
    pub tenant: TenantId,
    pub business_unit: String,
    #[serde(with = "rate_types")]
    pub exchange_rate_types: Vec<RateType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    #[serde(with = "time_of_day")]
    pub at: Time,
    #[serde(default)]
    pub crosses: bool,
}

/// The source of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'c> {
    /// An https URL, or an http URL of this machine.
    Url(&'c str),
    /// A file, relative to the folder in which the host was started.
    File(&'c Path),
}

impl ReferenceRates {
    /// Returns the source of the document.
    #[must_use]
    pub fn source(&self) -> Source<'_> {
        match &self.url {
            Some(url) => Source::Url(url),
            None => Source::File(self.file.as_deref().unwrap_or(Path::new(""))),
        }
    }

    /// Checks all tables, and that no two of them set the same rates.
    pub(super) fn check_all(tables: &[Self]) -> Result<(), String> {
        for (index, table) in tables.iter().enumerate() {
            let at = format!("reference_rates[{index}]");
            table.check().map_err(|fault| format!("{at}.{fault}"))?;
            let mut others = tables.iter().take(index);
            if let Some(other) = others.find_map(|other| table.type_in_common(other)) {
                return Err(format!(
                    "{at}.exchange_rate_types must not have {}: another table sets these rates of {}",
                    other.as_str(),
                    table.business_unit
                ));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), &'static str> {
        if !is_unit_id(&self.business_unit) {
            return Err("business_unit must be 1 to 128 of A-Z a-z 0-9 . _ : -");
        }
        let types = &self.exchange_rate_types;
        if types.is_empty() {
            return Err("exchange_rate_types must name SALES, PURCHASE or INTERCOMPANY");
        }
        if (1..types.len()).any(|end| types.iter().take(end).any(|it| Some(it) == types.get(end))) {
            return Err("exchange_rate_types must name each type once");
        }
        if self.url.is_some() == self.file.is_some() {
            return Err("url or file must be set, and not both");
        }
        match self.source() {
            Source::Url(url) if !is_safe_url(url) => {
                Err("url must be an https URL, or an http URL of this machine")
            }
            Source::File(file) if file.as_os_str().is_empty() => Err("file must not be empty"),
            Source::Url(_) | Source::File(_) => Ok(()),
        }
    }

    /// Returns a type that both tables set for the same unit.
    fn type_in_common(&self, other: &Self) -> Option<RateType> {
        let same_unit = self.tenant == other.tenant && self.business_unit == other.business_unit;
        let mut types = self.exchange_rate_types.iter().copied();
        types.find(|it| same_unit && other.exchange_rate_types.contains(it))
    }
}
