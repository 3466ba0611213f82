//! Measures how far a rate has moved, and recognizes typing slips (`rates.md`, "Guard against slips").
//!
//! Pure: the host decides which rates may move how far, and what happens to a rate that moves further.

use rust_decimal::Decimal;

use super::number::{MARKUP_DECIMALS, ONE, div_round, from_parts, millionths, percent_units};
use super::{Percentage, Rate};

/// A rate looks like another rate if it is within a twentieth (5 %) of it.
const TWENTIETH: i128 = 20;

/// A hundred percent, in units of 10^-[`MARKUP_DECIMALS`] percent.
const WHOLE: i128 = 1_000_000;

/// The deviation of a new rate from the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// (new − old) ÷ old, in percent, rounded once to four decimals, half away from zero; negative when the rate fell.
    pub percent: Decimal,
    /// True if the rate moved by more than the tolerance; decided before rounding.
    pub exceeds: bool,
    /// The slip that the new rate looks like, if any.
    pub hint: Option<Hint>,
}

/// A slip that a new rate looks like, compared with the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// The opposite: within 5 % of 1 ÷ old.
    Inverted,
    /// A decimal point in the wrong place: within 5 % of old × 10^k, for a k that is not 0.
    DecimalPoint,
}

impl Hint {
    /// Returns the hint as it is written: `INVERTED`, `DECIMAL_POINT`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inverted => "INVERTED",
            Self::DecimalPoint => "DECIMAL_POINT",
        }
    }
}

impl Deviation {
    /// Returns how far a rate moves from `old` to `new`, and whether that is further than `tolerance`.
    #[must_use]
    pub fn between(old: Rate, new: Rate, tolerance: Percentage) -> Self {
        // Both are less than 10^21, so a product with WHOLE is less than 10^27.
        let (old, new) = (millionths(old.value()), millionths(new.value()));
        let moved = (new - old) * WHOLE;
        let hint = if is_inverted(old, new) {
            Some(Hint::Inverted)
        } else if is_shifted(old, new) {
            Some(Hint::DecimalPoint)
        } else {
            None
        };
        Self {
            percent: from_parts(div_round(moved, old), MARKUP_DECIMALS),
            exceeds: moved.abs() > percent_units(tolerance) * old,
            hint,
        }
    }
}

/// Returns whether old × new is within a twentieth of 1.
fn is_inverted(old: i128, new: i128) -> bool {
    let one = ONE * ONE;
    let product = old.checked_mul(new);
    product.is_some_and(|product| (product - one).abs() <= one / TWENTIETH)
}

/// Returns whether new is within a twentieth of old with its decimal point moved by one place or more, either way.
fn is_shifted(old: i128, new: i128) -> bool {
    let (mut old, mut new) = (old, new);
    // Moves the lesser of the two up until it exceeds the other: both stay below 10^22.
    let is_greater = new > old;
    while (is_greater && old <= new) || (!is_greater && new <= old) {
        let moved = if is_greater { &mut old } else { &mut new };
        *moved *= 10;
        if TWENTIETH * (new - old).abs() <= old {
            return true;
        }
    }
    false
}
