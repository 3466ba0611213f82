//! The embedded store: one folder, one process, durable; the default. A thin layer over SQLite.
//!
//! All changes go through one thread (`writer`), which applies all waiting requests in one transaction with one sync
//! (group commit), and answers them. Reads see the newest durable state on their own connections and never wait for the
//! writer (`readers`). The write-ahead log is copied to the file while commits continue (`checkpoints`).
//!
//! The tables are in `schema.sql`; the operations on each are in the file of its name. `README.md` says what is
//! promised, and by whom.

pub mod backup;
mod checkpoints;
mod commits;
mod database;
mod entries;
mod folder;
mod formats;
mod jobs;
mod listing;
mod logs;
mod number;
mod partitions;
mod portable;
mod readers;
mod requests;
mod shared;
#[cfg(test)]
#[path = "../../../../tests/store/embedded/mod.rs"]
mod tests;
mod upgrade;
mod writer;

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use self::checkpoints::Checkpoints;
use self::database::{Database, describe};
use self::folder::Folder;
pub(super) use self::folder::existing_database;
use self::formats::{FORMATS, Formats};
pub use self::listing::list_folder;
use self::readers::Readers;
use self::requests::{Claim, Pending, Request, Trim, WriteError};
use self::shared::Shared;
use self::writer::Writer;
use super::contract::{
    Claimed, Commit, CommitError, Committed, Entry, Health, Hints, MAX_OPS, Page, Partition,
    Position, Slice, Store, Unavailable,
};
use crate::clock::{Clock, Timestamp};

/// The total memory that SQLite's page caches may take, unless the store's URL says otherwise: 64 MiB.
pub(super) const DEFAULT_CACHE_BYTES: u64 = 64 << 20;

/// The capacity of the writer's queue; further requests wait for room in it.
const QUEUE_CAPACITY: usize = 4_096;

/// The most items that are read on the caller's thread; larger reads go to a thread that may block.
///
/// Reading a page in memory takes microseconds, less than handing the read over; reading a page on disk takes as long
/// as the disk takes.
const INLINE_ITEMS: usize = 32;

/// A store in a folder.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    readers: Arc<Readers>,
    /// `None` while the store is being dropped, which ends the writer.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    checkpoints: Option<Checkpoints>,
    /// Declared last, so that no file is used once the folder is unlocked.
    _folder: Folder,
}

impl EmbeddedStore {
    /// Opens the store in `folder`, and creates the folder if it is missing (mode 0700). All leases end.
    ///
    /// After a kill, the store also opens when the disk is full; it is then read-only until it can be written.
    ///
    /// # Errors
    /// When the folder cannot be created or written, is damaged, or is open in another process. The message says which
    /// folder and what to do.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, String> {
        Self::open_with_cache(folder, DEFAULT_CACHE_BYTES, clock)
    }

    /// Opens the store as [`EmbeddedStore::open`] does, with `cache_bytes` of memory for SQLite's page caches.
    ///
    /// # Errors
    /// As [`EmbeddedStore::open`].
    pub fn open_with_cache(
        folder: &Path,
        cache_bytes: u64,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        Self::open_with_formats(folder, cache_bytes, clock, &FORMATS)
    }

    fn open_with_formats(
        folder: &Path,
        cache_bytes: u64,
        clock: Arc<dyn Clock>,
        formats: &Formats,
    ) -> Result<Self, String> {
        let folder = Folder::open(folder)?;
        let database = Database {
            file: folder.database()?,
            cache_bytes,
        };
        database.refuse_rest_of_file()?;
        let db = database.writer();
        let mut db = db.map_err(|error| describe(&database.file, &error))?;
        database.check_after_unclean_end(&db)?;
        upgrade::upgrade(&mut db, &database.file, formats, clock.as_ref())?;

        let shared = Arc::new(Shared::new(database.file.clone(), clock));
        let (requests, waiting) = mpsc::channel(QUEUE_CAPACITY);
        let writer = Writer::new(db, Arc::clone(&shared));
        let failed = {
            let shared = Arc::clone(&shared);
            move || shared.has_failed()
        };
        let checkpoints = Checkpoints::start(&database, failed, requests.downgrade())?;
        let writer = writer.start(waiting, checkpoints.log_end())?;
        Ok(Self {
            shared,
            readers: Arc::new(Readers::new(database)),
            requests: Some(requests),
            writer: Some(writer),
            checkpoints: Some(checkpoints),
            _folder: folder,
        })
    }

    /// Submits a request to the writer; returns its outcome once it is durable.
    async fn submit<W, A>(
        &self,
        work: W,
        request: impl FnOnce(Pending<W, A>) -> Request,
    ) -> Result<A, WriteError> {
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

    /// Reads about `items` items of the newest durable state, without waiting for the writer.
    async fn read_from<T: Send + 'static>(
        &self,
        items: usize,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Unavailable> {
        let described = |error| Unavailable(self.shared.describe(&error));
        if items <= INLINE_ITEMS {
            return self.readers.read(read).map_err(described);
        }
        let ended = |error: &dyn fmt::Display| Unavailable(format!("a read has ended: {error}"));
        let permit = Arc::clone(&self.readers.long).acquire_owned().await;
        let readers = Arc::clone(&self.readers);
        // A read continues when its caller no longer waits, and keeps its permit.
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            readers.read(read)
        })
        .await
        .map_err(|error| ended(&error))?
        .map_err(described)
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
        self.read_from(keys.len(), move |db| {
            entries::get(db, number(db, &partition)?, &keys)
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
        self.read_from(max, move |db| {
            entries::scan(db, number(db, &partition)?, &prefix, after.as_deref(), max)
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
        self.read_from(max, move |db| {
            logs::read(db, number(db, &partition)?, &log, after, max)
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
        // The trim is in parts, so that commits can come in between and every transaction is bounded.
        while dropped < max {
            let part = (max - dropped).min(MAX_OPS);
            // Usually there is nothing to trim, which needs no write.
            let (in_partition, of_log) = (partition.clone(), log.to_owned());
            let oldest = self
                .read_from(1, move |db| {
                    logs::oldest(db, number(db, &in_partition)?, &of_log)
                })
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
        // Workers ask often and usually find nothing due, which needs no write.
        let (in_partition, of_queue) = (partition.clone(), queue.to_owned());
        let next_due = self
            .read_from(1, move |db| {
                jobs::next_due(db, number(db, &in_partition)?, &of_queue)
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

    async fn queued(
        &self,
        partition: &Partition,
        queue: &str,
        max: usize,
    ) -> Result<usize, Unavailable> {
        let (partition, queue) = (partition.clone(), queue.to_owned());
        self.read_from(max, move |db| {
            jobs::count(db, number(db, &partition)?, &queue, max)
        })
        .await
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        let after = after.map(str::to_owned);
        self.read_from(max, move |db| partitions::list(db, after.as_deref(), max))
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
            // The panic hook has already reported a panic of the writer.
            let _ended = writer.join();
        }
        // The last connection to close copies what is left in the log.
        if let Some(checkpoints) = self.checkpoints.take() {
            checkpoints.end();
        }
    }
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore")
            .field("file", &self.shared.file)
            .finish_non_exhaustive()
    }
}

fn number(db: &Connection, partition: &Partition) -> rusqlite::Result<i64> {
    Ok(partitions::Partition::find(db, partition.as_str())?.id)
}
