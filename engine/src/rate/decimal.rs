//! Reading decimal text, exactly and in one pass, and the integers behind a [`Decimal`].
//!
//! A text is a JSON number (RFC 8259, 6): Python writes 0.000049 as `4.9e-05`, the European Central Bank 0.8595 as
//! `0.85950`. Decimal's own reader takes more than that (`+1`, `1_000`, `.5`) and may round. How many decimals and
//! digits a number may have is for [`super::number`] to say.

use rust_decimal::Decimal;

/// Why a text is not a decimal of that many decimals and digits.
pub(super) enum Misfit {
    NotADecimal,
    Decimals,
    Digits,
}

/// Reads a JSON number of at most so many decimals and digits (at most 21, so that it stays exact), in one pass over a
/// text of any length: zeros that do not change the value count neither as decimals nor as digits.
pub(super) fn decimal(text: &str, max_decimals: u32, max_digits: u32) -> Result<Decimal, Misfit> {
    let number = Number::parse(text.as_bytes()).ok_or(Misfit::NotADecimal)?;
    let mut mantissa: i128 = 0;
    let mut digits: i64 = 0;
    let mut zeros: i64 = 0;
    for digit in number.whole.iter().chain(number.fraction) {
        if *digit == b'0' {
            zeros += i64::from(digits > 0);
            continue;
        }
        digits += zeros + 1;
        // Whoever has more digits is refused below, so their mantissa does not matter.
        if digits <= i64::from(max_digits) {
            mantissa = mantissa * power(zeros + 1) + i128::from(digit - b'0');
        }
        zeros = 0;
    }
    if digits == 0 {
        return Ok(Decimal::ZERO);
    }
    // The value is mantissa × 10^shift, and the mantissa does not end with a zero.
    let decimals = i64::try_from(number.fraction.len()).unwrap_or(i64::MAX);
    let shift = number
        .exponent
        .saturating_add(zeros)
        .saturating_sub(decimals);
    if shift < -i64::from(max_decimals) {
        return Err(Misfit::Decimals);
    }
    if digits.saturating_add(shift.max(0)) > i64::from(max_digits) {
        return Err(Misfit::Digits);
    }
    let mantissa = mantissa * power(shift);
    let scale = u32::try_from(-shift).unwrap_or(0);
    Ok(carried(
        if number.negative { -mantissa } else { mantissa },
        scale,
    ))
}

/// A JSON number (RFC 8259, 6), taken apart.
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

/// Takes the first byte off a text when it is one of these.
fn take(text: &mut &[u8], bytes: &[u8]) -> bool {
    match text.split_first() {
        Some((first, rest)) if bytes.contains(first) => {
            *text = rest;
            true
        }
        _ => false,
    }
}

/// Takes all digits off a text that begins with one.
fn take_digits<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count)?;
    *text = rest;
    (count > 0).then_some(digits)
}

/// Takes an exponent, clamped far beyond what the digits of any text make up for.
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

/// 10 to a power of at most 38; 1 for a negative one.
#[inline(never)]
pub(super) fn power(exponent: i64) -> i128 {
    (0..exponent).fold(1, |power, _| power * 10)
}

/// `mantissa` ÷ 10^`scale`, for less than 2^96 and 28: all that is computed here is below 10^28.
pub(super) fn carried(mantissa: i128, scale: u32) -> Decimal {
    let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = mantissa.unsigned_abs().to_le_bytes();
    let low = u32::from_le_bytes([a, b, c, d]);
    let middle = u32::from_le_bytes([e, f, g, h]);
    let high = u32::from_le_bytes([i, j, k, l]);
    Decimal::from_parts(low, middle, high, mantissa < 0, scale)
}
