//! A circuit breaker: after [`OPENS_AFTER`] failures in a row nothing is sent for a while; then one delivery probes whether
//! the webhook is back. Pure.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use tillgate_store::clock::Timestamp;

/// The failures in a row after which it opens.
pub(super) const OPENS_AFTER: u32 = 5;

/// The time for which it is open: at first, and at most.
pub(super) const MIN_PAUSE: Duration = Duration::from_secs(30);
const MAX_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The time after which a delivery checks again whether a probe has succeeded.
const PROBE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct CircuitBreaker {
    state: State,
    failures: u32,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Closed,
    /// `since` is when it first opened.
    Open {
        since: Timestamp,
        until: Timestamp,
        pause: Duration,
    },
    /// `pause` is how long it was open.
    HalfOpen { since: Timestamp, pause: Duration },
}

/// The state of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(rename = "CircuitBreakerState")]
pub(crate) enum BreakerState {
    Closed,
    Open,
    HalfOpen,
}

impl CircuitBreaker {
    pub(super) const fn state(&self) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Returns since when it has not been closed.
    pub(super) const fn since(&self) -> Option<Timestamp> {
        match self.state {
            State::Closed => None,
            State::Open { since, .. } | State::HalfOpen { since, .. } => Some(since),
        }
    }

    /// Returns until when nothing is sent; `None` when the next delivery may be sent.
    pub(super) fn until(&self, now: Timestamp) -> Option<Timestamp> {
        match self.state {
            State::Open { until, .. } => Some(until).filter(|until| *until > now),
            State::Closed | State::HalfOpen { .. } => None,
        }
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Returns when a blocked delivery may pass; `None` when it may pass now, at least as a probe.
    pub(super) fn blocks_until(&self, now: Timestamp) -> Option<Timestamp> {
        match self.state {
            State::Closed | State::Open { .. } => self.until(now),
            State::HalfOpen { .. } => Some(now.plus(PROBE)),
        }
    }

    /// Lets a delivery pass; returns whether it is a probe.
    pub(super) const fn pass(&mut self) -> bool {
        match self.state {
            State::Open { since, pause, .. } => {
                self.state = State::HalfOpen { since, pause };
                true
            }
            State::Closed | State::HalfOpen { .. } => false,
        }
    }

    /// Cancels a probe that was not sent: the next delivery becomes one.
    pub(super) const fn cancel_probe(&mut self) {
        if let State::HalfOpen { since, pause } = self.state {
            let until = Timestamp(0);
            self.state = State::Open {
                since,
                until,
                pause,
            };
        }
    }

    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(super) fn failed(&mut self, is_probe: bool, now: Timestamp) {
        self.failures = self.failures.saturating_add(1);
        let (since, pause) = match self.state {
            State::HalfOpen { since, pause } if is_probe => (since, (pause * 2).min(MAX_PAUSE)),
            State::Closed if self.failures >= OPENS_AFTER => (now, MIN_PAUSE),
            _ => return,
        };
        let until = now.plus(pause);
        self.state = State::Open {
            since,
            until,
            pause,
        };
    }
}
