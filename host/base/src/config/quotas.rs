//! The quotas of one tenant.

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

/// The most that one tenant may have.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Quotas {
    pub conditions: usize,
    pub projects: usize,
    pub configuration: ByteSize,
    pub history: ByteSize,
    pub tills: usize,
    pub templates: u64,
    pub template_bytes: ByteSize,
    pub clients: u64,
    pub streams: usize,
    pub business_units: u64,
    pub business_unit_bytes: ByteSize,
    pub exchange_rates: u64,
    pub rate_passes: usize,
    pub webhooks: usize,
    pub event_consumers: usize,
    pub events_per_second: u32,
    pub waiting_deliveries: usize,
    pub deliveries_per_target: usize,
}

impl Quotas {
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.events_per_second == 0 || self.deliveries_per_target == 0 {
            return Err("events_per_second and deliveries_per_target must be at least 1");
        }
        if self.rate_passes == 0 {
            return Err("rate_passes must be at least 1");
        }
        Ok(())
    }
}
