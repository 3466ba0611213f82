//! Quotas: how much of something there is, and how much there may be.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};

/// An amount, beside its quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Usage {
    /// The amount.
    pub used: u64,
    /// The quota.
    pub quota: u64,
}

impl Usage {
    /// Returns the usage of something that is counted in memory.
    #[must_use]
    pub fn of(used: usize, quota: usize) -> Self {
        let [used, quota] = [used, quota].map(count);
        Self { used, quota }
    }
}

/// Returns how much of something is left once some is removed and some is added.
///
/// # Errors
/// [`Error::Conflict`] naming it, when the result exceeds the quota. A decrease is never refused.
pub fn exchange(of: &str, used: u64, [removed, added]: [u64; 2], quota: u64) -> Result<u64> {
    let left = used.saturating_sub(removed).saturating_add(added);
    if added > removed && left > quota {
        return Err(Error::quota(of, quota));
    }
    Ok(left)
}

/// Converts a number that is counted in memory, for comparison with a quota.
#[must_use]
pub fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
