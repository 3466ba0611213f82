//! What waits of a tenant's decisions to go on record, and what never will: how many were dropped since the record last said
//! so. Kept with the tenant's catalog, so that a decision finds it without a look-up.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::clock::Timestamp;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    bytes: AtomicUsize,
    gap: Mutex<Option<Gap>>,
}

/// Decisions that the record lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    /// When the first of them was made.
    pub(super) since: Timestamp,
    /// When the last of them was made.
    pub(super) until: Timestamp,
    /// How many there are.
    pub(super) decisions: u64,
}

impl Backlog {
    /// Adds so many bytes; answers how many wait now.
    pub(super) fn add(&self, bytes: usize) -> usize {
        self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// Takes away what was added.
    pub(super) fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A decision is dropped. Answers whether it is the first since [`Backlog::take_gap`].
    pub(super) fn drop_one(&self, at: Timestamp) -> bool {
        let mut gap = self.gap.lock();
        let is_first = gap.is_none();
        let open = gap.get_or_insert(Gap {
            since: at,
            until: at,
            decisions: 0,
        });
        open.since = open.since.min(at);
        open.until = open.until.max(at);
        open.decisions += 1;
        is_first
    }

    /// What was dropped since this was last asked.
    pub(super) fn take_gap(&self) -> Option<Gap> {
        self.gap.lock().take()
    }
}
