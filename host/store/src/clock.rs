//! The clock: the one place that reads the machine's time.
//!
//! Everything that needs the time takes a [`Clock`], so a test can stop it. Timestamps are microseconds since the Unix
//! epoch: a store sets publish times with that precision (`rates.md`, "The topic").

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A day without leap seconds.
pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A moment, in microseconds since the Unix epoch, UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize,
)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the whole seconds since the epoch, as JWTs carry them.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Returns the moment that is `span` later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_add(micros))
    }

    /// Returns the moment that is `span` earlier, but not before the epoch.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(micros))
    }

    /// Returns the time since `earlier`; zero when `earlier` is still to come.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Returns the next midnight, UTC.
    #[must_use]
    pub fn next_midnight(self) -> Self {
        let day = u64::try_from(DAY.as_micros()).unwrap_or(u64::MAX);
        Self((self.0 / day + 1).saturating_mul(day))
    }

    fn rfc3339(self, digits: i16) -> String {
        let micros = i64::try_from(self.0).unwrap_or(i64::MAX);
        jiff::Timestamp::from_microsecond(micros)
            .map(|at| format!("{at:.0$}", usize::try_from(digits).unwrap_or(0)))
            .unwrap_or_default()
    }

    /// Formats a publish time: RFC 3339 in UTC with exactly six fractional digits, so that it sorts as text.
    #[must_use]
    pub fn to_micros_text(self) -> String {
        self.rfc3339(6)
    }

    /// Formats every other timestamp: RFC 3339 in UTC with milliseconds.
    #[must_use]
    pub fn to_millis_text(self) -> String {
        self.rfc3339(3)
    }
}

/// A source of the current time.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// Returns the current time. It may stand still or go back: nothing may rely on it to increase.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the one reader of the machine's clock"
    )]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

/// A clock that shows the same time until it is set.
#[derive(Debug)]
pub struct StoppedClock(AtomicU64);

impl StoppedClock {
    /// Returns a clock that shows `at`.
    #[must_use]
    pub const fn at(at: Timestamp) -> Self {
        Self(AtomicU64::new(at.0))
    }

    /// Moves the clock forward.
    pub fn advance(&self, span: Duration) {
        self.set(self.now().plus(span));
    }

    /// Sets the clock, forward or back.
    pub fn set(&self, at: Timestamp) {
        self.0.store(at.0, Ordering::Release);
    }
}

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Acquire))
    }
}
