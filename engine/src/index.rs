//! The one hash table of the engine: strings, each with a number.
//!
//! One instance of the table's code keeps the module small. The hash is seeded with the strings themselves: the engine
//! has no randomness, and strings that collide under a seed that depends on each of them cannot be chosen in advance.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::swar::equal;

/// A hash map from strings to numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    table: HashTable<(Box<str>, u32)>,
    seed: Seed,
}

/// The seed of an index's hashes, made from the strings that the index will hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seed(u64);

impl Seed {
    /// The seed made from these strings.
    #[inline(always)]
    pub(crate) fn of<'t>(mut texts: impl Iterator<Item = &'t str>) -> Self {
        Self::of_all(&mut texts)
    }

    /// The same: one piece of code for whatever gives the strings.
    fn of_all(texts: &mut dyn Iterator<Item = &str>) -> Self {
        Self(texts.fold(0, |seed, text| Self(seed).hash(text)))
    }

    /// Hashes what a table holds. One closure, as each would have the table's code once more.
    fn hasher(self) -> impl Fn(&(Box<str>, u32)) -> u64 {
        move |(text, _)| self.hash(text)
    }

    /// The hash of a string.
    #[inline(never)]
    fn hash(self, text: &str) -> u64 {
        let mut hasher = FixedState::with_seed(self.0).build_hasher();
        hasher.write(text.as_bytes());
        hasher.finish()
    }
}

impl Index {
    /// An empty index.
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            table: HashTable::new(),
            seed,
        }
    }

    /// Makes room for this many more strings.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.table.reserve(more, self.seed.hasher());
    }

    /// How many strings there are.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The number of a string.
    pub(crate) fn get(&self, text: &str) -> Option<usize> {
        let found = self
            .table
            .find(self.seed.hash(text), |(held, _)| equal(held, text));
        found.and_then(|(_, number)| usize::try_from(*number).ok())
    }

    /// Whether the index has a string.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.get(text).is_some()
    }

    /// The number of a string; a new one is inserted with `number`.
    pub(crate) fn get_or_insert(&mut self, text: &str, number: usize) -> usize {
        let is_held = |(held, _): &(Box<str>, u32)| equal(held, text);
        let hash = self.seed.hash(text);
        let entry = self.table.entry(hash, is_held, self.seed.hasher());
        match entry {
            Entry::Occupied(held) => usize::try_from(held.get().1).unwrap_or(number),
            Entry::Vacant(place) => {
                place.insert((text.into(), u32::try_from(number).unwrap_or(u32::MAX)));
                number
            }
        }
    }
}
