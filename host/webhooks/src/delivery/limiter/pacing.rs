//! Knows a limiter's webhook, and decides about the next delivery: it is sent at once, waits briefly for those before
//! it, or is deferred until a time when there should be room. Pure.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tillgate_store::clock::Timestamp;

use super::Deferral;
use super::breaker::CircuitBreaker;
use super::room::Room;
use super::under_way::UnderWay;

/// The longest that a delivery waits for those before it; one that would wait longer is deferred.
pub(super) const MAX_WAIT: Duration = Duration::from_millis(250);

/// The interval between retries of a tenant's deliveries that wait for a webhook to be back: a long queue of them must
/// cost little, however many webhooks it is for.
pub(super) const SPACING: Duration = Duration::from_millis(5);

/// A webhook is proven if its last delivery succeeded within this time, and it is not silent.
const PROVEN: Duration = Duration::from_secs(60);

/// The part of a second's deliveries that may be sent at once.
const BURST: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Pacing {
    breaker: CircuitBreaker,
    /// The number of the tenant's webhooks that are deferred.
    put_off: Arc<AtomicU32>,
    /// `true` if this one is, for another reason than its breaker.
    is_put_off: bool,
    /// The time until which its target has no room for it.
    held_until: Timestamp,
    waiting: u32,
    under_way: UnderWay,
    room: Room,
    /// The time at which the rate allows the next delivery.
    next_in_rate: Timestamp,
    last_used: Timestamp,
}

impl Pacing {
    pub(super) fn new(max_in_flight: usize, put_off: Arc<AtomicU32>, now: Timestamp) -> Self {
        Self {
            breaker: CircuitBreaker::default(),
            put_off,
            is_put_off: false,
            held_until: Timestamp(0),
            waiting: 0,
            under_way: UnderWay::default(),
            room: Room::new(max_in_flight),
            next_in_rate: Timestamp(0),
            last_used: now,
        }
    }

    /// Returns when it was last asked about a delivery, or told of one.
    pub(super) const fn last_used(&self) -> Timestamp {
        self.last_used
    }

    pub(super) const fn breaker(&self) -> &CircuitBreaker {
        &self.breaker
    }

    /// Lets a delivery wait for a permit; returns whether it is a probe.
    ///
    /// # Errors
    /// The deferral, when the delivery may not wait.
    pub(super) fn enter(
        &mut self,
        now: Timestamp,
        max_per_second: Option<u32>,
        has_reservation: bool,
    ) -> Result<bool, Deferral> {
        if let Some(until) = self.blocked_until(now) {
            return Err(Deferral {
                until,
                has_reservation,
            });
        }
        let is_probe = self.change(|it| it.breaker.pass());
        if let Some(max) = max_per_second.filter(|_| !has_reservation && !is_probe) {
            let at = self.next_in_rate.max(now);
            self.next_in_rate = at.plus(Duration::from_secs(1) / max.max(1));
            if at > now.plus(BURST) {
                return Err(Deferral::reserved(at));
            }
        }
        if self.room.wait_behind(self.waiting) > MAX_WAIT {
            return Err(Deferral::reserved(self.room(now)));
        }
        self.waiting += 1;
        Ok(is_probe)
    }

    /// Notes that a delivery no longer waits.
    pub(super) const fn leave(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Returns when a delivery that is deferred now will find room.
    pub(super) fn room(&mut self, now: Timestamp) -> Timestamp {
        self.room.reserve(now)
    }

    /// Returns whether it may have more than one delivery under way.
    pub(super) fn is_proven(&self, now: Timestamp) -> bool {
        self.under_way.has_succeeded_within(PROVEN, now) && self.silence(now).is_none()
    }

    /// Returns for how long its receiver has been silent.
    pub(super) fn silence(&self, now: Timestamp) -> Option<Duration> {
        self.under_way.silence(now)
    }

    /// Returns until when the next delivery is deferred, because the webhook does not answer or its target has no room
    /// for it; `None` when it may be sent, at least as a probe.
    pub(super) fn blocked_until(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.last_used = now;
        // The longer the receiver is silent, the later it is checked again.
        let silent = self.silence(now).map(|silence| now.plus(silence));
        let earliest = self.breaker.blocks_until(now).or(silent);
        let earliest = earliest.max(Some(self.held_until).filter(|until| *until > now))?;
        self.change(|it| it.is_put_off = true);
        Some(self.room.reserve_after(earliest, self.spacing()))
    }

    /// Notes that its target has no room for it until a time.
    pub(super) fn hold(&mut self, until: Timestamp) {
        self.held_until = until;
        self.change(|it| it.is_put_off = true);
    }

    pub(super) fn begin(&mut self, now: Timestamp) {
        self.under_way.begin(now);
    }

    /// Notes the end of a delivery that began at a time.
    pub(super) fn end(&mut self, begun: Timestamp) {
        self.under_way.end(begun);
    }

    /// Notes how a delivery ended.
    pub(super) fn finished(
        &mut self,
        now: Timestamp,
        took: Duration,
        has_succeeded: bool,
        is_probe: bool,
    ) {
        self.last_used = now;
        self.room.took(took);
        if has_succeeded {
            self.under_way.succeed(now);
            self.clear();
        } else {
            self.under_way.fail();
            self.change(|it| it.breaker.failed(is_probe, now));
        }
    }

    /// Ends all deferrals, since the webhook answers.
    fn clear(&mut self) {
        self.room.clear();
        self.held_until = Timestamp(0);
        self.change(|it| {
            it.is_put_off = false;
            it.breaker.succeeded();
        });
    }

    /// Closes the breaker if it opened before its webhook was resumed.
    pub(super) fn resumed(&mut self, at: Timestamp) {
        if self.breaker.since().is_some_and(|since| since <= at) {
            self.clear();
        }
    }

    pub(super) fn cancel_probe(&mut self) {
        self.change(|it| it.breaker.cancel_probe());
    }

    /// Returns the interval between retries while the webhook does not answer.
    fn spacing(&self) -> Duration {
        SPACING * self.put_off.load(Ordering::Relaxed).max(1)
    }

    /// Changes the breaker, or whether the webhook is deferred for another reason, and updates the tenant's count.
    fn change<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        let counts = |it: &Self| it.is_put_off || !it.breaker.is_closed();
        let before = counts(self);
        let answer = change(self);
        match (before, counts(self)) {
            (false, true) => _ = self.put_off.fetch_add(1, Ordering::Relaxed),
            (true, false) => _ = self.put_off.fetch_sub(1, Ordering::Relaxed),
            _ => {}
        }
        answer
    }
}

impl Drop for Pacing {
    fn drop(&mut self) {
        self.clear();
    }
}
