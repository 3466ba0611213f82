//! Reports how much of its quotas of webhooks, events and deliveries a tenant uses.

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_base::data::quota::Usage;
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;

use super::Webhooks;
use super::registry::quota::{CONSUMERS, WEBHOOKS};

/// The use of the tenant's quotas by webhooks and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sending {
    /// The tenant's webhooks.
    pub webhooks: Usage,
    /// The tenant's consumers of events.
    pub event_consumers: Usage,
    /// The events that the tenant published in the last second, on this host.
    pub events_per_second: Usage,
    /// The tenant's deliveries that are not finished.
    pub waiting_deliveries: Usage,
    /// The tenant's deliveries in flight from this host to the target that has the most of them, besides one for each
    /// webhook that answers.
    pub deliveries_per_target: Usage,
}

impl Webhooks {
    /// Returns how much a tenant sends.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub async fn usage(&self, tenant: &TenantId) -> Result<Sending> {
        let quotas = &self.app.config.quotas;
        let records = self.records(tenant);
        let webhooks = WEBHOOKS.used(&records).await?;
        let consumers = CONSUMERS.used(&records).await?;
        let under_way = self.targets.most(tenant, self.app.clock.now());
        Ok(Sending {
            webhooks: Usage::of(webhooks, quotas.webhooks),
            event_consumers: Usage::of(consumers, quotas.event_consumers),
            events_per_second: self.admission.events(tenant, self.app.clock.now()),
            waiting_deliveries: self.waiting(tenant).await?,
            deliveries_per_target: Usage::of(under_way, quotas.deliveries_per_target),
        })
    }
}
