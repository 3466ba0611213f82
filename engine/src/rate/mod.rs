//! Exact rate math: rates, their opposites, markups, amounts in another currency, how far a rate has moved, which rates a
//! shop uses and how they differ from those it used before (`rates.md`).
//!
//! A rate of R from S to T means 1 T = R S: an amount in T times R is in S. Every result is computed on scaled integers
//! and rounded once, half away from zero; there are no floats. The host decides who may set a rate, where rates are
//! stored and who is notified of a difference.
//!
//! ```
//! use tillgate_engine::rate::{Percentage, Rate};
//!
//! let rate = Rate::parse("11.05")?; // 1 EUR = 11.05 SEK
//! let markup = Percentage::parse("2.5")?;
//! assert_eq!(rate.opposite().map(|it| it.to_string()).as_deref(), Some("0.090498"));
//! assert_eq!(rate.with_markup(markup).to_string(), "10.77375");
//! assert_eq!(rate.opposite_with_markup(markup).to_string(), "0.088235");
//! # Ok::<(), tillgate_engine::rate::Invalid>(())
//! ```
//!
//! Read it in this order: [`number`], [`currency`], this file, [`deviation`], [`markup`], [`used`],
//! [`difference`](mod@difference) and [`text`], which offers all of it from JSON to JSON.

#![deny(clippy::float_arithmetic)]

use std::collections::BinaryHeap;

pub mod currency;
mod decimal;
pub mod deviation;
pub mod difference;
pub mod markup;
pub mod number;
mod read;
pub mod text;
pub mod used;
mod write;

pub use currency::Currency;
pub use deviation::{Deviation, Hint};
pub use difference::{Difference, HeldRate, difference};
pub use markup::{Markups, PairMarkup};
pub use number::{Amount, Invalid, Percentage, Rate, Value, convert};
pub use used::{Level, SetRate, SetRateError, SetRateErrorKind, UsedRate, used_rates};

/// The purpose of a rate; ordered by name, as rates are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RateType {
    /// Used between companies of one group.
    Intercompany,
    /// Used when a shop buys.
    Purchase,
    /// Used when a shop sells.
    Sales,
}

impl RateType {
    /// Returns the type as it is written: `SALES`, `PURCHASE`, `INTERCOMPANY` (`given.md`, 2.5).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intercompany => "INTERCOMPANY",
            Self::Purchase => "PURCHASE",
            Self::Sales => "SALES",
        }
    }

    /// Parses a type; case-sensitive.
    ///
    /// # Errors
    /// If it is none of the three.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        [Self::Intercompany, Self::Purchase, Self::Sales]
            .into_iter()
            .find(|each| each.as_str() == text)
            .ok_or(Invalid("must be SALES, PURCHASE or INTERCOMPANY"))
    }
}

/// Two different currencies, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    from: Currency,
    to: Currency,
}

impl Pair {
    /// Creates the pair of two currencies.
    ///
    /// # Errors
    /// If they are the same currency.
    pub fn new(from: Currency, to: Currency) -> Result<Self, Invalid> {
        if from == to {
            return Err(Invalid("must differ from currencyIdFrom"));
        }
        Ok(Self { from, to })
    }

    /// Returns the source, the currency that the price is in (`currencyIdFrom`, `sourceCurrencyCode`).
    #[must_use]
    pub const fn from(self) -> Currency {
        self.from
    }

    /// Returns the target, the currency that is priced (`currencyIdTo`, `targetCurrencyCode`).
    #[must_use]
    pub const fn to(self) -> Currency {
        self.to
    }

    /// Returns the other direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
        }
    }
}

/// The key of a shop's rate; ordered by type, source and target, as rates are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateKey {
    /// The purpose of the rate.
    pub rate_type: RateType,
    /// The currencies.
    pub pair: Pair,
}

impl RateKey {
    /// Returns the other direction of the same type.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self {
            rate_type: self.rate_type,
            pair: self.pair.opposite(),
        }
    }

    /// Returns the direction that stands for the unordered pair: the same for a key and its opposite.
    pub(crate) fn unordered(self) -> Self {
        self.min(self.opposite())
    }
}

/// Returns the first `count` keys, each with its index, sorted by key and then by index.
///
/// One heap sorts every kind of list: each instance of the standard sort takes eight kilobytes of the module.
#[inline(never)]
fn sorted_keys(count: usize, key_at: &dyn Fn(usize) -> Option<RateKey>) -> Vec<(RateKey, usize)> {
    let mut keys = Vec::with_capacity(count);
    for index in 0..count {
        keys.extend(key_at(index).map(|key| (key, index)));
    }
    // Most lists are sorted already.
    if !keys.is_sorted() {
        keys = BinaryHeap::from(keys).into_sorted_vec();
    }
    keys
}
