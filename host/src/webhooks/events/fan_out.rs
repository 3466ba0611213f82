//! The job that makes deliveries after their event was accepted: of the service's own events, of which it is found out here
//! which webhooks want them, and those that are too many for one commit.

use std::sync::Arc;

use uuid::Uuid;

use super::event::{Event, event_key};
use crate::data::records::Change;
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::Work;
use crate::webhooks::Webhooks;
use crate::webhooks::registry::cache::wanting;

/// Makes deliveries. The job names the webhooks that are left, or nothing when it is not known yet which want the event.
///
/// # Errors
/// When the store is unavailable; [`Error::Conflict`] when another host goes on with it.
pub(in crate::webhooks) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let records = webhooks.app.records(work.partition.clone());
    let tenant = TenantId::of_partition(&work.partition);
    let (Some(tenant), Ok(id)) = (tenant, Uuid::try_parse(&work.job.id)) else {
        return Err(Error::Bug(format!("{} is not an event", work.job.id)));
    };
    let key = event_key(id);
    let mut change = Change::default();
    work.settle(&mut change);
    if let Some(event) = records.get::<Event>(&key).await? {
        let event = event.record;
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
                webhooks.create_deliveries(&mut change, &tenant, id, &event, &left, now)?;
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
