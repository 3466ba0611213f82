//! The end of listeners. Each has one job, which is due when its stream has been gone for too long; a stream renews it. The
//! job removes the webhook, and then returns deliveries that were not forwarded to the ordinary queue, where they fail
//! like all deliveries of a webhook that does not exist.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::GONE_AFTER;
use crate::clock::Timestamp;
use crate::data::records::{Change, Records};
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::Work;
use crate::webhooks::Webhooks;
use crate::webhooks::events::delivery::LATER;
use crate::webhooks::registry::audit::line;
use crate::webhooks::registry::slot::{Slot, SlotHolder};
use crate::webhooks::registry::webhook::{Webhook, webhook_key};

/// The queue of listeners that may have to be removed.
pub(in crate::webhooks) const QUEUE: &str = "webhook-listeners";

/// How long deliveries may still be queued for a removed listener, by hosts whose memory does not show its end yet.
const LINGER: Duration = Duration::from_secs(60);

/// How many deliveries are returned at once, and how long that may take.
const PAGE: usize = 200;
const LEASE: Duration = Duration::from_secs(30);

/// What a job says.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Job {
    #[serde(rename = "seat")]
    slot: Slot,
    /// When the webhook was removed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    removed_at: Option<Timestamp>,
}

impl Job {
    fn to_bytes(self) -> Result<Bytes> {
        let json = serde_json::to_vec(&self).map_err(|cause| Error::Bug(cause.to_string()))?;
        Ok(json.into())
    }
}

/// Adds to a change what keeps a listener for as long as it may be without a stream.
pub(super) fn renew(change: &mut Change, webhook: Uuid, slot: Slot, now: Timestamp) -> Result<()> {
    let removed_at = None;
    let job = Job { slot, removed_at };
    let due = now.plus(GONE_AFTER);
    change.enqueue(QUEUE, &webhook.to_string(), due, job.to_bytes()?);
    Ok(())
}

/// Adds to a change that removes a temporary webhook what frees its slot.
pub(in crate::webhooks) fn leave(
    change: &mut Change,
    webhook: Uuid,
    slot: Slot,
    now: Timestamp,
) -> Result<()> {
    change.delete(&slot.key());
    let removed_at = Some(now);
    let job = Job { slot, removed_at };
    change.enqueue(QUEUE, &webhook.to_string(), now, job.to_bytes()?);
    Ok(())
}

/// Removes a listener, or returns what it has left.
///
/// # Errors
/// When the store is unavailable; [`Error::Conflict`] when its stream is back, or another host goes on with it.
pub(in crate::webhooks) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let damaged = || Error::Bug(format!("{} is not a listener", work.job.id));
    let tenant = TenantId::of_partition(&work.partition).ok_or_else(damaged)?;
    let id = Uuid::try_parse(&work.job.id).map_err(|_| damaged())?;
    let job: Job = serde_json::from_slice(&work.job.body).map_err(|_| damaged())?;
    let records = webhooks.records(&tenant);
    let now = webhooks.app.clock.now();
    match job.removed_at {
        None if webhooks.streams.has(id) => {
            // Its stream is here, and could only not renew it in time: after a clock was set, for example.
            let mut change = Change::default();
            work.settle_until(&mut change, now.plus(GONE_AFTER));
            records.commit(change).await.map(drop)
        }
        None => remove(&webhooks, &tenant, id, &records, &work).await,
        Some(at) => requeue(&records, &work, job.slot, at, now).await,
    }
}

async fn remove(
    webhooks: &Webhooks,
    tenant: &TenantId,
    id: Uuid,
    records: &Records,
    work: &Work,
) -> Result<()> {
    let key = webhook_key(id);
    let plan = async || {
        let mut change = Change::default();
        work.settle(&mut change);
        let read = records.get::<Webhook>(&key).await?;
        if let Some(read) = &read {
            change.expect(&key, Some(read));
            webhooks.remove(records, &mut change, &read.record).await?;
        }
        Ok((change, read.map(|read| read.record)))
    };
    if let Some(removed) = records.change(plan).await? {
        line(tenant, id, Some(&removed), None)?.write_own("webhook.deleted");
        tracing::info!(%tenant, webhook = %id, "a temporary webhook was removed: it has no listener any more");
    }
    webhooks.caches.catch_up(&webhooks.app, tenant).await
}

/// Returns deliveries of a listener that is gone to the ordinary queue, until no more can come.
async fn requeue(
    records: &Records,
    work: &Work,
    slot: Slot,
    removed_at: Timestamp,
    now: Timestamp,
) -> Result<()> {
    let mut change = Change::default();
    // The listener that has the slot by now returns what is not its own (`stream.rs`).
    if records.get::<SlotHolder>(&slot.key()).await?.is_some() {
        work.settle(&mut change);
        return records.commit(change).await.map(drop);
    }
    let (store, partition) = (records.store(), records.partition());
    let claimed = store.claim(partition, slot.queue(), LEASE, PAGE).await?;
    for job in &claimed.jobs {
        change.settle(slot.queue(), job);
        change.enqueue(LATER, &job.id, now, job.body.clone());
    }
    let end = removed_at.plus(LINGER);
    match claimed.next_due {
        _ if !claimed.jobs.is_empty() => work.settle_until(&mut change, now),
        // One that is in flight is returned when its lease ends.
        Some(due) => work.settle_until(&mut change, due.max(now)),
        None if now < end => work.settle_until(&mut change, end),
        None => work.settle(&mut change),
    }
    records.commit(change).await.map(drop)
}
