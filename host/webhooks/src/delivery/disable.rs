//! Disables a webhook whose receiver is gone or has failed for too long, and tells the tenant's other webhooks.

use serde::{Deserialize, Serialize};
use serde_json::json;
use tillgate_base::data::records::Change;
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_base::observe::audit::Line;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use crate::Webhooks;
use crate::events::delivery_id::DeliveryId;
use crate::events::event::NewEvent;
use crate::events::log::Logging;
use crate::registry::audit::line;
use crate::registry::cache::wanting;
use crate::registry::event_type::WEBHOOK_EVENTS;
use crate::registry::webhook::{Disabled, DisabledReason, Webhook, webhook_key};

/// The record of a webhook at which every recent attempt has failed.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Failing {
    pub(crate) since: Timestamp,
}

pub(crate) fn failing_key(webhook: Uuid) -> String {
    format!("webhook-failing/{webhook}")
}

impl Webhooks {
    /// Disables a webhook after an attempt at a delivery.
    pub(super) async fn disable(
        &self,
        tenant: &TenantId,
        id: Uuid,
        reason: DisabledReason,
        delivery: DeliveryId,
    ) -> Result<()> {
        let (records, key) = (self.records(tenant), webhook_key(id));
        let all = self.caches.of(&self.app, tenant).await?;
        let others = all.values().filter(|other| other.id != id);
        let data = json!({ "action": "DISABLED", "id": id, "reason": reason });
        let event = NewEvent::own(WEBHOOK_EVENTS, &data, self.app.clock.now(), Uuid::new_v4());
        let told = wanting(others, &event);
        let plan = async || {
            let mut change = Change::default();
            let read = records.get::<Webhook>(&key).await?;
            let Some(mut read) = read.filter(|read| read.record.is_enabled()) else {
                return Ok((change, None));
            };
            change.expect(&key, Some(&read));
            let now = self.app.clock.now();
            read.record.end_previous_key(now);
            let before = read.record.clone();
            read.record.disabled = Some(Disabled { reason, at: now });
            read.record.last_modified = now;
            read.record.last_modified_by = None;
            change.put(&key, &read.record)?;
            change.notify(&key);
            match Logging::read(&records).await? {
                Logging::Off if told.is_empty() => Logging::expect_no_consumer(&mut change),
                logging => {
                    self.accept(&mut change, tenant, &event, &told, logging, now)?;
                }
            }
            let line = Line {
                delivery: Some(delivery.0),
                reason: Some(reason.as_str()),
                ..line(tenant, id, Some(&before), Some(&read.record))?
            };
            Ok((change, Some(line)))
        };
        if let Some(line) = records.change(plan).await? {
            line.write_own("webhook.disabled");
            tracing::warn!(%tenant, webhook = %id, ?reason, "a webhook was disabled");
            self.caches.catch_up(&self.app, tenant).await?;
        }
        Ok(())
    }
}
