//! Writes answers as JSON, in the shapes of [`super::text`].

use rust_decimal::Decimal;

use super::{Deviation, Difference, HeldRate, UsedRate};
use crate::json::write_text;

/// Writes an object with one number, as a string.
pub(super) fn write_number(name: &str, number: Decimal, out: &mut Vec<u8>) {
    out.push(b'{');
    write_decimal(name, number, out);
    out.push(b'}');
}

/// Writes `{ percent, exceeds, hint? }`.
pub(super) fn write_deviation(deviation: &Deviation, out: &mut Vec<u8>) {
    out.push(b'{');
    write_decimal("percent", deviation.percent, out);
    write_name("exceeds", out);
    out.extend_from_slice(if deviation.exceeds { b"true" } else { b"false" });
    if let Some(hint) = deviation.hint {
        write_member("hint", hint.as_str(), out);
    }
    out.push(b'}');
}

/// Writes `{ rates }`.
pub(super) fn write_used(rates: &[UsedRate<'_>], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"rates\":[");
    for rate in rates {
        write_rate(rate, None, None, out);
    }
    out.extend_from_slice(b"]}");
}

/// Writes `{ createdRates, updatedRates, deletedRates, rates }`.
pub(super) fn write_difference(difference: &Difference<'_>, out: &mut Vec<u8>) {
    write_list(b"{\"createdRates\":[", &difference.created, out);
    write_list(b",\"updatedRates\":[", &difference.updated, out);
    write_list(b",\"deletedRates\":[", &difference.deleted, out);
    write_list(b",\"rates\":[", &difference.rates, out);
    out.push(b'}');
}

#[inline(never)]
fn write_list(start: &[u8], rates: &[HeldRate<'_>], out: &mut Vec<u8>) {
    out.extend_from_slice(start);
    for rate in rates {
        write_rate(&rate.used, Some(rate.created_date), rate.last_modified, out);
    }
    out.push(b']');
}

/// Writes an element of a list of rates; used and held rates have their members in the same order.
#[inline(never)]
fn write_rate(
    rate: &UsedRate<'_>,
    created_date: Option<&str>,
    last_modified: Option<&str>,
    out: &mut Vec<u8>,
) {
    let pair = rate.key.pair;
    out.extend_from_slice(if out.ends_with(b"[") { b"{" } else { b",{" });
    write_member("exchangeRateType", rate.key.rate_type.as_str(), out);
    write_member("currencyIdFrom", pair.from().as_str(), out);
    write_member("currencyIdTo", pair.to().as_str(), out);
    write_decimal("rateValue", rate.value.value(), out);
    write_decimal("rateValueWithMarkup", rate.value_with_markup.value(), out);
    let optional = [
        ("createdDate", created_date),
        ("createdBy", rate.created_by),
        ("lastModified", last_modified),
        ("setAt", Some(rate.set_at)),
        ("asOf", rate.as_of),
    ];
    for (name, text) in optional {
        if let Some(text) = text {
            write_member(name, text, out);
        }
    }
    out.push(b'}');
}

#[inline(never)]
fn write_member(name: &str, text: &str, out: &mut Vec<u8>) {
    write_name(name, out);
    write_text(text, out);
}

/// Writes a number as a string, with all its decimals, in place and last digit first: `Display` would allocate.
#[inline(never)]
fn write_decimal(name: &str, number: Decimal, out: &mut Vec<u8>) {
    write_name(name, out);
    out.push(b'"');
    let start = out.len();
    let mut rest = number.mantissa().unsigned_abs();
    let mut count = 0;
    while rest > 0 || count <= number.scale() {
        if count > 0 && count == number.scale() {
            out.push(b'.');
        }
        out.push(b'0' + take_last_digit(&mut rest));
        count += 1;
    }
    if number.is_sign_negative() {
        out.push(b'-');
    }
    if let Some(text) = out.get_mut(start..) {
        text.reverse();
    }
    out.push(b'"');
}

fn take_last_digit(number: &mut u128) -> u8 {
    // Nearly all numbers fit 64 bits, and a division of 128 bits takes many times longer.
    let (rest, digit) = match u64::try_from(*number) {
        Ok(small) => (u128::from(small / 10), u8::try_from(small % 10)),
        Err(_) => (*number / 10, u8::try_from(*number % 10)),
    };
    *number = rest;
    digit.unwrap_or_default()
}

#[inline(never)]
fn write_name(name: &str, out: &mut Vec<u8>) {
    if !out.ends_with(b"{") {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}
