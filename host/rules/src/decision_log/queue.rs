//! The queue of lines to be written: limited in bytes, so that a slow or full disk costs no more memory than that. It
//! counts decisions that found no room until a line of the log reports them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tillgate_store::clock::Timestamp;
use tokio::sync::oneshot;

/// Lines that wait to be written.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) lines: Vec<u8>,
    /// The number of lines.
    pub(super) count: u64,
    /// Receives whether the lines are on disk.
    pub(super) written: Option<oneshot::Sender<bool>>,
}

/// Decisions that are not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// Their number; a decision about a basket counts once.
    pub(super) decisions: u64,
    /// The time of the first of them.
    pub(super) since: Timestamp,
}

/// The state that the writing thread shares with its callers.
#[derive(Debug)]
pub(super) struct Queue {
    bytes: AtomicUsize,
    pub(super) max_bytes: usize,
    /// The missing decisions that the log does not report yet.
    missing: Mutex<Option<Missing>>,
    /// The number of lines that were written, and of decisions that are missing, since the start.
    pub(super) lines: AtomicU64,
    pub(super) all_missing: AtomicU64,
    is_failing: AtomicBool,
    pub(super) is_ending: AtomicBool,
}

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            bytes: AtomicUsize::new(0),
            max_bytes,
            missing: Mutex::default(),
            lines: AtomicU64::new(0),
            all_missing: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
        }
    }

    /// Takes room for this many bytes. Returns whether there was any.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let has_room = self
            .bytes
            .fetch_add(bytes, Ordering::Relaxed)
            .saturating_add(bytes)
            <= self.max_bytes;
        if !has_room {
            self.give_back(bytes);
        }
        has_room
    }

    /// Gives back what was taken.
    pub(super) fn give_back(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that wait to be written.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Counts a decision that was made at this time as missing.
    pub(super) fn miss(&self, at: Timestamp) {
        self.all_missing.fetch_add(1, Ordering::Relaxed);
        let mut missing = self.missing.lock();
        let missing = missing.get_or_insert(Missing {
            decisions: 0,
            since: at,
        });
        missing.decisions += 1;
        missing.since = missing.since.min(at);
    }

    /// Returns the missing decisions that the log does not report yet.
    pub(super) fn missing(&self) -> Option<Missing> {
        *self.missing.lock()
    }

    /// Takes the missing decisions, which the log is about to report.
    pub(super) fn take_missing(&self) -> Option<Missing> {
        self.missing.lock().take()
    }

    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Marks that nothing can be written, and logs that once.
    pub(super) fn fail(&self, cause: &std::io::Error) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%cause, "decisions cannot be written to their log: they wait while there is room for them");
        }
    }

    /// Counts lines that were written.
    pub(super) fn succeed(&self, lines: u64) {
        self.lines.fetch_add(lines, Ordering::Relaxed);
        if self.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("decisions are written to their log again");
        }
    }
}
