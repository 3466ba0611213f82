//! Concludes an attempt in one commit: the delivery with the attempt, its job settled or due again, its webhook's
//! counts, and since when every attempt at the webhook has failed.

use std::time::Duration;

use bytes::Bytes;
use tillgate_base::data::records::Change;
use tillgate_base::error::{Error, Result};

use super::answer::AttemptResult;
use super::claim::Claim;
use super::counts::Counted;
use super::disable::{Failing, failing_key};
use super::hold::{RELEASES, waiting_key};
use super::next::{NextStep, jittered, next_step, reason_to_disable};
use crate::events::delivery_record::{Delivery, Job, LATER, Status};
use crate::registry::webhook::Webhook;

/// The time for which every attempt at a webhook must have failed before a success releases what waits for it. A
/// released delivery that fails again keeps its schedule, and is not released early again.
const MIN_OUTAGE: Duration = Duration::from_secs(60);

/// Writes the result of an attempt, and disables the webhook if the result calls for it.
///
/// # Errors
/// When the store is unavailable.
pub(super) async fn conclude(
    claim: &Claim<'_>,
    webhook: &Webhook,
    delivery: &mut Delivery,
    failing: Option<Failing>,
    result: &AttemptResult,
) -> Result<()> {
    let (webhooks, now) = (claim.webhooks, claim.now());
    let settings = &webhooks.app.config.webhooks;
    let mut change = Change::default();
    match (failing, result.has_succeeded()) {
        (Some(failing), true) => {
            change.delete(&failing_key(webhook.id));
            if now.since(failing.since) >= MIN_OUTAGE {
                change.enqueue(RELEASES, &webhook.id.to_string(), now, Bytes::new());
            }
        }
        (None, false) => change.put(&failing_key(webhook.id), &Failing { since: now })?,
        _ => {}
    }
    let scheduled = delivery.scheduled_at.take().filter(|at| *at > now);
    let delay = settings.retry_delays.get(delivery.failures);
    let delay = delay.map(|delay| jittered(*delay));
    let delay = scheduled.map(|at| at.since(now)).or(delay);
    let step = next_step(result, delay, now);
    claim.work.settle(&mut change);
    let waiting = waiting_key(webhook.id, claim.id);
    if let NextStep::Retry(at) = step {
        let job = Job::of(delivery).to_bytes()?;
        change.enqueue(LATER, &claim.work.job.id, at, job);
    }
    match step {
        // A released delivery is released again only after an attempt at its scheduled time.
        NextStep::Retry(_) if scheduled.is_none() => {
            change.put_bytes(&waiting, Bytes::from_static(b"{}"));
        }
        _ if delivery.failures > 0 => change.delete(&waiting),
        _ => {}
    }
    delivery.add(result.attempt.clone());
    delivery.failures += usize::from(!result.has_succeeded() && scheduled.is_none());
    match step {
        NextStep::Delivered => delivery.end(Status::Delivered, now),
        NextStep::Retry(at) => delivery.wait(Status::Retrying, now, at),
        NextStep::Failed => {
            delivery.end(Status::Failed, now);
            let telling = webhooks.tell_of_failure(&mut change, &claim.tenant, claim.id, delivery);
            telling.await?;
        }
    }
    change.put(&claim.id.key(), delivery)?;
    let counted = Counted {
        webhook: webhook.id,
        at: now,
        has_succeeded: result.has_succeeded(),
    };
    let recorder = &webhooks.recorder;
    match recorder.write(&claim.records, change, Some(counted)).await {
        // A replay replaced its job in the meantime, but the attempt was made all the same.
        Err(Error::Conflict(..)) => add_attempt(claim, result).await?,
        written => written?,
    }
    webhooks.metrics.attempted(delivery.status, result);
    let since = failing.map(|failing| failing.since);
    match reason_to_disable(result, since, settings.disable_after, claim.now()) {
        Some(reason) => {
            let disabling = webhooks.disable(&claim.tenant, webhook.id, reason, claim.id);
            disabling.await
        }
        None => Ok(()),
    }
}

/// Adds an attempt to a delivery whose job was replaced during the attempt.
async fn add_attempt(claim: &Claim<'_>, result: &AttemptResult) -> Result<()> {
    let key = claim.id.key();
    let plan = async || {
        let mut change = Change::default();
        if let Some(mut read) = claim.delivery().await? {
            change.expect(&key, Some(&read));
            read.record.add(result.attempt.clone());
            change.put(&key, &read.record)?;
        }
        Ok((change, ()))
    };
    claim.records.change(plan).await
}
