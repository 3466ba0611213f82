//! Replays one delivery, or all that a filter selects. A replay sends the same event with the same id.
//!
//! A job replays many deliveries, a page per commit, and stores its progress with each page. A replay goes backwards
//! through the journal from the time of its request, so it meets each delivery once, and no later ones.

use std::sync::Arc;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tillgate_api::Code;
use tillgate_api::problem::{REPLAY_NOT_FOUND, WEBHOOK_DELETED, WEBHOOK_DISABLED};
use tillgate_api::schema::{time, uuid};
use tillgate_base::data::records::{Change, Records, Versioned, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::Work;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::{Entry, Filter, no_delivery};
use crate::Webhooks;
use crate::delivery::hold::waiting_key;
use crate::events::admission::NO_ROOM;
use crate::events::delivery_id::{DELIVERY, DeliveryId, time_ordered_id};
use crate::events::delivery_record::{Delivery, Job, LATER, Status};
use crate::registry::webhook::Webhook;

/// The key prefix of replays.
pub(crate) const REPLAY: &str = "webhook-replay/";

/// The queue of replays of many deliveries.
pub(crate) const QUEUE: &str = "webhook-replays";

/// The number of deliveries examined in one commit.
const PAGE: usize = 200;

/// The progress of a replay, as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Replay {
    filter: Filter,
    created_at: Timestamp,
    is_done: bool,
    examined: u64,
    replayed: u64,
    /// The key of the last delivery that was examined.
    after: Option<String>,
}

/// The progress of a replay.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Replay")]
pub(crate) struct ReplayAnswer {
    #[schemars(schema_with = "uuid")]
    id: Uuid,
    /// `RUNNING` or `DONE`.
    state: &'static str,
    /// The number of deliveries that were examined.
    examined: u64,
    /// The number of those that are sent again.
    replayed: u64,
    #[schemars(schema_with = "time")]
    created_at: String,
}

/// Returns the key of a replay's record. The id begins with the time, so the oldest replays come first.
pub(crate) fn replay_key(id: Uuid) -> String {
    format!("{REPLAY}{id}")
}

impl Webhooks {
    /// Replays a delivery.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] when its webhook is deleted or disabled; [`Error::TooMany`] when too
    /// many deliveries wait.
    pub(crate) async fn replay(&self, tenant: &TenantId, id: Uuid) -> Result<Entry> {
        let id = DeliveryId(id);
        let records = self.app.records(tenant.partition());
        let all = self.caches.of(&self.app, tenant).await?;
        let plan = async || {
            let key = id.key();
            let read = records.get::<Delivery>(&key).await?;
            let mut read = read.ok_or_else(|| no_delivery(id))?;
            let webhook = all.get(&read.record.webhook_id);
            let webhook =
                webhook.ok_or_else(|| refused(WEBHOOK_DELETED, "its webhook was deleted"))?;
            if !webhook.is_enabled() {
                return Err(refused(
                    WEBHOOK_DISABLED,
                    "its webhook is disabled: enable it first",
                ));
            }
            if read.record.status.is_final() {
                self.admit(tenant, 1).await?;
            }
            let mut change = Change::default();
            requeue(&mut change, id, &mut read, self.app.clock.now())?;
            Ok((change, Entry::new(id, &read.record)))
        };
        records.change(plan).await
    }

    /// Starts a replay of all deliveries that a filter selects.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn replay_all(&self, tenant: &TenantId, filter: Filter) -> Result<Uuid> {
        let now = self.app.clock.now();
        let id = time_ordered_id(now);
        let until = filter.until.unwrap_or(now).min(now);
        let replay = Replay {
            filter: Filter {
                until: Some(until),
                ..filter
            },
            created_at: now,
            is_done: false,
            examined: 0,
            replayed: 0,
            after: None,
        };
        let mut change = Change::default();
        change.put(&replay_key(id), &replay)?;
        change.enqueue(QUEUE, &id.to_string(), now, Bytes::new());
        self.app.records(tenant.partition()).commit(change).await?;
        Ok(id)
    }

    /// Returns the progress of a replay.
    ///
    /// # Errors
    /// [`Error::NotFound`]; when the store is unavailable.
    pub(crate) async fn replay_state(&self, tenant: &TenantId, id: Uuid) -> Result<ReplayAnswer> {
        let records = self.app.records(tenant.partition());
        let read = records.get::<Replay>(&replay_key(id)).await?;
        let no_replay = || Error::missing(REPLAY_NOT_FOUND, id);
        let replay = read.ok_or_else(no_replay)?.record;
        Ok(ReplayAnswer {
            id,
            state: if replay.is_done { "DONE" } else { "RUNNING" },
            examined: replay.examined,
            replayed: replay.replayed,
            created_at: replay.created_at.to_millis_text(),
        })
    }
}

/// Replays the next page, once there is room for it.
///
/// # Errors
/// When the store is unavailable; [`Error::Conflict`] when another host has taken over the job.
pub(crate) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let records = webhooks.app.records(work.partition.clone());
    let tenant = TenantId::of_partition(&work.partition);
    let (Some(tenant), Ok(id)) = (tenant, Uuid::try_parse(&work.job.id)) else {
        return Err(Error::Bug(format!("{} is not a replay", work.job.id)));
    };
    let all = webhooks.caches.of(&webhooks.app, &tenant).await?;
    let has_room = webhooks.has_room(&tenant).await?;
    let key = replay_key(id);
    let plan = async || {
        let (mut change, now) = (Change::default(), webhooks.app.clock.now());
        if !has_room {
            work.reschedule(&mut change, now.plus(NO_ROOM));
            return Ok((change, 0));
        }
        let Some(mut replay) = records.get::<Replay>(&key).await? else {
            work.settle(&mut change);
            return Ok((change, 0));
        };
        let is_open = |webhook: &Uuid| {
            all.get(webhook)
                .is_some_and(|it: &Arc<Webhook>| it.is_enabled())
        };
        let before = replay.record.replayed;
        page(&records, &mut change, &mut replay.record, is_open, now).await?;
        change.put(&key, &replay.record)?;
        if replay.record.is_done {
            work.settle(&mut change)
        } else {
            work.reschedule(&mut change, now)
        }
        Ok((change, replay.record.replayed - before))
    };
    let count = usize::try_from(records.change(plan).await?).unwrap_or(usize::MAX);
    let now = webhooks.app.clock.now();
    webhooks.admission.add(&tenant, count, now);
    Ok(())
}

async fn page(
    records: &Records,
    change: &mut Change,
    replay: &mut Replay,
    is_open: impl Fn(&Uuid) -> bool,
    now: Timestamp,
) -> Result<()> {
    let after = replay.after.clone().or_else(|| replay.filter.begin());
    let read = records.scan(DELIVERY, after.as_deref(), PAGE).await?;
    replay.is_done = !read.more;
    for (key, entry) in &read.entries {
        let mut delivery = decode_entry::<Delivery>(key, entry)?;
        if replay.filter.is_before(&delivery.record) {
            replay.is_done = true;
            break;
        }
        replay.examined += 1;
        replay.after = Some(key.clone());
        let id = DeliveryId::of_key(key);
        let id = id.ok_or_else(|| Error::Bug(format!("{key} is not a delivery")))?;
        let is_meant = replay.filter.matches(&delivery.record);
        if is_meant && delivery.record.status.is_final() && is_open(&delivery.record.webhook_id) {
            requeue(change, id, &mut delivery, now)?;
            replay.replayed += 1;
        }
    }
    Ok(())
}

/// Adds to a change the job that sends a delivery again now. A delivery that was never tried is already on its way.
pub(super) fn requeue(
    change: &mut Change,
    id: DeliveryId,
    delivery: &mut Versioned<Delivery>,
    now: Timestamp,
) -> Result<()> {
    if delivery.record.status == Status::Pending {
        return Ok(());
    }
    if delivery.record.status == Status::Retrying {
        change.delete(&waiting_key(delivery.record.webhook_id, id));
    }
    delivery.record.replay(now);
    send_now(change, id, delivery, now)
}

/// Adds to a change the record of a delivery and the job that sends it now.
pub(super) fn send_now(
    change: &mut Change,
    id: DeliveryId,
    delivery: &Versioned<Delivery>,
    now: Timestamp,
) -> Result<()> {
    let key = id.key();
    change.expect(&key, Some(delivery));
    change.put(&key, &delivery.record)?;
    // A delivery that is held or still waits for an attempt has a job already: this one replaces it.
    let job = Job::of(&delivery.record).to_bytes()?;
    change.enqueue(LATER, &id.to_string(), now, job);
    Ok(())
}

fn refused(code: Code, why: &str) -> Error {
    Error::Conflict(code, format!("the delivery cannot be sent again: {why}"))
}
