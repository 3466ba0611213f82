//! The status of a client of the token service.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of a client, which decides whether it may obtain tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "ClientStatus")]
pub enum Status {
    /// The client has registered itself, and no administrator has authorized or revoked it yet.
    Pending,
    /// The client may obtain tokens.
    Authorized,
    /// The client cannot obtain tokens, and can never be authorized again.
    Revoked,
}

/// A change of a client's status by an administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusChange {
    /// The client may obtain tokens.
    Authorize,
    /// The client may not obtain tokens.
    Revoke,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Authorized, Self::Revoked];

    /// Returns the name of the status.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Authorized => "Authorized",
            Self::Revoked => "Revoked",
        }
    }

    /// Returns the status with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Returns the status after a change, or `None` if the change is not allowed (`tokens.md`, "Life of a client").
    #[must_use]
    pub const fn after(self, change: StatusChange) -> Option<Self> {
        match (self, change) {
            (Self::Revoked, StatusChange::Authorize) => None,
            (_, StatusChange::Authorize) => Some(Self::Authorized),
            (_, StatusChange::Revoke) => Some(Self::Revoked),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
