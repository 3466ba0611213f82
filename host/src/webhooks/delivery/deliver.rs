//! The job of a delivery: its webhook's lane lets it pass or puts it off, an attempt is made, and one commit says what has
//! come of it: the delivery with the attempt, the job settled or due again, and the webhook's counts.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ConstantBuilder};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::lane::Admission;
use super::outcomes::Counted;
use super::send::{Message, Outcome};
use crate::clock::Timestamp;
use crate::data::records::{Change, Records, Versioned, decode_entry};
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::Work;
use crate::store::Entry;
use crate::webhooks::Webhooks;
use crate::webhooks::events::delivery::{Delivery, DeliveryId, Job, Kind, LATER, Status};
use crate::webhooks::events::event::{Stored, event_key};
use crate::webhooks::listener::Seat;
use crate::webhooks::registry::webhook::{Reason, Webhook, webhook_key};

/// The longest that a receiver may ask to be left alone for.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10 * 60);

/// How far a retry may be from its time, of the delay: so that those that failed together do not come back together.
const JITTER: f64 = 0.1;

/// After how long a change of a webhook has reached every host.
const HEARD: Duration = Duration::from_secs(1);

/// The records of deliveries that wait for their webhook to be enabled: `{webhook}/{delivery}`.
pub(in crate::webhooks) const HELD: &str = "webhook-held/";

/// The record that says since when every attempt at a webhook has failed.
pub(in crate::webhooks) fn failing_key(webhook: uuid::Uuid) -> String {
    format!("webhook-failing/{webhook}")
}

/// The key that says that a delivery is held.
pub(in crate::webhooks) fn held_key(webhook: uuid::Uuid, delivery: DeliveryId) -> String {
    format!("{HELD}{webhook}/{delivery}")
}

/// Since when every attempt at a webhook has failed.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(in crate::webhooks) struct Failing {
    pub(in crate::webhooks) since: Timestamp,
}

/// Works at a delivery.
///
/// # Errors
/// When the store is away; [`Error::Conflict`] when the job is another host's by now.
pub(in crate::webhooks) async fn run(webhooks: Arc<Webhooks>, work: Work) -> Result<()> {
    let damaged = || Error::Bug(format!("{} is not a delivery", work.job.id));
    let tenant = TenantId::of_partition(&work.partition).ok_or_else(damaged)?;
    let id = uuid::Uuid::try_parse(&work.job.id).map_err(|_| damaged())?;
    let job = Job::read(&work.job.body)?;
    let mut all = webhooks.caches.of(&webhooks.app, &tenant).await?;
    if !all.contains_key(&job.webhook) {
        // It may have been created on another host just now.
        webhooks.caches.catch_up(&webhooks.app, &tenant).await?;
        all = webhooks.caches.of(&webhooks.app, &tenant).await?;
    }
    let turn = Turn::new(&webhooks, tenant, DeliveryId(id), job, work);
    match all.get(&job.webhook) {
        None => turn.give_up_or_settle().await,
        Some(webhook) if !webhook.is_enabled() => turn.hold(webhook).await,
        Some(webhook) => match webhook.seat {
            Some(seat) => turn.hand_over(seat).await,
            None => turn.take(webhook).await,
        },
    }
}

/// A turn of a delivery.
pub(in crate::webhooks) struct Turn<'w> {
    webhooks: &'w Webhooks,
    records: Records,
    tenant: TenantId,
    id: DeliveryId,
    job: Job,
    work: Work,
}

impl<'w> Turn<'w> {
    /// A turn of a delivery whose job was claimed.
    pub(in crate::webhooks) fn new(
        webhooks: &'w Webhooks,
        tenant: TenantId,
        id: DeliveryId,
        job: Job,
        work: Work,
    ) -> Self {
        Self {
            records: webhooks.app.records(work.partition.clone()),
            webhooks,
            tenant,
            id,
            job,
            work,
        }
    }

    /// Makes an attempt if the webhook has room.
    async fn take(&self, webhook: &Webhook) -> Result<()> {
        let lane = self.webhooks.lanes.of(&self.tenant, webhook.id);
        let max = webhook.settings.max_per_second;
        let place = match lane.admit(self.now(), max, self.job.has_slot).await {
            Admission::Now(place) => place,
            Admission::Later { at, has_slot } => return self.put_off(at, has_slot).await,
        };
        let known = self.webhooks.messages.find(&self.tenant, self.job.event);
        let (of_delivery, of_failing) = (self.id.key(), failing_key(webhook.id));
        let mut keys = vec![of_delivery.clone(), of_failing.clone()];
        if known.is_none() {
            keys.push(event_key(self.job.event));
        }
        let mut entries = self.records.entries(&keys).await?.into_iter();
        let [delivery, failing, event] = std::array::from_fn(|_| entries.next().flatten());
        let message = match (known, event) {
            (Some(known), _) => Some(known),
            (None, event) => event.map(|event| self.message(&event)).transpose()?,
        };
        let (Some(delivery), Some(message)) = (delivery, message) else {
            return self.settle(Change::default()).await;
        };
        let mut delivery = decode_entry::<Delivery>(&of_delivery, &delivery)?.record;
        let (sender, identity) = (&self.webhooks.sender, &self.webhooks.identity);
        let clock = self.webhooks.app.clock.as_ref();
        let outcome = sender.send(identity, &webhook.settings, message, clock);
        let outcome = outcome.await?;
        let (now, took) = (self.now(), outcome.attempt.took());
        place.end(now, took, outcome.has_succeeded());
        let failing = failing.map(|entry| decode_entry::<Failing>(&of_failing, &entry));
        let since = failing.transpose()?.map(|failing| failing.record.since);
        self.conclude(webhook, &mut delivery, since, &outcome).await
    }

    /// What is sent, read from the event's record, and known to others from now on.
    fn message(&self, entry: &Entry) -> Result<Arc<Message>> {
        let event = self.job.event;
        let stored: Stored<'_> = serde_json::from_slice(&entry.value)
            .map_err(|cause| Error::Bug(format!("{} is damaged: {cause}", event_key(event))))?;
        let messages = &self.webhooks.messages;
        Ok(messages.add(&self.tenant, event, stored.into()))
    }

    /// Writes what has come of an attempt. `since` says since when every attempt at the webhook has failed.
    pub(in crate::webhooks) async fn conclude(
        &self,
        webhook: &Webhook,
        delivery: &mut Delivery,
        since: Option<Timestamp>,
        outcome: &Outcome,
    ) -> Result<()> {
        let now = self.now();
        let mut change = Change::default();
        self.note_failing(&mut change, webhook, since, outcome.has_succeeded())?;
        self.judge(&mut change, delivery, outcome, now)?;
        change.put(&self.id.key(), delivery)?;
        let counted = Counted {
            webhook: webhook.id,
            at: now,
            has_succeeded: outcome.has_succeeded(),
        };
        let written = self
            .webhooks
            .outcomes
            .write(&self.records, change, Some(counted));
        match written.await {
            // Somebody has had it sent again meanwhile: the attempt was made all the same.
            Err(Error::Conflict(_)) => self.add_attempt(outcome).await?,
            written => written?,
        }
        self.webhooks.measured.attempted(delivery.status, outcome);
        self.disable_if_hopeless(webhook, outcome, since).await
    }

    /// What becomes of the delivery and its job.
    fn judge(
        &self,
        change: &mut Change,
        delivery: &mut Delivery,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<()> {
        delivery.add(outcome.attempt.clone());
        if outcome.has_succeeded() {
            delivery.end(Status::Delivered, now);
            self.work.settle(change);
            return Ok(());
        }
        let delays = &self.webhooks.app.config.webhooks.retry_delays;
        let delay = delays.get(delivery.failures).filter(|_| !outcome.is_gone());
        delivery.failures += 1;
        let Some(delay) = delay else {
            delivery.end(Status::Failed, now);
            self.work.settle(change);
            return Ok(());
        };
        let asked = outcome.retry_after.unwrap_or_default().min(MAX_RETRY_AFTER);
        let next = now.plus(jittered(*delay).max(asked));
        delivery.wait(Status::Retrying, now, next);
        self.work.settle(change);
        let job = Job {
            has_slot: false,
            ..self.job
        };
        change.enqueue(LATER, &self.work.job.id, next, job.to_bytes()?);
        Ok(())
    }

    /// Keeps the record of since when every attempt has failed.
    fn note_failing(
        &self,
        change: &mut Change,
        webhook: &Webhook,
        since: Option<Timestamp>,
        has_succeeded: bool,
    ) -> Result<()> {
        let key = failing_key(webhook.id);
        match (since, has_succeeded) {
            (Some(_), true) => change.delete(&key),
            (None, false) => change.put(&key, &Failing { since: self.now() })?,
            _ => {}
        }
        Ok(())
    }

    async fn disable_if_hopeless(
        &self,
        webhook: &Webhook,
        outcome: &Outcome,
        since: Option<Timestamp>,
    ) -> Result<()> {
        let patience = self.webhooks.app.config.webhooks.disable_after;
        let is_failing = since.is_some_and(|since| self.now().since(since) >= patience);
        let reason = match (outcome.is_gone(), outcome.has_succeeded()) {
            (true, _) => Reason::Gone,
            (_, false) if is_failing => Reason::Failing,
            _ => return Ok(()),
        };
        self.webhooks
            .disable(&self.tenant, webhook.id, reason)
            .await
    }

    /// Adds an attempt to a delivery whose job was replaced while it was made.
    async fn add_attempt(&self, outcome: &Outcome) -> Result<()> {
        let key = self.id.key();
        let plan = async || {
            let mut change = Change::default();
            if let Some(mut read) = self.records.get::<Delivery>(&key).await? {
                change.expect(&key, Some(&read));
                read.record.add(outcome.attempt.clone());
                change.put(&key, &read.record)?;
            }
            Ok((change, ()))
        };
        self.records.change(plan).await
    }

    /// Puts the delivery off: nothing of it changes but when it is tried.
    async fn put_off(&self, at: Timestamp, has_slot: bool) -> Result<()> {
        let mut change = Change::default();
        let job = Job {
            has_slot,
            ..self.job
        };
        change.enqueue(LATER, &self.work.job.id, at, job.to_bytes()?);
        self.settle(change).await
    }

    /// Leaves the delivery to the listener that the webhook is for, and that alone can reach its receiver.
    async fn hand_over(&self, seat: Seat) -> Result<()> {
        let mut change = Change::default();
        let body = self.work.job.body.clone();
        change.enqueue(seat.queue(), &self.work.job.id, self.now(), body);
        self.settle(change).await
    }

    /// Holds the delivery while its webhook is disabled, for as long as such are held.
    async fn hold(&self, webhook: &Webhook) -> Result<()> {
        let key = webhook_key(webhook.id);
        let stored = self.records.get::<Webhook>(&key).await?;
        let Some(stored) = stored.filter(|stored| !stored.record.is_enabled()) else {
            // It has just been enabled or removed, of which this host's memory hears in a second at most.
            return self.put_off(self.now().plus(HEARD), false).await;
        };
        let mut change = Change::default();
        // Whoever enables it releases what is held: what is held afterwards would be missed.
        change.expect(&key, Some(&stored));
        let Some(mut delivery) = self.delivery().await? else {
            return self.settle(Change::default()).await;
        };
        let now = self.now();
        let held = self.webhooks.app.config.webhooks.hold;
        let key = held_key(webhook.id, self.id);
        let until = delivery.record.created_at.plus(held);
        let is_too_old = until <= now;
        if is_too_old {
            let message = "its webhook was disabled for too long";
            delivery.record.give_up(Kind::HeldTooLong, message, now);
            change.delete(&key);
        } else {
            delivery.record.wait(Status::Held, now, until);
            change.put_bytes(&key, Bytes::from_static(b"{}"));
            change.enqueue(LATER, &self.work.job.id, until, self.job.to_bytes()?);
        }
        change.put(&self.id.key(), &delivery.record)?;
        self.settle(change).await?;
        match is_too_old {
            true => self.webhooks.measured.given_up(),
            false => self.webhooks.measured.held(),
        }
        Ok(())
    }

    /// Gives up a delivery whose webhook is gone.
    async fn give_up_or_settle(&self) -> Result<()> {
        let mut change = Change::default();
        let delivery = self.delivery().await?;
        let is_there = delivery.is_some();
        if let Some(mut delivery) = delivery {
            let message = "its webhook was deleted";
            delivery
                .record
                .give_up(Kind::WebhookDeleted, message, self.now());
            change.put(&self.id.key(), &delivery.record)?;
            change.delete(&held_key(self.job.webhook, self.id));
        }
        self.settle(change).await?;
        if is_there {
            self.webhooks.measured.given_up();
        }
        Ok(())
    }

    async fn delivery(&self) -> Result<Option<Versioned<Delivery>>> {
        self.records.get(&self.id.key()).await
    }

    /// Ends this turn with a change; the job goes on where the change puts it on a queue.
    async fn settle(&self, change: Change) -> Result<()> {
        let mut whole = Change::default();
        self.work.settle(&mut whole);
        whole.add(change);
        let outcomes = &self.webhooks.outcomes;
        outcomes.write(&self.records, whole, None).await
    }

    fn now(&self) -> Timestamp {
        self.webhooks.app.clock.now()
    }
}

/// A delay, a little shorter or longer.
fn jittered(delay: Duration) -> Duration {
    let span = delay.mul_f64(2.0 * JITTER);
    // Adds up to the delay that it is given.
    let shifted = ConstantBuilder::new()
        .with_delay(span)
        .with_jitter()
        .build()
        .next();
    let shift = shifted.map_or(Duration::ZERO, |shifted| shifted.saturating_sub(span));
    delay.mul_f64(1.0 - JITTER) + shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_comes_within_a_tenth_of_its_delay() {
        for _ in 0..1_000 {
            let delay = jittered(Duration::from_secs(60));
            assert!((54.0..=66.0).contains(&delay.as_secs_f64()), "{delay:?}");
        }
    }
}
