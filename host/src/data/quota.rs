//! Quotas: how much there is of something, beside how much there may be.

use schemars::JsonSchema;
use serde::Serialize;

/// How much there is of something, and how much there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Usage {
    /// How much there is.
    pub used: u64,
    /// The quota.
    pub quota: u64,
}

impl Usage {
    /// Counted in memory.
    #[must_use]
    pub fn of(used: usize, quota: usize) -> Self {
        let [used, quota] = [used, quota].map(|number| u64::try_from(number).unwrap_or(u64::MAX));
        Self { used, quota }
    }
}
