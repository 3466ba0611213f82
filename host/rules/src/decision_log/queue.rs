//! The queue of lines to be written: limited in bytes, so that a slow or full disk costs no more memory than that. It
//! counts decisions that found no room until a line of the log reports them.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tillgate_store::clock::Timestamp;
use tokio::sync::oneshot;

/// The time for which lines are collected.
const LINGER: Duration = Duration::from_millis(50);

/// The most bytes of a batch, unless lines that were added together are longer.
const BATCH: usize = 256 << 10;

/// Lines that are written together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<u8>,
    /// The number of lines.
    pub(super) count: u64,
    /// Receive whether the lines are on disk.
    pub(super) written: Vec<oneshot::Sender<bool>>,
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
    has_more: Condvar,
    /// The number of lines that were written, and of decisions that are missing, since the start.
    pub(super) lines: AtomicU64,
    pub(super) all_missing: AtomicU64,
    is_failing: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    batches: VecDeque<Batch>,
    /// The bytes of these, and of the batch that is being written.
    bytes: usize,
    /// The missing decisions that the log does not report yet.
    missing: Option<Missing>,
    is_ending: bool,
}

impl Queue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            waiting: Mutex::default(),
            has_more: Condvar::new(),
            lines: AtomicU64::new(0),
            all_missing: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
        }
    }

    /// Adds lines, which stay together. Returns whether there was room. `written` receives whether they are on disk.
    pub(super) fn add(
        &self,
        lines: Vec<u8>,
        count: u64,
        written: Option<oneshot::Sender<bool>>,
    ) -> bool {
        let mut waiting = self.waiting.lock();
        let bytes = waiting.bytes.saturating_add(lines.len());
        if waiting.is_ending || bytes > self.max_bytes {
            return false;
        }
        waiting.bytes = bytes;
        match waiting.batches.back_mut() {
            Some(last) if last.lines.len() + lines.len() <= BATCH => {
                last.lines.extend_from_slice(&lines);
                last.count += count;
                last.written.extend(written);
            }
            _ => waiting.batches.push_back(Batch {
                lines,
                count,
                written: written.into_iter().collect(),
            }),
        }
        drop(waiting);
        self.has_more.notify_one();
        true
    }

    /// Waits for the next batch or for missing decisions, and takes both; `None` once no more come.
    pub(super) fn next(&self) -> Option<(Batch, Option<Missing>)> {
        let mut waiting = self.waiting.lock();
        while waiting.batches.is_empty() && waiting.missing.is_none() {
            if waiting.is_ending {
                return None;
            }
            self.has_more.wait(&mut waiting);
        }
        if waiting.batches.len() < 2 && !waiting.is_ending {
            drop(waiting);
            // More lines come meanwhile, and are written with these.
            thread::sleep(LINGER);
            waiting = self.waiting.lock();
        }
        let batch = waiting.batches.pop_front().unwrap_or_default();
        Some((batch, mem::take(&mut waiting.missing)))
    }

    /// Ends: what waits is written, and later lines find no room.
    pub(super) fn end(&self) {
        self.waiting.lock().is_ending = true;
        self.has_more.notify_one();
    }

    pub(super) fn is_ending(&self) -> bool {
        self.waiting.lock().is_ending
    }

    /// Returns the bytes that wait to be written.
    pub(super) fn bytes(&self) -> usize {
        self.waiting.lock().bytes
    }

    /// Counts a decision that was made at this time as missing.
    pub(super) fn miss(&self, at: Timestamp) {
        self.all_missing.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.waiting.lock();
        let missing = waiting.missing.get_or_insert(Missing {
            decisions: 0,
            since: at,
        });
        missing.decisions += 1;
        missing.since = missing.since.min(at);
        drop(waiting);
        self.has_more.notify_one();
    }

    /// Returns the missing decisions that the log does not report yet.
    pub(super) fn missing(&self) -> Option<Missing> {
        self.waiting.lock().missing
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

    /// Counts the lines of a batch that was written, and frees the bytes that it took.
    pub(super) fn succeed(&self, lines: u64, bytes: usize) {
        self.waiting.lock().bytes -= bytes;
        self.lines.fetch_add(lines, Ordering::Relaxed);
        if self.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!("decisions are written to their log again");
        }
    }
}
