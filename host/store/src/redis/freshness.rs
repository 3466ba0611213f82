//! Until when hints are complete, and since when they are not: what a sweep over the masters (`hints.rs`) has shown.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::super::contract::Health;
use crate::clock::Timestamp;
use parking_lot::{Mutex, MutexGuard};

/// After how long without a complete sweep the store counts as unavailable: a single sweep may be late.
const AWAY_AFTER: Duration = Duration::from_secs(2);

/// What the last sweeps have shown.
#[derive(Debug)]
pub(super) struct Freshness {
    /// When the last complete sweep was sent, in microseconds; 0 before the first. Read by every decision.
    as_of: AtomicU64,
    sweeps: Mutex<Sweeps>,
}

#[derive(Debug)]
struct Sweeps {
    /// When the last complete one was sent: the instant, and what the clock showed.
    complete: (Instant, Timestamp),
    /// Why a later one was not complete.
    failure: Option<String>,
}

impl Freshness {
    /// Nothing is known yet.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            as_of: AtomicU64::new(0),
            sweeps: Mutex::new(Sweeps {
                complete: (Instant::now(), now),
                failure: None,
            }),
        }
    }

    /// A sweep that was sent then was complete. Returns whether the one before was not.
    pub(super) fn complete(&self, (instant, sent): (Instant, Timestamp)) -> bool {
        let mut sweeps = self.lock();
        sweeps.complete = (instant, sent);
        // Also when the clock was set back: a later moment would be one that is still to come.
        self.as_of.store(sent.0, Ordering::Release);
        sweeps.failure.take().is_some()
    }

    /// A sweep was not complete.
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
