//! Texts to look up by hash, each with a number: the one hash table of the engine.
//!
//! One instance of the table's code keeps the module small. Its hash is seeded with the texts themselves: the engine has
//! no randomness, and texts that collide under a seed that depends on each of them cannot be chosen beforehand.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

/// Texts, each with a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index(HashMap<Box<str>, u32, FixedState>);

/// What seeds the hashes of indexes: made from what will stand in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    /// The seed of these texts.
    pub(crate) fn of<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
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

    /// Makes room for that many more.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    /// How many texts there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The number of a text.
    pub(crate) fn get(&self, text: &str) -> Option<usize> {
        self.0
            .get(text)
            .and_then(|number| usize::try_from(*number).ok())
    }

    /// Whether the text is there.
    pub(crate) fn contains(&self, text: &str) -> bool {
        self.0.contains_key(text)
    }

    /// The number of a text, which becomes `number` when it was not there.
    pub(crate) fn get_or_add(&mut self, text: &str, number: usize) -> usize {
        if let Some(known) = self.get(text) {
            return known;
        }
        self.0
            .insert(text.into(), u32::try_from(number).unwrap_or(u32::MAX));
        number
    }
}
