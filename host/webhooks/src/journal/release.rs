//! Releases the deliveries that wait for a webhook, a page at a time, oldest first: held ones once it is enabled again,
//! and those that wait for their next attempt once it is enabled or answers again.

use std::sync::Arc;

use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};
use tillgate_base::jobs::Work;
use uuid::Uuid;

use super::replay::{requeue, send_now};
use crate::Webhooks;
use crate::delivery::hold::waiting_prefix;
use crate::events::delivery_id::DeliveryId;
use crate::events::delivery_record::{Delivery, Status};
use crate::registry::webhook::{Webhook, webhook_key};

/// The most deliveries released in one commit.
const PAGE: usize = 200;

/// Releases the next page.
///
/// # Errors
/// When the store is unavailable; [`Error::Conflict`] when another host has taken over the job.
pub(crate) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let records = webhooks.app.records(work.partition.clone());
    let Ok(webhook) = Uuid::try_parse(&work.job.id) else {
        return Err(Error::Bug(format!("{} is not a webhook", work.job.id)));
    };
    let prefix = waiting_prefix(webhook);
    let plan = async || {
        let mut change = Change::default();
        // Read from the store: this host's cache may not show yet that the webhook is enabled, and the deliveries would
        // stay held.
        let stored = records.get::<Webhook>(&webhook_key(webhook)).await?;
        let is_open = stored.is_some_and(|stored| stored.record.is_enabled());
        let read = records.scan(&prefix, None, PAGE).await?;
        if !is_open || read.entries.is_empty() {
            work.settle(&mut change);
            return Ok((change, ()));
        }
        let now = webhooks.app.clock.now();
        for (key, _) in &read.entries {
            let id = key
                .strip_prefix(&prefix)
                .and_then(|id| Uuid::try_parse(id).ok());
            let id = DeliveryId(id.ok_or_else(|| Error::Bug(format!("{key} is not a delivery")))?);
            change.delete(key);
            let stored = records.get::<Delivery>(&id.key()).await?;
            // An attempt that ends in the meantime may write this key again: then the page is planned again.
            change.expect(&id.key(), stored.as_ref());
            let Some(mut delivery) = stored else {
                continue;
            };
            match delivery.record.status {
                Status::Held => requeue(&mut change, id, &mut delivery, now)?,
                // A delivery that is already due is being sent.
                Status::Retrying if delivery.record.next_attempt_at.is_some_and(|at| at > now) => {
                    delivery.record.bring_forward(now);
                    send_now(&mut change, id, &delivery, now)?;
                }
                _ => {}
            }
        }
        work.reschedule(&mut change, now);
        Ok((change, ()))
    };
    records.change(plan).await
}
