//! Estimates when deferred deliveries will find room: one after the other, by how long recent deliveries took. Pure.

use std::time::Duration;

use tillgate_store::clock::Timestamp;

/// The time that a delivery is expected to take before any has ended.
const EXPECTED: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Room {
    /// The number of deliveries that may be under way at once.
    places: u32,
    /// The average duration of recent deliveries.
    average: Duration,
    /// The time at which the next deferred delivery will find room.
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

    /// Returns how long the next delivery is expected to wait behind those that already wait.
    pub(super) fn wait_behind(&self, waiting: u32) -> Duration {
        self.average * (waiting / self.places)
    }

    /// Reserves room for a delivery that is deferred now; returns when it will find it.
    pub(super) fn reserve(&mut self, now: Timestamp) -> Timestamp {
        self.reserve_after(now.plus(self.average), self.average / self.places)
    }

    /// Reserves room at `earliest` or later; the reservation after it is later by `spacing`.
    pub(super) fn reserve_after(&mut self, earliest: Timestamp, spacing: Duration) -> Timestamp {
        let at = self.next.max(earliest);
        self.next = at.plus(spacing);
        at
    }

    /// Notes how long a delivery took.
    pub(super) fn took(&mut self, took: Duration) {
        self.average = (self.average * 7 + took) / 8;
    }

    /// Forgets the deferred deliveries: there is room again.
    pub(super) const fn clear(&mut self) {
        self.next = Timestamp(0);
    }
}
