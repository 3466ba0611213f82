//! Quotas: how much there is of something, beside how much there may be.

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::{Error, Result};

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
        let [used, quota] = [used, quota].map(count);
        Self { used, quota }
    }
}

/// How much there is of something once some of it is removed and some is added.
///
/// # Errors
/// [`Error::Conflict`] naming it, when that is more than the quota. What becomes less is never refused.
pub fn exchange(of: &str, used: u64, [removed, added]: [u64; 2], quota: u64) -> Result<u64> {
    let left = used.saturating_sub(removed).saturating_add(added);
    if added > removed && left > quota {
        return Err(Error::quota(of, quota));
    }
    Ok(left)
}

/// A number that is counted in memory, to be compared with a quota.
#[must_use]
pub fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
