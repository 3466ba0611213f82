//! Accepts an event: its record, a delivery with a job for each of its webhooks, and its place in the log of consumers,
//! all in one commit.
//!
//! If there are too many deliveries for one commit, or it is not yet known which webhooks want the event, a job creates
//! them (`fan_out.rs`).

use bytes::Bytes;
use tillgate_base::config;
use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::delivery_id::{DeliveryId, time_ordered_id};
use super::delivery_record::{Delivery, FIRST, Job, LATER};
use super::event::{Event, NewEvent, event_key};
use super::log::Logging;
use crate::Webhooks;

/// The queue of events that still lack deliveries.
pub(crate) const FAN_OUT: &str = "webhook-fan-out";

/// The most deliveries created in one commit: each has two operations of its own.
const MAX_AT_ONCE: usize = 400;

#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) event_id: String,
    pub(crate) key: Uuid,
    pub(crate) first_delivery: Option<DeliveryId>,
}

impl Webhooks {
    /// Adds to a change an accepted event, for some webhooks and for consumers.
    pub(crate) fn accept(
        &self,
        change: &mut Change,
        tenant: &TenantId,
        event: &NewEvent,
        webhooks: &[Uuid],
        logging: Logging,
        now: Timestamp,
    ) -> Result<Accepted> {
        let key = time_ordered_id(now);
        let event = event.to_event(key, &self.app.config.webhooks)?;
        change.put(&event_key(key), &event)?;
        logging.add_to(change, key, &event)?;
        let first_delivery = self.create_deliveries(change, tenant, key, &event, webhooks, now)?;
        Ok(Accepted {
            event_id: event.id,
            key,
            first_delivery,
        })
    }

    /// Adds to a change the deliveries of an event to some webhooks, and a job that creates those that do not fit.
    /// Returns the first. A delivery whose webhook does not answer is deferred from the start.
    pub(crate) fn create_deliveries(
        &self,
        change: &mut Change,
        tenant: &TenantId,
        key: Uuid,
        event: &Event,
        webhooks: &[Uuid],
        now: Timestamp,
    ) -> Result<Option<DeliveryId>> {
        let (these, others) = webhooks.split_at(webhooks.len().min(MAX_AT_ONCE));
        let mut first = None;
        for webhook in these {
            let id = DeliveryId::new(now);
            first.get_or_insert(id);
            let mut delivery = Delivery::new(*webhook, key, event, now);
            let due = self.limiters.next_try(tenant, *webhook, now);
            delivery.next_attempt_at = Some(due);
            change.put(&id.key(), &delivery)?;
            let queue = if due > now { LATER } else { FIRST };
            let job = Job::of(&delivery).to_bytes()?;
            change.enqueue(queue, &id.to_string(), due, job);
        }
        if !others.is_empty() {
            let others = serde_json::to_vec(others);
            let others = others.map_err(|cause| Error::Bug(cause.to_string()))?;
            change.enqueue(FAN_OUT, &key.to_string(), now, others.into());
        }
        Ok(first)
    }
}

/// Adds to a change an accepted event, for consumers and the webhooks that want it; a job finds out which these are.
pub(crate) fn accept_for_all(
    change: &mut Change,
    event: &NewEvent,
    logging: Logging,
    settings: &config::Webhooks,
    now: Timestamp,
) -> Result<()> {
    let key = time_ordered_id(now);
    let event = event.to_event(key, settings)?;
    change.put(&event_key(key), &event)?;
    logging.add_to(change, key, &event)?;
    change.enqueue(FAN_OUT, &key.to_string(), now, Bytes::new());
    Ok(())
}
