//! What keeps a slow or dead webhook from slowing others: how many deliveries of it are under way, how many it takes in a
//! second, and a circuit breaker.
//!
//! A lane is in memory, one a webhook and host. A delivery is sent at once, or waits a moment for those before it, or is
//! put off until the lane expects to have room: no delivery of a webhook holds a place that others could use. After
//! [`BREAKS_AFTER`] failures in a row nothing is sent for a while; then one delivery probes whether the webhook is back.
//! The deliveries that wait for it meanwhile come again one after the other, and those of all such webhooks of a tenant
//! no more often than those of one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::identity::TenantId;

/// After how many failures in a row nothing is sent.
const BREAKS_AFTER: u32 = 5;

/// How long nothing is sent: the first time, and at most.
const FIRST_BREAK: Duration = Duration::from_secs(30);
const LONGEST_BREAK: Duration = Duration::from_secs(5 * 60);

/// How long a delivery is expected to take before any has.
const EXPECTED: Duration = Duration::from_millis(20);

/// How long a delivery waits here for those before it; what would take longer is put off.
const SHORT: Duration = Duration::from_millis(250);

/// How far apart deliveries of a tenant come again that wait for a webhook to be back: a long queue of them must cost
/// little, however many webhooks it is for.
const APART: Duration = Duration::from_millis(5);

/// How soon a delivery looks again whether a probe has succeeded.
const PROBE: Duration = Duration::from_secs(1);

/// How much of a second's deliveries may be sent at once.
const BURST: Duration = Duration::from_millis(100);

/// The lanes of this host.
#[derive(Debug)]
pub(in crate::webhooks) struct Lanes {
    max_in_flight: usize,
    tenants: Mutex<HashMap<TenantId, TenantLanes>>,
}

/// The lanes of a tenant.
#[derive(Debug, Default)]
struct TenantLanes {
    lanes: HashMap<Uuid, Arc<Lane>>,
    /// How many of them have a breaker that is not closed.
    broken: Arc<AtomicU32>,
}

/// See the module's documentation.
#[derive(Debug)]
pub(in crate::webhooks) struct Lane {
    places: Arc<Semaphore>,
    max_in_flight: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: u32,
    /// How long deliveries have taken lately.
    average: Option<Duration>,
    failures: u32,
    breaker: Breaker,
    /// How many breakers of the tenant are not closed.
    broken: Arc<AtomicU32>,
    /// When the next delivery that is put off will find room.
    next_room: Timestamp,
    /// When the next delivery may be sent within the rate.
    next_slot: Timestamp,
}

#[derive(Clone, Copy, Debug, Default)]
enum Breaker {
    #[default]
    Closed,
    /// Nothing is sent until then; for how long that is.
    Open(Timestamp, Duration),
    /// One delivery is sent; for how long nothing was, before.
    HalfOpen(Duration),
}

/// The breaker, for others to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(in crate::webhooks) enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

/// Whether a delivery may be sent.
#[derive(Debug)]
pub(in crate::webhooks) enum Admission {
    /// Now.
    Now(Place),
    /// Not before then. With `has_slot`, its turn within the rate is kept.
    Later { at: Timestamp, has_slot: bool },
}

/// A place in a lane. One that is dropped without an end says nothing about the webhook.
#[derive(Debug)]
pub(in crate::webhooks) struct Place {
    lane: Arc<Lane>,
    _permit: OwnedSemaphorePermit,
    is_probe: bool,
    has_ended: bool,
}

impl Lanes {
    pub(in crate::webhooks) fn new(max_in_flight: usize) -> Self {
        Self {
            max_in_flight,
            tenants: Mutex::default(),
        }
    }

    /// The lane of a webhook.
    pub(in crate::webhooks) fn of(&self, tenant: &TenantId, webhook: Uuid) -> Arc<Lane> {
        let mut tenants = self.lock();
        let TenantLanes { lanes, broken } = tenants.entry(tenant.clone()).or_default();
        let lane = lanes.entry(webhook).or_insert_with(|| {
            Arc::new(Lane {
                places: Arc::new(Semaphore::new(self.max_in_flight)),
                max_in_flight: u32::try_from(self.max_in_flight).unwrap_or(u32::MAX),
                state: Mutex::new(State {
                    broken: Arc::clone(broken),
                    ..State::default()
                }),
            })
        });
        Arc::clone(lane)
    }

    /// When a new delivery is to be tried: now, or once its webhook may be back.
    pub(in crate::webhooks) fn first_try(
        &self,
        tenant: &TenantId,
        webhook: Uuid,
        now: Timestamp,
    ) -> Timestamp {
        let lane = self.known(tenant, webhook);
        let later = lane.and_then(|lane| lane.state().until_back(now));
        later.unwrap_or(now)
    }

    /// How many there are.
    pub(in crate::webhooks) fn count(&self) -> usize {
        self.lock().values().map(|tenant| tenant.lanes.len()).sum()
    }

    /// The breaker of a webhook; one that nothing was sent to is closed.
    pub(in crate::webhooks) fn breaker(&self, tenant: &TenantId, webhook: Uuid) -> BreakerState {
        let lane = self.known(tenant, webhook);
        lane.map_or(BreakerState::Closed, |lane| match lane.state().breaker {
            Breaker::Closed => BreakerState::Closed,
            Breaker::Open(..) => BreakerState::Open,
            Breaker::HalfOpen(_) => BreakerState::HalfOpen,
        })
    }

    /// Forgets what was known about a webhook that was changed or removed: it may be another receiver by now.
    pub(in crate::webhooks) fn forget(&self, tenant: &TenantId, webhook: Uuid) {
        let mut tenants = self.lock();
        let Some(of_tenant) = tenants.get_mut(tenant) else {
            return;
        };
        of_tenant.lanes.remove(&webhook);
        if of_tenant.lanes.is_empty() {
            tenants.remove(tenant);
        }
    }

    fn known(&self, tenant: &TenantId, webhook: Uuid) -> Option<Arc<Lane>> {
        self.lock().get(tenant)?.lanes.get(&webhook).map(Arc::clone)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, TenantLanes>> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    /// Asks for a place for a delivery. `has_slot` says that it has waited for its turn within the rate.
    pub(in crate::webhooks) async fn admit(
        self: &Arc<Self>,
        now: Timestamp,
        max_per_second: Option<u32>,
        has_slot: bool,
    ) -> Admission {
        let is_probe = match self
            .state()
            .pass(now, max_per_second, has_slot, self.max_in_flight)
        {
            Ok(is_probe) => is_probe,
            Err(later) => return later,
        };
        // From here on a probe that is not made must let another one be.
        let mut waiting = Waiting {
            lane: self,
            is_probe,
        };
        let permit = Arc::clone(&self.places).acquire_owned();
        let permit = tokio::time::timeout(SHORT * 4, permit).await;
        let Ok(Ok(permit)) = permit else {
            let at = self.state().room(now, self.max_in_flight);
            return Admission::Later { at, has_slot: true };
        };
        waiting.is_probe = false;
        Admission::Now(Place {
            lane: Arc::clone(self),
            _permit: permit,
            is_probe,
            has_ended: false,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A delivery that waits for a place.
struct Waiting<'l> {
    lane: &'l Lane,
    is_probe: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.lane.state();
        state.waiting = state.waiting.saturating_sub(1);
        if self.is_probe {
            state.give_probe_back();
        }
    }
}

impl State {
    /// Lets a delivery wait for a place, and says whether it is a probe; or says when it should come again.
    fn pass(
        &mut self,
        now: Timestamp,
        max_per_second: Option<u32>,
        has_slot: bool,
        max_in_flight: u32,
    ) -> Result<bool, Admission> {
        if let Some(at) = self.until_back(now) {
            return Err(Admission::Later { at, has_slot });
        }
        let is_probe = match self.breaker {
            Breaker::Open(_, pause) => {
                self.set_breaker(Breaker::HalfOpen(pause));
                true
            }
            _ => false,
        };
        if let Some(max) = max_per_second.filter(|_| !has_slot && !is_probe) {
            let slot = self.next_slot.max(now);
            self.next_slot = slot.plus(Duration::from_secs(1) / max.max(1));
            if slot > now.plus(BURST) {
                let has_slot = true;
                return Err(Admission::Later { at: slot, has_slot });
            }
        }
        let wait = self.average() * (self.waiting / max_in_flight.max(1));
        if wait > SHORT {
            let at = self.room(now, max_in_flight);
            return Err(Admission::Later { at, has_slot: true });
        }
        self.waiting += 1;
        Ok(is_probe)
    }

    fn average(&self) -> Duration {
        self.average.unwrap_or(EXPECTED)
    }

    /// When a delivery that is put off now will find room.
    fn room(&mut self, now: Timestamp, max_in_flight: u32) -> Timestamp {
        let at = self.next_room.max(now.plus(self.average()));
        self.next_room = at.plus(self.average() / max_in_flight.max(1));
        at
    }

    /// When the next delivery comes again that waits for the webhook to be back; `None` when it may be sent, at least as a
    /// probe.
    fn until_back(&mut self, now: Timestamp) -> Option<Timestamp> {
        let least = match self.breaker {
            Breaker::Closed => return None,
            Breaker::Open(until, _) if until <= now => return None,
            Breaker::Open(until, _) => until,
            Breaker::HalfOpen(_) => now.plus(PROBE),
        };
        let at = self.next_room.max(least);
        self.next_room = at.plus(APART * self.broken.load(Ordering::Relaxed).max(1));
        Some(at)
    }

    fn set_breaker(&mut self, breaker: Breaker) {
        let [was_closed, is_closed] =
            [self.breaker, breaker].map(|breaker| matches!(breaker, Breaker::Closed));
        match (was_closed, is_closed) {
            (true, false) => _ = self.broken.fetch_add(1, Ordering::Relaxed),
            (false, true) => _ = self.broken.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
        self.breaker = breaker;
    }

    fn give_probe_back(&mut self) {
        if let Breaker::HalfOpen(pause) = self.breaker {
            self.set_breaker(Breaker::Open(Timestamp(0), pause));
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.state().set_breaker(Breaker::Closed);
    }
}

impl Place {
    /// Notes how a delivery ended.
    pub(in crate::webhooks) fn end(mut self, now: Timestamp, took: Duration, has_succeeded: bool) {
        self.has_ended = true;
        let mut state = self.lane.state();
        state.average = Some((state.average() * 7 + took) / 8);
        if has_succeeded {
            state.failures = 0;
            state.set_breaker(Breaker::Closed);
            state.next_room = Timestamp(0);
            return;
        }
        state.failures = state.failures.saturating_add(1);
        let pause = match state.breaker {
            Breaker::HalfOpen(pause) if self.is_probe => (pause * 2).min(LONGEST_BREAK),
            Breaker::Closed if state.failures >= BREAKS_AFTER => FIRST_BREAK,
            _ => return,
        };
        state.set_breaker(Breaker::Open(now.plus(pause), pause));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.is_probe && !self.has_ended {
            self.lane.state().give_probe_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_767_225_600_000_000);

    fn lane(max_in_flight: usize) -> Arc<Lane> {
        let tenant = TenantId::new("acme");
        #[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
        let tenant = tenant.unwrap();
        Lanes::new(max_in_flight).of(&tenant, Uuid::nil())
    }

    async fn place(lane: &Arc<Lane>, now: Timestamp) -> Option<Place> {
        match lane.admit(now, None, false).await {
            Admission::Now(place) => Some(place),
            Admission::Later { .. } => None,
        }
    }

    async fn fail(lane: &Arc<Lane>, now: Timestamp) {
        if let Some(place) = place(lane, now).await {
            place.end(now, Duration::from_millis(5), false);
        }
    }

    #[tokio::test]
    async fn nothing_is_sent_after_five_failures_until_one_delivery_probes() {
        let lane = lane(8);
        for _ in 0..BREAKS_AFTER {
            fail(&lane, START).await;
        }
        assert!(place(&lane, START.plus(FIRST_BREAK / 2)).await.is_none());
        let later = START.plus(FIRST_BREAK);
        let probe = place(&lane, later).await;
        assert!(probe.is_some());
        assert!(place(&lane, later).await.is_none(), "only one probes");
        if let Some(probe) = probe {
            probe.end(later, Duration::from_millis(5), true);
        }
        assert!(place(&lane, later).await.is_some());
    }

    #[tokio::test]
    async fn what_waits_for_dead_webhooks_of_a_tenant_comes_again_no_more_often_than_for_one() {
        let lanes = Lanes::new(8);
        #[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
        let [acme, other] = ["acme", "other"].map(|name| TenantId::new(name).unwrap());
        let webhooks: [Uuid; 3] = [1, 2, 3].map(Uuid::from_u128);
        for (tenant, webhook) in webhooks
            .map(|id| (&acme, id))
            .into_iter()
            .chain([(&other, webhooks[0])])
        {
            for _ in 0..BREAKS_AFTER {
                fail(&lanes.of(tenant, webhook), START).await;
            }
        }
        let times = |tenant, webhook| {
            let again = |_| {
                lanes
                    .first_try(tenant, webhook, START)
                    .since(START.plus(FIRST_BREAK))
            };
            [0, 1, 2].map(again)
        };
        for webhook in webhooks {
            assert_eq!(times(&acme, webhook), [0, 3, 6].map(|times| APART * times));
        }
        assert_eq!(
            times(&other, webhooks[0]),
            [0, 1, 2].map(|times| APART * times)
        );

        // One is back, and one was changed.
        let later = START.plus(FIRST_BREAK);
        if let Some(probe) = place(&lanes.of(&acme, webhooks[0]), later).await {
            probe.end(later, Duration::from_millis(5), true);
        }
        lanes.forget(&acme, webhooks[1]);
        assert_eq!(lanes.first_try(&acme, webhooks[0], START), START);
        assert_eq!(lanes.first_try(&acme, webhooks[1], START), START);
        assert_eq!(
            times(&acme, webhooks[2]),
            [9, 10, 11].map(|times| APART * times)
        );
    }

    #[tokio::test]
    async fn a_probe_that_was_cut_short_lets_another_one_be_made() {
        let lane = lane(8);
        for _ in 0..BREAKS_AFTER {
            fail(&lane, START).await;
        }
        let later = START.plus(FIRST_BREAK);
        drop(place(&lane, later).await);
        assert!(place(&lane, later).await.is_some());
    }

    #[tokio::test]
    async fn what_exceeds_the_rate_is_put_off_one_after_the_other() {
        let lane = lane(8);
        let mut times = Vec::new();
        for _ in 0..5 {
            if let Admission::Later { at, has_slot } = lane.admit(START, Some(2), false).await {
                assert!(has_slot);
                times.push(at.since(START));
            }
        }
        let half = Duration::from_millis(500);
        assert_eq!(times, [half, half * 2, half * 3, half * 4]);
    }
}
