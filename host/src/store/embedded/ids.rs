//! Where the outcomes of remembered commits lie: from a commit's id to the publish time that begins the key of its row.
//!
//! A row has the outcomes of a group and lies by the time of its first, so that forgetting takes whole rows; the price
//! is this map in memory, some 30 bytes for each commit of the last quarter of an hour. It belongs to the writer and is
//! made from what is stored when the store is opened.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use foldhash::quality::RandomState;

/// The times of the rows of remembered commits.
pub(super) struct Ids {
    /// By a hash of partition and id.
    times: HashMap<u64, u64, RandomState>,
    /// Those whose hash another has already.
    clashes: BTreeSet<(u64, u64)>,
    /// Nothing is remembered from before this.
    pub(super) oldest: u64,
}

impl Default for Ids {
    fn default() -> Self {
        Self {
            times: HashMap::default(),
            clashes: BTreeSet::new(),
            oldest: u64::MAX,
        }
    }
}

impl Ids {
    pub(super) fn add(&mut self, partition: &str, id: u128, at: u64) {
        let hash = self.hash(partition, id);
        self.oldest = self.oldest.min(at);
        if *self.times.entry(hash).or_insert(at) != at {
            self.clashes.insert((hash, at));
        }
    }

    pub(super) fn remove(&mut self, partition: &str, id: u128, at: u64) {
        let hash = self.hash(partition, id);
        if self.times.get(&hash) == Some(&at) {
            self.times.remove(&hash);
        } else {
            self.clashes.remove(&(hash, at));
        }
    }

    /// When a commit of that id may have been published.
    pub(super) fn times(&self, partition: &str, id: u128) -> impl Iterator<Item = u64> {
        let hash = self.hash(partition, id);
        let clashes = self.clashes.range((hash, 0)..=(hash, u64::MAX));
        let first = self.times.get(&hash).copied();
        first.into_iter().chain(clashes.map(|(_, at)| *at))
    }

    fn hash(&self, partition: &str, id: u128) -> u64 {
        self.times.hasher().hash_one((partition, id))
    }
}
