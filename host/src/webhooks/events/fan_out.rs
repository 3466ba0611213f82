//! Deliveries that are made after their event was accepted: of the service's own events, of which it is found out here who
//! wants them, and those that are too many for one commit.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use super::delivery::DeliveryId;
use super::event::{FAN_OUT, NewEvent, Stored, deliver, event_key, put};
use crate::clock::Timestamp;
use crate::config;
use crate::data::records::Change;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::Work;
use crate::webhooks::Webhooks;
use crate::webhooks::registry::cache::wanting;

/// Adds to a change an event, and the job that finds out who wants it.
pub(in crate::webhooks) fn begin(
    change: &mut Change,
    event: &NewEvent,
    settings: &config::Webhooks,
    now: Timestamp,
) -> Result<()> {
    let key = DeliveryId::new(now).0;
    put(change, key, &key.to_string(), event, settings)?;
    change.enqueue(FAN_OUT, &key.to_string(), now, Bytes::new());
    Ok(())
}

/// Makes deliveries. The job names the webhooks that are left, or nothing when it is not known yet who wants the event.
///
/// # Errors
/// When the store is away; [`Error::Conflict`] when another host goes on with it.
pub(in crate::webhooks) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let records = webhooks.app.records(work.partition.clone());
    let tenant = TenantId::of_partition(&work.partition);
    let (Some(tenant), Ok(id)) = (tenant, Uuid::try_parse(&work.job.id)) else {
        return Err(Error::Bug(format!("{} is not an event", work.job.id)));
    };
    let key = event_key(id);
    let mut change = Change::default();
    work.settle(&mut change);
    if let Some(entry) = records.get_bytes(&key).await? {
        let event: Stored<'_> = serde_json::from_slice(&entry.value)
            .map_err(|cause| Error::Bug(format!("{key} is damaged: {cause}")))?;
        let left = match work.job.body.is_empty() {
            true => {
                let all = webhooks.caches.of(&webhooks.app, &tenant).await?;
                wanting(all.values(), &event.event_type).collect()
            }
            false => read(&work.job.body)?,
        };
        let now = webhooks.app.clock.now();
        match left.is_empty() {
            true => change.delete(&key),
            false => {
                let (event_id, event_type) = (&event.id, &event.event_type);
                let first_try = |webhook| webhooks.lanes.first_try(&tenant, webhook, now);
                deliver(&mut change, id, event_id, event_type, &left, now, first_try)?;
            }
        }
    }
    let committed = records.commit(change).await?;
    let lost = || Error::Conflict("the event is another host's by now".to_owned());
    committed.map(drop).ok_or_else(lost)
}

fn read(body: &[u8]) -> Result<Vec<Uuid>> {
    let read = serde_json::from_slice(body);
    read.map_err(|cause| Error::Bug(format!("a job is damaged: {cause}")))
}
