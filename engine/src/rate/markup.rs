//! Which markup a shop uses for a pair: what its own level and the levels above it say of it.
//!
//! A level may have a general markup and markups of single pairs. "For a type and pair a shop uses the nearest level that
//! says anything of it: there the pair's own entry, else the general one; without either, none" (`rates.md`, "Business
//! units"). A general markup says something of every pair, so nothing above such a level counts.

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
    /// The markups of single pairs; of several with the same pair the first counts.
    pub pairs: Vec<PairMarkup>,
}

/// The markups that a shop uses, of all levels together.
pub(super) struct UsedMarkups {
    /// Sorted by key, in the direction that [`RateKey::unordered`] chooses; of equal keys the nearest comes first.
    pairs: Vec<(RateKey, Percentage)>,
    general: Percentage,
}

impl UsedMarkups {
    /// Those of the levels, the shop's own first.
    pub(super) fn new<'m>(levels: impl Iterator<Item = &'m Markups>) -> Self {
        let mut all: Vec<PairMarkup> = Vec::new();
        let mut general = None;
        for markups in levels {
            all.extend(&markups.pairs);
            general = markups.general;
            if general.is_some() {
                break;
            }
        }
        let key_at = |index: usize| all.get(index).map(|pair| pair.key.unordered());
        let pairs = sorted_keys(all.len(), &key_at)
            .filter_map(|(key, index)| Some((key, all.get(index)?.markup)))
            .collect();
        Self {
            pairs,
            general: general.unwrap_or_default(),
        }
    }

    /// The markup of a type and pair, in either direction.
    pub(super) fn of(&self, key: RateKey) -> Percentage {
        let key = key.unordered();
        let nearest = self.pairs.partition_point(|(other, _)| *other < key);
        match self.pairs.get(nearest) {
            Some((other, markup)) if *other == key => *markup,
            _ => self.general,
        }
    }
}
