//! What must not be seen: a client's secret, a password, a key that signs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A text that logs and errors cannot show. It is stored, and answered where that is what was asked for.
#[derive(Clone, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret with this text.
    #[must_use]
    pub const fn new(text: String) -> Self {
        Self(text)
    }

    /// Its text, for what is done with it.
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
