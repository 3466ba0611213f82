//! Tells a tenant's other webhooks and its consumers that a delivery has failed for good, at most once a minute per
//! failing webhook (`webhooks.md`, "Events").
//!
//! The commit in which a delivery fails adds a job. The jobs of a webhook have the same id, so those added at about the
//! same time are one, on whichever hosts they are added. The job publishes the event unless there was one in the last
//! minute. A failed delivery of such an event is not reported: two failing webhooks would report each other for ever.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tillgate_api::problem::CHANGED_MEANWHILE;
use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::Work;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::accept::FAN_OUT;
use super::delivery_id::DeliveryId;
use super::delivery_record::Delivery;
use super::event::NewEvent;
use super::log::Logging;
use crate::Webhooks;
use crate::registry::cache::wanting;
use crate::registry::event_type::DELIVERY_EVENTS;
use crate::registry::webhook::Webhook;

/// The key prefix of webhooks of which a failed delivery was reported.
pub(crate) const TOLD: &str = "webhook-failure-told/";

/// The time after a report in which no other failure of the webhook is reported.
const PAUSE: Duration = Duration::from_secs(60);

/// The time at which a failed delivery of a webhook was last reported.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Told {
    at: Timestamp,
}

/// A failed delivery, as a job names it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failed {
    delivery_id: DeliveryId,
    webhook_id: Uuid,
    event_type: String,
}

impl Told {
    /// Returns whether it is too early to report another failure. Setting the clock back does not prolong that.
    pub(crate) fn counts(self, now: Timestamp) -> bool {
        Duration::from_micros(now.0.abs_diff(self.at.0)) < PAUSE
    }
}

impl Webhooks {
    /// Adds to the change in which a delivery fails the job that tells the tenant's other webhooks and its consumers,
    /// if one of them wants to know.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn tell_of_failure(
        &self,
        change: &mut Change,
        tenant: &TenantId,
        id: DeliveryId,
        delivery: &Delivery,
    ) -> Result<()> {
        if delivery.event_type == DELIVERY_EVENTS {
            return Ok(());
        }
        let all = self.caches.of(&self.app, tenant).await?;
        let mut others = others(all.values(), delivery.webhook_id);
        let is_wanted = others.any(|other| other.wants(DELIVERY_EVENTS))
            || self.caches.has_consumers(&self.app, tenant).await?;
        if !is_wanted {
            return Ok(());
        }
        let failed = Failed {
            delivery_id: id,
            webhook_id: delivery.webhook_id,
            event_type: delivery.event_type.clone(),
        };
        let body = serde_json::to_vec(&failed).map_err(|cause| Error::Bug(cause.to_string()))?;
        // No event has the id of a webhook.
        let job = failed.webhook_id.to_string();
        change.enqueue(FAN_OUT, &job, self.app.clock.now(), body.into());
        Ok(())
    }

    /// Publishes the failed delivery that a job names, unless one of its webhook was reported in the last minute.
    ///
    /// # Errors
    /// When the store is unavailable; [`Error::Conflict`] when another host has the job by now.
    pub(super) async fn publish_failure(
        &self,
        tenant: &TenantId,
        work: &Work,
        failed: &Failed,
    ) -> Result<()> {
        let (records, now) = (self.records(tenant), self.app.clock.now());
        let all = self.caches.of(&self.app, tenant).await?;
        let mut change = Change::default();
        work.settle(&mut change);
        let data = json!({
            "action": "FAILED",
            "deliveryId": failed.delivery_id,
            "webhookId": failed.webhook_id,
            "eventType": failed.event_type,
        });
        let event = NewEvent::own(DELIVERY_EVENTS, &data, now, Uuid::new_v4());
        let others = others(all.values(), failed.webhook_id);
        let wanted = wanting(others, &event);
        let key = format!("{TOLD}{}", failed.webhook_id);
        let told = records.get::<Told>(&key).await?;
        let logging = Logging::read(&records).await?;
        let is_wanted = !wanted.is_empty() || logging == Logging::On;
        if is_wanted && !told.as_ref().is_some_and(|told| told.record.counts(now)) {
            change.expect(&key, told.as_ref());
            change.put(&key, &Told { at: now })?;
            self.accept(&mut change, tenant, &event, &wanted, logging, now)?;
            self.admission.add(tenant, wanted.len(), now);
        }
        let committed = records.commit(change).await?;
        let lost = || {
            let detail = "another host reports the failure";
            Error::Conflict(CHANGED_MEANWHILE, detail.to_owned())
        };
        committed.map(drop).ok_or_else(lost)
    }
}

fn others<'w>(
    all: impl Iterator<Item = &'w Arc<Webhook>>,
    failing: Uuid,
) -> impl Iterator<Item = &'w Arc<Webhook>> {
    all.filter(move |other| other.id != failing)
}
