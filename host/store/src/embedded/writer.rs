//! The writer: the one thread that changes the store, and group commit.
//!
//! All requests that wait share one batch and one record of the journal. A request is answered when its record is durable
//! and never before, whatever its outcome: a conflict may be with a commit that shares the record. A batch without
//! changes needs no record. After a failure nothing is written until the store has healed (`healing`).

use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::super::contract::{MAX_OPS, Unavailable};
use super::batch::{Batch, BatchWriter};
use super::commit_index::CommitIndex;
use super::engine::{AppendError, Database, FlushLimits, Flusher, Journal, State, catch_panics};
use super::read;
use super::requests::{FinishedBatch, Request, WriteError};
use super::shared::Shared;
use crate::clock::Timestamp;
use crate::priority;

/// A batch takes no more requests once it has this many changes...
const MAX_BATCH_CHANGES: usize = MAX_OPS;

/// ...or this many bytes: 16 MiB.
const MAX_BATCH_BYTES: usize = 16 << 20;

/// The longest that the writer lingers for one more request before it syncs, if the last batch was larger; at most a
/// tenth of the last sync. Callers that were answered together tend to ask again together, and would otherwise fall into
/// two batches that wait for each other's syncs.
const MAX_LINGER: Duration = Duration::from_micros(300);

/// The state of the thread.
pub(super) struct Writer {
    pub(super) shared: Arc<Shared>,
    pub(super) database: Arc<Database>,
    pub(super) journal: Journal,
    pub(super) commits: CommitIndex,
    pub(super) limits: FlushLimits,
    /// `None` while a flush is under way, and after one has failed.
    pub(super) flusher: Option<Flusher>,
    /// The flush that is under way; it returns the flusher unless it failed.
    flush: Option<JoinHandle<Option<Flusher>>>,
    /// How many requests the last batch had.
    last_batch: usize,
    /// How long the last sync took.
    last_sync: Duration,
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        database: Arc<Database>,
        (journal, flusher): (Journal, Flusher),
        limits: FlushLimits,
    ) -> Self {
        Self {
            shared,
            database,
            journal,
            commits: CommitIndex::default(),
            limits,
            flusher: Some(flusher),
            flush: None,
            last_batch: 0,
            last_sync: Duration::ZERO,
        }
    }

    /// Starts the thread of a writer. It reads which commits are on disk until the writer has come, with the last record of
    /// the sealed memtable, if recovery found one.
    pub(super) fn spawn(
        database: Arc<Database>,
        recovered: Receiver<(Self, Option<u64>)>,
        waiting: mpsc::Receiver<Request>,
    ) -> Result<JoinHandle<()>, String> {
        let run = move || {
            let commits = catch_panics(|| CommitIndex::on_disk(&database));
            drop(database);
            if let Ok((writer, sealed)) = recovered.recv() {
                writer.run(commits, waiting, sealed);
            }
        };
        let thread = thread::Builder::new().name("store-writer".to_owned());
        let thread = thread.spawn(run);
        thread.map_err(|error| format!("the store's writer cannot start: {error}"))
    }

    /// Serves requests until all senders are gone and all requests are answered; then flushes everything. `on_disk` are
    /// the commits on disk; `sealed` is the last record of the sealed memtable, if recovery found one.
    fn run(
        mut self,
        on_disk: Result<CommitIndex, redb::Error>,
        mut waiting: mpsc::Receiver<Request>,
        sealed: Option<u64>,
    ) {
        let commits = on_disk.and_then(|commits| {
            let with_recent = |state: &State| commits.with_recent(state);
            catch_panics(|| read::with_state(&self.shared.state, with_recent))
        });
        match commits {
            Ok(commits) => self.commits = commits,
            Err(error) => self.shared.fail(&error, true),
        }
        if let Some(through) = sealed
            && self.shared.stopped().is_none()
        {
            self.flush_sealed(through);
        }
        while self.heal(&mut waiting)
            && let Some(first) = waiting.blocking_recv()
        {
            let mut requests = Vec::new();
            let written = self.write_batch(first, &mut waiting, &mut requests);
            self.answer(FinishedBatch {
                requests,
                written,
                listeners: Arc::clone(&self.shared.listeners),
            });
            // After the answers, so that callers do not wait for it.
            self.shared.change(State::absorb_batch);
            if self.journal.bytes() >= self.limits.flush_at {
                self.begin_flush();
            }
        }
        self.finish_flush();
        if self.journal.bytes() > 0 && self.shared.stopped().is_none() {
            self.begin_flush();
            self.finish_flush();
        }
    }

    /// Writes the first request and those that wait behind it, within limits, as one record. Moves them to `requests`,
    /// with their outcomes.
    fn write_batch(
        &mut self,
        first: Request,
        waiting: &mut mpsc::Receiver<Request>,
        requests: &mut Vec<Request>,
    ) -> Result<(), WriteError> {
        let running = self.shared.check_writable();
        let mut applied = running.map_err(|Unavailable(reason)| WriteError::Unavailable(reason));
        let mut batch = Batch::default();
        let (mut changes, mut bytes) = (0, 0);
        let mut next = Some(first);
        while let Some(mut request) = next.take() {
            let size = request.size();
            changes += size.0;
            bytes += size.1;
            // Each request is applied while those behind it still arrive.
            applied = applied.and_then(|()| {
                self.with_batch(&mut batch, |writer, now| writer.apply(&mut request, now))
            });
            requests.push(request);
            if changes < MAX_BATCH_CHANGES && bytes < MAX_BATCH_BYTES {
                next = self.next(waiting, requests.len());
            }
        }
        self.last_batch = requests.len();
        applied?;
        self.with_batch(&mut batch, |writer, now| writer.close(now))?;
        if !batch.changes.is_empty() {
            let begin = Instant::now();
            self.journal.append(&batch.changes).map_err(|failed| {
                let (error, outcome): (_, fn(String) -> WriteError) = match failed {
                    AppendError::Nothing(error) => (error, WriteError::Unavailable),
                    AppendError::Unknown(error) => (error, WriteError::Unknown),
                };
                let error = redb::Error::Io(error);
                self.shared.fail(&error, true);
                outcome(self.shared.disk.describe(&error))
            })?;
            self.last_sync = begin.elapsed();
        }
        self.shared.change(|state| state.last_batch = batch.changes);
        Ok(())
    }

    /// Answers the requests of a batch. Many are answered from within the callers' runtime: from this thread, each answer
    /// might have to wake one of the runtime's threads.
    pub(super) fn answer(&self, batch: FinishedBatch) {
        match self.shared.runtime() {
            Some(runtime) if batch.requests.len() > 1 => {
                runtime.spawn(async move { drop(batch) });
            }
            _ => drop(batch),
        }
    }

    /// The next request that waits, or that arrives within the linger time when more are likely.
    fn next(&self, waiting: &mut mpsc::Receiver<Request>, taken: usize) -> Option<Request> {
        let next = waiting.try_recv().ok();
        if next.is_some() || taken >= self.last_batch {
            return next;
        }
        let (begin, linger) = (Instant::now(), MAX_LINGER.min(self.last_sync / 10));
        while begin.elapsed() < linger {
            if let Ok(request) = waiting.try_recv() {
                return Some(request);
            }
            thread::yield_now();
        }
        None
    }

    /// Runs work on a batch.
    fn with_batch(
        &mut self,
        batch: &mut Batch,
        work: impl FnOnce(&mut BatchWriter<'_>, Timestamp) -> Result<(), redb::Error>,
    ) -> Result<(), WriteError> {
        let state = self.shared.state.read();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let mut writer = BatchWriter {
            state: &state,
            batch,
            commits: &mut self.commits,
        };
        let now = self.shared.clock.now();
        catch_panics(|| work(&mut writer, now)).map_err(|error| {
            self.shared.fail(&error, false);
            WriteError::Unavailable(self.shared.disk.describe(&error))
        })
    }

    /// Begins to flush the current file of the journal and continues in the other. While that one is still being flushed,
    /// this does nothing, or waits once the current file has reached the stall limit.
    fn begin_flush(&mut self) {
        let under_way = self.flush.as_ref();
        if under_way.is_some_and(|flush| !flush.is_finished())
            && self.journal.bytes() < self.limits.stall_at
        {
            return;
        }
        self.finish_flush();
        if self.flusher.is_none() {
            return;
        }
        self.shared.change(State::seal);
        self.journal.switch_files();
        self.flush_sealed(self.journal.last());
    }

    /// Begins to flush the sealed memtable, whose last record is `through`.
    pub(super) fn flush_sealed(&mut self, through: u64) {
        let Some(flusher) = self.flusher.take() else {
            return;
        };
        let shared = Arc::clone(&self.shared);
        let flush = thread::Builder::new()
            .name("store-flush".to_owned())
            .spawn(move || {
                priority::lower_own(priority::UPKEEP);
                flush(&shared, flusher, through)
            });
        match flush {
            Ok(flush) => self.flush = Some(flush),
            Err(error) => {
                let reason = format!("the thread that flushes cannot start: {error}");
                self.shared.stop(&reason, true, true);
            }
        }
    }

    pub(super) fn finish_flush(&mut self) {
        if let Some(flush) = self.flush.take() {
            match flush.join() {
                Ok(flusher) => self.flusher = flusher,
                // The panic hook has reported the panic itself.
                Err(_) => self
                    .shared
                    .stop("flushing the journal panicked", true, true),
            }
        }
    }
}

/// Flushes the sealed memtable and replaces it by what is on disk. Returns the flusher unless it failed.
fn flush(shared: &Shared, mut flusher: Flusher, through: u64) -> Option<Flusher> {
    let sealed = read::with_state(&shared.state, State::sealed);
    let flushed = catch_panics(|| {
        flusher.flush(sealed.changes(), through)?;
        flusher.snapshot()
    });
    match flushed {
        Ok(disk) => {
            shared.change(|state| state.flushed(disk));
            Some(flusher)
        }
        Err(error) => {
            // What was read back from a file that has failed may be anything.
            shared.fail(&flusher.failure().unwrap_or(error), true);
            None
        }
    }
}
