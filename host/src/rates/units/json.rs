//! JSON as it is stored, sent and answered. Decimals become numbers with the same digits, never through a float
//! (`rates.md`, "Setting rates").
//!
//! The store and the module have decimals as text; answers and messages have them as numbers.

use bytes::Bytes;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// A value as JSON.
///
/// # Errors
/// [`Error::Bug`] for one that has no JSON form.
pub(in crate::rates) fn to_json(value: &impl Serialize) -> Result<Bytes> {
    let json = serde_json::to_vec(value).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(json.into())
}

/// A decimal in text, as the JSON number of the same digits.
///
/// # Errors
/// [`Error::Bug`] for a text that is not a number.
pub(in crate::rates) fn exact(text: &str) -> Result<&RawValue> {
    let starts = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let number = starts.then(|| serde_json::from_str(text).ok()).flatten();
    number.ok_or_else(|| Error::Bug(format!("{text} is not a number")))
}

/// Writes a decimal in text as a JSON number: for `serialize_with`.
pub(in crate::rates) fn number<S: Serializer>(
    text: &impl AsRef<str>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let number = exact(text.as_ref()).map_err(S::Error::custom)?;
    number.serialize(serializer)
}
