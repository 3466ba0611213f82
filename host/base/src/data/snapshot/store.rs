//! The store of a host that starts while its own is unavailable. It answers from a snapshot and takes no writes.
//!
//! A record that is not in the snapshot is unavailable, not missing: it may be in the store.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use tillgate_store::clock::Timestamp;
use tillgate_store::{
    Claimed, Commit, CommitError, Committed, Entry, Health, Hints, Page, Partition, PartitionHints,
    Position, Slice, Store, Unavailable,
};
use tokio::sync::watch;

use super::file::{self, AsOf};
use crate::data::feed::CHANGES;

/// A read-only store that answers from a snapshot.
#[derive(Debug)]
pub struct SnapshotStore {
    partitions: HashMap<Partition, SavedPartition>,
    as_of: Timestamp,
    /// The reason why the store itself could not be opened.
    why: String,
    never: watch::Sender<u64>,
}

#[derive(Debug)]
struct SavedPartition {
    prefixes: Vec<String>,
    entries: BTreeMap<String, Entry>,
}

impl SnapshotStore {
    /// Reads the snapshot of a store that could not be opened.
    ///
    /// # Errors
    /// Says why the snapshot cannot be used: it cannot be read, or belongs to another store.
    pub fn read(folder: &Path, store: &str, why: String) -> Result<Self, String> {
        let cannot = |cause| {
            format!(
                "the snapshot in {} cannot be used: {cause}",
                folder.display()
            )
        };
        let as_of = AsOf::read(folder).map_err(|cause| cannot(cause.to_string()))?;
        if as_of.store != store {
            return Err(cannot(format!("it is of the store {}", as_of.store)));
        }
        let saved = file::read_all(folder).map_err(|cause| cannot(cause.to_string()))?;
        let partitions = saved.into_iter().filter_map(|saved| {
            let partition = Partition::new(&saved.partition)?;
            let records = SavedPartition {
                prefixes: saved.prefixes.clone(),
                entries: saved.entries().collect(),
            };
            Some((partition, records))
        });
        Ok(Self {
            partitions: partitions.collect(),
            as_of: as_of.at,
            why,
            never: watch::Sender::new(0),
        })
    }

    fn unavailable(&self) -> Unavailable {
        Unavailable(self.why.clone())
    }

    fn of(&self, partition: &Partition) -> Result<&SavedPartition, Unavailable> {
        let records = self.partitions.get(partition);
        records.ok_or_else(|| self.unavailable())
    }
}

#[async_trait]
impl Store for SnapshotStore {
    async fn commit(&self, _: Commit) -> Result<Committed, CommitError> {
        Err(CommitError::Unavailable(self.why.clone()))
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        let entries = &self.of(partition)?.entries;
        let get = |key| entries.get(key).cloned().map(Some);
        let found = keys.iter().map(get).collect::<Option<_>>();
        found.ok_or_else(|| self.unavailable())
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        let from = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let records = self.of(partition)?;
        if !records
            .prefixes
            .iter()
            .any(|known| prefix.starts_with(known))
        {
            return Err(self.unavailable());
        }
        let mut found = records
            .entries
            .range::<str, _>((from, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix));
        let page = found.by_ref().take(max);
        let page = page.map(|(key, entry)| (key.clone(), entry.clone()));
        Ok(Page {
            entries: page.collect(),
            more: found.next().is_some(),
        })
    }

    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        _: Position,
        _: usize,
    ) -> Result<Slice, Unavailable> {
        self.of(partition)?;
        match log {
            CHANGES => Ok(Slice::default()),
            _ => Err(self.unavailable()),
        }
    }

    async fn trim(
        &self,
        _: &Partition,
        _: &str,
        _: Timestamp,
        _: usize,
    ) -> Result<usize, Unavailable> {
        Err(self.unavailable())
    }

    async fn claim(
        &self,
        _: &Partition,
        _: &str,
        _: Duration,
        _: usize,
    ) -> Result<Claimed, Unavailable> {
        Err(self.unavailable())
    }

    async fn queued(&self, _: &Partition, _: &str, _: usize) -> Result<usize, Unavailable> {
        Err(self.unavailable())
    }

    async fn partitions(&self, _: Option<&str>, _: usize) -> Result<Vec<Partition>, Unavailable> {
        Err(self.unavailable())
    }

    fn hints(&self, _: &Partition) -> Hints {
        self.never.subscribe()
    }

    fn partition_hints(&self) -> PartitionHints {
        PartitionHints::default()
    }

    fn hints_as_of(&self) -> Option<Timestamp> {
        None
    }

    fn health(&self) -> Health {
        Health::Away {
            since: self.as_of,
            why: self.why.clone(),
        }
    }

    fn snapshot_of(&self) -> Option<Timestamp> {
        Some(self.as_of)
    }
}
