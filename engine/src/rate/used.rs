//! Completes the rates set at a shop's level and the levels above it, and resolves which of them the shop uses.
//!
//! A [`Level`] holds both directions of every pair that is set at it, so the rule that "the nearest level that has
//! either direction decides both" (`rates.md`, "Which rates a shop uses") simply selects the nearest level that has the
//! key. The markup of a pair is resolved on its own: it may be set at another level than the rate.

use super::markup::{Markups, UsedMarkups};
use super::{Invalid, Percentage, Rate, RateKey, Value, sorted_keys};

/// A rate as it is set at a business unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetRate<'a> {
    /// The type and pair of the rate.
    pub key: RateKey,
    /// The value it is set to.
    pub rate: Rate,
    /// The client or user that set it, if known.
    pub created_by: Option<&'a str>,
    /// The day of the reference that it was taken from, if any; passed on unchanged.
    pub as_of: Option<&'a str>,
}

/// A rate that cannot be set together with the others at a business unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetRateError {
    /// The index of the rate.
    pub index: usize,
    /// The reason that it cannot be set.
    pub kind: SetRateErrorKind,
}

/// The reason that a rate cannot be set together with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetRateErrorKind {
    /// An earlier rate has the same key.
    Duplicate,
    /// Its opposite rounds to 0.000000 and is not set itself (`rates.md`, "Setting rates").
    OppositeIsZero,
}

impl SetRateErrorKind {
    /// Returns the error message.
    #[must_use]
    pub const fn message(self) -> Invalid {
        match self {
            Self::Duplicate => Invalid("is set twice"),
            Self::OppositeIsZero => {
                Invalid("has an opposite that rounds to 0.000000: set the opposite too")
            }
        }
    }
}

/// The rates of one business unit, with both directions of every pair, and its markups.
#[derive(Clone, Debug)]
pub struct Level<'a> {
    business_unit_id: &'a str,
    quotes: Vec<Quote<'a>>,
    markups: Markups,
}

/// One direction of a pair: as it is set, or the opposite of the rate that is set.
#[derive(Clone, Copy, Debug)]
struct Quote<'a> {
    key: RateKey,
    set: Rate,
    /// The rounded opposite of `set`, if only the other direction is set.
    opposite: Option<Rate>,
    created_by: Option<&'a str>,
    as_of: Option<&'a str>,
}

impl<'a> Level<'a> {
    /// Creates a level from all rates that are set at a business unit, without markups. A change to them is valid if
    /// the result is.
    ///
    /// # Errors
    /// Every rate that cannot be set together with the others, in the order of `rates`.
    pub fn new(
        business_unit_id: &'a str,
        rates: &[SetRate<'a>],
    ) -> Result<Self, Vec<SetRateError>> {
        let mut quotes: Vec<Quote<'a>> = Vec::with_capacity(2 * rates.len());
        let mut errors = vec![None; rates.len()];
        let mut previous = None;
        // Each rate is sorted twice: as it is set, and as its opposite, whose index follows those of all set rates.
        let count = rates.len();
        let key_at = |index: usize| match rates.get(index) {
            Some(set) => Some(set.key),
            None => rates.get(index - count).map(|set| set.key.opposite()),
        };
        for (key, index) in sorted_keys(2 * count, &key_at) {
            let is_set = index < count;
            let index = if is_set { index } else { index - count };
            let Some(set) = rates.get(index) else {
                continue;
            };
            let opposite = if is_set { None } else { set.rate.opposite() };
            let is_first = previous.replace(key) != Some(key);
            let kind = match (is_first, is_set) {
                (true, false) if opposite.is_none() => SetRateErrorKind::OppositeIsZero,
                (true, _) => {
                    quotes.push(Quote {
                        key,
                        set: set.rate,
                        opposite,
                        created_by: set.created_by,
                        as_of: set.as_of,
                    });
                    continue;
                }
                (false, true) => SetRateErrorKind::Duplicate,
                (false, false) => continue,
            };
            if let Some(slot) = errors.get_mut(index) {
                *slot = Some(SetRateError { index, kind });
            }
        }
        let errors: Vec<_> = errors.into_iter().flatten().collect();
        if errors.is_empty() {
            Ok(Self {
                business_unit_id,
                quotes,
                markups: Markups::default(),
            })
        } else {
            Err(errors)
        }
    }

    /// Returns the level with these markups instead of its own; a new level has none.
    #[must_use]
    pub fn with_markups(self, markups: Markups) -> Self {
        Self { markups, ..self }
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
    /// The type and pair of the rate.
    pub key: RateKey,
    /// The set rate or its opposite, without markup.
    pub value: Rate,
    /// The unrounded value with the markup of its pair subtracted.
    pub value_with_markup: Value,
    /// The client or user that set it or its opposite, if known.
    pub created_by: Option<&'a str>,
    /// The business unit where it or its opposite is set.
    pub set_at: &'a str,
    /// The day of the reference that it or its opposite was taken from, if any.
    pub as_of: Option<&'a str>,
}

/// Returns the rates that a shop uses, sorted by type, source and target: both directions of every pair that the shop
/// or a level above it has. The nearest level decides (`rates.md`, "Which rates a shop uses"), and the markup comes
/// from the nearest level that has one for the pair (`rates.md`, "Business units"). `levels` start with the shop's own.
#[must_use]
pub fn used_rates<'a>(levels: &[Level<'a>]) -> Vec<UsedRate<'a>> {
    let markups = UsedMarkups::new(levels.iter().map(|level| &level.markups));
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
    for (key, index) in sorted_keys(quotes.len(), &|index| quotes.get(index).map(|it| it.0.key)) {
        if used.last().is_some_and(|nearer| nearer.key == key) {
            continue;
        }
        if let Some((quote, set_at)) = quotes.get(index) {
            used.push(UsedRate {
                key,
                value: quote.value(),
                value_with_markup: quote.with_markup(markups.of(key)),
                created_by: quote.created_by,
                set_at,
                as_of: quote.as_of,
            });
        }
    }
    used
}
