//! Numbers between JSON and text, exactly: never through a float (`rates.md`, "Setting rates").

use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// A decimal in text, as the JSON number of the same text.
pub(in crate::rates) trait Exact {
    /// The JSON number.
    ///
    /// # Errors
    /// [`Error::Bug`] for a text that is not a number.
    fn exact(&self) -> Result<&RawValue>;
}

impl Exact for str {
    fn exact(&self) -> Result<&RawValue> {
        let starts = self.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let number = starts.then(|| serde_json::from_str(self).ok()).flatten();
        number.ok_or_else(|| Error::Bug(format!("{self} is not a number")))
    }
}
