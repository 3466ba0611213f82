//! The one hash table of the engine: strings, each with a number.
//!
//! One instance of the table's code keeps the module small. The hash is seeded with the strings themselves: the engine
//! has no randomness, and strings that collide under a seed that depends on each of them cannot be chosen in advance.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

/// A hash map from strings to numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index(HashMap<Box<str>, u32, FixedState>);

/// The seed of an index's hashes, made from the strings that the index will hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    /// The seed made from these strings.
    #[inline(always)]
    pub(crate) fn of<'t>(mut texts: impl Iterator<Item = &'t str>) -> Self {
        Self::of_all(&mut texts)
    }

    /// The same: one piece of code for whatever gives the strings.
    fn of_all(texts: &mut dyn Iterator<Item = &str>) -> Self {
        let mut hasher = FixedState::default().build_hasher();
        texts.for_each(|text| text.hash(&mut hasher));
        Self(hasher.finish())
    }
}

impl Index {
    /// An empty index.
    pub(crate) fn new(seed: Seed) -> Self {
        Self(HashMap::with_hasher(FixedState::with_seed(seed.0)))
    }

    /// Makes room for this many more strings.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// How many strings there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of a string.
    pub(crate) fn get(&self, text: &str) -> Option<usize> {
        self.0
            .get(text)
            .and_then(|number| usize::try_from(*number).ok())
    }

    /// Whether the index has a string.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.0.contains_key(text)
    }

    /// The number of a string; a new one is inserted with `number`.
    pub(crate) fn get_or_insert(&mut self, text: &str, number: usize) -> usize {
        if let Some(existing) = self.get(text) {
            return existing;
        }
        self.0
            .insert(text.into(), u32::try_from(number).unwrap_or(u32::MAX));
        number
    }
}
