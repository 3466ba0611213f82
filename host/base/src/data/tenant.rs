//! The record of a tenant, with the settings that an operator has made for it.
//!
//! The token service writes it (`tokens/tenants.rs`). Its type is here because other features read their settings from
//! it, and no feature imports another.

use serde::{Deserialize, Serialize};
use tillgate_store::clock::Timestamp;

use super::records::Records;
use crate::error::Result;
use crate::identity::TenantId;

/// The partition with the records of tenants and everything else of the token service.
pub const PARTITION: &str = "iam";

/// The prefix of the records of tenants.
pub const TENANT: &str = "tenant/";

/// Returns the key of a tenant's record.
#[must_use]
pub fn key(tenant: &TenantId) -> String {
    format!("{TENANT}{tenant}")
}

/// The settings that an operator makes for a tenant.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct TenantSettings {
    /// The name shown to people.
    pub name: Option<String>,
    /// The percentage by which a rate may move unless a change says that it is intended (`rates.md`, "Guard against
    /// slips"): a decimal from 0 to less than 100. `None` means the percentage in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_tolerance_percent: Option<String>,
}

/// A tenant as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct StoredTenant {
    /// The settings that an operator has made.
    #[serde(flatten)]
    pub settings: TenantSettings,
    /// The time of creation.
    pub created: Timestamp,
}

impl StoredTenant {
    /// Creates a tenant without settings.
    #[must_use]
    pub fn new(created: Timestamp) -> Self {
        Self {
            settings: TenantSettings::default(),
            created,
        }
    }
}

/// Reads the settings of a tenant; a tenant that was never created has none. `records` are those of [`PARTITION`].
///
/// # Errors
/// [`Error::Unavailable`](crate::error::Error::Unavailable).
pub async fn settings(records: &Records, tenant: &TenantId) -> Result<TenantSettings> {
    let read = records.get::<StoredTenant>(&key(tenant)).await?;
    Ok(read.map(|read| read.record.settings).unwrap_or_default())
}
