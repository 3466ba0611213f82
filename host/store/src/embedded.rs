//! The embedded store: one folder, one process, durable; the default.
//!
//! It is a log-structured merge tree. All changes go through one thread (`writer`). It applies all requests that wait to
//! a batch (`batch`, `apply`), writes the batch as one record of a write-ahead log with one fsync (`journal`: group
//! commit), and answers. What is durable there is kept in memtables (`memtable`, `state`) until it is flushed to redb,
//! many commits at once (`flush`, `compaction`), as rows and a sorted run of blocks (`run`, `block`, `filter`). redb
//! keeps both in one file with atomic transactions. Reads see the newest durable state, on disk (`disk_snapshot`) or in
//! memory, and never wait for the writer (`read`).
//!
//! After a failed write or sync, reads go on and writes are refused while the store opens its files again, until it can
//! write (`healing`).

mod apply;
mod batch;
mod commit_index;
mod engine;
mod healing;
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

use self::engine::{Database, Disk, FlushLimits, Folder, Recovered, State, recover};
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
    /// It also opens when the disk is full or cannot be written: read-only then, until it can be. It reads what the
    /// journal contains, which takes a second at most. Meanwhile another thread reads the ids of the commits of the last
    /// quarter of an hour, which the first commit waits for; nothing else grows with the store.
    ///
    /// # Errors
    /// When the folder cannot be created or is read-only, is damaged, or is open in another process. The message says
    /// which folder and what to do.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let folder = Folder::open(folder)?;
        Self::start(Box::new(folder), clock, FlushLimits::default())
    }

    fn start(
        disk: Box<dyn Disk>,
        clock: Arc<dyn Clock>,
        limits: FlushLimits,
    ) -> Result<Self, String> {
        let database = Arc::new(Database::open(disk.redb()?, disk.path())?);
        let (requests, waiting) = mpsc::channel(QUEUE_CAPACITY);
        // Its thread reads the ids of commits on disk while this one reads the journal.
        let (start, started) = std::sync::mpsc::channel();
        let thread = Writer::spawn(Arc::clone(&database), started, waiting)?;
        let journal = disk.journal();
        let recovered = journal
            .and_then(|journal| recover(&database, journal, limits.compaction_bytes, disk.path()));
        let Recovered {
            state,
            mut journal,
            flusher,
            sealed,
        } = match recovered {
            Ok(recovered) => recovered,
            Err(error) => {
                drop(start);
                // It must not use the files once the folder is unlocked.
                let _ended = thread.join();
                return Err(error);
            }
        };
        let prepared = database
            .failure()
            .map_or_else(|| journal.prepare().map_err(redb::Error::Io), Err);
        let shared = Arc::new(Shared::new(state, disk, clock, requests.downgrade()));
        if let Err(error) = prepared {
            shared.fail(&error, true);
        }
        // Of those that will submit, most are on the runtime that opens the store.
        shared.capture_runtime();
        let writer = (journal, flusher);
        let writer = Writer::new(Arc::clone(&shared), database, writer, limits);
        let _running = start.send((writer, sealed));
        Ok(Self {
            shared,
            requests: Some(requests),
            writer: Some(thread),
        })
    }

    /// Submits a request to the writer; returns its outcome once it is durable.
    async fn submit<W, A>(
        &self,
        work: W,
        request: impl FnOnce(Pending<W, A>) -> Request,
    ) -> Result<A, WriteError> {
        self.shared
            .check_writable()
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
        read: impl Fn(&RwLock<State>) -> Result<T, redb::Error> + Send + 'static,
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
            .field("disk", &self.shared.disk)
            .finish_non_exhaustive()
    }
}
