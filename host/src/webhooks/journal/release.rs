//! The deliveries that wait for a webhook, released a page at a time, the oldest first: those that are held, once it is
//! enabled again, and those that wait for their next attempt, once it is enabled or answers again. Once it is resumed, those
//! follow that were put off before their first attempt; they are found in the journal, backwards.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::replay::{requeue, send_now};
use crate::clock::Timestamp;
use crate::data::records::{Change, Records, decode_entry};
use crate::error::{Error, Result};
use crate::jobs::Work;
use crate::webhooks::Webhooks;
use crate::webhooks::delivery::hold::{RELEASES, waiting_prefix};
use crate::webhooks::events::delivery::{Delivery, Status};
use crate::webhooks::events::delivery_id::{DELIVERY, DeliveryId};
use crate::webhooks::registry::webhook::{Webhook, webhook_key};

/// How many are released in one commit.
const PAGE: usize = 200;

/// How long before the first failure a delivery may have been accepted that waited for its first attempt then.
const BEFORE_FAILING: Duration = Duration::from_secs(10 * 60);

/// The deliveries without an attempt that are left to be released.
#[derive(Debug, Deserialize, Serialize)]
struct Pending {
    /// The oldest of them was accepted then, or later.
    begin: Timestamp,
    /// The key of the last delivery that was looked at.
    #[serde(default)]
    after: Option<String>,
}

/// The job that releases also the deliveries without an attempt of a webhook that has failed since a time.
///
/// # Errors
/// [`Error::Bug`].
pub(in crate::webhooks) fn with_pending(failing_since: Timestamp) -> Result<Bytes> {
    let begin = failing_since.minus(BEFORE_FAILING);
    Pending { begin, after: None }.to_bytes()
}

impl Pending {
    fn to_bytes(&self) -> Result<Bytes> {
        let json = serde_json::to_vec(self).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(json.into())
    }

    /// `None` for a job that releases those alone that are held or were tried before.
    fn read(body: &[u8]) -> Result<Option<Self>> {
        if body.is_empty() {
            return Ok(None);
        }
        let read = serde_json::from_slice(body);
        read.map(Some)
            .map_err(|cause| Error::Bug(format!("a release is damaged: {cause}")))
    }
}

/// Releases the next page.
///
/// # Errors
/// When the store is unavailable; [`Error::Conflict`] when another host goes on with it.
pub(in crate::webhooks) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let records = webhooks.app.records(work.partition.clone());
    let Ok(webhook) = Uuid::try_parse(&work.job.id) else {
        return Err(Error::Bug(format!("{} is not a webhook", work.job.id)));
    };
    let prefix = waiting_prefix(webhook);
    let plan = async || {
        let mut change = Change::default();
        // Read from the store: the memory of this host may not show yet that it is enabled, and the deliveries would stay
        // held.
        let stored = records.get::<Webhook>(&webhook_key(webhook)).await?;
        let is_open = stored.is_some_and(|stored| stored.record.is_enabled());
        let read = records.scan(&prefix, None, PAGE).await?;
        let now = webhooks.app.clock.now();
        if !is_open || read.entries.is_empty() {
            work.settle(&mut change);
            if let Some(pending) = Pending::read(&work.job.body)?.filter(|_| is_open) {
                release_pending(&records, &mut change, webhook, pending, now).await?;
            }
            return Ok((change, ()));
        }
        for (key, _) in &read.entries {
            let id = key
                .strip_prefix(&prefix)
                .and_then(|id| Uuid::try_parse(id).ok());
            let id = DeliveryId(id.ok_or_else(|| Error::Bug(format!("{key} is not a delivery")))?);
            change.delete(key);
            let stored = records.get::<Delivery>(&id.key()).await?;
            // An attempt that ends meanwhile may write its key again: then the page is planned anew.
            change.expect(&id.key(), stored.as_ref());
            let Some(mut delivery) = stored else {
                continue;
            };
            match delivery.record.status {
                Status::Held => requeue(&mut change, id, &mut delivery, now)?,
                // One that is due already is being sent.
                Status::Retrying if delivery.record.next_attempt_at.is_some_and(|at| at > now) => {
                    delivery.record.bring_forward(now);
                    send_now(&mut change, id, &delivery, now)?;
                }
                _ => {}
            }
        }
        work.settle_until(&mut change, now);
        Ok((change, ()))
    };
    records.change(plan).await
}

/// Has the deliveries of the next page of the journal sent now that were never tried, and adds the job that goes on. While
/// its webhook is paused only a probe is under way: that one may be sent twice, with the same id.
async fn release_pending(
    records: &Records,
    change: &mut Change,
    webhook: Uuid,
    mut pending: Pending,
    now: Timestamp,
) -> Result<()> {
    let read = records
        .scan(DELIVERY, pending.after.as_deref(), PAGE)
        .await?;
    for (key, entry) in &read.entries {
        let mut delivery = decode_entry::<Delivery>(key, entry)?;
        if delivery.record.created_at < pending.begin {
            return Ok(());
        }
        let is_meant = delivery.record.webhook_id == webhook;
        if is_meant && delivery.record.status == Status::Pending {
            let id = DeliveryId::of_key(key);
            let id = id.ok_or_else(|| Error::Bug(format!("{key} is not a delivery")))?;
            delivery.record.wait(Status::Pending, now, now);
            send_now(change, id, &delivery, now)?;
        }
        pending.after = Some(key.clone());
    }
    if read.more {
        change.enqueue(RELEASES, &webhook.to_string(), now, pending.to_bytes()?);
    }
    Ok(())
}
