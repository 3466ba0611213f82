//! A memtable: changes in memory, sorted by key, that are durable in the journal and not yet flushed to redb.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::filter::{Filter, KeyHash};
use super::tables::Key;

/// Changes by key: a new value, or `None` for a key that is deleted (a tombstone).
pub(in super::super) type Changes = BTreeMap<Key, Option<Bytes>>;

/// Changes, with a filter that spares the search for most keys that are not among them.
pub(in super::super) struct Memtable {
    changes: Changes,
    filter: Filter,
}

impl Memtable {
    /// An empty memtable for about so many keys.
    pub(in super::super) fn new(keys: u64) -> Self {
        Self {
            changes: Changes::new(),
            filter: Filter::new(keys),
        }
    }

    /// A memtable of changes, with room in its filter for about so many keys.
    pub(super) fn of(changes: Changes, keys: u64) -> Self {
        let mut filter = Filter::new(keys);
        for key in changes.keys() {
            filter.add(KeyHash::of(key));
        }
        Self { changes, filter }
    }

    pub(in super::super) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Adds changes, which are newer than those it has.
    pub(in super::super) fn extend(&mut self, changes: Changes) {
        for (key, change) in changes {
            self.filter.add(KeyHash::of(&key));
            self.changes.insert(key, change);
        }
    }

    /// The change of a key.
    pub(in super::super) fn find(&self, key: &[u8], hash: KeyHash) -> Option<&Option<Bytes>> {
        let may_contain = self.filter.may_contain(hash);
        may_contain.then(|| self.changes.get(key)).flatten()
    }
}
