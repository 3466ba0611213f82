//! The writer: the one thread that changes the store, and group commit.
//!
//! All waiting requests share one transaction and one sync. A request is answered only once its transaction is durable,
//! whatever its outcome: a conflict may be with a commit in the same transaction. A transaction that changes nothing
//! syncs nothing.
//!
//! After a failed write, SQLite has rolled back, and the next transaction is a new attempt: the store works again once
//! the cause is gone. After a failed sync, the transaction may or may not be on disk: its requests are answered
//! accordingly, this process continues without it, and a commit that is repeated with the same id is applied once.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rusqlite::ffi::{self, ErrorCode};
use rusqlite::{Connection, Error, TransactionBehavior};
use tokio::sync::mpsc;

use super::super::contract::MAX_OPS;
use super::checkpoints::LogEnd;
use super::partitions::Partition;
use super::requests::{FinishedBatch, Request, WriteError};
use super::shared::Shared;
use super::{commits, jobs, logs, portable};
use crate::clock::Timestamp;

/// A batch takes no more requests once it has this many changes...
const MAX_BATCH_CHANGES: usize = MAX_OPS;

/// ...or this many bytes: 16 MiB.
const MAX_BATCH_BYTES: usize = 16 << 20;

/// The state of the thread.
pub(super) struct Writer {
    db: Connection,
    shared: Arc<Shared>,
    /// True once the leases of the last process have ended.
    leases_ended: bool,
}

/// The reason a batch was not written, for the operator.
enum Failure {
    /// A statement failed, and nothing happened.
    Statement(String),
    /// The transaction as a whole failed, and nothing happened.
    Nothing(String),
    /// It may have happened.
    Unknown(String),
}

impl Writer {
    /// Creates a writer, which tries at once whether it can write.
    pub(super) fn new(db: Connection, shared: Arc<Shared>) -> Self {
        let mut writer = Self {
            db,
            shared,
            leases_ended: false,
        };
        writer.finish(vec![Request::Probe]);
        writer
    }

    /// Starts the thread, which serves requests until all senders are gone and all requests are answered.
    pub(super) fn start(
        mut self,
        mut waiting: mpsc::Receiver<Request>,
        mut log_end: LogEnd,
    ) -> Result<JoinHandle<()>, String> {
        let run = move || {
            while let Some(first) = waiting.blocking_recv() {
                let batch = batch(first, &mut waiting);
                self.finish(batch);
                log_end.after_commit(&self.db);
            }
        };
        let thread = thread::Builder::new().name("store-writer".to_owned());
        let thread = thread.spawn(run);
        thread.map_err(|error| format!("the store's writer cannot start: {error}"))
    }

    /// Writes a batch and answers its requests. When a statement fails in a batch of several requests, each request is
    /// tried on its own: a failing request must not fail the others.
    fn finish(&mut self, mut requests: Vec<Request>) {
        let written = match self.write(&mut requests) {
            Err(Failure::Statement(_)) if requests.len() > 1 => {
                for request in requests {
                    self.finish(vec![request]);
                }
                return;
            }
            Err(Failure::Statement(why) | Failure::Nothing(why)) => {
                Err(WriteError::Unavailable(why))
            }
            Err(Failure::Unknown(why)) => Err(WriteError::Unknown(why)),
            Ok(()) => Ok(()),
        };
        match &written {
            Ok(()) => self.shared.written(),
            Err(WriteError::Unavailable(why) | WriteError::Unknown(why)) => self.shared.failed(why),
        }
        drop(FinishedBatch {
            requests,
            written,
            listeners: Arc::clone(&self.shared.listeners),
        });
    }

    /// Applies requests in one transaction, and stores their outcomes in them.
    fn write(&mut self, requests: &mut [Request]) -> Result<(), Failure> {
        let why = |error: &Error| self.shared.describe(error);
        let tx = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| Failure::Nothing(why(&error)))?;
        let now = self.shared.clock.now();
        let applied = || {
            if !self.leases_ended {
                jobs::end_leases(&tx, now)?;
            }
            for request in &mut *requests {
                apply(&tx, request, self.shared.clock.now())?;
            }
            commits::forget(&tx, now)
        };
        let mut applied = applied;
        applied().map_err(|error| Failure::Statement(why(&error)))?;
        tx.commit().map_err(|error| {
            if is_known(&error) {
                Failure::Nothing(why(&error))
            } else {
                Failure::Unknown(why(&error))
            }
        })?;
        self.leases_ended = true;
        Ok(())
    }
}

/// Collects the first request and those that wait behind it, within the limits of a batch.
fn batch(first: Request, waiting: &mut mpsc::Receiver<Request>) -> Vec<Request> {
    let (mut changes, mut bytes) = first.size();
    let mut batch = vec![first];
    while changes < MAX_BATCH_CHANGES && bytes < MAX_BATCH_BYTES {
        let Ok(next) = waiting.try_recv() else {
            break;
        };
        let size = next.size();
        (changes, bytes) = (changes + size.0, bytes + size.1);
        batch.push(next);
    }
    batch
}

/// Applies a request to the transaction, and stores its outcome in it.
fn apply(db: &Connection, request: &mut Request, now: Timestamp) -> rusqlite::Result<()> {
    match request {
        Request::Commit(pending) => {
            pending.outcome = Some(commits::apply(db, &pending.work, now)?);
        }
        Request::Trim(pending) => {
            let trim = &pending.work;
            let partition = Partition::find(db, trim.partition.as_str())?.id;
            let dropped = logs::trim(db, partition, &trim.log, trim.before, trim.max)?;
            pending.outcome = Some(dropped);
        }
        Request::Claim(pending) => {
            let claim = &pending.work;
            let partition = Partition::find(db, claim.partition.as_str())?;
            let (span, max) = (claim.lease, claim.max);
            let claimed = jobs::claim(db, &partition, &claim.queue, span, max, now)?;
            pending.outcome = Some(claimed);
        }
        Request::Restore(pending) => {
            portable::restore(db, &pending.work)?;
            pending.outcome = Some(());
        }
        // Rewrites the first page unchanged.
        Request::Probe => {
            let format: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
            db.pragma_update(None, "user_version", format)?;
        }
    }
    Ok(())
}

/// Returns whether a failed commit is known to have changed nothing, since what it wrote is incomplete. After any other
/// error, such as a failed sync, it may be on disk.
fn is_known(error: &Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        matches!(error.code, ErrorCode::DiskFull | ErrorCode::DatabaseBusy)
            || error.extended_code == ffi::SQLITE_IOERR_WRITE
    })
}
