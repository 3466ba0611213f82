//! The newest durable state: the memtables over what is flushed to redb.
//!
//! The newest change of a key is the one that counts. A flush moves changes from memory to disk and never alters what is
//! read. A reader holds the lock only while it copies what it needs of the memtables, never while it reads the disk.

use std::cmp::Ordering;
use std::collections::btree_map;
use std::iter::Peekable;
use std::mem;
use std::ops::{Bound, Range};
use std::sync::Arc;

use bytes::Bytes;

use super::disk_snapshot::{DiskRange, DiskSnapshot};
use super::filter::KeyHash;
use super::memtable::{Changes, Memtable};
use super::tables::Key;

/// How many keys the filter of a memtable is sized for: about as many as a full file of the journal holds.
const FILTER_KEYS: u64 = 1 << 18;

/// The newest durable state.
pub(in super::super) struct State {
    /// What the newest batch changed.
    pub(in super::super) last_batch: Changes,
    /// What earlier batches changed, since the last flush began.
    active: Memtable,
    /// What is being flushed; empty when nothing is.
    sealed: Arc<Memtable>,
    disk: Arc<DiskSnapshot>,
}

/// The part of a state that a read needs.
pub(in super::super) struct Snapshot {
    /// Changes that are not flushed yet.
    recent: Changes,
    disk: Arc<DiskSnapshot>,
}

impl State {
    /// The state of a store that was opened.
    pub(super) fn recovered(disk: DiskSnapshot, sealed: Changes, active: Changes) -> Self {
        Self {
            last_batch: Changes::new(),
            active: Memtable::of(active, FILTER_KEYS),
            sealed: Arc::new(Memtable::of(sealed, FILTER_KEYS)),
            disk: Arc::new(disk),
        }
    }

    /// What is being flushed, or is to be.
    pub(in super::super) fn sealed(&self) -> Arc<Memtable> {
        Arc::clone(&self.sealed)
    }

    /// Moves the newest batch into the active memtable.
    pub(in super::super) fn absorb_batch(&mut self) {
        self.active.extend(mem::take(&mut self.last_batch));
    }

    /// Begins a new memtable; returns the one before it, which is to be flushed.
    pub(in super::super) fn seal(&mut self) -> Arc<Memtable> {
        self.absorb_batch();
        self.sealed = Arc::new(mem::replace(&mut self.active, Memtable::new(FILTER_KEYS)));
        Arc::clone(&self.sealed)
    }

    /// Replaces the sealed memtable by the disk state it was flushed to.
    pub(in super::super) fn flushed(&mut self, disk: DiskSnapshot) {
        self.disk = Arc::new(disk);
        self.sealed = Arc::new(Memtable::new(0));
    }

    /// Why what is flushed can no longer be relied on, if that is so.
    pub(in super::super) fn failure(&self) -> Option<redb::Error> {
        self.disk.failure()
    }

    /// Whether a sealed memtable is being flushed.
    #[cfg(test)]
    pub(in super::super) fn is_flushing(&self) -> bool {
        !self.sealed.changes().is_empty()
    }

    /// The value of a key.
    pub(in super::super) fn find(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        let hash = KeyHash::of(key);
        let recent = self.recent(key, hash);
        recent.map_or_else(|| self.disk.find(key, hash), |change| Ok(change.clone()))
    }

    /// The keys of a range, as they are once `newer` is applied.
    pub(in super::super) fn range<'a>(
        &'a self,
        newer: &'a Changes,
        range: &Range<Key>,
    ) -> Result<Merged<'a>, redb::Error> {
        let [last, active, sealed] = self.unflushed();
        Merged::new(&[newer, last, active, sealed], &self.disk, range)
    }

    /// The changes of a range that are not flushed, by key.
    pub(in super::super) fn recent_changes(
        &self,
        range: &Range<Key>,
    ) -> impl Iterator<Item = (&Key, &Option<Bytes>)> {
        MergedChanges::new(&self.unflushed(), range)
    }

    /// The value of a key on disk.
    pub(in super::super) fn find_on_disk(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        self.disk.find(key, KeyHash::of(key))
    }

    fn recent(&self, key: &[u8], hash: KeyHash) -> Option<&Option<Bytes>> {
        let last = self.last_batch.get(key);
        last.or_else(|| self.active.find(key, hash))
            .or_else(|| self.sealed.find(key, hash))
    }

    /// The changes that are not flushed, newest first.
    fn unflushed(&self) -> [&Changes; 3] {
        [
            &self.last_batch,
            self.active.changes(),
            self.sealed.changes(),
        ]
    }

    /// What it takes to read `keys`, and up to `max` keys of `range`.
    pub(in super::super) fn snapshot(
        &self,
        keys: &[Key],
        range: &Range<Key>,
        max: usize,
    ) -> Snapshot {
        let mut recent = Changes::new();
        for key in keys {
            if let Some(change) = self.recent(key, KeyHash::of(key)) {
                recent.insert(key.clone(), change.clone());
            }
        }
        // The read ends after `max` keys that exist, wherever they are, so changes behind so many are not needed.
        let mut existing = 0;
        let mut changed = MergedChanges::new(&self.unflushed(), range);
        while existing < max
            && let Some((key, change)) = changed.next()
        {
            existing += usize::from(change.is_some());
            recent.insert(key.clone(), change.clone());
        }
        Snapshot {
            recent,
            disk: Arc::clone(&self.disk),
        }
    }
}

impl Snapshot {
    pub(in super::super) fn find(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        match self.recent.get(key) {
            Some(change) => Ok(change.clone()),
            None => self.disk.find(key, KeyHash::of(key)),
        }
    }

    pub(in super::super) fn range(&self, range: &Range<Key>) -> Result<Merged<'_>, redb::Error> {
        Merged::new(&[&self.recent], &self.disk, range)
    }
}

/// Several sets of changes merged by key, the newest change of each key.
struct MergedChanges<'a> {
    /// Newest first.
    sources: Vec<Peekable<btree_map::Range<'a, Key, Option<Bytes>>>>,
}

impl<'a> MergedChanges<'a> {
    fn new(sources: &[&'a Changes], range: &Range<Key>) -> Self {
        let sources = sources.iter().filter(|changes| !changes.is_empty());
        let within = (
            Bound::Included(range.start.as_slice()),
            Bound::Excluded(range.end.as_slice()),
        );
        Self {
            sources: sources
                .map(|changes| changes.range::<[u8], _>(within).peekable())
                .collect(),
        }
    }

    fn peek(&mut self) -> Option<&'a Key> {
        self.sources
            .iter_mut()
            .filter_map(|changes| changes.peek().map(|(key, _)| *key))
            .min()
    }
}

impl<'a> Iterator for MergedChanges<'a> {
    type Item = (&'a Key, &'a Option<Bytes>);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.peek()?;
        let mut newest = None;
        for changes in &mut self.sources {
            let change = changes.next_if(|(key, _)| *key == first);
            newest = newest.or(change);
        }
        newest
    }
}

/// The keys of a range that exist, by key: what is on disk with newer changes applied.
pub(in super::super) struct Merged<'a> {
    recent: MergedChanges<'a>,
    /// Read no further than asked: behind the next key may be the tombstones of very many others.
    disk: Peekable<DiskRange>,
}

impl<'a> Merged<'a> {
    fn new(
        sources: &[&'a Changes],
        disk: &DiskSnapshot,
        range: &Range<Key>,
    ) -> Result<Self, redb::Error> {
        Ok(Self {
            recent: MergedChanges::new(sources, range),
            disk: disk.range(range)?.peekable(),
        })
    }

    fn step(&mut self) -> Result<Option<(Key, Bytes)>, redb::Error> {
        loop {
            let order = match (self.recent.peek(), self.disk.peek()) {
                (None, None) => return Ok(None),
                (Some(changed), Some(Ok((on_disk, _)))) => changed[..].cmp(&on_disk[..]),
                (Some(_), None) => Ordering::Less,
                (_, Some(_)) => Ordering::Greater,
            };
            let on_disk = match order {
                Ordering::Less => None,
                _ => self.disk.next().transpose()?,
            };
            let found = match order {
                Ordering::Greater => on_disk.and_then(|(key, value)| Some((key.into(), value?))),
                _ => self
                    .recent
                    .next()
                    .and_then(|(key, change)| Some((key.clone(), change.clone()?))),
            };
            if found.is_some() {
                return Ok(found);
            }
        }
    }
}

impl Iterator for Merged<'_> {
    type Item = Result<(Key, Bytes), redb::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
