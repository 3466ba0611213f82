//! Records up to when hints are complete, and since when they are not, as the sweeps over the masters (`hints.rs`)
//! show.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::contract::Health;
use crate::clock::Timestamp;
use parking_lot::{Mutex, MutexGuard};

/// The time without a complete sweep after which the store counts as unavailable: a single sweep may be late.
const AWAY_AFTER: Duration = Duration::from_secs(2);

/// The results of the last sweeps.
#[derive(Debug)]
pub(super) struct Freshness {
    /// The time at which the last complete sweep was sent, in microseconds; 0 before the first. Every decision reads
    /// it.
    as_of: AtomicU64,
    sweeps: Mutex<Sweeps>,
}

#[derive(Debug)]
struct Sweeps {
    /// The time at which the last complete sweep was sent: the instant, and what the clock showed.
    complete: (Instant, Timestamp),
    /// The reason a later sweep was not complete.
    failure: Option<String>,
}

impl Freshness {
    /// Creates a state in which nothing is known yet.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            as_of: AtomicU64::new(0),
            sweeps: Mutex::new(Sweeps {
                complete: (Instant::now(), now),
                failure: None,
            }),
        }
    }

    /// Records that a sweep sent at this time was complete. Returns whether the one before was not.
    pub(super) fn complete(&self, (instant, sent): (Instant, Timestamp)) -> bool {
        let mut sweeps = self.lock();
        sweeps.complete = (instant, sent);
        // This holds even if the clock was set back: a later moment would be one that is still to come.
        self.as_of.store(sent.0, Ordering::Release);
        sweeps.failure.take().is_some()
    }

    /// Records that a sweep was not complete.
    pub(super) fn failed(&self, why: String) {
        self.lock().failure = Some(why);
    }

    pub(super) fn as_of(&self) -> Option<Timestamp> {
        match self.as_of.load(Ordering::Acquire) {
            0 => None,
            micros => Some(Timestamp(micros)),
        }
    }

    pub(super) fn health(&self) -> Health {
        let sweeps = self.lock();
        let (instant, since) = sweeps.complete;
        if instant.elapsed() < AWAY_AFTER {
            return Health::Up;
        }
        let why = sweeps.failure.clone();
        Health::Away {
            since,
            why: why.unwrap_or_else(|| "its servers have not answered yet".to_owned()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sweeps> {
        self.sweeps.lock()
    }
}
