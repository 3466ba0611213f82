//! What lies over the runs in redb: the changes that are durable in the journal and not filed yet.
//!
//! A state is layers of changes over what is filed, newest first; the newest change of a
//! key is what holds. Filing a layer changes what lies where and never what is read. Who reads holds
//! the lock only to copy what it needs of the layers, never while the disk is read.

use std::collections::{BTreeMap, HashMap, btree_map};
use std::iter::Peekable;
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::filter::{Filter, Mark};
use super::runs::{Base, There};
use super::tables::Key;

/// What happens to keys: a new value, or `None` for a key that goes.
pub(super) type Changes = BTreeMap<Key, Option<Bytes>>;

/// For how many keys a layer's filter is made: about so many are in a full file of the journal.
const KEYS: u64 = 1 << 18;

/// Changes, and a filter that spares looking among them for most keys that are not there.
pub(super) struct Layer {
    changes: Changes,
    filter: Filter,
}

/// The newest durable state.
pub(super) struct State {
    /// What the newest group changed.
    pub(super) last: Changes,
    /// What was committed before that, since `sealed`.
    pub(super) newest: Layer,
    /// What is being filed; empty when nothing is.
    pub(super) sealed: Arc<Layer>,
    pub(super) base: Arc<Base>,
    /// Of queues that somebody looked at, a key before which none of its due jobs is, so that nobody
    /// walks over all jobs that are gone.
    pub(super) floors: HashMap<Key, Key>,
}

/// The part of a state that a read needs.
pub(super) struct Snapshot {
    recent: Changes,
    base: Arc<Base>,
}

impl Layer {
    fn new(keys: u64) -> Self {
        Self {
            changes: Changes::new(),
            filter: Filter::new(keys),
        }
    }

    /// What is in it.
    pub(super) fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Adds changes that are newer.
    pub(super) fn extend(&mut self, changes: Changes) {
        for (key, change) in changes {
            self.filter.add(Mark::of(&key));
            self.changes.insert(key, change);
        }
    }

    fn find(&self, key: &[u8], mark: Mark) -> Option<&Option<Bytes>> {
        let may_hold = self.filter.may_hold(mark);
        may_hold.then(|| self.changes.get(key)).flatten()
    }
}

impl State {
    pub(super) fn new(base: Base) -> Self {
        Self {
            last: Changes::new(),
            newest: Layer::new(KEYS),
            sealed: Arc::new(Layer::new(0)),
            base: Arc::new(base),
            floors: HashMap::new(),
        }
    }

    /// Puts the newest group with those before it.
    pub(super) fn settle(&mut self) {
        self.newest.extend(mem::take(&mut self.last));
    }

    /// Begins a new layer; the one before it, which is to be filed.
    pub(super) fn seal(&mut self) -> Arc<Layer> {
        self.settle();
        self.sealed = Arc::new(mem::replace(&mut self.newest, Layer::new(KEYS)));
        Arc::clone(&self.sealed)
    }

    /// What was sealed is filed.
    pub(super) fn filed(&mut self, base: Base) {
        self.base = Arc::new(base);
        self.sealed = Arc::new(Layer::new(0));
    }

    /// The value of a key.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        let mark = Mark::of(key);
        let recent = self.recent(key, mark);
        recent.map_or_else(|| self.base.find(key, mark), |change| Ok(change.clone()))
    }

    /// The keys of a range under changes that are newer.
    pub(super) fn range<'a>(
        &'a self,
        newer: &'a Changes,
        range: &Range<Key>,
    ) -> Result<Merged<'a>, redb::Error> {
        let [last, newest, sealed] = self.layers();
        Merged::new(&[newer, last, newest, sealed], &self.base, range)
    }

    fn recent(&self, key: &[u8], mark: Mark) -> Option<&Option<Bytes>> {
        let last = self.last.get(key);
        last.or_else(|| self.newest.find(key, mark))
            .or_else(|| self.sealed.find(key, mark))
    }

    fn layers(&self) -> [&Changes; 3] {
        [&self.last, &self.newest.changes, &self.sealed.changes]
    }

    /// What reading `keys` needs, and reading up to `max` of what is in `range`.
    pub(super) fn snapshot(&self, keys: &[Key], range: &Range<Key>, max: usize) -> Snapshot {
        let mut recent = Changes::new();
        for key in keys {
            if let Some(change) = self.recent(key, Mark::of(key)) {
                recent.insert(key.clone(), change.clone());
            }
        }
        // Behind so many keys that are there, nobody looks.
        let mut there = 0;
        let mut changed = Recent::new(&self.layers(), range);
        while there < max
            && let Some((key, change)) = changed.next()
        {
            there += usize::from(change.is_some());
            recent.insert(key.clone(), change.clone());
        }
        Snapshot {
            recent,
            base: Arc::clone(&self.base),
        }
    }
}

impl Snapshot {
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        match self.recent.get(key) {
            Some(change) => Ok(change.clone()),
            None => self.base.find(key, Mark::of(key)),
        }
    }

    pub(super) fn range(&self, range: &Range<Key>) -> Result<Merged<'_>, redb::Error> {
        Merged::new(&[&self.recent], &self.base, range)
    }
}

/// The newest changes of layers, by key.
struct Recent<'a> {
    layers: Vec<Peekable<btree_map::Range<'a, Key, Option<Bytes>>>>,
}

impl<'a> Recent<'a> {
    fn new(layers: &[&'a Changes], range: &Range<Key>) -> Self {
        let layers = layers.iter().filter(|layer| !layer.is_empty());
        let within = (
            std::ops::Bound::Included(range.start.as_slice()),
            std::ops::Bound::Excluded(range.end.as_slice()),
        );
        Self {
            layers: layers
                .map(|layer| layer.range::<[u8], _>(within).peekable())
                .collect(),
        }
    }

    fn peek(&mut self) -> Option<&'a Key> {
        self.layers
            .iter_mut()
            .filter_map(|layer| layer.peek().map(|(key, _)| *key))
            .min()
    }
}

impl<'a> Iterator for Recent<'a> {
    type Item = (&'a Key, &'a Option<Bytes>);

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.peek()?;
        let mut newest = None;
        for layer in &mut self.layers {
            let change = layer.next_if(|(key, _)| *key == first);
            newest = newest.or(change);
        }
        newest
    }
}

/// What layers over what is filed hold, by key.
pub(super) struct Merged<'a> {
    recent: Recent<'a>,
    base: There,
    /// What is filed next.
    filed: Option<(Bytes, Bytes)>,
}

impl<'a> Merged<'a> {
    fn new(layers: &[&'a Changes], base: &Base, range: &Range<Key>) -> Result<Self, redb::Error> {
        let mut merged = Self {
            recent: Recent::new(layers, range),
            base: base.range(range)?,
            filed: None,
        };
        merged.take_filed()?;
        Ok(merged)
    }

    /// What is filed next; what follows it comes in its place.
    fn take_filed(&mut self) -> Result<Option<(Bytes, Bytes)>, redb::Error> {
        let next = self.base.next().transpose()?;
        Ok(mem::replace(&mut self.filed, next))
    }

    fn step(&mut self) -> Result<Option<(Key, Bytes)>, redb::Error> {
        while let Some(changed) = self.recent.peek() {
            match &self.filed {
                Some((filed, _)) if filed[..] < changed[..] => break,
                Some((filed, _)) if filed[..] == changed[..] => drop(self.take_filed()?),
                _ => {}
            }
            if let Some((key, Some(value))) = self.recent.next() {
                return Ok(Some((key.clone(), value.clone())));
            }
        }
        let filed = self.take_filed()?;
        Ok(filed.map(|(key, value)| (key.into(), value)))
    }
}

impl Iterator for Merged<'_> {
    type Item = Result<(Key, Bytes), redb::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
