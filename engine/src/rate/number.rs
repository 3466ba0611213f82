//! Rates, markups and amounts as numbers: read from decimal text, computed on scaled integers, written as decimal text.
//!
//! [`Decimal`] carries a value, integers compute: every result is one integer division (`divided`), which rounds once.
//! Decimal's own product and quotient round to 28 digits first, and a second rounding would have to be proved harmless.
//! The bounds below keep everything within an `i128`.
//!
//! A text is a number as JSON writes it, exponent and trailing zeros included: what counts is the value. It is written
//! without either: 1.1 comes back as 1.1 (`rates.md`, "Setting rates").

use std::fmt;

use rust_decimal::Decimal;

use super::decimal::{Misfit, carried, decimal, power};

/// The most decimals of a rate (`given.md`, 8).
const DECIMALS: u32 = 6;
/// A rate of 1 in millionths, the unit that rates are computed in.
const ONE: i128 = 1_000_000;
/// The most significant digits of a rate or an amount: what any JSON reader keeps (`rates.md`, "Setting rates").
const DIGITS: u32 = 15;
/// The decimals of a markup (`rates.md`, "Business units").
const MARKUP_DECIMALS: u32 = 4;
/// The most decimals that an amount is rounded to.
pub const MAX_MINOR_UNIT: u8 = 6;
/// What a [`Value`] in millionths stays below.
const VALUES: i128 = 10_i128.pow(DIGITS + DECIMALS);
/// What a converted amount stays below, without its decimal point: 28 digits, which any [`Decimal`] holds.
const AMOUNTS: i128 = 10_i128.pow(28);

/// Why a text is not what it should be, as a sentence that the place begins: `must be greater than 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrong(pub(super) &'static str);

impl Wrong {
    /// The sentence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Wrong {}

const NOT_A_DECIMAL: Wrong = Wrong("must be a decimal such as 11.05");
const SIX_DECIMALS: Wrong = Wrong("must have at most six decimals");
const FIFTEEN_DIGITS: Wrong = Wrong("must have at most 15 significant digits");

/// A rate as it is set: positive, at most six decimals and 15 significant digits. Zeros that a whole number ends with
/// are significant, zeros at either end of a fraction are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(Decimal);

/// What a rate comes to once a markup is taken off: at most six decimals, less than 10^15. It is 0 where a markup leaves
/// less than 0.0000005, and may have more digits than a rate that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(Decimal);

/// A markup in percent: 0 to less than 100, at most four decimals (`rates.md`, "Business units"). None is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentage(Decimal);

/// An amount of money, negative for what is given back: at most six decimals and 15 significant digits, as unit prices
/// have more decimals than a currency's coins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(Decimal);

impl Rate {
    /// Reads a rate.
    ///
    /// # Errors
    /// When it is not a decimal, not positive, or longer than a rate may be: nothing is rounded silently.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let value = six_decimals(text, DIGITS).map_err(|wrong| wrong.unwrap_or(FIFTEEN_DIGITS))?;
        if value.mantissa() <= 0 {
            return Err(Wrong("must be greater than 0"));
        }
        Ok(Self(value))
    }

    /// The rate as a decimal.
    #[must_use]
    pub const fn value(self) -> Decimal {
        self.0
    }

    /// 1 ÷ the rate, rounded once to six decimals, half away from zero; `None` where that is 0.000000, for rates
    /// above 2,000,000 (`rates.md`, "Which rates a shop uses").
    #[must_use]
    pub fn opposite(self) -> Option<Self> {
        let millionths = self.share_of_opposite(ONE);
        // At most 1,000,000.000000, the opposite of 0.000001: 13 digits.
        (millionths != 0).then(|| Self(from_millionths(millionths)))
    }

    /// rate × (100 − markup) ÷ 100, rounded once to six decimals, half away from zero.
    #[must_use]
    pub fn with_markup(self, markup: Percentage) -> Value {
        Value(from_millionths(divided(
            millionths(self.0) * markup.kept(),
            ONE,
        )))
    }

    /// The same for the opposite direction: (1 ÷ rate) × (100 − markup) ÷ 100, rounded once and at the end only.
    #[must_use]
    pub fn opposite_with_markup(self, markup: Percentage) -> Value {
        Value(from_millionths(self.share_of_opposite(markup.kept())))
    }

    /// (1 ÷ rate) × (`share` ÷ 1,000,000) in millionths. The rate being m ÷ 10^s, that is `share` × 10^s ÷ m.
    fn share_of_opposite(self, share: i128) -> i128 {
        divided(share * power(self.0.scale().into()), self.0.mantissa())
    }
}

impl Value {
    /// Reads a value: a rate as it was written, or with markup.
    ///
    /// # Errors
    /// When it is not a decimal, negative, has more than six decimals or is 10^15 or more.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        const LESS: Wrong = Wrong("must be less than 1,000,000,000,000,000");
        let value = six_decimals(text, DIGITS + DECIMALS).map_err(|wrong| wrong.unwrap_or(LESS))?;
        if value.mantissa() < 0 {
            return Err(Wrong("must not be negative"));
        }
        if millionths(value) >= VALUES {
            return Err(LESS);
        }
        Ok(Self(value))
    }

    /// The value as a decimal.
    #[must_use]
    pub const fn value(self) -> Decimal {
        self.0
    }
}

impl From<Rate> for Value {
    fn from(rate: Rate) -> Self {
        Self(rate.0)
    }
}

impl Percentage {
    /// Reads a markup.
    ///
    /// # Errors
    /// When it is not a decimal, less than 0, 100 or more, or has more than four decimals.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        const RANGE: Wrong = Wrong("must be 0 or more and less than 100");
        let value = decimal(text, MARKUP_DECIMALS, DIGITS).map_err(|misfit| match misfit {
            Misfit::NotADecimal => NOT_A_DECIMAL,
            Misfit::Decimals => Wrong("must have at most four decimals"),
            Misfit::Digits => RANGE,
        })?;
        let markup = Self(value);
        if value.mantissa() < 0 || markup.kept() <= 0 {
            return Err(RANGE);
        }
        Ok(markup)
    }

    /// The percentage as a decimal.
    #[must_use]
    pub const fn value(self) -> Decimal {
        self.0
    }

    /// (100 − markup) ÷ 100 in millionths: 1 to 1,000,000.
    fn kept(self) -> i128 {
        ONE - at_scale(self.0, MARKUP_DECIMALS)
    }
}

impl Amount {
    /// Reads an amount.
    ///
    /// # Errors
    /// When it is not a decimal or longer than an amount may be.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        six_decimals(text, DIGITS)
            .map(Self)
            .map_err(|wrong| wrong.unwrap_or(FIFTEEN_DIGITS))
    }

    /// The amount as a decimal.
    #[must_use]
    pub const fn value(self) -> Decimal {
        self.0
    }
}

/// amount × rate, rounded once to `minor_unit` decimals, half away from zero, and written with exactly so many
/// (`rates.md`, "Which rates a shop uses"). An amount in the rate's target becomes one in its source; −0 is 0.
///
/// # Errors
/// When the result has more than 28 digits, or more than [`MAX_MINOR_UNIT`] decimals are asked for.
pub fn convert(amount: Amount, rate: Value, minor_unit: u8) -> Result<Decimal, Wrong> {
    if minor_unit > MAX_MINOR_UNIT {
        return Err(Wrong("must be rounded to at most six decimals"));
    }
    // Below 10^15 × 10^21, in units of 10^-(scale + 6); minor_unit of these decimals stay.
    let product = amount.0.mantissa() * millionths(rate.0);
    let decimals = u32::from(minor_unit);
    let dropped = amount.0.scale() + DECIMALS - decimals;
    let converted = divided(product, power(dropped.into()));
    if converted.abs() >= AMOUNTS {
        return Err(Wrong("must come to at most 28 digits"));
    }
    Ok(carried(converted, decimals))
}

/// The quotient, rounded half away from zero. The divisor is positive, and twice either fits an `i128`.
#[inline(never)]
fn divided(dividend: i128, divisor: i128) -> i128 {
    let half = if dividend < 0 { -divisor } else { divisor };
    (2 * dividend + half) / (2 * divisor)
}

/// A value of at most `scale` decimals, in units of 10^-`scale`.
#[inline(never)]
fn at_scale(value: Decimal, scale: u32) -> i128 {
    value.mantissa() * power(i64::from(scale) - i64::from(value.scale()))
}

fn millionths(value: Decimal) -> i128 {
    at_scale(value, DECIMALS)
}

/// Millionths as a decimal without trailing zeros.
#[inline(never)]
fn from_millionths(millionths: i128) -> Decimal {
    carried(millionths, DECIMALS).normalize()
}

/// A decimal of at most six decimals; what is wrong when it has too many digits is for the caller to say.
fn six_decimals(text: &str, digits: u32) -> Result<Decimal, Option<Wrong>> {
    decimal(text, DECIMALS, digits).map_err(|misfit| match misfit {
        Misfit::NotADecimal => Some(NOT_A_DECIMAL),
        Misfit::Decimals => Some(SIX_DECIMALS),
        Misfit::Digits => None,
    })
}

macro_rules! written_as_decimal_text {
    ($($number:ident),*) => {$(
        impl fmt::Display for $number {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

written_as_decimal_text!(Rate, Value, Percentage, Amount);
