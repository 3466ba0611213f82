//! The stream of a listener: deliveries of its seat's queue, each with the request that is to be made.
//!
//! A stream holds no state that another host would need: what it has claimed is another's when the lease ends, and
//! outcomes are reported to any host. It sees by a delivery's record that its outcome was written. The newest stream of
//! a listener is the one that counts: an older one, whose connection may be dead without anybody knowing, ends.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use uuid::Uuid;

use super::live::LiveStream;
use super::offer::Offer;
use super::{expiry, no_webhook};
use crate::clock::Timestamp;
use crate::data::records::{Change, Records, Versioned, decode_entry};
use crate::error::{Error, Result};
use crate::identity::TenantId;
use crate::jobs::Work;
use crate::store::{self, Entry, Hints, Revision};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery::deliver::{Failing, Turn, failing_key};
use crate::webhooks::delivery::send::{Message, Prepared};
use crate::webhooks::events::delivery::{Delivery, DeliveryId, Job, LATER};
use crate::webhooks::events::event::{Stored, event_key};
use crate::webhooks::registry::seat::{Seat, Taken};
use crate::webhooks::registry::webhook::Webhook;

/// How many deliveries are under way at once.
const MAX_UNDER_WAY: usize = 8;

/// How much longer than an attempt may take a listener has to report it.
const SLACK: Duration = Duration::from_secs(10);

/// How often a stream says that it is there.
const RENEWAL: Duration = Duration::from_secs(15);

/// How soon it looks again after a change, without one, and after the store was away.
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
    /// [`Error::NotFound`]; [`Error::Conflict`] for a webhook that is not temporary; when the store is away.
    pub(in crate::webhooks) async fn offers(
        self: &Arc<Self>,
        tenant: &TenantId,
        webhook: Uuid,
    ) -> Result<impl Stream<Item = Offered> + Send + use<>> {
        let (_, seat) = self.listener(tenant, webhook).await?;
        let records = self.records(tenant);
        let live = self.listeners.begin(webhook);
        let plan = async || {
            let taken = records.get::<Taken>(&seat.key()).await?;
            let mut taken = taken.filter(|taken| taken.record.webhook == webhook);
            let taken = taken.as_mut().ok_or_else(no_webhook)?;
            let mut change = Change::default();
            change.expect(&seat.key(), Some(taken));
            taken.record.stream = Some(live.id);
            change.put(&seat.key(), &taken.record)?;
            expiry::stay(&mut change, webhook, seat, self.app.clock.now())?;
            Ok((change, ()))
        };
        records.change(plan).await?;
        let following = Following {
            hints: records.store().hints(records.partition()),
            renewed: self.app.clock.now(),
            webhooks: Arc::clone(self),
            tenant: tenant.clone(),
            under_way: BTreeMap::new(),
            ready: VecDeque::new(),
            has_ended: false,
            records,
            webhook,
            seat,
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
    seat: Seat,
    live: LiveStream,
    hints: Hints,
    /// When it has last said that it is there.
    renewed: Timestamp,
    under_way: BTreeMap<String, UnderWay>,
    ready: VecDeque<Offered>,
    has_ended: bool,
}

/// A delivery that was offered, by the key of its record.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    /// Its record has this revision until somebody writes what has come of it.
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
        let Some(taken) = self.look(now).await? else {
            return Ok(Next::End { is_removed: true });
        };
        if taken.record.stream != Some(self.live.id) {
            return Ok(Next::End { is_removed: false });
        }
        if now.since(self.renewed) >= RENEWAL {
            return self.renew(&taken, now).await.map(|()| Next::Go);
        }
        let ends = self.under_way.values().map(|it| it.until).min();
        let mut wait = ends.map_or(POLL, |end| end.since(now).min(POLL));
        let room = MAX_UNDER_WAY.saturating_sub(self.under_way.len());
        if room > 0 {
            let (store, partition) = (self.records.store(), self.records.partition());
            let claim = store.claim(partition, self.seat.queue(), self.lease(), room);
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

    /// Who has the seat, if it is still the listener's; forgets deliveries whose outcome was written, or whose lease has
    /// ended.
    async fn look(&mut self, now: Timestamp) -> Result<Option<Versioned<Taken>>> {
        let seat = self.seat.key();
        let keys = [seat.clone()].into_iter();
        let keys: Vec<String> = keys.chain(self.under_way.keys().cloned()).collect();
        let entries = self.records.entries(&keys).await?;
        let mut taken = None;
        for (key, entry) in keys.into_iter().zip(entries) {
            if key == seat {
                taken = entry
                    .map(|it| decode_entry::<Taken>(&key, &it))
                    .transpose()?;
                continue;
            }
            let revision = entry.map(|entry| entry.revision);
            let is_open = |it: &UnderWay| Some(it.revision) == revision && now < it.until;
            if !self.under_way.get(&key).is_some_and(is_open) {
                self.under_way.remove(&key);
            }
        }
        Ok(taken.filter(|taken| taken.record.webhook == self.webhook))
    }

    async fn renew(&mut self, taken: &Versioned<Taken>, now: Timestamp) -> Result<()> {
        let mut change = Change::default();
        let key = self.seat.key();
        change.expect(&key, Some(taken));
        expiry::stay(&mut change, self.webhook, self.seat, now)?;
        if self.records.commit(change).await?.is_some() {
            self.renewed = now;
        }
        Ok(())
    }

    /// How long a delivery is the listener's.
    fn lease(&self) -> Duration {
        self.webhooks.app.config.webhooks.deadline + SLACK
    }

    /// Makes ready what was claimed.
    async fn offer(&mut self, jobs: Vec<store::Job>, now: Timestamp) -> Result<()> {
        let all = self.webhooks.caches.of(&self.webhooks.app, &self.tenant);
        let all = all.await?;
        let webhook = all.get(&self.webhook).filter(|it| it.is_enabled());
        for job in jobs {
            let work = Work {
                queue: self.seat.queue(),
                partition: self.records.partition().clone(),
                job,
            };
            let of = Job::read(&work.job.body)?;
            match webhook.filter(|webhook| webhook.id == of.webhook) {
                Some(webhook) => self.offer_one(webhook, of, work, now).await?,
                // Of a listener that had the seat before, or to be held while the webhook is disabled.
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
        let event: Stored<'_> = serde_json::from_slice(&event.value)
            .map_err(|cause| Error::Bug(format!("{} is damaged: {cause}", keys[1])))?;
        let message = Message::from(event.clone());
        let (sender, identity) = (&self.webhooks.sender, &self.webhooks.identity);
        let prepared = sender.prepare(identity, &webhook.settings, &message, now);
        let headers = match prepared.await? {
            Prepared::Request(headers, _) => headers,
            Prepared::Failed(outcome) => {
                let failing = failing.map(|it| decode_entry::<Failing>(&keys[2], &it));
                let since = failing.transpose()?.map(|failing| failing.record.since);
                let turn = Turn::new(&self.webhooks, self.tenant.clone(), id, of, work);
                let concluded = turn.conclude(webhook, &mut delivery, since, &outcome);
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
        let under_way = UnderWay {
            revision: entry.revision,
            until: now.plus(self.lease()),
        };
        self.under_way.insert(id.key(), under_way);
        self.ready.push_back(Offered::Delivery(id, offer));
        Ok(())
    }
}
