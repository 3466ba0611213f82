//! Keeps a slow or dead webhook from slowing others: limits its deliveries in flight and its deliveries per second, and
//! has a circuit breaker.
//!
//! A webhook is proven if its last delivery succeeded at most a minute ago, and it is not silent (`under_way.rs`). An
//! unproven one has one delivery under way, and all unproven ones of a tenant and target have at most half of the
//! target's places (`targets.rs`). The first delivery of a proven one needs no place. So those that stop answering delay no
//! others (`webhooks.md`, "Fairness").
//!
//! A limiter is in memory, one per webhook and host. A delivery is sent at once, waits briefly for those before it, or
//! is deferred until room is expected (`pacing.rs`). What waits for a webhook that is silent, or that fails
//! (`breaker.rs`), is retried one by one, and for all such webhooks of a tenant no more often than for one. A limiter
//! that was not used for a while is dropped: its webhook may be gone.

mod breaker;
mod pacing;
mod permit;
mod room;
mod targets;
mod under_way;

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;
use tokio::sync::Semaphore;
use uuid::Uuid;

pub(crate) use self::breaker::BreakerState;
use self::pacing::{MAX_WAIT, Pacing};
use self::permit::{Permit, Waiting};
pub(crate) use self::targets::Targets;

/// The time without a delivery after which a limiter is dropped: longer than a breaker is open.
const IDLE: Duration = Duration::from_secs(10 * 60);

/// The limiters of this host.
#[derive(Debug)]
pub(crate) struct Limiters {
    max_in_flight: usize,
    tenants: Mutex<Tenants>,
}

#[derive(Debug, Default)]
struct Tenants {
    by_id: HashMap<TenantId, TenantLimiters>,
    /// The time at which idle limiters were last dropped.
    swept: Timestamp,
}

#[derive(Debug, Default)]
struct TenantLimiters {
    webhooks: HashMap<Uuid, Arc<Limiter>>,
    /// The number of them that are deferred.
    put_off: Arc<AtomicU32>,
}

#[derive(Debug)]
pub(crate) struct Limiter {
    permits: Arc<Semaphore>,
    /// The permit of the one delivery that may be under way while the webhook is unproven.
    only: Arc<Semaphore>,
    pacing: Mutex<Pacing>,
}

/// The time until which a delivery is deferred.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deferral {
    pub(crate) until: Timestamp,
    /// `true` if it is already counted in the rate of that second.
    pub(crate) has_reservation: bool,
}

/// The state of a webhook's breaker: since when it is paused, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paused {
    pub(crate) state: BreakerState,
    pub(crate) since: Option<Timestamp>,
    /// Absent once the next delivery may be sent.
    pub(crate) until: Option<Timestamp>,
}

impl Paused {
    const NOT: Self = Self {
        state: BreakerState::Closed,
        since: None,
        until: None,
    };
}

impl Limiters {
    pub(crate) fn new(max_in_flight: usize) -> Self {
        Self {
            max_in_flight,
            tenants: Mutex::default(),
        }
    }

    /// Returns the limiter of a webhook that is about to get a delivery.
    pub(crate) fn of(&self, tenant: &TenantId, webhook: Uuid, now: Timestamp) -> Arc<Limiter> {
        let mut tenants = self.lock();
        tenants.drop_idle(now);
        let of_tenant = tenants.by_id.entry(tenant.clone()).or_default();
        let TenantLimiters { webhooks, put_off } = of_tenant;
        let limiter = webhooks.entry(webhook).or_insert_with(|| {
            let pacing = Pacing::new(self.max_in_flight, Arc::clone(put_off), now);
            Arc::new(Limiter {
                permits: Arc::new(Semaphore::new(self.max_in_flight)),
                only: Arc::new(Semaphore::new(1)),
                pacing: Mutex::new(pacing),
            })
        });
        Arc::clone(limiter)
    }

    /// Returns when to try a new delivery: now, or once its webhook may be back.
    pub(crate) fn next_try(&self, tenant: &TenantId, webhook: Uuid, now: Timestamp) -> Timestamp {
        let limiter = self.known(tenant, webhook);
        let later = limiter.and_then(|limiter| limiter.pacing().blocked_until(now));
        later.unwrap_or(now)
    }

    pub(crate) fn count(&self) -> usize {
        let tenants = self.lock();
        let tenants = tenants.by_id.values();
        tenants.map(|tenant| tenant.webhooks.len()).sum()
    }

    /// Returns the breaker of a webhook, last resumed at `resumed_at` if ever. It is closed if nothing was sent to it.
    pub(crate) fn breaker(
        &self,
        tenant: &TenantId,
        webhook: Uuid,
        resumed_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Paused {
        let Some(limiter) = self.known(tenant, webhook) else {
            return Paused::NOT;
        };
        limiter.resume(resumed_at);
        let pacing = limiter.pacing();
        let breaker = pacing.breaker();
        Paused {
            state: breaker.state(),
            since: breaker.since(),
            until: breaker.until(now),
        }
    }

    /// Forgets what was known about a changed or removed webhook: it may have another receiver by now.
    pub(crate) fn forget(&self, tenant: &TenantId, webhook: Uuid) {
        let mut tenants = self.lock();
        let Some(of_tenant) = tenants.by_id.get_mut(tenant) else {
            return;
        };
        of_tenant.webhooks.remove(&webhook);
        if of_tenant.webhooks.is_empty() {
            tenants.by_id.remove(tenant);
        }
    }

    fn known(&self, tenant: &TenantId, webhook: Uuid) -> Option<Arc<Limiter>> {
        let tenants = self.lock();
        let of_tenant = tenants.by_id.get(tenant)?;
        of_tenant.webhooks.get(&webhook).map(Arc::clone)
    }

    fn lock(&self) -> MutexGuard<'_, Tenants> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tenants {
    fn drop_idle(&mut self, now: Timestamp) {
        if now.since(self.swept) < IDLE {
            return;
        }
        self.swept = now;
        self.by_id.retain(|_, tenant| {
            tenant.webhooks.retain(|_, limiter| !limiter.is_idle(now));
            !tenant.webhooks.is_empty()
        });
    }
}

impl Limiter {
    /// Asks to send a delivery. `has_reservation` says that it has already waited for its place within the rate.
    ///
    /// # Errors
    /// The deferral, when the delivery may not be sent yet.
    pub(crate) async fn admit(
        self: &Arc<Self>,
        now: Timestamp,
        max_per_second: Option<u32>,
        has_reservation: bool,
    ) -> Result<Permit, Deferral> {
        let is_probe = self.pacing().enter(now, max_per_second, has_reservation)?;
        // From here on, a probe that is not sent must let another one be sent.
        let waiting = Waiting::new(self, is_probe);
        let permit = tokio::time::timeout(MAX_WAIT, self.permit(now)).await;
        let Ok(Ok(permit)) = permit else {
            let until = self.pacing().room(now);
            return Err(Deferral::reserved(until));
        };
        Ok(waiting.begin(permit, now))
    }

    /// Closes the breaker if its webhook was resumed, on any host, after it opened.
    pub(crate) fn resume(&self, resumed_at: Option<Timestamp>) {
        if let Some(at) = resumed_at {
            self.pacing().resumed(at);
        }
    }

    /// Returns whether it may have more than one delivery under way.
    fn is_proven(&self, now: Timestamp) -> bool {
        self.pacing().is_proven(now)
    }

    /// Returns whether it knows nothing that still matters.
    fn is_idle(self: &Arc<Self>, now: Timestamp) -> bool {
        Arc::strong_count(self) == 1 && now.since(self.pacing().last_used()) >= IDLE
    }

    fn pacing(&self) -> MutexGuard<'_, Pacing> {
        self.pacing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Deferral {
    /// Returns the deferral of a delivery that has its place within the rate.
    const fn reserved(until: Timestamp) -> Self {
        Self {
            until,
            has_reservation: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::breaker::{MIN_PAUSE, OPENS_AFTER};
    use super::pacing::SPACING;
    use super::*;

    const START: Timestamp = Timestamp(1_767_225_600_000_000);

    fn limiter(max_in_flight: usize) -> Arc<Limiter> {
        let tenant = TenantId::new("acme");
        #[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
        let tenant = tenant.unwrap();
        Limiters::new(max_in_flight).of(&tenant, Uuid::nil(), START)
    }

    async fn permit(limiter: &Arc<Limiter>, now: Timestamp) -> Option<Permit> {
        limiter.admit(now, None, false).await.ok()
    }

    async fn fail(limiter: &Arc<Limiter>, now: Timestamp) {
        if let Some(permit) = permit(limiter, now).await {
            permit.finish(now, Duration::from_millis(5), false);
        }
    }

    #[tokio::test]
    async fn nothing_is_sent_after_five_failures_until_one_delivery_probes() {
        let limiter = limiter(8);
        for _ in 0..OPENS_AFTER {
            fail(&limiter, START).await;
        }
        assert!(permit(&limiter, START.plus(MIN_PAUSE / 2)).await.is_none());
        let later = START.plus(MIN_PAUSE);
        let probe = permit(&limiter, later).await;
        assert!(probe.is_some());
        assert!(permit(&limiter, later).await.is_none(), "only one probes");
        if let Some(probe) = probe {
            probe.finish(later, Duration::from_millis(5), true);
        }
        assert!(permit(&limiter, later).await.is_some());
    }

    #[tokio::test]
    async fn what_waits_for_dead_webhooks_of_a_tenant_comes_again_no_more_often_than_for_one() {
        let limiters = Limiters::new(8);
        #[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
        let [acme, other] = ["acme", "other"].map(|name| TenantId::new(name).unwrap());
        let webhooks: [Uuid; 3] = [1, 2, 3].map(Uuid::from_u128);
        for (tenant, webhook) in webhooks
            .map(|id| (&acme, id))
            .into_iter()
            .chain([(&other, webhooks[0])])
        {
            for _ in 0..OPENS_AFTER {
                fail(&limiters.of(tenant, webhook, START), START).await;
            }
        }
        let times = |tenant, webhook| {
            let again = |_| {
                limiters
                    .next_try(tenant, webhook, START)
                    .since(START.plus(MIN_PAUSE))
            };
            [0, 1, 2].map(again)
        };
        for webhook in webhooks {
            assert_eq!(
                times(&acme, webhook),
                [0, 3, 6].map(|times| SPACING * times)
            );
        }
        assert_eq!(
            times(&other, webhooks[0]),
            [0, 1, 2].map(|times| SPACING * times)
        );

        // One webhook is back, and one was changed.
        let later = START.plus(MIN_PAUSE);
        if let Some(probe) = permit(&limiters.of(&acme, webhooks[0], later), later).await {
            probe.finish(later, Duration::from_millis(5), true);
        }
        limiters.forget(&acme, webhooks[1]);
        assert_eq!(limiters.next_try(&acme, webhooks[0], START), START);
        assert_eq!(limiters.next_try(&acme, webhooks[1], START), START);
        assert_eq!(
            times(&acme, webhooks[2]),
            [9, 10, 11].map(|times| SPACING * times)
        );
    }

    #[tokio::test]
    async fn a_limiter_is_dropped_when_it_was_not_used_for_a_while() {
        let limiters = Limiters::new(8);
        #[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
        let tenants = [0, 1, 2].map(|at| TenantId::new(&format!("tenant-{at}")).unwrap());
        for (number, tenant) in (0..10_000).zip(tenants.iter().cycle()) {
            let limiter = limiters.of(tenant, Uuid::from_u128(number), START);
            fail(&limiter, START).await;
        }
        assert_eq!(limiters.count(), 10_000);
        let [slow, late] = [1, 2].map(Uuid::from_u128);
        let held = limiters.of(&tenants[1], slow, START);
        let next = START.plus(IDLE / 2);
        assert_eq!(limiters.next_try(&tenants[2], late, next), next);
        limiters.of(&tenants[0], Uuid::nil(), START.plus(IDLE));
        assert_eq!(
            limiters.count(),
            3,
            "one in use, one used lately, a new one"
        );
        drop(held);
    }

    #[tokio::test]
    async fn a_probe_that_was_cut_short_lets_another_one_be_made() {
        let limiter = limiter(8);
        for _ in 0..OPENS_AFTER {
            fail(&limiter, START).await;
        }
        let later = START.plus(MIN_PAUSE);
        drop(permit(&limiter, later).await);
        assert!(permit(&limiter, later).await.is_some());
    }

    #[tokio::test]
    async fn what_exceeds_the_rate_is_put_off_one_after_the_other() {
        let limiter = limiter(8);
        let mut times = Vec::new();
        for _ in 0..5 {
            if let Err(deferral) = limiter.admit(START, Some(2), false).await {
                assert!(deferral.has_reservation);
                times.push(deferral.until.since(START));
            }
        }
        let half = Duration::from_millis(500);
        assert_eq!(times, [half, half * 2, half * 3, half * 4]);
    }
}
