//! The embedded store: one folder, one process, durable; the default.
//!
//! It is a log-structured merge tree. All changes go through one thread (`writer`). It applies all requests that wait to
//! a batch (`batch`, `apply`), writes the batch as one record of a write-ahead log with one fsync (`journal`: group
//! commit), and answers. What is durable there is kept in memtables (`memtable`, `state`) until it is flushed to redb,
//! many commits at once (`flush`, `compaction`), as rows and a sorted run of blocks (`run`, `block`, `filter`). redb
//! keeps both in one file with atomic transactions. Reads see the newest durable state, on disk (`disk_snapshot`) or in
//! memory, and never wait for the writer (`read`).
//!
//! After a failed write the store returns only [`Unavailable`] until it is opened again: what the disk contains then is
//! known only by reading it back (`folder`).

mod apply;
mod batch;
mod commit_index;
mod engine;
mod jobs;
mod keys;
mod portable;
mod read;
mod requests;
mod restore;
mod shared;
#[cfg(test)]
#[path = "../../../tests/store/embedded/mod.rs"]
mod tests;
mod values;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use self::commit_index::CommitIndex;
use self::engine::{Facts, Files, FlushLimits, Flusher, Folder, Journal, State, catch_panics};
use self::requests::{Claim, Pending, Request, Trim, WriteError};
use self::shared::Shared;
use self::writer::Writer;
use super::contract::{
    Claimed, Commit, CommitError, Committed, Entry, Health, Hints, MAX_OPS, Page, Partition,
    Position, Slice, Store, Unavailable,
};
use crate::clock::{Clock, Timestamp};

/// The capacity of the writer's queue; further requests wait for room in it.
const QUEUE_CAPACITY: usize = 4_096;

/// The most items that are read on the caller's thread; larger reads go to a thread that may block.
///
/// A page in memory takes microseconds, less than handing it over; a page on disk takes as long as the disk takes.
const INLINE_ITEMS: usize = 32;

/// A store in a folder.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    /// `None` while the store is dropped, which ends the writer.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
}

impl EmbeddedStore {
    /// Opens the store in `folder`, which is created when it is missing (mode 0700).
    ///
    /// After a crash this verifies the whole store, which takes a while when it is large, and flushes what the journal
    /// contains, which takes a second or two at most.
    ///
    /// # Errors
    /// When the folder cannot be created or written, is damaged, or is open in another process. The message says which
    /// folder and what to do.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let (folder, facts, files) = Folder::open(folder)?;
        Self::start(folder, &facts, files, clock, FlushLimits::default())
    }

    fn start(
        folder: Folder,
        facts: &Facts,
        files: Files,
        clock: Arc<dyn Clock>,
        limits: FlushLimits,
    ) -> Result<Self, String> {
        let (journal, flusher) = recover(&folder, facts, files, limits)?;
        let (state, commits) = load(&folder, &flusher)?;
        let shared = Arc::new(Shared::new(state, folder, clock));
        // Of those that will submit, most are on the runtime that opens the store.
        shared.capture_runtime();
        let (requests, waiting) = mpsc::channel(QUEUE_CAPACITY);
        let writer = Writer::new(Arc::clone(&shared), (journal, flusher), commits, limits);
        let writer = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run(waiting))
            .map_err(|error| format!("the store's writer cannot start: {error}"))?;
        Ok(Self {
            shared,
            requests: Some(requests),
            writer: Some(writer),
        })
    }

    /// Submits a request to the writer; returns its outcome once it is durable.
    async fn submit<W, A>(
        &self,
        work: W,
        request: impl FnOnce(Pending<W, A>) -> Request,
    ) -> Result<A, WriteError> {
        self.shared
            .check_running()
            .map_err(|reason| WriteError::Unavailable(reason.0))?;
        self.shared.capture_runtime();
        let closing = || WriteError::Unavailable("it is being closed".to_owned());
        let (answer, answered) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or_else(closing)?;
        requests
            .send(request(Pending::new(work, answer)))
            .await
            .map_err(|_| closing())?;
        answered
            .await
            .unwrap_or_else(|_| Err(WriteError::Unknown("its writer gave no answer".to_owned())))
    }

    /// Reads about so many items of the newest durable state, without waiting for the writer.
    async fn query<T: Send + 'static>(
        &self,
        items: usize,
        read: impl FnOnce(&RwLock<State>) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, Unavailable> {
        if items <= INLINE_ITEMS {
            return self.shared.query(read);
        }
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || shared.query(read))
            .await
            .unwrap_or_else(|error| Err(Unavailable(format!("a read was aborted: {error}"))))
    }
}

/// Flushes what the journal still contains, so that it starts empty.
fn recover(
    folder: &Folder,
    facts: &Facts,
    files: Files,
    limits: FlushLimits,
) -> Result<(Journal, Flusher), String> {
    let read = Journal::read(&files, facts.salt, facts.flushed);
    let (changes, last) = read.map_err(|error| folder.describe_journal(error))?;
    let flusher = catch_panics(|| {
        let database = folder.database()?;
        let mut flusher = Flusher::new(database, limits.compaction_bytes)?;
        if last > facts.flushed {
            flusher.flush(database, &changes, last)?;
        }
        Ok(flusher)
    });
    let flusher = flusher.map_err(|error| folder.describe(&error))?;
    Ok((Journal::new(files, facts.salt, last), flusher))
}

/// Loads the state of a store whose journal is flushed, and the index of its remembered commits.
fn load(folder: &Folder, flusher: &Flusher) -> Result<(State, CommitIndex), String> {
    let load = || {
        let state = State::new(flusher.snapshot(folder.database()?)?);
        let mut commits = CommitIndex::default();
        let all = keys::outcomes_since(0);
        for found in state.rows(&all)? {
            let (key, row) = found?;
            let (at, partition) = keys::outcomes_of(&key)?;
            for outcome in values::outcomes(&row) {
                commits.add(&partition, outcome?.id, at);
            }
        }
        Ok((state, commits))
    };
    catch_panics(load).map_err(|error| folder.describe(&error))
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        commit.validate()?;
        self.submit(commit, Request::Commit)
            .await
            .unwrap_or_else(|error| Err(error.into()))
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        let (partition, keys) = (partition.clone(), keys.to_vec());
        self.query(keys.len(), move |state| {
            read::entries(state, &partition, &keys)
        })
        .await
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        let partition = partition.clone();
        let (prefix, after) = (prefix.to_owned(), after.map(str::to_owned));
        self.query(max, move |state| {
            read::page(state, &partition, &prefix, after.as_deref(), max)
        })
        .await
    }

    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable> {
        let (partition, log) = (partition.clone(), log.to_owned());
        self.query(max, move |state| {
            read::slice(state, &partition, &log, after, max)
        })
        .await
    }

    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable> {
        let mut dropped = 0;
        // In parts, so that commits come between and every batch is bounded.
        while dropped < max {
            let part = (max - dropped).min(MAX_OPS);
            // Mostly there is nothing to trim, which needs no write.
            let (in_partition, of_log) = (partition.clone(), log.to_owned());
            let oldest = self
                .query(1, move |state| read::oldest(state, &in_partition, &of_log))
                .await?;
            if oldest.is_none_or(|oldest| oldest >= before) {
                break;
            }
            let trim = Trim {
                partition: partition.clone(),
                log: log.to_owned(),
                before,
                max: part,
            };
            dropped += self.submit(trim, Request::Trim).await?;
        }
        Ok(dropped)
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        // Workers ask often and mostly find nothing due, which needs no write.
        let (in_partition, of_queue) = (partition.clone(), queue.to_owned());
        let next_due = self
            .query(1, move |state| {
                read::next_due(state, &in_partition, &of_queue)
            })
            .await?;
        if max == 0 || next_due.is_none_or(|due| due > self.shared.clock.now()) {
            return Ok(Claimed {
                jobs: Vec::new(),
                next_due,
            });
        }
        let claim = Claim {
            partition: partition.clone(),
            queue: queue.to_owned(),
            lease,
            max: max.min(MAX_OPS),
        };
        Ok(self.submit(claim, Request::Claim).await?)
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        let after = after.map(str::to_owned);
        self.query(max, move |state| {
            read::partitions(state, after.as_deref(), max)
        })
        .await
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.shared.listeners.subscribe(partition)
    }

    fn partition_hints(&self) -> super::PartitionHints {
        self.shared.listeners.subscribe_to_all()
    }

    fn hints_as_of(&self) -> Option<Timestamp> {
        Some(self.shared.clock.now())
    }

    fn health(&self) -> Health {
        self.shared.health()
    }
}

impl Drop for EmbeddedStore {
    /// Waits until all submitted requests are done.
    fn drop(&mut self) {
        self.requests = None;
        if let Some(writer) = self.writer.take() {
            // The panic hook has reported a panic of the writer.
            let _ended = writer.join();
        }
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore")
            .field("folder", &self.shared.folder)
            .finish_non_exhaustive()
    }
}
