//! Checkpoints: copies what commits have written to the write-ahead log into the file, while commits continue.
//!
//! A commit appends to the log, `tillgate.db-wal`. A thread of lower priority copies the log to the file, which stops
//! no commit. Once all of a log that has grown is copied, SQLite restarts it with the next commit. Under load there is
//! always a little more in the log than was copied, so the writer copies the rest itself, between two commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;

use rusqlite::ffi::ErrorCode;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, Error, Result};
use tokio::sync::mpsc::WeakSender;

use super::database::{Database, describe};
use super::requests::Request;
use crate::priority;

/// The number of pages left to copy at which they are copied: 4 MiB.
const COPY_AT: i32 = 1_024;

/// A log that has grown by this many pages is restarted as soon as little of it is left to copy: 16 MiB...
const RESTART_AT: i32 = 4 * COPY_AT;

/// ...which means at most one in this many of its pages: the larger the log has grown, the longer a commit may wait for
/// them.
const LITTLE: i32 = 16;

/// The interval at which the writer is asked to try again while it cannot write.
const RETRY: Duration = Duration::from_secs(1);

/// The thread that makes checkpoints.
pub(super) struct Checkpoints {
    thread: JoinHandle<()>,
    ended: Arc<AtomicBool>,
}

impl Checkpoints {
    /// Starts the thread. While `failed` returns true, the thread also makes the writer try again.
    pub(super) fn start(
        database: &Database,
        failed: impl Fn() -> bool + Send + 'static,
        writer: WeakSender<Request>,
    ) -> std::result::Result<Self, String> {
        let db = database.writer();
        let db = db.map_err(|error| describe(&database.file, &error))?;
        let ended = Arc::new(AtomicBool::new(false));
        let is_ended = Arc::clone(&ended);
        let run = move || {
            priority::lower_own(priority::UPKEEP);
            while !is_ended.load(Ordering::Acquire) {
                if let Err(error) = copy_if_due(&db) {
                    tracing::debug!(%error, "a checkpoint failed; it is tried again");
                }
                if failed()
                    && let Some(writer) = writer.upgrade()
                {
                    // When the writer's queue is full, it tries anyway.
                    let _full = writer.try_send(Request::Probe);
                }
                thread::park_timeout(RETRY);
            }
        };
        let thread = thread::Builder::new().name("store-checkpoints".to_owned());
        let thread = thread.spawn(run);
        let thread = thread.map_err(|error| format!("a thread cannot start: {error}"))?;
        Ok(Self { thread, ended })
    }

    /// Returns the writer's part in checkpoints.
    pub(super) fn log_end(&self) -> LogEnd {
        LogEnd {
            thread: self.thread.thread().clone(),
            copied_at: 0,
        }
    }

    /// Ends the thread and waits for it.
    pub(super) fn end(self) {
        self.ended.store(true, Ordering::Release);
        self.thread.thread().unpark();
        // The panic hook has already reported a panic.
        let _ended = self.thread.join();
    }
}

/// Runs a checkpoint in a mode; returns how many pages the log has, and how many of them are copied.
fn progress(db: &Connection, mode: CheckpointMode) -> Result<(i32, i32)> {
    db.wal_checkpoint_v2(Some(c"main"), mode)
}

fn copy_if_due(db: &Connection) -> Result<()> {
    let (pages, copied) = progress(db, CheckpointMode::NOOP)?;
    if pages - copied >= COPY_AT {
        progress(db, CheckpointMode::PASSIVE)?;
    }
    Ok(())
}

/// The writer's part in checkpoints.
pub(super) struct LogEnd {
    /// The thread, which is woken when there is much to copy.
    thread: Thread,
    /// The number of pages in the log when the writer last copied the rest of it; 0 once the log is restarted.
    copied_at: i32,
}

impl LogEnd {
    /// Call this after each commit: it wakes the thread when there is much to copy, and copies the rest when the log
    /// should restart.
    pub(super) fn after_commit(&mut self, db: &Connection) {
        match self.copy_if_due(db) {
            Ok(()) => {}
            // The other thread is making a checkpoint.
            Err(Error::SqliteFailure(error, _)) if error.code == ErrorCode::DatabaseBusy => {}
            // The commit is durable in the log, whatever becomes of the checkpoint.
            Err(error) => tracing::debug!(%error, "a checkpoint failed; it is tried again"),
        }
    }

    fn copy_if_due(&mut self, db: &Connection) -> Result<()> {
        let (pages, copied) = progress(db, CheckpointMode::NOOP)?;
        let left = pages - copied;
        if pages < self.copied_at {
            self.copied_at = 0;
        }
        // While a reader holds an old snapshot, the log keeps growing although all of it is copied.
        let has_grown = pages - self.copied_at >= RESTART_AT;
        if has_grown && left <= pages / LITTLE {
            self.copied_at = pages;
            progress(db, CheckpointMode::PASSIVE)?;
        } else if left >= COPY_AT {
            self.thread.unpark();
        }
        Ok(())
    }
}
