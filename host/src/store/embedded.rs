//! The embedded store: one folder, one process, durable; the default.
//!
//! Underneath is redb, a copy-on-write B-tree in one file (`folder`). All changes go to one thread
//! (`writer`), which puts everything that waits into one transaction and one fsync (group commit)
//! and answers when that is durable; `change` says what a change does to the tables (`tables`).
//! Reads see the newest durable state and wait for nobody (`read`).
//!
//! After a failed write the store answers only [`Unavailable`] until it is opened again: what the
//! disk holds then is known only by reading it back.

mod change;
mod folder;
mod portable;
mod read;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use redb::{ReadTransaction, ReadableDatabase};
use tokio::sync::{mpsc, oneshot};

use self::folder::Folder;
use self::writer::{Asked, Failure, Request};
use super::hints::Listeners;
use super::{
    Claimed, Commit, CommitError, Committed, Entry, Hints, MAX_OPS, Page, Partition, Position,
    Slice, Store, Unavailable,
};
use crate::clock::{Clock, Timestamp};

/// How many requests may wait for the writer; more wait for a place.
const WAITING: usize = 4_096;

/// The most items read on the caller's thread; more go to a thread that may block.
///
/// A page in memory takes microseconds and handing over costs more than that; a page on disk takes
/// as long as the disk takes.
const INLINE_ITEMS: usize = 32;

/// A store in a folder.
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    /// `None` while the store is dropped, which is what ends the writer.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
}

/// What the writer and the readers have in common.
struct Shared {
    folder: Folder,
    clock: Arc<dyn Clock>,
    listeners: Listeners,
    /// Why nothing goes any more, once a write has failed.
    failed: OnceLock<String>,
}

impl EmbeddedStore {
    /// Opens the store in `folder`, which is made when it is missing (mode 0700).
    ///
    /// After a crash this reads the whole store to check it, which takes a while when it is large.
    ///
    /// # Errors
    /// When the folder cannot be made or written, is damaged, or is open in another process. The
    /// message says which folder and what to do.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, String> {
        Self::start(Folder::open(folder)?, clock)
    }

    fn start(folder: Folder, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let listeners = Listeners::default();
        let shared = Arc::new(Shared {
            folder,
            clock,
            listeners,
            failed: OnceLock::new(),
        });
        let (requests, waiting) = mpsc::channel(WAITING);
        let writer = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || writer::run(&shared, waiting)
            })
            .map_err(|error| format!("the store's writer cannot start: {error}"))?;
        Ok(Self {
            shared,
            requests: Some(requests),
            writer: Some(writer),
        })
    }

    /// Has the writer do something; answers once it is durable.
    async fn ask<W, A>(
        &self,
        work: W,
        request: impl FnOnce(Asked<W, A>) -> Request,
    ) -> Result<A, Failure> {
        self.shared
            .working()
            .map_err(|reason| Failure::Away(reason.0))?;
        let gone = || Failure::Away("it is being closed".to_owned());
        let (answer, answered) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or_else(gone)?;
        requests
            .send(request(Asked::new(work, answer)))
            .await
            .map_err(|_| gone())?;
        answered
            .await
            .unwrap_or_else(|_| Err(Failure::Unknown("its writer gave no answer".to_owned())))
    }

    /// What `look` sees of the newest durable state, without waiting for the writer.
    async fn see<T: Send + 'static>(
        &self,
        items: usize,
        look: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error> + Send + 'static,
    ) -> Result<T, Unavailable> {
        if items <= INLINE_ITEMS {
            return self.shared.see(look);
        }
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || shared.see(look))
            .await
            .unwrap_or_else(|error| Err(Unavailable(format!("a read was given up: {error}"))))
    }
}

impl Shared {
    fn working(&self) -> Result<(), Unavailable> {
        self.failed
            .get()
            .map_or(Ok(()), |reason| Err(Unavailable(reason.clone())))
    }

    fn see<T>(
        &self,
        look: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
    ) -> Result<T, Unavailable> {
        self.working()?;
        // redb panics at some kinds of damage. The store's caller must not.
        catch_unwind(AssertUnwindSafe(|| {
            look(&self.folder.database()?.begin_read()?)
        }))
        .unwrap_or_else(|_| Err(redb::Error::Corrupted("it cannot be read".to_owned())))
        .map_err(|error| Unavailable(self.folder.describe(&error)))
    }
}

#[async_trait]
impl Store for EmbeddedStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        if let Some(refusal) = commit.refusal() {
            return Err(refusal);
        }
        self.ask(commit, Request::Commit)
            .await
            .unwrap_or_else(|failure| Err(failure.into()))
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        let (partition, keys) = (partition.clone(), keys.to_vec());
        self.see(keys.len(), move |tx| read::entries(tx, &partition, &keys))
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
        self.see(max, move |tx| {
            read::page(tx, &partition, &prefix, after.as_deref(), max)
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
        self.see(max, move |tx| read::slice(tx, &partition, &log, after, max))
            .await
    }

    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable> {
        let mut gone = 0;
        // In parts, so that commits come between and no transaction is without bounds.
        while gone < max {
            let part = (max - gone).min(MAX_OPS);
            let (in_partition, of_log) = (partition.clone(), log.to_owned());
            // Mostly there is nothing to trim, which needs no write.
            let look = move |tx: &ReadTransaction| read::oldest(tx, &in_partition, &of_log);
            if self
                .see(1, look)
                .await?
                .is_none_or(|oldest| oldest >= before)
            {
                break;
            }
            let log = log.to_owned();
            let trim = writer::Trim {
                partition: partition.clone(),
                log,
                before,
                max: part,
            };
            gone += self.ask(trim, Request::Trim).await?;
        }
        Ok(gone)
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        let (in_partition, of_queue) = (partition.clone(), queue.to_owned());
        // Workers look often and mostly find nothing due, which needs no write.
        let look = move |tx: &ReadTransaction| read::next_due(tx, &in_partition, &of_queue);
        let next_due = self.see(1, look).await?;
        if max == 0 || next_due.is_none_or(|due| due > self.shared.clock.now()) {
            return Ok(Claimed {
                jobs: Vec::new(),
                next_due,
            });
        }
        let (partition, queue) = (partition.clone(), queue.to_owned());
        let claim = writer::Claim {
            partition,
            queue,
            lease,
            max: max.min(MAX_OPS),
        };
        Ok(self.ask(claim, Request::Claim).await?)
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        let after = after.map(str::to_owned);
        self.see(max, move |tx| read::partitions(tx, after.as_deref(), max))
            .await
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.shared.listeners.listen(partition)
    }
}

impl Drop for EmbeddedStore {
    /// Waits until everything that was asked is done.
    fn drop(&mut self) {
        self.requests = None;
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has been reported by the panic.
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
