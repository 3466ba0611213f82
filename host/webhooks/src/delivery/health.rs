//! The health of webhooks at a glance: what was delivered and what failed in the last day, the circuit breaker, since
//! when nothing has come through, and how many deliveries wait for those that take nothing.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::schema::{time, uuid};
use tillgate_base::data::records::{PAGE, Records, decode_entry};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::backlog::{self, Backlog};
use super::counts::{COUNTS, Counts, hour_of, hour_prefix, read_key};
use super::disable::{Failing, failing_key};
use super::limiter::BreakerState;
use crate::Webhooks;
use crate::registry::cache::Webhooks as Registered;

/// The number of hours shown.
const HOURS: u64 = 24;

/// The health of a webhook.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WebhookHealth")]
pub(crate) struct Health {
    #[schemars(schema_with = "uuid")]
    webhook_id: Uuid,
    /// Deliveries in the last 24 hours.
    delivered: u64,
    /// Attempts that failed in the last 24 hours.
    failed: u64,
    breaker: BreakerState,
    /// The time since which it has been paused, or tried with one delivery at a time, after five failed attempts in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    paused_since: Option<String>,
    /// The time until which nothing is sent to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    paused_until: Option<String>,
    /// The time since which every attempt has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    failing_since: Option<String>,
    /// The number of deliveries that wait, if it is disabled or fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<usize>,
    /// `true` if more deliveries may wait than were counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more_waiting: bool,
    /// The counts by hour, oldest first.
    #[schemars(length(equal = 24))]
    hours: Vec<Hour>,
}

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "WebhookHour")]
struct Hour {
    #[schemars(schema_with = "time")]
    hour: String,
    #[serde(flatten)]
    counts: Counts,
}

type HourCounts = BTreeMap<(Uuid, u64), Counts>;

/// Returns the health of a tenant's webhooks, by id.
///
/// # Errors
/// When the store is unavailable.
pub(crate) async fn of_all(webhooks: &Webhooks, tenant: &TenantId) -> Result<Vec<Health>> {
    let all = webhooks.caches.of(&webhooks.app, tenant).await?;
    let now = webhooks.app.clock.now();
    let newest = hour_of(now);
    let counts = counts(webhooks, tenant, newest).await?;
    let records = webhooks.app.records(tenant.partition());
    let failing = failing(&records, &all).await?;
    let backlogs = backlogs(webhooks, &records, &all, &failing).await?;
    let health = all.iter().map(|(id, webhook)| {
        let hours = hours(newest).map(|hour| Hour {
            hour: Timestamp(hour * 3_600_000_000).to_millis_text(),
            counts: counts.get(&(*id, hour)).copied().unwrap_or_default(),
        });
        let hours: Vec<Hour> = hours.collect();
        let backlog = backlogs.get(id);
        let paused = webhooks
            .limiters
            .breaker(tenant, *id, webhook.resumed_at, now);
        Health {
            webhook_id: *id,
            delivered: hours.iter().map(|hour| hour.counts.delivered).sum(),
            failed: hours.iter().map(|hour| hour.counts.failed).sum(),
            breaker: paused.state,
            paused_since: paused.since.map(Timestamp::to_millis_text),
            paused_until: paused.until.map(Timestamp::to_millis_text),
            failing_since: failing.get(id).map(|since| since.to_millis_text()),
            waiting: backlog.map(|backlog| backlog.waiting),
            more_waiting: backlog.is_some_and(|backlog| backlog.is_cut),
            hours,
        }
    });
    Ok(health.collect())
}

/// Returns the failing webhooks, and since when every attempt at each has failed.
async fn failing(records: &Records, all: &Registered) -> Result<BTreeMap<Uuid, Timestamp>> {
    let keys: Vec<String> = all.keys().map(|id| failing_key(*id)).collect();
    let mut failing = BTreeMap::new();
    for ((id, key), entry) in all.keys().zip(&keys).zip(records.entries(&keys).await?) {
        if let Some(entry) = entry {
            let since = decode_entry::<Failing>(key, &entry)?.record.since;
            failing.insert(*id, since);
        }
    }
    Ok(failing)
}

/// Counts the deliveries that wait for webhooks that are disabled or failing.
async fn backlogs(
    webhooks: &Webhooks,
    records: &Records,
    all: &Registered,
    failing: &BTreeMap<Uuid, Timestamp>,
) -> Result<HashMap<Uuid, Backlog>> {
    let is_enabled = |id: &Uuid| all.get(id).is_some_and(|webhook| webhook.is_enabled());
    let disabled: Vec<Uuid> = all.keys().copied().filter(|id| !is_enabled(id)).collect();
    let failing = failing.iter().filter(|(id, _)| is_enabled(id));
    let failing: Vec<(Uuid, Timestamp)> = failing.map(|(id, since)| (*id, *since)).collect();
    let delays = &webhooks.app.config.webhooks.retry_delays;
    let span = delays.iter().fold(Duration::ZERO, |sum, delay| {
        sum.saturating_add(delay.saturating_mul(2))
    });
    let mut backlogs = backlog::held(records, &disabled).await?;
    backlogs.extend(backlog::unsettled(records, &failing, span).await?);
    Ok(backlogs)
}

fn hours(newest: u64) -> impl Iterator<Item = u64> {
    (0..HOURS).rev().map(move |ago| newest.saturating_sub(ago))
}

/// Returns the counts of all hosts together.
async fn counts(webhooks: &Webhooks, tenant: &TenantId, newest: u64) -> Result<HourCounts> {
    let records = webhooks.app.records(tenant.partition());
    let mut counts = HourCounts::new();
    let mut after = Some(hour_prefix(newest.saturating_sub(HOURS - 1)));
    while let Some(from) = after {
        let page = records.scan(COUNTS, Some(&from), PAGE).await?;
        for (key, entry) in &page.entries {
            let (hour, webhook) =
                read_key(key).ok_or_else(|| Error::Bug(format!("{key} is not a key of counts")))?;
            let read = decode_entry::<Counts>(key, entry)?.record;
            let sum = counts.entry((webhook, hour)).or_default();
            sum.delivered += read.delivered;
            sum.failed += read.failed;
        }
        after = page.entries.last().map(|(key, _)| key.clone());
        after = after.filter(|_| page.more);
    }
    Ok(counts)
}
