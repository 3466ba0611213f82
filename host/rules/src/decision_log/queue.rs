//! The queue of lines to be written: limited in bytes, so that a slow or full disk costs no more memory than that. It
//! counts decisions that found no room until a line of the log reports them.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tillgate_store::clock::Timestamp;
use tokio::sync::oneshot;

/// The time for which lines are collected.
const LINGER: Duration = Duration::from_millis(50);

/// Lines that are written together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<u8>,
    /// The number of lines.
    pub(super) count: u64,
    /// Receive whether the lines are on disk.
    pub(super) written: Vec<oneshot::Sender<bool>>,
    /// The missing decisions that the log does not report yet.
    pub(super) missing: Option<Missing>,
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
    pub(super) max_bytes: usize,
    waiting: Mutex<Waiting>,
    has_lines: Condvar,
    /// The number of lines that were written, and of decisions that are missing, since the start.
    pub(super) lines: AtomicU64,
    pub(super) all_missing: AtomicU64,
    is_failing: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    next: Batch,
    /// The bytes of the batch that is being written, or of one that could not be written when the log ended.
    writing: usize,
    is_ending: bool,
}

impl Waiting {
    const fn bytes(&self) -> usize {
        self.next.lines.len() + self.writing
    }
}

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            waiting: Mutex::default(),
            has_lines: Condvar::new(),
            lines: AtomicU64::new(0),
            all_missing: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
        }
    }

    /// Adds lines. Returns whether there was room. `written` receives whether they are on disk.
    pub(super) fn add(
        &self,
        lines: &[u8],
        count: u64,
        written: Option<oneshot::Sender<bool>>,
    ) -> bool {
        let mut waiting = self.waiting.lock();
        let bytes = waiting.bytes().saturating_add(lines.len());
        if waiting.is_ending || bytes > self.max_bytes {
            return false;
        }
        let next = &mut waiting.next;
        next.lines.extend_from_slice(lines);
        next.count += count;
        next.written.extend(written);
        drop(waiting);
        self.has_lines.notify_one();
        true
    }

    /// Waits for the next lines, and takes them; `None` once no more come. `room` holds the lines after them.
    pub(super) fn next(&self, room: Vec<u8>) -> Option<Batch> {
        let mut waiting = self.waiting.lock();
        while waiting.next.lines.is_empty() {
            if waiting.is_ending {
                return None;
            }
            self.has_lines.wait(&mut waiting);
        }
        if !waiting.is_ending {
            drop(waiting);
            // More lines come meanwhile, and are written with these.
            thread::sleep(LINGER);
            waiting = self.waiting.lock();
        }
        let batch = mem::take(&mut waiting.next);
        waiting.next.lines = room;
        waiting.writing += batch.lines.len();
        Some(batch)
    }

    /// Ends: what waits is written, and later lines find no room.
    pub(super) fn end(&self) {
        self.waiting.lock().is_ending = true;
        self.has_lines.notify_one();
    }

    pub(super) fn is_ending(&self) -> bool {
        self.waiting.lock().is_ending
    }

    /// Returns the bytes that wait to be written.
    pub(super) fn bytes(&self) -> usize {
        self.waiting.lock().bytes()
    }

    /// Counts a decision that was made at this time as missing.
    pub(super) fn miss(&self, at: Timestamp) {
        self.all_missing.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.waiting.lock();
        let missing = waiting.next.missing.get_or_insert(Missing {
            decisions: 0,
            since: at,
        });
        missing.decisions += 1;
        missing.since = missing.since.min(at);
    }

    /// Returns the missing decisions that the log does not report yet.
    pub(super) fn missing(&self) -> Option<Missing> {
        self.waiting.lock().next.missing
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

    /// Counts the lines of a batch that was written, whose room is free again.
    pub(super) fn succeed(&self, lines: u64) {
        self.waiting.lock().writing = 0;
        self.lines.fetch_add(lines, Ordering::Relaxed);
        if self.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("decisions are written to their log again");
        }
    }
}
