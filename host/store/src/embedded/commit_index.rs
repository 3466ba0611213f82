//! Where the outcomes of remembered commits are: from a commit's id to the publish time in the key of its row.
//!
//! A row contains the outcomes of a batch under the publish time of the first, so that whole rows expire at once. The
//! price is this index in memory, some 30 bytes for each commit of the last quarter of an hour. It belongs to the writer
//! and is rebuilt from the rows when the store is opened: from those on disk while the journal is still being read, then
//! from what was in the journal.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use foldhash::quality::RandomState;

use super::engine::{Database, State, visit_rows};
use super::keys;
use super::values::{self, Outcome};

/// The publish times of the rows of remembered commits.
pub(super) struct CommitIndex {
    /// By a hash of partition and id.
    times: HashMap<u64, u64, RandomState>,
    /// Hash and time of those whose hash was taken.
    collisions: BTreeSet<(u64, u64)>,
    /// No row is older than this.
    pub(super) oldest: u64,
}

impl Default for CommitIndex {
    fn default() -> Self {
        Self {
            times: HashMap::default(),
            collisions: BTreeSet::new(),
            oldest: u64::MAX,
        }
    }
}

impl CommitIndex {
    /// The index of what is on disk.
    pub(super) fn on_disk(database: &Database) -> Result<Self, redb::Error> {
        let mut commits = Self::default();
        // How many there are is not known before, and a map that grows touches twice the memory.
        let mut rows = Vec::new();
        visit_rows(database, &keys::outcomes_since(0), |key, row| {
            let (at, partition) = keys::outcomes_of(key)?;
            let hash = |outcome: Result<Outcome, _>| Ok(commits.hash(&partition, outcome?.id));
            let hashes = values::outcomes(row).map(hash);
            rows.push((at, hashes.collect::<Result<Vec<u64>, redb::Error>>()?));
            Ok(())
        })?;
        let ids = rows.iter().map(|(_, hashes)| hashes.len()).sum();
        commits.times.reserve(ids);
        for (at, hashes) in rows {
            for hash in hashes {
                commits.add_hash(hash, at);
            }
        }
        Ok(commits)
    }

    /// The index of a state, from that of what it has on disk.
    pub(super) fn with_recent(mut self, state: &State) -> Result<Self, redb::Error> {
        for (key, row) in state.recent_changes(&keys::outcomes_since(0)) {
            let (at, partition) = keys::outcomes_of(key)?;
            let expired = match row {
                Some(_) => None,
                None => state.find_on_disk(key)?,
            };
            for outcome in values::outcomes(row.as_deref().unwrap_or_default()) {
                self.add(&partition, outcome?.id, at);
            }
            for outcome in values::outcomes(expired.as_deref().unwrap_or_default()) {
                self.remove(&partition, outcome?.id, at);
            }
        }
        Ok(self)
    }

    pub(super) fn add(&mut self, partition: &str, id: u128, at: u64) {
        self.add_hash(self.hash(partition, id), at);
    }

    fn add_hash(&mut self, hash: u64, at: u64) {
        self.oldest = self.oldest.min(at);
        if *self.times.entry(hash).or_insert(at) != at {
            self.collisions.insert((hash, at));
        }
    }

    pub(super) fn remove(&mut self, partition: &str, id: u128, at: u64) {
        let hash = self.hash(partition, id);
        if self.times.get(&hash) == Some(&at) {
            self.times.remove(&hash);
        } else {
            self.collisions.remove(&(hash, at));
        }
    }

    /// The times of the rows that may contain the outcome of a commit.
    pub(super) fn times(&self, partition: &str, id: u128) -> impl Iterator<Item = u64> {
        let hash = self.hash(partition, id);
        let collisions = self.collisions.range((hash, 0)..=(hash, u64::MAX));
        let first = self.times.get(&hash).copied();
        first.into_iter().chain(collisions.map(|(_, at)| *at))
    }

    fn hash(&self, partition: &str, id: u128) -> u64 {
        self.times.hasher().hash_one((partition, id))
    }
}
