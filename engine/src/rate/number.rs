//! Rates, markups and amounts as numbers: read from decimal text, computed on scaled integers, written as decimal text.
//!
//! Values are stored as [`Decimal`] but computed on integers: every result is one integer division, `div_round`, which
//! rounds once. The multiplication and division of `Decimal` round to 28 digits first, and a second rounding would have
//! to be proved harmless. The bounds below keep everything within an `i128`, except an amount times a rate, which is
//! computed in two halves.
//!
//! Input is a number as JSON writes it, perhaps with an exponent or trailing zeros: only its value counts. Output has
//! neither: 1.10 becomes 1.1 (`rates.md`, "Setting rates"). Only a converted amount keeps all its decimals.

use std::fmt;

use rust_decimal::Decimal;

use super::decimal::{DecimalError, decimal_from_parts, parse_decimal, parse_scaled, power_of_ten};

/// The maximum number of decimals of a rate (`given.md`, 8).
const DECIMALS: u32 = 6;
/// 1 in millionths, the unit that rates are computed in.
pub(super) const ONE: i128 = 1_000_000;
/// The maximum number of significant digits of a rate: no JSON parser loses any of them (`rates.md`, "Setting rates").
const DIGITS: u32 = 15;
/// A rate without its decimal point is less than this.
const MANTISSA_LIMIT: i128 = 10_i128.pow(DIGITS);
/// The maximum number of decimals of a markup (`rates.md`, "Business units").
pub(super) const MARKUP_DECIMALS: u32 = 4;
/// The maximum number of decimals that an amount can be rounded to.
pub const MAX_MINOR_UNIT: u8 = 6;
/// A [`Value`] in millionths is less than this.
const VALUE_LIMIT: i128 = 10_i128.pow(DIGITS + DECIMALS);
/// The maximum number of significant digits of an amount, before and after conversion. A [`Decimal`] always holds them.
const AMOUNT_DIGITS: u32 = 28;
/// The maximum number of decimals of an amount before conversion: more than any nonzero 64-bit float has.
const AMOUNT_DECIMALS: u32 = 400;
/// The digits of a converted amount, as an integer, are less than this.
const AMOUNT_LIMIT: u128 = 10_u128.pow(AMOUNT_DIGITS);

/// The reason that a value is invalid. It completes a sentence that begins with the path: `must be greater than 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid(pub(super) &'static str);

impl Invalid {
    /// Returns the message.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Invalid {}

const NOT_A_DECIMAL: Invalid = Invalid("must be a decimal such as 11.05");
const SIX_DECIMALS: Invalid = Invalid("must have at most six decimals");
const FIFTEEN_DIGITS: Invalid = Invalid("must have at most 15 significant digits");

/// A rate as it is set: positive, with at most six decimals and 15 significant digits. Trailing zeros of an integer are
/// significant; zeros at either end of a fraction are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(Decimal);

/// A rate after any markup was subtracted: less than 10^15, with at most six decimals. It is 0 if less than 0.0000005
/// remains, and may have more digits than a rate that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(Decimal);

/// A markup in percent: 0 to less than 100, at most four decimals (`rates.md`, "Business units"). The default is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Percentage(Decimal);

/// An amount of money, negative for a refund: at most 28 significant digits and 400 decimals. Unit prices have more
/// decimals than a currency's minor unit, and sums in binary floats have more digits: 0.1 + 0.2 is 0.30000000000000004.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Amount {
    mantissa: i128,
    scale: u32,
}

impl Rate {
    /// Parses a rate.
    ///
    /// # Errors
    /// If it is not a decimal, is not positive or has too many digits: nothing is rounded silently.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let value = parse_six_decimals(text, DIGITS, FIFTEEN_DIGITS)?;
        if value.mantissa() <= 0 {
            return Err(Invalid("must be greater than 0"));
        }
        Ok(Self(value))
    }

    /// Returns the rate as a decimal.
    #[must_use]
    pub const fn value(self) -> Decimal {
        self.0
    }

    /// Returns 1 ÷ the rate, rounded once to six decimals, half away from zero; `None` if that is 0.000000, as for
    /// rates above 2,000,000 (`rates.md`, "Which rates a shop uses").
    #[must_use]
    pub fn opposite(self) -> Option<Self> {
        let millionths = self.opposite_times(ONE);
        // At most 1,000,000.000000, the opposite of 0.000001: 13 digits.
        (millionths != 0).then(|| Self(from_millionths(millionths)))
    }

    /// Returns rate ÷ `per`, rounded once to six decimals, half away from zero. If both quote one unit of the same
    /// currency, the result is the rate between the currencies that they quote it in:
    /// 1 EUR = 11.2285 SEK and 1 EUR = 1.149 USD give 1 USD = 11.2285 ÷ 1.149 SEK.
    ///
    /// # Errors
    /// If that is 0.000000, or has more digits than a rate may have.
    pub fn cross(self, per: Self) -> Result<Self, Invalid> {
        // Less than 10^21 × 10^6, divided by at least 1.
        let quotient = div_round(millionths(self.0) * ONE, millionths(per.0));
        let cross = from_millionths(quotient);
        if quotient == 0 {
            return Err(Invalid("divided by per rounds to 0.000000"));
        }
        if cross.mantissa() >= MANTISSA_LIMIT {
            return Err(Invalid(
                "divided by per has more than 15 significant digits",
            ));
        }
        Ok(Self(cross))
    }

    /// Returns rate × (100 − markup) ÷ 100, rounded once to six decimals, half away from zero.
    #[must_use]
    pub fn with_markup(self, markup: Percentage) -> Value {
        let product = millionths(self.0) * markup.factor();
        Value(from_millionths(div_round(product, ONE)))
    }

    /// Returns the opposite with the markup, (1 ÷ rate) × (100 − markup) ÷ 100, rounded only once, at the end, to six
    /// decimals, half away from zero.
    #[must_use]
    pub fn opposite_with_markup(self, markup: Percentage) -> Value {
        Value(from_millionths(self.opposite_times(markup.factor())))
    }

    /// Returns (1 ÷ rate) × `factor`, both in millionths. For a rate of m ÷ 10^s that is `factor` × 10^s ÷ m.
    fn opposite_times(self, factor: i128) -> i128 {
        div_round(
            factor * power_of_ten(self.0.scale().into()),
            self.0.mantissa(),
        )
    }
}

impl Value {
    /// Parses a rate, with or without markup.
    ///
    /// # Errors
    /// If it is not a decimal, is negative, has more than six decimals or is 10^15 or more.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        const TOO_LARGE: Invalid = Invalid("must be less than 1,000,000,000,000,000");
        let value = parse_six_decimals(text, DIGITS + DECIMALS, TOO_LARGE)?;
        if value.mantissa() < 0 {
            return Err(Invalid("must not be negative"));
        }
        if millionths(value) >= VALUE_LIMIT {
            return Err(TOO_LARGE);
        }
        Ok(Self(value))
    }

    /// Returns the value as a decimal.
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
    /// Parses a markup.
    ///
    /// # Errors
    /// If it is not a decimal, is less than 0, is 100 or more or has more than four decimals.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        const RANGE: Invalid = Invalid("must be 0 or more and less than 100");
        let value = parse_decimal(text, MARKUP_DECIMALS, DIGITS).map_err(|error| match error {
            DecimalError::NotADecimal => NOT_A_DECIMAL,
            DecimalError::TooManyDecimals => Invalid("must have at most four decimals"),
            DecimalError::TooManyDigits => RANGE,
        })?;
        let markup = Self(value);
        if value.mantissa() < 0 || markup.factor() <= 0 {
            return Err(RANGE);
        }
        Ok(markup)
    }

    /// Returns the percentage as a decimal.
    #[must_use]
    pub const fn value(self) -> Decimal {
        self.0
    }

    /// Returns the factor that a rate is multiplied by, (100 − markup) ÷ 100, in millionths: 1 to 1,000,000.
    fn factor(self) -> i128 {
        ONE - percent_units(self)
    }
}

impl Amount {
    /// Parses an amount.
    ///
    /// # Errors
    /// If it is not a decimal or has too many digits.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match parse_scaled(text, AMOUNT_DECIMALS, AMOUNT_DIGITS) {
            Ok((mantissa, scale)) => Ok(Self { mantissa, scale }),
            Err(DecimalError::NotADecimal) => Err(NOT_A_DECIMAL),
            Err(DecimalError::TooManyDecimals) => Err(Invalid("must have at most 400 decimals")),
            Err(DecimalError::TooManyDigits) => {
                Err(Invalid("must have at most 28 significant digits"))
            }
        }
    }
}

impl fmt::Display for Amount {
    /// Writes all decimals, without an exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = usize::try_from(self.scale).unwrap_or_default();
        let digits = format!("{:0>1$}", self.mantissa.unsigned_abs(), decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        let sign = if self.mantissa < 0 { "-" } else { "" };
        let point = if decimals > 0 { "." } else { "" };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}

/// Returns amount × rate, rounded once to exactly `minor_unit` decimals, half away from zero (`rates.md`, "Which rates
/// a shop uses"). An amount in the rate's target currency becomes one in its source currency; −0 becomes 0.
///
/// # Errors
/// If the result has more than 28 digits, or `minor_unit` is more than [`MAX_MINOR_UNIT`].
pub fn convert(amount: Amount, rate: Value, minor_unit: u8) -> Result<Decimal, Invalid> {
    if minor_unit > MAX_MINOR_UNIT {
        return Err(Invalid("must be rounded to at most six decimals"));
    }
    // The product has scale + 6 decimals, of which minor_unit remain.
    let decimals = u32::from(minor_unit);
    let dropped = amount.scale + DECIMALS - decimals;
    let millionths = millionths(rate.0).unsigned_abs();
    let converted = multiplied(amount.mantissa.unsigned_abs(), millionths, dropped)
        .and_then(|converted| i128::try_from(converted).ok())
        .ok_or(Invalid("must convert to at most 28 digits"))?;
    let converted = if amount.mantissa < 0 {
        -converted
    } else {
        converted
    };
    Ok(decimal_from_parts(converted, decimals))
}

/// Returns a × b without its last `dropped` digits, rounded half up; `None` if that has more than 28 digits. Each
/// factor has at most 28 digits and the product up to 56, so it is computed in halves of 14 digits.
fn multiplied(a: u128, b: u128, dropped: u32) -> Option<u128> {
    const HALF: u128 = 10_u128.pow(AMOUNT_DIGITS / 2);
    let power = |exponent: u32| power_of_ten(exponent.into()).unsigned_abs();
    let middle = (a / HALF) * (b % HALF) + (a % HALF) * (b / HALF);
    let mut low = (a % HALF) * (b % HALF) + middle % HALF * HALF;
    let mut high = (a / HALF) * (b / HALF) + middle / HALF;
    // The product is high × 10^28 + low. Adding half a unit of the last digit that remains rounds it.
    match dropped.checked_sub(AMOUNT_DIGITS + 1) {
        None if dropped > 0 => low += 5 * power(dropped - 1),
        None => {}
        // The product is less than half a unit.
        Some(more) if more >= AMOUNT_DIGITS => return Some(0),
        Some(more) => high += 5 * power(more),
    }
    high += low / AMOUNT_LIMIT;
    low %= AMOUNT_LIMIT;
    match AMOUNT_DIGITS.checked_sub(dropped) {
        Some(_) if high >= power(dropped) => None,
        Some(kept) => Some(high * power(kept) + low / power(dropped)),
        None => Some(high / power(dropped - AMOUNT_DIGITS)),
    }
}

/// Returns the quotient, rounded half away from zero. The divisor is positive, and twice either number fits an `i128`.
#[inline(never)]
pub(super) fn div_round(dividend: i128, divisor: i128) -> i128 {
    let half = if dividend < 0 { -divisor } else { divisor };
    (2 * dividend + half) / (2 * divisor)
}

/// Returns a value of at most `scale` decimals in units of 10^-`scale`.
#[inline(never)]
fn at_scale(value: Decimal, scale: u32) -> i128 {
    value.mantissa() * power_of_ten(i64::from(scale) - i64::from(value.scale()))
}

pub(super) fn millionths(value: Decimal) -> i128 {
    at_scale(value, DECIMALS)
}

/// Returns a percentage in units of 10^-[`MARKUP_DECIMALS`] percent: less than 1,000,000.
pub(super) fn percent_units(percentage: Percentage) -> i128 {
    at_scale(percentage.0, MARKUP_DECIMALS)
}

/// Returns millionths as a decimal without trailing zeros.
fn from_millionths(millionths: i128) -> Decimal {
    from_parts(millionths, DECIMALS)
}

/// Returns `units` × 10^-`scale` as a decimal without trailing zeros.
#[inline(never)]
pub(super) fn from_parts(units: i128, scale: u32) -> Decimal {
    decimal_from_parts(units, scale).normalize()
}

/// Parses a decimal with at most six decimals and `digits` digits; `too_many_digits` is the error if there are more.
fn parse_six_decimals(
    text: &str,
    digits: u32,
    too_many_digits: Invalid,
) -> Result<Decimal, Invalid> {
    parse_decimal(text, DECIMALS, digits).map_err(|error| match error {
        DecimalError::NotADecimal => NOT_A_DECIMAL,
        DecimalError::TooManyDecimals => SIX_DECIMALS,
        DecimalError::TooManyDigits => too_many_digits,
    })
}

macro_rules! display_as_decimal {
    ($($number:ident),*) => {$(
        impl fmt::Display for $number {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

display_as_decimal!(Rate, Value, Percentage);
