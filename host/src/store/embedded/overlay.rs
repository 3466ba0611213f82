//! What lies over the runs in redb: the changes that are durable in the journal and not filed yet.
//!
//! A state is layers of changes over what is filed, newest first; the newest change of a
//! key is what holds. Filing a layer changes what lies where and never what is read. Who reads holds
//! the lock only to copy what it needs of the layers, never while the disk is read.

use std::collections::{BTreeMap, HashMap, btree_map};
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::runs::{Base, There};
use super::tables::Key;

/// What happens to keys: a new value, or `None` for a key that goes.
pub(super) type Changes = BTreeMap<Key, Option<Bytes>>;

/// The newest durable state.
pub(super) struct State {
    /// What was committed since `sealed`.
    pub(super) newest: Changes,
    /// What is being filed; empty when nothing is.
    pub(super) sealed: Arc<Changes>,
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

impl State {
    pub(super) fn new(base: Base) -> Self {
        Self {
            newest: Changes::new(),
            sealed: Arc::default(),
            base: Arc::new(base),
            floors: HashMap::new(),
        }
    }

    /// What reading `keys` needs, and reading up to `max` of what is in `range`.
    pub(super) fn snapshot(&self, keys: &[Key], range: &Range<Key>, max: usize) -> Snapshot {
        let layers = [&self.newest, &*self.sealed];
        let mut recent = Changes::new();
        for key in keys {
            if let Some(change) = newest(&layers, key) {
                recent.insert(key.clone(), change.clone());
            }
        }
        // Behind so many keys that are there, nobody looks.
        let mut there = 0;
        let mut changed = Recent::new(&layers, range);
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
        find(&[&self.recent], &self.base, key)
    }

    pub(super) fn range(&self, range: &Range<Key>) -> Result<Merged<'_>, redb::Error> {
        Merged::new(&[&self.recent], &self.base, range)
    }
}

/// The value of a key under layers, newest first.
pub(super) fn find(
    layers: &[&Changes],
    base: &Base,
    key: &[u8],
) -> Result<Option<Bytes>, redb::Error> {
    newest(layers, key).map_or_else(|| base.find(key), |change| Ok(change.clone()))
}

fn newest<'a>(layers: &[&'a Changes], key: &[u8]) -> Option<&'a Option<Bytes>> {
    layers.iter().find_map(|layer| layer.get(key))
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

/// What layers over a table hold, by key.
pub(super) struct Merged<'a> {
    recent: Recent<'a>,
    base: There,
    /// What is filed next.
    filed: Option<(Bytes, Bytes)>,
}

impl<'a> Merged<'a> {
    pub(super) fn new(
        layers: &[&'a Changes],
        base: &Base,
        range: &Range<Key>,
    ) -> Result<Self, redb::Error> {
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
        Ok(std::mem::replace(&mut self.filed, next))
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
