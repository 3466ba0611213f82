//! Rates, exactly: what a rate is, its opposite, a markup, an amount in another currency, which rates a shop uses and how
//! they differ from those it used before (`rates.md`).
//!
//! Reading: a rate from S to T of R says that 1 T = R S; an amount in T times R is in S. Every result is computed on
//! scaled integers and rounded once, half away from zero; nothing here is a float. Who may set a rate, where it is kept
//! and to whom a difference is told is the host's business.
//!
//! ```
//! use tillgate_engine::rate::{Percentage, Rate};
//!
//! let rate = Rate::parse("11.05")?; // 1 EUR = 11.05 SEK
//! let markup = Percentage::parse("2.5")?;
//! assert_eq!(rate.opposite().map(|it| it.to_string()).as_deref(), Some("0.090498"));
//! assert_eq!(rate.with_markup(markup).to_string(), "10.77375");
//! assert_eq!(rate.opposite_with_markup(markup).to_string(), "0.088235");
//! # Ok::<(), tillgate_engine::rate::Wrong>(())
//! ```
//!
//! In reading order: [`number`], [`currency`], this page, [`used`], [`difference`](mod@difference) and [`text`], the
//! protocol of the faces.

#![deny(clippy::float_arithmetic)]

use std::collections::BinaryHeap;

pub mod currency;
mod decimal;
pub mod difference;
pub mod number;
mod read;
pub mod text;
pub mod used;
mod write;

pub use currency::Currency;
pub use difference::{Difference, HeldRate, difference};
pub use number::{Amount, Percentage, Rate, Value, Wrong, convert};
pub use used::{Level, Refused, SetRate, UsedRate, Why, used_rates};

/// What a rate is for, in the order in which rates are listed (that of the texts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RateType {
    /// Between companies of one group.
    Intercompany,
    /// When a shop buys.
    Purchase,
    /// When a shop sells.
    Sales,
}

impl RateType {
    /// The type as it is written: `SALES`, `PURCHASE`, `INTERCOMPANY` (`given.md`, 2.5).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Intercompany => "INTERCOMPANY",
            Self::Purchase => "PURCHASE",
            Self::Sales => "SALES",
        }
    }

    /// Reads a type.
    ///
    /// # Errors
    /// When it is none of the three, letter for letter.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        [Self::Intercompany, Self::Purchase, Self::Sales]
            .into_iter()
            .find(|each| each.as_str() == text)
            .ok_or(Wrong("must be SALES, PURCHASE or INTERCOMPANY"))
    }
}

/// Two currencies, which differ, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    from: Currency,
    to: Currency,
}

impl Pair {
    /// The pair of two currencies.
    ///
    /// # Errors
    /// When both are the same.
    pub fn new(from: Currency, to: Currency) -> Result<Self, Wrong> {
        if from == to {
            return Err(Wrong("must differ from currencyIdFrom"));
        }
        Ok(Self { from, to })
    }

    /// The source: the currency that the rate is counted in (`currencyIdFrom`, `sourceCurrencyCode`).
    #[must_use]
    pub const fn from(self) -> Currency {
        self.from
    }

    /// The target: the currency that is priced (`currencyIdTo`, `targetCurrencyCode`).
    #[must_use]
    pub const fn to(self) -> Currency {
        self.to
    }

    /// The other direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
        }
    }
}

/// What tells a shop's rates apart; ordered by type, from, to, as rates are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RateKey {
    /// What the rate is for.
    pub rate_type: RateType,
    /// Its currencies.
    pub pair: Pair,
}

impl RateKey {
    /// The other direction, for the same use.
    #[must_use]
    pub const fn opposite(self) -> Self {
        Self {
            rate_type: self.rate_type,
            pair: self.pair.opposite(),
        }
    }
}

/// The keys at so many places, each with its place, by key, then by place.
///
/// A heap, and for every list the same one: an instance of the standard sort takes eight kilobytes of the module.
#[inline(never)]
fn in_order(
    places: usize,
    key_at: &dyn Fn(usize) -> Option<RateKey>,
) -> impl Iterator<Item = (RateKey, usize)> + use<> {
    let keys = (0..places).filter_map(|place| Some((key_at(place)?, place)));
    BinaryHeap::from(keys.collect::<Vec<_>>())
        .into_sorted_vec()
        .into_iter()
}
