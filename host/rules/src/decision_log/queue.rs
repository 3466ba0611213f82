//! How much waits to be written: bounded by bytes, so that a disk that is slow or full costs no more memory than that. What found
//! no room is counted here until a line of the log says so.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use tillgate_store::clock::Timestamp;
use tokio::sync::oneshot;

/// Lines that wait to be written.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) lines: Vec<u8>,
    /// How many they are.
    pub(super) count: u64,
    /// Who waits for them to be on disk, and is told whether they are.
    pub(super) written: Option<oneshot::Sender<bool>>,
}

/// Decisions that are not in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    /// How many there are; one about a basket counts once.
    pub(super) decisions: u64,
    /// When the first of them was made.
    pub(super) since: Timestamp,
}

/// What the thread that writes shares with those who want something written.
#[derive(Debug)]
pub(super) struct Queue {
    bytes: AtomicUsize,
    pub(super) max_bytes: usize,
    /// What the log does not say yet.
    missing: Mutex<Option<Missing>>,
    /// How many lines were written, and how many decisions are missing, since the start.
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

    /// Takes room for so many bytes. Answers whether there was any.
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

    /// The bytes that wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// A decision is missing that was made at a time.
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

    /// What is missing that the log does not say yet.
    pub(super) fn missing(&self) -> Option<Missing> {
        *self.missing.lock()
    }

    /// The same, which the log is about to say.
    pub(super) fn take_missing(&self) -> Option<Missing> {
        self.missing.lock().take()
    }

    /// Whether nothing can be written now.
    pub(super) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Nothing can be written. That is logged once.
    pub(super) fn fail(&self, cause: &std::io::Error) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            tracing::error!(%cause, "decisions cannot be written to their log: they wait, as many as there is room for");
        }
    }

    /// Lines were written.
    pub(super) fn succeed(&self, lines: u64) {
        self.lines.fetch_add(lines, Ordering::Relaxed);
        if self.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("decisions are written to their log again");
        }
    }
}
