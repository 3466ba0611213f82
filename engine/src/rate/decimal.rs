//! Parses decimal text exactly and in one pass, into the scaled integers that a [`Decimal`] is made of.
//!
//! The text is a JSON number (RFC 8259, 6): Python writes 0.000049 as `4.9e-05`, and the European Central Bank writes
//! 0.8595 as `0.85950`. The parser of `Decimal` accepts more (`+1`, `1_000`, `.5`) and may round. [`super::number`]
//! sets the limits on decimals and digits.

use rust_decimal::Decimal;

/// The reason that a text is not a decimal within the limits.
pub(super) enum DecimalError {
    NotADecimal,
    TooManyDecimals,
    TooManyDigits,
}

/// Parses a JSON number. `max_decimals` is at most 28; `max_digits` is at most 21, so that the result is exact.
pub(super) fn parse_decimal(
    text: &str,
    max_decimals: u32,
    max_digits: u32,
) -> Result<Decimal, DecimalError> {
    let (mantissa, scale) = parse_scaled(text, max_decimals, max_digits)?;
    Ok(decimal_from_parts(mantissa, scale))
}

/// Parses a JSON number of any length in one pass, and returns its mantissa and its number of decimals. `max_digits` is
/// at most 28. Zeros that do not change the value count neither as decimals nor as digits.
#[inline(never)]
pub(super) fn parse_scaled(
    text: &str,
    max_decimals: u32,
    max_digits: u32,
) -> Result<(i128, u32), DecimalError> {
    let number = Number::parse(text.as_bytes()).ok_or(DecimalError::NotADecimal)?;
    let mut mantissa: i128 = 0;
    let mut digits: i64 = 0;
    let mut zeros: i64 = 0;
    for digit in number.whole.iter().chain(number.fraction) {
        if *digit == b'0' {
            zeros += i64::from(digits > 0);
            continue;
        }
        digits += zeros + 1;
        // A number with more digits is rejected below, so its mantissa does not matter.
        if digits <= i64::from(max_digits) {
            for _ in 0..zeros {
                mantissa *= 10;
            }
            mantissa = mantissa * 10 + i128::from(digit - b'0');
        }
        zeros = 0;
    }
    if digits == 0 {
        return Ok((0, 0));
    }
    // The value is mantissa × 10^shift, and the mantissa does not end in a zero.
    let decimals = i64::try_from(number.fraction.len()).unwrap_or(i64::MAX);
    let shift = number
        .exponent
        .saturating_add(zeros)
        .saturating_sub(decimals);
    if shift < -i64::from(max_decimals) {
        return Err(DecimalError::TooManyDecimals);
    }
    if digits.saturating_add(shift.max(0)) > i64::from(max_digits) {
        return Err(DecimalError::TooManyDigits);
    }
    mantissa *= power_of_ten(shift);
    let scale = u32::try_from(-shift).unwrap_or(0);
    let mantissa = if number.negative { -mantissa } else { mantissa };
    Ok((mantissa, scale))
}

/// The parts of a JSON number (RFC 8259, 6).
struct Number<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

impl<'a> Number<'a> {
    fn parse(mut text: &'a [u8]) -> Option<Self> {
        let negative = take(&mut text, b"-");
        let whole = take_digits(&mut text)?;
        if whole.len() > 1 && whole.starts_with(b"0") {
            return None;
        }
        let fraction: &[u8] = if take(&mut text, b".") {
            take_digits(&mut text)?
        } else {
            b""
        };
        let exponent = if take(&mut text, b"eE") {
            take_exponent(&mut text)?
        } else {
            0
        };
        text.is_empty().then_some(Self {
            negative,
            whole,
            fraction,
            exponent,
        })
    }
}

/// Removes the first byte of a text if it is one of `bytes`, and returns whether it did.
fn take(text: &mut &[u8], bytes: &[u8]) -> bool {
    match text.split_first() {
        Some((first, rest)) if bytes.contains(first) => {
            *text = rest;
            true
        }
        _ => false,
    }
}

/// Removes the leading digits of a text, at least one, and returns them.
fn take_digits<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count)?;
    *text = rest;
    (count > 0).then_some(digits)
}

/// Removes an exponent from a text and returns it, clamped far beyond what the digits of any text can offset.
fn take_exponent(text: &mut &[u8]) -> Option<i64> {
    let negative = take(text, b"-");
    if !negative {
        take(text, b"+");
    }
    let size = take_digits(text)?.iter().fold(0, |size: i64, digit| {
        (10 * size + i64::from(digit - b'0')).min(1 << 48)
    });
    Some(if negative { -size } else { size })
}

/// Returns 10 to the power of `exponent`, which is at most 38; 1 for a negative exponent.
#[inline(never)]
pub(super) fn power_of_ten(exponent: i64) -> i128 {
    (0..exponent).fold(1, |power, _| power * 10)
}

/// Returns `mantissa` ÷ 10^`scale`. The mantissa must be less than 2^96 and the scale at most 28; all results of the
/// rate math are less than 10^28.
pub(super) fn decimal_from_parts(mantissa: i128, scale: u32) -> Decimal {
    let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = mantissa.unsigned_abs().to_le_bytes();
    let low = u32::from_le_bytes([a, b, c, d]);
    let middle = u32::from_le_bytes([e, f, g, h]);
    let high = u32::from_le_bytes([i, j, k, l]);
    Decimal::from_parts(low, middle, high, mantissa < 0, scale)
}
