//! The embedded store: one folder, one process, durable; the default.
//!
//! All changes go to one thread (`writer`). It works out what everything that waits does to which
//! keys (`change`, `tables`), writes that as one record of a journal with one fsync (`journal`: group
//! commit), and answers. What is durable there lies over redb as layers in memory (`overlay`), until
//! it is filed there, many commits at once (`filing`), as rows and a sorted run of blocks (`runs`,
//! `block`, `filter`); redb keeps both, a file in which a transaction happens or does not. Reads see
//! the newest durable state, whichever part of it lies where, and wait for nobody (`read`).
//!
//! After a failed write the store answers only [`Unavailable`] until it is opened again: what the
//! disk holds then is known only by reading it back (`folder`).

mod block;
mod change;
#[cfg(test)]
mod disk;
mod filing;
mod filter;
mod folder;
#[cfg(test)]
mod grouped;
mod ids;
mod jobs;
mod journal;
#[cfg(test)]
mod likeness;
mod overlay;
mod portable;
mod read;
mod requests;
mod runs;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, OnceLock, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot};

use self::filing::Filer;
use self::folder::{About, Folder};
use self::ids::Ids;
use self::journal::{Files, Journal};
use self::overlay::State;
use self::requests::{Asked, Failure, Request};
use self::writer::{Lengths, Writer};
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
    /// Before the folder, so that nothing looks at that when it is closed.
    state: RwLock<State>,
    folder: Folder,
    clock: Arc<dyn Clock>,
    listeners: Arc<Listeners>,
    /// Of those who ask, when it has threads of its own.
    runtime: OnceLock<Handle>,
    /// Why nothing goes any more, once a write has failed.
    failed: OnceLock<String>,
}

impl EmbeddedStore {
    /// Opens the store in `folder`, which is made when it is missing (mode 0700).
    ///
    /// After a crash this reads the whole store to check it, which takes a while when it is large, and
    /// files what the journal holds, which takes a second or two at most.
    ///
    /// # Errors
    /// When the folder cannot be made or written, is damaged, or is open in another process. The
    /// message says which folder and what to do.
    pub fn open(folder: &Path, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let (folder, about, files) = Folder::open(folder)?;
        Self::start(folder, &about, files, clock, Lengths::default())
    }

    fn start(
        folder: Folder,
        about: &About,
        files: Files,
        clock: Arc<dyn Clock>,
        lengths: Lengths,
    ) -> Result<Self, String> {
        let (journal, filer) = recover(&folder, about, files, lengths)?;
        let (state, ids) = state(&folder, &filer)?;
        let shared = Arc::new(Shared {
            state: RwLock::new(state),
            folder,
            clock,
            listeners: Arc::default(),
            runtime: OnceLock::new(),
            failed: OnceLock::new(),
        });
        let (requests, waiting) = mpsc::channel(WAITING);
        let writer = Writer::new(Arc::clone(&shared), (journal, filer), ids, lengths);
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

    /// Has the writer do something; answers once it is durable.
    async fn ask<W, A>(
        &self,
        work: W,
        request: impl FnOnce(Asked<W, A>) -> Request,
    ) -> Result<A, Failure> {
        self.shared
            .working()
            .map_err(|reason| Failure::Away(reason.0))?;
        self.shared.meet_runtime();
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
        look: impl FnOnce(&RwLock<State>) -> Result<T, redb::Error> + Send + 'static,
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
        look: impl FnOnce(&RwLock<State>) -> Result<T, redb::Error>,
    ) -> Result<T, Unavailable> {
        self.working()?;
        // redb panics at some kinds of damage. The store's caller must not.
        careful(|| look(&self.state)).map_err(|error| Unavailable(self.folder.describe(&error)))
    }

    /// Remembers the runtime of the first who asks, unless it runs only while somebody waits in it.
    fn meet_runtime(&self) {
        if self.runtime.get().is_none()
            && let Ok(runtime) = Handle::try_current()
            && runtime.runtime_flavor() == RuntimeFlavor::MultiThread
        {
            // Whichever is first serves.
            let _set = self.runtime.set(runtime);
        }
    }

    /// Changes the newest durable state.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.write();
        change(state.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut()))
    }

    /// Remembers why nothing goes any more.
    fn fail(&self, reason: &str) {
        let reason = format!("{reason}; restart when that is mended");
        tracing::error!(folder = ?self.folder, reason, "the store stopped");
        // The first reason is the one that matters.
        let _set = self.failed.set(reason);
    }
}

/// Does something with redb, which panics at some kinds of damage.
fn careful<T>(work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    let damaged = |_| Err(redb::Error::Corrupted("it cannot be read".to_owned()));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(damaged)
}

/// Files what the journal still holds, so that it starts empty.
fn recover(
    folder: &Folder,
    about: &About,
    files: Files,
    lengths: Lengths,
) -> Result<(Journal, Filer), String> {
    let read = Journal::read(&files, about.mark, about.filed);
    let (changes, last) = read.map_err(|error| folder.unreadable(error))?;
    let filer = careful(|| {
        let database = folder.database()?;
        let mut filer = Filer::new(database, lengths.step)?;
        if last > about.filed {
            filer.file(database, &changes, last)?;
        }
        Ok(filer)
    });
    let filer = filer.map_err(|error| folder.describe(&error))?;
    Ok((Journal::new(files, about.mark, last), filer))
}

/// The state of a store whose journal is filed.
fn state(folder: &Folder, filer: &Filer) -> Result<(State, Ids), String> {
    let state = || {
        let state = State::new(filer.base(folder.database()?)?);
        let mut ids = Ids::default();
        let all = tables::remembered_since(0);
        for found in state.snapshot(&[], &all, 0).range(&all)? {
            let (key, row) = found?;
            let (at, partition) = tables::remembered_of(&key)?;
            for outcome in tables::outcomes(&row) {
                ids.add(&partition, outcome?.id, at);
            }
        }
        Ok((state, ids))
    };
    careful(state).map_err(|error| folder.describe(&error))
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
        self.see(keys.len(), move |state| {
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
        self.see(max, move |state| {
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
        self.see(max, move |state| {
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
        let mut gone = 0;
        // In parts, so that commits come between and no transaction is without bounds.
        while gone < max {
            let part = (max - gone).min(MAX_OPS);
            let (in_partition, of_log) = (partition.clone(), log.to_owned());
            // Mostly there is nothing to trim, which needs no write.
            let look = move |state: &RwLock<State>| read::oldest(state, &in_partition, &of_log);
            if self
                .see(1, look)
                .await?
                .is_none_or(|oldest| oldest >= before)
            {
                break;
            }
            let log = log.to_owned();
            let trim = requests::Trim {
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
        // Workers look often and mostly find nothing due, which needs no write. The first to look at a
        // queue asks the writer, who then knows where its jobs begin, behind all that are gone.
        let look = move |state: &RwLock<State>| read::next_due(state, &in_partition, &of_queue);
        if let Some(next_due) = self.see(1, look).await?
            && (max == 0 || next_due.is_none_or(|due| due > self.shared.clock.now()))
        {
            return Ok(Claimed {
                jobs: Vec::new(),
                next_due,
            });
        }
        let (partition, queue) = (partition.clone(), queue.to_owned());
        let claim = requests::Claim {
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
        self.see(max, move |state| {
            read::partitions(state, after.as_deref(), max)
        })
        .await
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.shared.listeners.listen(partition)
    }

    fn partition_hints(&self) -> super::PartitionHints {
        self.shared.listeners.listen_to_all()
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
