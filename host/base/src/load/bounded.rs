//! A bounded map that requests fill: values that no longer count are removed as others are added.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// A map with fewer values than this is not swept.
const MIN_SWEEP: usize = 64;

/// A map that sweeps out the values that no longer count, and never has more values than a bound.
#[derive(Debug)]
pub struct BoundedMap<K, V> {
    map: HashMap<K, V>,
    max: usize,
    /// The number of values at which the map is swept.
    sweep_at: usize,
}

impl<K: Eq + Hash, V> BoundedMap<K, V> {
    pub fn new(max: usize) -> Self {
        Self {
            map: HashMap::new(),
            max,
            sweep_at: MIN_SWEEP.min(max),
        }
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.get(key)
    }

    pub fn get_mut<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.map.get_mut(key)
    }

    pub fn remove<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.map.remove(key)
    }

    /// Returns the value of a key, or inserts `new` if there is none. Once the map has twice as many values as counted
    /// at the last sweep, those that no longer count are removed; if too many still count, all are.
    pub fn get_or_insert(
        &mut self,
        key: K,
        still_counts: impl Fn(&V) -> bool,
        new: impl FnOnce() -> V,
    ) -> &mut V {
        if self.map.len() >= self.sweep_at && !self.map.contains_key(&key) {
            self.sweep(still_counts);
        }
        self.map.entry(key).or_insert_with(new)
    }

    /// Removes the values that no longer count, or all values if too many still do.
    pub fn sweep(&mut self, still_counts: impl Fn(&V) -> bool) {
        self.map.retain(|_, value| still_counts(value));
        if self.map.len() >= self.max {
            self.map.clear();
        }
        self.sweep_at = (self.map.len() * 2).max(MIN_SWEEP).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_longer_counts_makes_room() {
        let mut map = BoundedMap::new(usize::MAX);
        for number in 0..10_000 {
            let still_counts = |value: &u32| value.is_multiple_of(100);
            map.get_or_insert(number, still_counts, || number);
            assert!(map.len() <= 200, "{number}: {}", map.len());
        }
        assert!(map.get(&9_900).is_some() && map.get(&9_800).is_some());
        map.get_or_insert(10_000, |_| false, || 10_000);
        for number in 10_001..20_000 {
            map.get_or_insert(number, |_| false, || number);
        }
        assert!(map.len() <= MIN_SWEEP, "{}", map.len());
    }

    #[test]
    fn there_are_never_more_than_the_bound() {
        let mut map = BoundedMap::new(1_000);
        for number in 0..10_000 {
            map.get_or_insert(number, |_| true, || ());
            assert!(map.len() <= 1_000);
            assert!(map.get(&number).is_some());
        }
    }
}
