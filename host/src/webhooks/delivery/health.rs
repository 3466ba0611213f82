//! The health of webhooks at a glance: what was delivered and what failed in the last day, the circuit breaker, and since
//! when nothing has come through.

use std::collections::BTreeMap;

use serde::Serialize;
use uuid::Uuid;

use super::counts::{COUNTS, Counts, hour_of, hour_prefix, read_key};
use super::disable::{Failing, failing_key};
use super::limiter::BreakerState;
use crate::clock::Timestamp;
use crate::data::records::{PAGE, decode_entry};
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::webhooks::Webhooks;

/// How many hours are shown.
const HOURS: u64 = 24;

/// The health of a webhook, as it is answered.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhooks) struct Health {
    webhook_id: Uuid,
    /// Deliveries, and attempts that failed, in all the hours.
    delivered: u64,
    failed: u64,
    breaker: BreakerState,
    #[serde(skip_serializing_if = "Option::is_none")]
    failing_since: Option<String>,
    /// The oldest first.
    hours: Vec<Hour>,
}

#[derive(Debug, Serialize)]
struct Hour {
    hour: String,
    #[serde(flatten)]
    counts: Counts,
}

type HourCounts = BTreeMap<(Uuid, u64), Counts>;

/// The health of a tenant's webhooks, by id.
///
/// # Errors
/// When the store is unavailable.
pub(in crate::webhooks) async fn of_all(
    webhooks: &Webhooks,
    tenant: &TenantId,
) -> Result<Vec<Health>> {
    let all = webhooks.caches.of(&webhooks.app, tenant).await?;
    let newest = hour_of(webhooks.app.clock.now());
    let counts = counts(webhooks, tenant, newest).await?;
    let mut health = Vec::new();
    let records = webhooks.app.records(tenant.partition());
    let keys: Vec<String> = all.keys().map(|id| failing_key(*id)).collect();
    let failing = records.entries(&keys).await?;
    for ((id, key), failing) in all.keys().zip(&keys).zip(failing) {
        let failing = failing.map(|entry| decode_entry::<Failing>(key, &entry));
        let failing = failing.transpose()?;
        let hours = hours(newest).map(|hour| Hour {
            hour: Timestamp(hour * 3_600_000_000).to_millis_text(),
            counts: counts.get(&(*id, hour)).copied().unwrap_or_default(),
        });
        let hours: Vec<Hour> = hours.collect();
        health.push(Health {
            webhook_id: *id,
            delivered: hours.iter().map(|hour| hour.counts.delivered).sum(),
            failed: hours.iter().map(|hour| hour.counts.failed).sum(),
            breaker: webhooks.limiters.breaker(tenant, *id),
            failing_since: failing.map(|failing| failing.record.since.to_millis_text()),
            hours,
        });
    }
    Ok(health)
}

fn hours(newest: u64) -> impl Iterator<Item = u64> {
    (0..HOURS).rev().map(move |ago| newest.saturating_sub(ago))
}

/// The counts of all hosts together.
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
