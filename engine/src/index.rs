//! The engine's only hash table, which maps strings to numbers.
//!
//! One instance of the table's code keeps the module small. The engine has no randomness, so the hash is seeded with
//! the strings themselves: strings that collide under a seed that depends on each of them cannot be chosen in advance.

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
    #[inline(always)]
    pub(crate) fn of<'t>(mut texts: impl Iterator<Item = &'t str>) -> Self {
        Self::of_all(&mut texts)
    }

    /// Makes the seed, with one copy of the code for all types of iterators.
    fn of_all(texts: &mut dyn Iterator<Item = &str>) -> Self {
        Self(texts.fold(0, |seed, text| Self(seed).hash(text)))
    }

    /// Hashes the entries of a table. There is only one closure, because each would have its own copy of the table's
    /// code.
    fn hasher(self) -> impl Fn(&(Box<str>, u32)) -> u64 {
        move |(text, _)| self.hash(text)
    }

    #[inline(never)]
    fn hash(self, text: &str) -> u64 {
        let mut hasher = FixedState::with_seed(self.0).build_hasher();
        hasher.write(text.as_bytes());
        hasher.finish()
    }
}

impl Index {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            table: HashTable::new(),
            seed,
        }
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.table.reserve(more, self.seed.hasher());
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn get(&self, text: &str) -> Option<usize> {
        let found = self
            .table
            .find(self.seed.hash(text), |(held, _)| equal(held, text));
        found.and_then(|(_, number)| usize::try_from(*number).ok())
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        self.get(text).is_some()
    }

    /// Returns the number of a string; a new string is inserted with `number`.
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
