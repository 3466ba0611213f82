//! One attempt at a delivery: its webhook's limiter admits or defers it, its records are read, its event is sent.

use std::sync::Arc;

use tillgate_base::data::records::{Change, decode_entry};
use tillgate_base::error::Result;

use super::claim::Claim;
use super::conclude::conclude;
use super::disable::{Failing, failing_key};
use crate::events::delivery_record::Delivery;
use crate::events::event::{Event, event_key};
use crate::registry::webhook::Webhook;

/// Makes an attempt if the webhook and its target have room.
pub(super) async fn attempt(claim: &Claim<'_>, webhook: &Webhook) -> Result<()> {
    let webhooks = claim.webhooks;
    let limiter = webhooks.limiters.of(&claim.tenant, webhook.id, claim.now());
    limiter.resume(webhook.resumed_at);
    let max = webhook.settings.max_per_second;
    let admitted = limiter.admit(claim.now(), max, claim.job.has_reservation);
    let permit = match admitted.await {
        Ok(permit) => permit,
        Err(deferral) => return claim.defer(deferral).await,
    };
    let url = &webhook.settings.callback_url;
    let place = match webhooks
        .targets
        .enter(&claim.tenant, url, &limiter, claim.now())
    {
        Ok(place) => place,
        Err(deferral) => {
            // Other deliveries of the webhook need not wait for the commit.
            drop(permit);
            return claim.defer(deferral).await;
        }
    };
    let Some((mut delivery, event, failing)) = read(claim, webhook).await? else {
        return claim.settle(Change::default()).await;
    };
    let clock = webhooks.app.clock.as_ref();
    let sent = webhooks
        .sender
        .send(&webhooks.identity, &webhook.settings, event, clock);
    let result = sent.await?;
    let (now, took, has_succeeded) = (claim.now(), result.attempt.took(), result.has_succeeded());
    place.finish(took, has_succeeded);
    permit.finish(now, took, has_succeeded);
    conclude(claim, webhook, &mut delivery, failing, &result).await
}

/// Reads at once what an attempt needs: the delivery, its event, and since when every attempt at the webhook has
/// failed. Returns `None` when the delivery or its event is gone.
async fn read(
    claim: &Claim<'_>,
    webhook: &Webhook,
) -> Result<Option<(Delivery, Arc<Event>, Option<Failing>)>> {
    let cached = claim.webhooks.events.get(&claim.tenant, claim.job.event);
    let mut keys = vec![claim.id.key(), failing_key(webhook.id)];
    if cached.is_none() {
        keys.push(event_key(claim.job.event));
    }
    let entries = claim.records.entries(&keys).await?;
    let mut entries = keys
        .iter()
        .zip(entries)
        .map(|(key, entry)| Some((key, entry?)));
    let [delivery, failing, event] = std::array::from_fn(|_| entries.next().flatten());
    let event = match (cached, event) {
        (Some(cached), _) => cached,
        (None, None) => return Ok(None),
        (None, Some((key, entry))) => {
            let event = decode_entry::<Event>(key, &entry)?.record;
            let cache = &claim.webhooks.events;
            cache.get_or_insert(&claim.tenant, claim.job.event, event)
        }
    };
    let Some((key, entry)) = delivery else {
        return Ok(None);
    };
    let delivery = decode_entry::<Delivery>(key, &entry)?.record;
    let failing = failing.map(|(key, entry)| decode_entry::<Failing>(key, &entry));
    let failing = failing.transpose()?.map(|failing| failing.record);
    Ok(Some((delivery, event, failing)))
}
