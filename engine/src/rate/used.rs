//! Which rates a shop uses: what is set at its level and those above it, completed and resolved.
//!
//! A [`Level`] that was made holds both directions of every pair it has, so "the nearest level that has either direction
//! decides both" (`rates.md`, "Which rates a shop uses") needs no more than the nearest level that has the key. The host
//! makes levels from what is set, asks [`used_rates`], and keeps the answer as what the shop uses.

use super::{Percentage, Rate, RateKey, Value, Wrong, in_order};

/// A rate as somebody set it at a business unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetRate<'a> {
    /// Which one.
    pub key: RateKey,
    /// What it was set to.
    pub rate: Rate,
    /// The client or user that set it, where that is known.
    pub created_by: Option<&'a str>,
}

/// Why one of the rates that are set at a business unit is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Which of them, counted from 0.
    pub place: usize,
    /// Why.
    pub why: Why,
}

/// What may be wrong with rates that are set together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// An earlier one has the same key.
    SetTwice,
    /// Its opposite rounds to 0.000000 and is not set too (`rates.md`, "Setting rates").
    OppositeVanishes,
}

impl Why {
    /// The sentence.
    #[must_use]
    pub const fn wrong(self) -> Wrong {
        match self {
            Self::SetTwice => Wrong("is set twice"),
            Self::OppositeVanishes => {
                Wrong("has an opposite that rounds to 0.000000: set the opposite too")
            }
        }
    }
}

/// What is set at one business unit, both directions of every pair in it.
#[derive(Clone, Debug)]
pub struct Level<'a> {
    business_unit_id: &'a str,
    quotes: Vec<Quote<'a>>,
}

/// One direction: as set, or the opposite of what is.
#[derive(Clone, Copy, Debug)]
struct Quote<'a> {
    key: RateKey,
    set: Rate,
    /// The rounded opposite of `set`, when only the other direction is set.
    opposite: Option<Rate>,
    created_by: Option<&'a str>,
}

impl<'a> Level<'a> {
    /// A level from all the rates that are set at it. A change is accepted when the rates as they would be after it
    /// make a level.
    ///
    /// # Errors
    /// Every rate that does not go with the others, in their order.
    pub fn new(business_unit_id: &'a str, rates: &[SetRate<'a>]) -> Result<Self, Vec<Refused>> {
        let mut quotes: Vec<Quote<'a>> = Vec::with_capacity(2 * rates.len());
        let mut refused = vec![None; rates.len()];
        let mut previous = None;
        // Every rate stands in the order twice: as it is set, and after all that are set as its opposite.
        let count = rates.len();
        let key_at = |place: usize| match rates.get(place) {
            Some(set) => Some(set.key),
            None => rates.get(place - count).map(|set| set.key.opposite()),
        };
        for (key, place) in in_order(2 * count, &key_at) {
            let is_set = place < count;
            let place = if is_set { place } else { place - count };
            let Some(set) = rates.get(place) else {
                continue;
            };
            let opposite = if is_set { None } else { set.rate.opposite() };
            let is_first = previous.replace(key) != Some(key);
            let why = match (is_first, is_set) {
                (true, false) if opposite.is_none() => Why::OppositeVanishes,
                (true, _) => {
                    quotes.push(Quote {
                        key,
                        set: set.rate,
                        opposite,
                        created_by: set.created_by,
                    });
                    continue;
                }
                (false, true) => Why::SetTwice,
                (false, false) => continue,
            };
            if let Some(slot) = refused.get_mut(place) {
                *slot = Some(Refused { place, why });
            }
        }
        let refused: Vec<_> = refused.into_iter().flatten().collect();
        if refused.is_empty() {
            Ok(Self {
                business_unit_id,
                quotes,
            })
        } else {
            Err(refused)
        }
    }
}

impl Quote<'_> {
    fn value(&self) -> Rate {
        self.opposite.unwrap_or(self.set)
    }

    fn with_markup(&self, markup: Percentage) -> Value {
        match self.opposite {
            Some(_) => self.set.opposite_with_markup(markup),
            None => self.set.with_markup(markup),
        }
    }
}

/// A rate that a shop uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedRate<'a> {
    /// Which one.
    pub key: RateKey,
    /// As set, or the opposite of what is, without markup.
    pub value: Rate,
    /// With the shop's markup taken off, from the unrounded value.
    pub value_with_markup: Value,
    /// Who set it or its opposite.
    pub created_by: Option<&'a str>,
    /// The business unit that decided it.
    pub set_at: &'a str,
}

/// What a shop uses, by type, from and to: both directions of every pair that the shop or a level above it has, as the
/// nearest of them decides (`rates.md`, "Which rates a shop uses"). `levels` begin with the shop's own; `markup` is the
/// shop's own or the nearest above it.
#[must_use]
pub fn used_rates<'a>(levels: &[Level<'a>], markup: Percentage) -> Vec<UsedRate<'a>> {
    let mut quotes = Vec::new();
    for level in levels {
        quotes.extend(
            level
                .quotes
                .iter()
                .map(|quote| (quote, level.business_unit_id)),
        );
    }
    let mut used: Vec<UsedRate<'a>> = Vec::new();
    for (key, place) in in_order(quotes.len(), &|place| quotes.get(place).map(|it| it.0.key)) {
        if used.last().is_some_and(|nearer| nearer.key == key) {
            continue;
        }
        if let Some((quote, set_at)) = quotes.get(place) {
            used.push(UsedRate {
                key,
                value: quote.value(),
                value_with_markup: quote.with_markup(markup),
                created_by: quote.created_by,
                set_at,
            });
        }
    }
    used
}
