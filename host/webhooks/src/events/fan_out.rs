//! The job that creates deliveries after their event was accepted: for the service's own events, for those with too
//! many deliveries for one commit, and to report a failed delivery (`failure.rs`).

use std::sync::Arc;

use serde::de::DeserializeOwned;
use tillgate_api::problem::CHANGED_MEANWHILE;
use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::Work;
use uuid::Uuid;

use super::admission::NO_ROOM;
use super::event::{Event, event_key};
use super::failure::Failed;
use super::log::Logging;
use crate::Webhooks;
use crate::registry::cache::wanting;

/// Creates deliveries, once there is room for them. The job names the webhooks that are left, or a failed delivery; or
/// nothing, in which case it finds the webhooks that want the event.
///
/// # Errors
/// When the store is unavailable; [`Error::Conflict`] when another host has taken over the job.
pub(crate) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let records = webhooks.app.records(work.partition.clone());
    let tenant = TenantId::of_partition(&work.partition);
    let (Some(tenant), Ok(id)) = (tenant, Uuid::try_parse(&work.job.id)) else {
        return Err(Error::Bug(format!("{} is not an event", work.job.id)));
    };
    let body = &work.job.body;
    if body.starts_with(b"{") {
        let failed: Failed = read(body)?;
        return webhooks.publish_failure(&tenant, &work, &failed).await;
    }
    let (key, now) = (event_key(id), webhooks.app.clock.now());
    let mut change = Change::default();
    if !webhooks.has_room(&tenant).await? {
        work.reschedule(&mut change, now.plus(NO_ROOM));
        return records.commit(change).await.map(drop);
    }
    work.settle(&mut change);
    if let Some(event) = records.get::<Event>(&key).await? {
        let event = event.record;
        let left = if body.is_empty() {
            let all = webhooks.caches.of(&webhooks.app, &tenant).await?;
            let wanted = wanting(all.values(), &event);
            webhooks.admission.add(&tenant, wanted.len(), now);
            wanted
        } else {
            read(body)?
        };
        match left.is_empty() {
            // A consumer may still have to read it.
            true if Logging::read(&records).await? == Logging::On => {}
            true => change.delete(&key),
            false => {
                webhooks.create_deliveries(&mut change, &tenant, id, &event, &left, now)?;
            }
        }
    }
    let committed = records.commit(change).await?;
    let lost = || {
        let detail = "another host has taken over the event";
        Error::Conflict(CHANGED_MEANWHILE, detail.to_owned())
    };
    committed.map(drop).ok_or_else(lost)
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    let read = serde_json::from_slice(body);
    read.map_err(|cause| Error::Bug(format!("a job is damaged: {cause}")))
}
