//! The record of a tenant, and what an operator has set for it.
//!
//! The token service writes it (`tokens/tenants.rs`). Its shape stands here because other features read a setting of theirs
//! in it, and no feature imports another.

use serde::{Deserialize, Serialize};
use tillgate_store::clock::Timestamp;

use super::records::Records;
use crate::error::Result;
use crate::identity::TenantId;

/// The partition of the records of tenants, with everything else of the token service.
pub const PARTITION: &str = "iam";

/// The prefix of the records of tenants.
pub const TENANT: &str = "tenant/";

/// The key of a tenant's record.
#[must_use]
pub fn key(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}")
}

/// What an operator sets for a tenant.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TenantSettings {
    /// Its name for people.
    pub name: Option<String>,
    /// By how many percent a rate may move unless a change says that it is meant (`rates.md`, "Guard against slips"): a
    /// decimal, 0 to less than 100. `None`: as the configuration has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_tolerance_percent: Option<String>,
}

/// A tenant as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct StoredTenant {
    /// What an operator has set.
    #[serde(flatten)]
    pub settings: TenantSettings,
    /// When it was created.
    pub created: Timestamp,
}

impl StoredTenant {
    /// A tenant for which nothing is set.
    #[must_use]
    pub fn new(created: Timestamp) -> Self {
        Self {
            settings: TenantSettings::default(),
            created,
        }
    }
}

/// What is set for a tenant; nothing for one that was never created. `records` are those of [`PARTITION`].
///
/// # Errors
/// [`Error::Unavailable`](crate::error::Error::Unavailable).
pub async fn settings(records: &Records, tenant: &TenantId) -> Result<TenantSettings> {
    let read = records.get::<StoredTenant>(&key(tenant)).await?;
    Ok(read.map(|read| read.record.settings).unwrap_or_default())
}
