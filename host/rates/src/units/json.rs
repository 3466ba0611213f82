//! JSON as it is stored, sent and answered. Decimals become numbers with the same digits, never through a float
//! (`rates.md`, "Setting rates").
//!
//! The store and the module have decimals as text; answers and messages have them as numbers.

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tillgate_api::rate;
use tillgate_base::error::{Error, Result};

/// Serializes a value as JSON.
///
/// # Errors
/// [`Error::Bug`] for a value that has no JSON form.
pub(crate) fn to_json(value: &impl Serialize) -> Result<Bytes> {
    let json = serde_json::to_vec(value).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(json.into())
}

/// Converts a decimal in text to the JSON number with the same digits.
///
/// # Errors
/// [`Error::Bug`] for a text that is not a number.
pub(crate) fn exact(text: &str) -> Result<&RawValue> {
    rate::exact(text).ok_or_else(|| Error::Bug(format!("{text} is not a number")))
}
