//! Retention: a job per tenant removes old deliveries, events and their log, accepted ids, counts, replays, and the
//! times at which failures were reported.
//!
//! It runs every night while the tenant has webhooks, consumers or any of these. Most keys contain the time, so that
//! only old records are read.

use std::sync::Arc;

use bytes::Bytes;
use tillgate_base::data::records::{Change, Records, decode_entry};
use tillgate_base::error::Result;
use tillgate_base::jobs::Work;
use tillgate_store::Position;
use tillgate_store::clock::Timestamp;

use super::replay::{REPLAY, replay_key};
use crate::Webhooks;
use crate::delivery::counts::{COUNTS, hour_of, hour_prefix};
use crate::events::accepted_id::{ACCEPTED_ID, AcceptedId, accepted_id_key};
use crate::events::delivery_id::{DELIVERY, key_before, time_ordered_id};
use crate::events::delivery_record::Delivery;
use crate::events::event::{EVENT, Event, event_key};
use crate::events::failure::{TOLD, Told};
use crate::events::log::EVENT_LOG;
use crate::registry::consumer::CONSUMER;
use crate::registry::webhook::WEBHOOK;

pub(crate) const QUEUE: &str = "webhook-retention";

/// The id of each tenant's job.
const JOB: &str = "retention";

/// The most records of a kind removed at once: those of all kinds, and the ids of events, fit into one commit.
const PAGE: usize = 150;

/// The most pages searched for old deliveries, between which recently replayed ones may lie.
const PAGES: usize = 20;

/// The number of log messages dropped at once.
const TRIMMED_AT_ONCE: usize = 1_000;

/// The hours for which counts are kept.
const COUNT_HOURS: u64 = 48;

/// Adds to a change the job of a tenant with webhooks or consumers, due at the next midnight however often it is added.
pub(crate) fn begin(change: &mut Change, now: Timestamp) {
    change.enqueue(QUEUE, JOB, now.next_midnight(), Bytes::new());
}

/// Removes a page of old records.
///
/// # Errors
/// When the store is unavailable; [`Error::Conflict`] when another host has taken over the job.
pub(crate) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let records = webhooks.app.records(work.partition.clone());
    let now = webhooks.app.clock.now();
    let kept_since = now.minus(webhooks.app.config.webhooks.journal_retention);
    trim_log(&records, kept_since).await?;
    let plan = async || {
        let mut change = Change::default();
        remove_deliveries(&records, &mut change, kept_since).await?;
        remove_events(&records, &mut change, kept_since, now).await?;
        remove_counts(&records, &mut change, now).await?;
        remove_replays(&records, &mut change, kept_since).await?;
        remove_told(&records, &mut change, now).await?;
        match change.is_empty() {
            true if is_unused(&records).await? => work.settle(&mut change),
            true => work.reschedule(&mut change, now.next_midnight()),
            false => work.reschedule(&mut change, now),
        }
        Ok((change, ()))
    };
    records.change(plan).await
}

/// Returns whether a tenant has neither webhooks nor consumers nor anything left of them.
async fn is_unused(records: &Records) -> Result<bool> {
    let prefixes = [
        WEBHOOK,
        CONSUMER,
        DELIVERY,
        EVENT,
        ACCEPTED_ID,
        COUNTS,
        REPLAY,
        TOLD,
    ];
    for prefix in prefixes {
        if !records.scan(prefix, None, 1).await?.entries.is_empty() {
            return Ok(false);
        }
    }
    let (store, partition) = (records.store(), records.partition());
    let log = store.read(partition, EVENT_LOG, Position::default(), 0);
    let log = log.await?;
    Ok(log.trimmed == log.last)
}

/// Trims the log before its events are removed. Consumers that have not read them are told that they are gone.
async fn trim_log(records: &Records, before: Timestamp) -> Result<()> {
    let (store, partition) = (records.store(), records.partition());
    let trim = || store.trim(partition, EVENT_LOG, before, TRIMMED_AT_ONCE);
    while trim().await? == TRIMMED_AT_ONCE {}
    Ok(())
}

async fn remove_deliveries(
    records: &Records,
    change: &mut Change,
    before: Timestamp,
) -> Result<()> {
    let mut after = Some(key_before(before));
    for _ in 0..PAGES {
        let Some(from) = after else { return Ok(()) };
        let read = records.scan(DELIVERY, Some(&from), PAGE).await?;
        for (key, entry) in &read.entries {
            let delivery = decode_entry::<Delivery>(key, entry)?.record;
            // A recently replayed delivery is still wanted.
            if delivery.status.is_final() && delivery.updated_at < before {
                change.delete(key);
            }
        }
        if !change.is_empty() {
            return Ok(());
        }
        after = read.entries.last().map(|(key, _)| key.clone());
    }
    Ok(())
}

async fn remove_events(
    records: &Records,
    change: &mut Change,
    before: Timestamp,
    now: Timestamp,
) -> Result<()> {
    let read = records.scan(EVENT, None, PAGE).await?;
    let end = event_key(time_ordered_id(before));
    let mut ids = Vec::new();
    for (key, entry) in read.entries.iter().take_while(|(key, _)| *key < end) {
        let event = decode_entry::<Event>(key, entry)?.record;
        change.delete(key);
        ids.push(accepted_id_key(&event.id));
    }
    // The id may have been accepted again since.
    for (key, entry) in ids.iter().zip(records.entries(&ids).await?) {
        let accepted = entry.map(|entry| decode_entry::<AcceptedId>(key, &entry));
        let accepted = accepted.transpose()?;
        if accepted.is_some_and(|accepted| !accepted.record.is_remembered(now)) {
            change.delete(key);
        }
    }
    Ok(())
}

async fn remove_counts(records: &Records, change: &mut Change, now: Timestamp) -> Result<()> {
    let end = hour_prefix(hour_of(now).saturating_sub(COUNT_HOURS));
    let read = records.scan(COUNTS, None, PAGE).await?;
    let old = read.entries.iter().take_while(|(key, _)| *key < end);
    old.for_each(|(key, _)| change.delete(key));
    Ok(())
}

async fn remove_replays(records: &Records, change: &mut Change, before: Timestamp) -> Result<()> {
    let end = replay_key(time_ordered_id(before));
    let read = records.scan(REPLAY, None, PAGE).await?;
    let old = read.entries.iter().take_while(|(key, _)| *key < end);
    old.for_each(|(key, _)| change.delete(key));
    Ok(())
}

/// The keys contain no time, but there are only as many as webhooks that failed recently.
async fn remove_told(records: &Records, change: &mut Change, now: Timestamp) -> Result<()> {
    let read = records.scan(TOLD, None, PAGE).await?;
    for (key, entry) in &read.entries {
        let told = decode_entry::<Told>(key, entry)?;
        if !told.record.counts(now) {
            // Another failure may be reported at this moment.
            change.expect(key, Some(&told));
            change.delete(key);
        }
    }
    Ok(())
}
