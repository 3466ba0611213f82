//! Checks that rates can be set together at a unit: their number, and the module's answer (`rates.md`, "Setting
//! rates").

use tillgate_base::app::App;
use tillgate_base::error::{Error, Result};
use tillgate_engine::Fault;
use tillgate_engine::rate::RateKey;

use super::plan::Places;
use crate::shop::math::{self, RateFault};
use crate::units::set_rates::{SetRates, StoredRates};

/// The most rates that may be set at one unit.
const MAX_SET: usize = 10_000;

/// Returns the record of rates that can be set together.
///
/// # Errors
/// [`Error::Invalid`] with every rate that cannot be set, named by its place in the request. A rate that the request
/// does not set is refused because its opposite is deleted.
pub(super) fn together(app: &App, rates: SetRates, places: Places<'_>) -> Result<StoredRates> {
    if rates.len() > MAX_SET {
        let message = "would set more than 10,000 rates at the business unit";
        return Err(Error::invalid(places.root(), message));
    }
    let stored = StoredRates::new(rates)?;
    let faults = math::check(app, &stored.record)?;
    if faults.is_empty() {
        return Ok(stored);
    }
    let faults = faults.into_iter().map(|RateFault { index, fault }| {
        let rate = index.and_then(|index| stored.rates.iter().nth(index));
        match rate {
            Some((key, _)) => placed(places, key, fault),
            None => fault,
        }
    });
    Err(Error::Invalid(faults.collect()))
}

fn placed(places: Places<'_>, key: RateKey, fault: Fault) -> Fault {
    if let Some(path) = places.of(key) {
        return Fault { path, ..fault };
    }
    let (from, to) = (key.pair.from().as_str(), key.pair.to().as_str());
    Fault {
        path: "$".to_owned(),
        message: format!(
            "must not delete the rate from {to} to {from}: the opposite rounds to 0.000000 without it"
        )
        .into(),
    }
}
