//! Finds the markup that a shop uses for a pair, from its own level and the levels above it.
//!
//! A level may have a general markup and markups for single pairs. "For a type and pair a shop uses the nearest level
//! that says anything of it: there the pair's own entry, else the general one; without either, none" (`rates.md`,
//! "Business units"). A general markup covers every pair, so the levels above it do not count.

use super::{Percentage, RateKey, sorted_keys};

/// The markup of one pair, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairMarkup {
    /// The type and the pair; either direction stands for both.
    pub key: RateKey,
    /// The markup.
    pub markup: Percentage,
}

/// The markups of one business unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markups {
    /// The markup of every pair that has none of its own.
    pub general: Option<Percentage>,
    /// The markups for single pairs; if several have the same pair, the first counts.
    pub pairs: Vec<PairMarkup>,
}

/// The markups that a shop uses, collected from all levels.
pub(super) struct UsedMarkups<'m> {
    pairs: Vec<&'m PairMarkup>,
    /// The unordered keys of `pairs`, each with its index; among equal keys the nearest level comes first.
    keys: Vec<(RateKey, usize)>,
    general: Percentage,
}

impl<'m> UsedMarkups<'m> {
    /// Collects the markups of the levels; the shop's own level comes first.
    pub(super) fn new(levels: impl Iterator<Item = &'m Markups>) -> Self {
        let mut pairs = Vec::new();
        let mut general = None;
        for markups in levels {
            pairs.extend(&markups.pairs);
            general = markups.general;
            if general.is_some() {
                break;
            }
        }
        let key_at = |index: usize| {
            pairs
                .get(index)
                .map(|pair: &&PairMarkup| pair.key.unordered())
        };
        Self {
            keys: sorted_keys(pairs.len(), &key_at),
            pairs,
            general: general.unwrap_or_default(),
        }
    }

    /// Returns the markup of a type and pair, in either direction.
    pub(super) fn of(&self, key: RateKey) -> Percentage {
        let key = key.unordered();
        let nearest = self.keys.partition_point(|(other, _)| *other < key);
        let own = self.keys.get(nearest).filter(|(other, _)| *other == key);
        own.and_then(|(_, index)| self.pairs.get(*index))
            .map_or(self.general, |pair| pair.markup)
    }
}
