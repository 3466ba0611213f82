//! A store in memory that can be switched off.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_store::{
    Claimed, Commit, CommitError, Committed, Entry, Health, Hints, MemoryStore, Page, Partition,
    PartitionHints, Position, Slice, Store, Unavailable,
};
use tokio::sync::Notify;
use tokio::time::timeout;

#[derive(Debug)]
pub struct Switched {
    store: MemoryStore,
    clock: Arc<dyn Clock>,
    /// The time of the last switch.
    since: AtomicU64,
    pub away: AtomicBool,
    /// True if it accepts no writes.
    pub read_only: AtomicBool,
    /// True if the reply of the next commit is lost.
    pub mute: AtomicBool,
    /// True if its hints are incomplete, although it answers.
    pub unhinted: AtomicBool,
    /// The number of commits that it accepts before it accepts no more, as if killed.
    pub commits_left: AtomicUsize,
    /// The number of calls so far.
    pub calls: AtomicUsize,
    /// The meeting point of concurrent readers.
    pub meeting: Meeting,
}

/// The readers of keys that contain a text: each waits until another one is there too, or for a moment.
#[derive(Debug, Default)]
pub struct Meeting {
    at: Mutex<Option<&'static str>>,
    there: AtomicUsize,
    most: AtomicUsize,
    another: Notify,
}

impl Meeting {
    /// The time that a reader waits alone.
    const MOMENT: Duration = Duration::from_millis(200);

    /// From now on, readers meet at keys with this text; `None` ends it.
    pub fn begin(&self, at: Option<&'static str>) {
        *self.at.lock().unwrap() = at;
        self.most.store(0, Ordering::SeqCst);
    }

    /// Returns the maximum number of readers that were there at the same time.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    async fn join(&self, mut keys: impl Iterator<Item = &str>) {
        let Some(at) = *self.at.lock().unwrap() else {
            return;
        };
        if !keys.any(|key| key.contains(at)) {
            return;
        }
        let there = self.there.fetch_add(1, Ordering::SeqCst) + 1;
        if self.most.fetch_max(there, Ordering::SeqCst).max(there) > 1 {
            self.another.notify_waiters();
        } else {
            let _alone = timeout(Self::MOMENT, self.another.notified()).await;
        }
        self.there.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Switched {
    pub fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            store: MemoryStore::new(Arc::clone(&clock)),
            clock,
            since: AtomicU64::default(),
            away: AtomicBool::default(),
            read_only: AtomicBool::default(),
            mute: AtomicBool::default(),
            unhinted: AtomicBool::default(),
            commits_left: AtomicUsize::new(usize::MAX),
            calls: AtomicUsize::default(),
            meeting: Meeting::default(),
        })
    }

    /// Switches it off and on.
    pub fn set_away(&self, away: bool) {
        self.since.store(self.clock.now().0, Ordering::SeqCst);
        self.away.store(away, Ordering::SeqCst);
    }

    /// Switches writing off and on.
    pub fn set_read_only(&self, read_only: bool) {
        self.since.store(self.clock.now().0, Ordering::SeqCst);
        self.read_only.store(read_only, Ordering::SeqCst);
    }

    fn writable(&self) -> Result<&MemoryStore, Unavailable> {
        let store = self.here()?;
        if self.read_only.load(Ordering::SeqCst) {
            return Err(Unavailable("its disk is full".to_owned()));
        }
        Ok(store)
    }

    fn here(&self) -> Result<&MemoryStore, Unavailable> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if self.away.load(Ordering::SeqCst) {
            return Err(Unavailable("it was switched off".to_owned()));
        }
        Ok(&self.store)
    }
}

#[async_trait]
impl Store for Switched {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        let store = self
            .writable()
            .map_err(|cause| CommitError::Unavailable(cause.0))?;
        let left = |left: usize| left.checked_sub(1);
        if (self.commits_left)
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, left)
            .is_err()
        {
            return Err(CommitError::Unavailable("it was killed".to_owned()));
        }
        let committed = store.commit(commit).await;
        if self.mute.swap(false, Ordering::SeqCst) {
            return Err(CommitError::Unknown("the reply was lost".to_owned()));
        }
        committed
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        self.meeting.join(keys.iter().map(String::as_str)).await;
        self.here()?.get(partition, keys).await
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        self.meeting.join(std::iter::once(prefix)).await;
        self.here()?.scan(partition, prefix, after, max).await
    }

    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable> {
        // Others may come while it reads.
        tokio::task::yield_now().await;
        self.here()?.read(partition, log, after, max).await
    }

    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable> {
        self.writable()?.trim(partition, log, before, max).await
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        self.writable()?.claim(partition, queue, lease, max).await
    }

    async fn queued(
        &self,
        partition: &Partition,
        queue: &str,
        max: usize,
    ) -> Result<usize, Unavailable> {
        self.here()?.queued(partition, queue, max).await
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        self.here()?.partitions(after, max).await
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.store.hints(partition)
    }

    fn partition_hints(&self) -> PartitionHints {
        self.store.partition_hints()
    }

    fn hints_as_of(&self) -> Option<Timestamp> {
        let is = |switch: &AtomicBool| switch.load(Ordering::SeqCst);
        let is_known = !is(&self.away) && !is(&self.unhinted);
        self.store.hints_as_of().filter(|_| is_known)
    }

    fn health(&self) -> Health {
        let since = Timestamp(self.since.load(Ordering::SeqCst));
        let is = |switch: &AtomicBool| switch.load(Ordering::SeqCst);
        match (is(&self.away), is(&self.read_only)) {
            (true, _) => Health::Away {
                since,
                why: "it was switched off".to_owned(),
            },
            (false, true) => Health::ReadOnly {
                since,
                why: "its disk is full".to_owned(),
            },
            (false, false) => self.store.health(),
        }
    }
}
