//! The in-memory store: the simplest implementation of the contract, for tests and for a first try.
//!
//! It has maps under one lock, no index beyond what the contract's order needs, and no thread; everything is lost when
//! the process ends. It is the reference: where another store behaves differently, that store is wrong.

mod contents;
mod portable;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};

use self::contents::Contents;
use super::contract::{
    Claimed, Commit, CommitError, Committed, Entry, Health, Hints, Page, Partition, Position,
    Revision, Slice, Store, Unavailable,
};
use super::hints::Listeners;
use crate::clock::{Clock, Timestamp};

/// A store whose contents are lost when it is dropped.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    partitions: Mutex<BTreeMap<String, Contents>>,
    listeners: Listeners,
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            partitions: Mutex::default(),
            listeners: Listeners::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Contents>> {
        self.partitions.lock()
    }

    /// Ends all leases, as a store with a single process does when it is opened.
    #[cfg(test)]
    pub(super) fn end_leases(&self) {
        let now = self.clock.now();
        for contents in self.lock().values_mut() {
            contents.end_leases(now);
        }
    }

    /// Reads from a partition; returns the default when the partition does not exist.
    fn with_partition<T: Default>(
        &self,
        partition: &Partition,
        read: impl FnOnce(&Contents) -> T,
    ) -> T {
        self.lock()
            .get(partition.as_str())
            .map(read)
            .unwrap_or_default()
    }

    /// Changes a partition without a commit; returns the default when the partition does not exist.
    fn with_partition_mut<T: Default>(
        &self,
        partition: &Partition,
        change: impl FnOnce(&mut Contents) -> T,
    ) -> T {
        self.lock()
            .get_mut(partition.as_str())
            .map(change)
            .unwrap_or_default()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        commit.validate()?;
        let now = self.clock.now();
        let mut partitions = self.lock();
        // A commit without effect must not create the partition.
        let empty = Contents::default();
        let contents = partitions.get(commit.partition.as_str()).unwrap_or(&empty);
        if let Some(committed) = contents.remembered.get(&commit.id) {
            return Ok(Committed {
                repeated: true,
                ..committed.clone()
            });
        }
        contents.check(&commit)?;
        let contents = partitions
            .entry(commit.partition.as_str().to_owned())
            .or_default();
        let committed = contents.apply(&commit, now);
        self.listeners.notify(&commit.partition);
        Ok(committed)
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        let partitions = self.lock();
        let contents = partitions.get(partition.as_str());
        Ok(keys
            .iter()
            .map(|key| contents?.entries.get(key).cloned())
            .collect())
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        Ok(self.with_partition(partition, |contents| contents.scan(prefix, after, max)))
    }

    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable> {
        Ok(self.with_partition(partition, |contents| {
            contents
                .logs
                .get(log)
                .map(|log| log.read(after, max))
                .unwrap_or_default()
        }))
    }

    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable> {
        Ok(self.with_partition_mut(partition, |contents| {
            contents
                .logs
                .get_mut(log)
                .map(|log| log.trim(before, max))
                .unwrap_or_default()
        }))
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        let now = self.clock.now();
        Ok(self.with_partition_mut(partition, |contents| contents.claim(queue, lease, max, now)))
    }

    async fn queued(
        &self,
        partition: &Partition,
        queue: &str,
        max: usize,
    ) -> Result<usize, Unavailable> {
        let count = self.with_partition(partition, |contents| {
            contents.queues.get(queue).map_or(0, BTreeMap::len)
        });
        Ok(count.min(max))
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        let partitions = self.lock();
        let names = partitions
            .range::<str, _>((first, Bound::Unbounded))
            .filter(|(_, contents)| contents.revision > Revision::default())
            .map(|(name, _)| name);
        Ok(names
            .take(max)
            .filter_map(|name| Partition::new(name))
            .collect())
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.listeners.subscribe(partition)
    }

    fn partition_hints(&self) -> super::PartitionHints {
        self.listeners.subscribe_to_all()
    }

    fn hints_as_of(&self) -> Option<Timestamp> {
        Some(self.clock.now())
    }

    fn health(&self) -> Health {
        Health::Up
    }
}
