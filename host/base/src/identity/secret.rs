//! Texts that must not be seen: a client's secret, a password, a signing key.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text that logs and errors cannot show. It is stored, and it is sent only where it was asked for.
#[derive(Clone, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret with this text.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, for the code that uses it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
