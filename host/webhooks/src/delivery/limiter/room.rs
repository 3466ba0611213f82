//! When deliveries that are put off will find room: one after the other, by how long deliveries have taken lately. Pure.

use std::time::Duration;

use tillgate_store::clock::Timestamp;

/// How long a delivery is expected to take before any has.
const EXPECTED: Duration = Duration::from_millis(20);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Room {
    /// How many deliveries may be under way at once.
    places: u32,
    /// How long deliveries have taken lately.
    average: Duration,
    /// When the next one that is put off will find room.
    next: Timestamp,
}

impl Room {
    pub(super) fn new(places: usize) -> Self {
        Self {
            places: u32::try_from(places).unwrap_or(u32::MAX).max(1),
            average: EXPECTED,
            next: Timestamp(0),
        }
    }

    /// How long the next delivery is expected to wait where so many wait already.
    pub(super) fn wait_behind(&self, waiting: u32) -> Duration {
        self.average * (waiting / self.places)
    }

    /// When a delivery that is put off now will find room.
    pub(super) fn reserve(&mut self, now: Timestamp) -> Timestamp {
        self.reserve_after(now.plus(self.average), self.average / self.places)
    }

    /// When it will if that is not before a time; the one after it comes so much later.
    pub(super) fn reserve_after(&mut self, earliest: Timestamp, spacing: Duration) -> Timestamp {
        let at = self.next.max(earliest);
        self.next = at.plus(spacing);
        at
    }

    /// Notes how long a delivery has taken.
    pub(super) fn took(&mut self, took: Duration) {
        self.average = (self.average * 7 + took) / 8;
    }

    /// Forgets what was put off: there is room again.
    pub(super) const fn clear(&mut self) {
        self.next = Timestamp(0);
    }
}
