//! Where the outcomes of remembered commits are: from a commit's id to the publish time in the key of its row.
//!
//! A row contains the outcomes of a batch under the publish time of the first, so that whole rows expire at once. The
//! price is this index in memory, some 30 bytes for each commit of the last quarter of an hour. It belongs to the writer
//! and is rebuilt from the rows when the store is opened.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use foldhash::quality::RandomState;

use super::engine::State;
use super::{keys, values};

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
    /// The index of a state.
    pub(super) fn of(state: &State) -> Result<Self, redb::Error> {
        let mut commits = Self::default();
        for found in state.rows(&keys::outcomes_since(0))? {
            let (key, row) = found?;
            let (at, partition) = keys::outcomes_of(&key)?;
            for outcome in values::outcomes(&row) {
                commits.add(&partition, outcome?.id, at);
            }
        }
        Ok(commits)
    }

    pub(super) fn add(&mut self, partition: &str, id: u128, at: u64) {
        let hash = self.hash(partition, id);
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
