//! Writing answers as JSON, in the shapes of [`super::text`].

use rust_decimal::Decimal;

use super::{Difference, HeldRate, UsedRate};
use crate::json::write_text;

/// An object with one number, as a string.
pub(super) fn write_number(name: &str, number: Decimal, out: &mut Vec<u8>) {
    out.push(b'{');
    write_member(name, &number.to_string(), out);
    out.push(b'}');
}

/// `{ rates }`.
pub(super) fn write_used(rates: &[UsedRate<'_>], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"rates\":[");
    for rate in rates {
        write_rate(rate, None, None, out);
    }
    out.extend_from_slice(b"]}");
}

/// `{ createdRates, updatedRates, deletedRates, rates }`.
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

/// An element of a list of rates; used and held rates have the same order of members.
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
    write_member("rateValue", &rate.value.to_string(), out);
    write_member(
        "rateValueWithMarkup",
        &rate.value_with_markup.to_string(),
        out,
    );
    let optional = [
        ("createdDate", created_date),
        ("createdBy", rate.created_by),
        ("lastModified", last_modified),
        ("setAt", Some(rate.set_at)),
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
    if !out.ends_with(b"{") {
        out.push(b',');
    }
    write_text(name, out);
    out.push(b':');
    write_text(text, out);
}
