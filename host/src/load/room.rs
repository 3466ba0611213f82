//! Room in maps that requests fill: each has a bound, however many keys they name.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// Makes room for one more in a map that is full: removes what no longer counts, and everything where that is not enough.
pub(crate) fn make_room<K: Hash + Eq, V, S: BuildHasher>(
    map: &mut HashMap<K, V, S>,
    max: usize,
    still_counts: impl Fn(&V) -> bool,
) {
    if map.len() >= max {
        map.retain(|_, value| still_counts(value));
    }
    if map.len() >= max {
        map.clear();
    }
}
