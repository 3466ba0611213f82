//! The stream of a listener: deliveries of its slot's queue, each with the request that is to be made.
//!
//! A stream holds no state that another host would need: what it has claimed is another's when the lease ends, and
//! results are reported to any host. It sees by a delivery's record that its result was written. The newest stream of a
//! listener is the one that counts: an older one, whose connection may be dead unnoticed, ends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use uuid::Uuid;

use super::expiry;
use super::live::LiveStream;
use super::offer::Offer;
use crate::clock::Timestamp;
use crate::data::records::{Change, Records, Versioned, decode_entry};
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::Work;
use crate::store::{self, Entry, Hints, Revision};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery::claim::Claim;
use crate::webhooks::delivery::conclude::conclude;
use crate::webhooks::delivery::disable::{Failing, failing_key};
use crate::webhooks::delivery::sender::Prepared;
use crate::webhooks::events::delivery::{Delivery, Job, LATER};
use crate::webhooks::events::delivery_id::DeliveryId;
use crate::webhooks::events::event::{Event, event_key};
use crate::webhooks::registry::slot::{Slot, SlotHolder};
use crate::webhooks::registry::webhook::{Webhook, no_webhook};

/// How many deliveries are in flight at once.
const MAX_IN_FLIGHT: usize = 8;

/// How much longer than an attempt may take a listener has to report it.
const REPORT_TIME: Duration = Duration::from_secs(10);

/// How often a stream renews what keeps its listener.
const RENEWAL: Duration = Duration::from_secs(15);

/// How soon it looks again after a change, without one, and after the store was unavailable.
const PAUSE: Duration = Duration::from_millis(10);
const POLL: Duration = Duration::from_secs(2);
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// What a listener is sent.
#[derive(Debug)]
pub(in crate::webhooks) enum Offered {
    /// A delivery, as JSON on one line.
    Delivery(DeliveryId, Arc<str>),
    /// The webhook was removed.
    Removed,
}

impl Webhooks {
    /// The deliveries of a temporary webhook, from now on on this stream.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Conflict`] for a webhook that is not temporary; when the store is unavailable.
    pub(in crate::webhooks) async fn offers(
        self: &Arc<Self>,
        tenant: &TenantId,
        webhook: Uuid,
    ) -> Result<impl Stream<Item = Offered> + Send + use<>> {
        let (_, slot) = self.listener(tenant, webhook).await?;
        let records = self.records(tenant);
        let live = self.streams.begin(webhook);
        let plan = async || {
            let holder = records.get::<SlotHolder>(&slot.key()).await?;
            let mut holder = holder.filter(|holder| holder.record.webhook == webhook);
            let holder = holder.as_mut().ok_or_else(|| no_webhook(webhook))?;
            let mut change = Change::default();
            change.expect(&slot.key(), Some(holder));
            holder.record.stream = Some(live.id);
            change.put(&slot.key(), &holder.record)?;
            expiry::renew(&mut change, webhook, slot, self.app.clock.now())?;
            Ok((change, ()))
        };
        records.change(plan).await?;
        let following = Following {
            hints: records.store().hints(records.partition()),
            renewed: self.app.clock.now(),
            webhooks: Arc::clone(self),
            tenant: tenant.clone(),
            in_flight: BTreeMap::new(),
            ready: VecDeque::new(),
            has_ended: false,
            records,
            webhook,
            slot,
            live,
        };
        let next = |mut following: Following| async move {
            let offered = following.next().await?;
            Some((offered, following))
        };
        Ok(stream::unfold(following, next))
    }
}

/// A stream.
struct Following {
    webhooks: Arc<Webhooks>,
    records: Records,
    tenant: TenantId,
    webhook: Uuid,
    slot: Slot,
    live: LiveStream,
    hints: Hints,
    /// When it was last renewed.
    renewed: Timestamp,
    in_flight: BTreeMap<String, InFlight>,
    ready: VecDeque<Offered>,
    has_ended: bool,
}

/// A delivery that was offered, by the key of its record.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    /// Its record has this revision until its result is written.
    revision: Revision,
    until: Timestamp,
}

/// What there is to do next.
enum Next {
    /// Another turn.
    Go,
    /// Another turn after a change, and no later than then.
    Wait(Duration),
    /// Nothing: the webhook is gone, or another stream is the newest.
    End { is_removed: bool },
}

impl Following {
    async fn next(&mut self) -> Option<Offered> {
        while !self.has_ended {
            if let Some(offered) = self.ready.pop_front() {
                return Some(offered);
            }
            self.hints.borrow_and_update();
            match self.turn().await {
                Ok(Next::Go) => {}
                Ok(Next::Wait(span)) => {
                    let changed = tokio::time::timeout(span, self.hints.changed()).await;
                    let is_closed = matches!(changed, Ok(Err(_)));
                    tokio::time::sleep(if is_closed { STORE_PAUSE } else { PAUSE }).await;
                }
                Ok(Next::End { is_removed }) => {
                    self.has_ended = true;
                    return is_removed.then_some(Offered::Removed);
                }
                Err(cause) => {
                    tracing::debug!(webhook = %self.webhook, %cause, "a listener waits for the store");
                    tokio::time::sleep(STORE_PAUSE).await;
                }
            }
        }
        None
    }

    async fn turn(&mut self) -> Result<Next> {
        let now = self.webhooks.app.clock.now();
        let Some(holder) = self.look(now).await? else {
            return Ok(Next::End { is_removed: true });
        };
        if holder.record.stream != Some(self.live.id) {
            return Ok(Next::End { is_removed: false });
        }
        if now.since(self.renewed) >= RENEWAL {
            return self.renew(&holder, now).await.map(|()| Next::Go);
        }
        let ends = self.in_flight.values().map(|it| it.until).min();
        let mut wait = ends.map_or(POLL, |end| end.since(now).min(POLL));
        let room = MAX_IN_FLIGHT.saturating_sub(self.in_flight.len());
        if room > 0 {
            let (store, partition) = (self.records.store(), self.records.partition());
            let claim = store.claim(partition, self.slot.queue(), self.lease(), room);
            let claimed = claim.await?;
            if !claimed.jobs.is_empty() {
                self.offer(claimed.jobs, now).await?;
                return Ok(Next::Go);
            }
            wait = claimed
                .next_due
                .map_or(wait, |due| due.since(now).min(wait));
        }
        Ok(Next::Wait(wait))
    }

    /// The record of the slot, if it is still the listener's; forgets deliveries whose result was written, or whose lease
    /// has ended.
    async fn look(&mut self, now: Timestamp) -> Result<Option<Versioned<SlotHolder>>> {
        let slot = self.slot.key();
        let keys = [slot.clone()].into_iter();
        let keys: Vec<String> = keys.chain(self.in_flight.keys().cloned()).collect();
        let entries = self.records.entries(&keys).await?;
        let mut holder = None;
        for (key, entry) in keys.into_iter().zip(entries) {
            if key == slot {
                holder = entry
                    .map(|it| decode_entry::<SlotHolder>(&key, &it))
                    .transpose()?;
                continue;
            }
            let revision = entry.map(|entry| entry.revision);
            let is_open = |it: &InFlight| Some(it.revision) == revision && now < it.until;
            if !self.in_flight.get(&key).is_some_and(is_open) {
                self.in_flight.remove(&key);
            }
        }
        Ok(holder.filter(|holder| holder.record.webhook == self.webhook))
    }

    async fn renew(&mut self, holder: &Versioned<SlotHolder>, now: Timestamp) -> Result<()> {
        let mut change = Change::default();
        let key = self.slot.key();
        change.expect(&key, Some(holder));
        expiry::renew(&mut change, self.webhook, self.slot, now)?;
        if self.records.commit(change).await?.is_some() {
            self.renewed = now;
        }
        Ok(())
    }

    /// How long a delivery is the listener's.
    fn lease(&self) -> Duration {
        self.webhooks.app.config.webhooks.deadline + REPORT_TIME
    }

    /// Makes ready what was claimed.
    async fn offer(&mut self, jobs: Vec<store::Job>, now: Timestamp) -> Result<()> {
        let all = self.webhooks.caches.of(&self.webhooks.app, &self.tenant);
        let all = all.await?;
        let webhook = all.get(&self.webhook).filter(|it| it.is_enabled());
        for job in jobs {
            let work = Work {
                queue: self.slot.queue(),
                partition: self.records.partition().clone(),
                job,
            };
            let of = Job::read(&work.job.body)?;
            match webhook.filter(|webhook| webhook.id == of.webhook) {
                Some(webhook) => self.offer_one(webhook, of, work, now).await?,
                // It is of a listener that had the slot before, or its webhook is disabled.
                None => {
                    let mut change = Change::default();
                    work.settle(&mut change);
                    change.enqueue(LATER, &work.job.id, now, work.job.body.clone());
                    self.records.commit(change).await?;
                }
            }
        }
        Ok(())
    }

    async fn offer_one(
        &mut self,
        webhook: &Webhook,
        of: Job,
        work: Work,
        now: Timestamp,
    ) -> Result<()> {
        let damaged = |_| Error::Bug(format!("{} is not a delivery", work.job.id));
        let id = DeliveryId(Uuid::try_parse(&work.job.id).map_err(damaged)?);
        let keys = [id.key(), event_key(of.event), failing_key(webhook.id)];
        let entries = self.records.entries(&keys).await?;
        let Ok([Some(entry), Some(event), failing]) = <[Option<Entry>; 3]>::try_from(entries)
        else {
            let mut change = Change::default();
            work.settle(&mut change);
            return self.records.commit(change).await.map(drop);
        };
        let mut delivery = decode_entry::<Delivery>(&keys[0], &entry)?.record;
        let event = decode_entry::<Event>(&keys[1], &event)?.record;
        let (sender, identity) = (&self.webhooks.sender, &self.webhooks.identity);
        let prepared = sender.prepare(identity, &webhook.settings, &event, now);
        let headers = match prepared.await? {
            Prepared::Request(headers, _) => headers,
            Prepared::Failed(result) => {
                let failing = failing.map(|it| decode_entry::<Failing>(&keys[2], &it));
                let failing = failing.transpose()?.map(|failing| failing.record);
                let claim = Claim::new(&self.webhooks, self.tenant.clone(), id, of, work);
                let concluded = conclude(&claim, webhook, &mut delivery, failing, &result);
                return concluded.await;
            }
        };
        let offer = Offer {
            id,
            attempt: delivery.attempts.len() + 1,
            lease: work.job.lease,
            at: now,
            deadline: self.webhooks.app.config.webhooks.deadline,
        };
        let url = &webhook.settings.callback_url;
        let offer = offer.to_json(&event, url, &headers)?;
        let in_flight = InFlight {
            revision: entry.revision,
            until: now.plus(self.lease()),
        };
        self.in_flight.insert(id.key(), in_flight);
        self.ready.push_back(Offered::Delivery(id, offer));
        Ok(())
    }
}
