//! The rate math from JSON to JSON, many calls at a time.
//!
//! A request `{ "calls": [ … ] }` with 1 to 10,000 calls gives `{ "answers": [ … ] }` with one answer for each call, in
//! the same order. If anything is wrong with any call, there are no answers, only an error that lists every fault with
//! its path (`$.calls[3].rate`). Numbers, except `minorUnit`, are decimals in strings, in calls and in answers.
//! Optional members may be `null`. Unknown members are faults, except in rates, because those of messages may have more
//! members (`given.md` 6.1).
//!
//! | `op` | members | answer |
//! |---|---|---|
//! | `opposite` | `rate` | `{ rate }`: 1 ÷ rate; a rate whose opposite rounds to 0.000000 is a fault |
//! | `markup` | `rate`, `markupPercentage`, `opposite?` | `{ rate }`: the rate with the markup subtracted; with `opposite: true`, the unrounded opposite with the markup subtracted |
//! | `convert` | `amount`, `rate`, `currency` or `minorUnit` | `{ amount }`: amount × rate, with the decimals of the currency, or with 0 to 6; `amount` has at most 28 significant digits, `rate` may include a markup and may be 0 |
//! | `cross` | `rate`, `per` | `{ rate }`: rate ÷ per, for two quotes of one unit of the same currency; a result that rounds to 0.000000, or has more digits than a rate may have, is a fault of `rate` |
//! | `deviation` | `old`, `new`, `tolerancePercentage` | `{ percent, exceeds, hint? }`: [how far](super::Deviation) a rate moves from old to new, whether that is more than the tolerance, and whether it looks `INVERTED` or like a slipped `DECIMAL_POINT` |
//! | `used` | `levels` | `{ rates }`: the [rates that a shop uses](super::UsedRate) with these levels |
//! | `difference` | `before`, `levels`, `at` | `{ createdRates, updatedRates, deletedRates, rates }`: how the rates that a shop uses with these levels differ from those that it [held](super::HeldRate) |
//! | `check` | `rates` | `{}` if all of them can be set together at one business unit |
//!
//! A level is `{ businessUnitId, rates, markupPercentage?, markups? }`; the shop's own comes first, and without levels
//! a shop uses no rates. A set rate is
//! `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue, createdBy?, reference? }`.
//! The `markupPercentage` of a level applies to all pairs except those that `markups` lists:
//! `{ exchangeRateType, currencyIdFrom, currencyIdTo, markupPercentage }`, in either direction and at most one for each
//! pair.
//!
//! A used rate also has `rateValueWithMarkup` and `setAt`, and has `asOf`, the `date` of the reference, instead of
//! `reference`; a held rate also has `createdDate` and `lastModified?`. Members have the same names everywhere, so the
//! `rates` of `difference` can be passed as the next `before`. Times are RFC 3339 in UTC with milliseconds
//! (`2026-11-20T17:40:00.000Z`); `date` is any text, passed on unchanged.

use rust_decimal::Decimal;

use super::number::MAX_MINOR_UNIT;
use super::read::{
    present, read_currency, read_decimal, read_distinct, read_held_rate, read_levels, read_list,
    read_percentage, read_rates, read_time, reject,
};
use super::write::{write_deviation, write_difference, write_number, write_used};
use super::{Amount, Deviation, Invalid, Rate, Value, convert, difference, used_rates};
use crate::error::Error;
use crate::json::{Document, Faults, Node};

/// The maximum number of calls in a request.
const MAX_CALLS: usize = 10_000;

const OPPOSITE_IS_ZERO: Invalid = Invalid("has an opposite that rounds to 0.000000");

/// Appends the answers to the calls of a request as JSON, or nothing if there is an error.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) with every fault of every call.
pub fn answer(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let document = Document::parse_without_number_text(request, usize::MAX)?;
    let start = out.len();
    let mut faults = Faults::default();
    write_answers(document.root(), out, &mut faults);
    let result = faults.none_or_error();
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends the answers; some may be missing if there are faults.
fn write_answers(request: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    let request = faults.object_with(request, &["calls"])?;
    let calls = read_list(request, "calls", faults)?;
    let count = calls.children().take(MAX_CALLS + 1).count();
    if count == 0 || count > MAX_CALLS {
        faults.add(calls, "must have 1 to 10,000 calls");
        return None;
    }
    out.extend_from_slice(b"{\"answers\":[");
    for call in calls.children() {
        if !out.ends_with(b"[") {
            out.push(b',');
        }
        write_answer(call, out, faults);
    }
    out.extend_from_slice(b"]}");
    Some(())
}

/// Appends the answer to a call; returns `None` if a fault prevents it.
fn write_answer(call: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    const OPS: Invalid =
        Invalid("must be opposite, markup, convert, cross, deviation, used, difference or check");
    let call = faults.object(call)?;
    let op = faults.required(call, "op")?.text().map(AsRef::as_ref);
    let members: &[&str] = match op {
        Some("opposite") => &["op", "rate"],
        Some("markup") => &["op", "rate", "markupPercentage", "opposite"],
        Some("convert") => &["op", "amount", "rate", "currency", "minorUnit"],
        Some("cross") => &["op", "rate", "per"],
        Some("deviation") => &["op", "old", "new", "tolerancePercentage"],
        Some("used") => &["op", "levels"],
        Some("difference") => &["op", "before", "levels", "at"],
        Some("check") => &["op", "rates"],
        _ => return reject(call, "op", OPS, faults),
    };
    faults.refuse_unknown(call, members);
    match op {
        Some("opposite") => write_number("rate", opposite(call, faults)?, out),
        Some("markup") => write_number("rate", with_markup(call, faults)?, out),
        Some("convert") => write_number("amount", converted(call, faults)?, out),
        Some("cross") => write_number("rate", cross(call, faults)?, out),
        Some("deviation") => write_deviation(&deviation(call, faults)?, out),
        Some("used") => write_used(&used_rates(&read_levels(call, faults)?), out),
        Some("difference") => return write_changes(call, out, faults),
        Some("check") => {
            read_rates(call, "", faults)?;
            out.extend_from_slice(b"{}");
        }
        _ => return reject(call, "op", OPS, faults),
    }
    Some(())
}

fn opposite(call: Node<'_, '_>, faults: &mut Faults) -> Option<Decimal> {
    match read_decimal(call, "rate", Rate::parse, faults)?.opposite() {
        Some(rate) => Some(rate.value()),
        None => reject(call, "rate", OPPOSITE_IS_ZERO, faults),
    }
}

fn with_markup(call: Node<'_, '_>, faults: &mut Faults) -> Option<Decimal> {
    let rate = read_decimal(call, "rate", Rate::parse, faults);
    let markup = read_percentage(call, "markupPercentage", faults);
    let of_opposite = match present(call, "opposite") {
        Some(flag) => faults.boolean(flag),
        None => Some(false),
    };
    let rate = rate?;
    let rate = match of_opposite? {
        true if rate.opposite().is_none() => return reject(call, "rate", OPPOSITE_IS_ZERO, faults),
        true => rate.opposite_with_markup(markup?),
        false => rate.with_markup(markup?),
    };
    Some(rate.value())
}

fn converted(call: Node<'_, '_>, faults: &mut Faults) -> Option<Decimal> {
    const BOTH: Invalid = Invalid("must not be combined with currency");
    let amount = read_decimal(call, "amount", Amount::parse, faults);
    let rate = read_decimal(call, "rate", Value::parse, faults);
    let minor_unit = match (present(call, "currency"), present(call, "minorUnit")) {
        (Some(_), None) => read_currency(call, "currency", faults).map(|it| it.minor_unit()),
        (None, Some(digits)) => faults.integer(digits, MAX_MINOR_UNIT),
        (None, None) => {
            faults.add(call, "must have currency or minorUnit");
            None
        }
        (Some(_), Some(_)) => reject(call, "minorUnit", BOTH, faults),
    };
    match convert(amount?, rate?, minor_unit?) {
        Ok(amount) => Some(amount),
        Err(invalid) => reject(call, "amount", invalid, faults),
    }
}

fn cross(call: Node<'_, '_>, faults: &mut Faults) -> Option<Decimal> {
    let rate = read_decimal(call, "rate", Rate::parse, faults);
    let per = read_decimal(call, "per", Rate::parse, faults);
    match rate?.cross(per?) {
        Ok(rate) => Some(rate.value()),
        Err(invalid) => reject(call, "rate", invalid, faults),
    }
}

fn deviation(call: Node<'_, '_>, faults: &mut Faults) -> Option<Deviation> {
    let old = read_decimal(call, "old", Rate::parse, faults);
    let new = read_decimal(call, "new", Rate::parse, faults);
    let tolerance = read_percentage(call, "tolerancePercentage", faults);
    Some(Deviation::between(old?, new?, tolerance?))
}

fn write_changes(call: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    let before = read_distinct(call, "before", read_held_rate, |rate| rate.used.key, faults);
    let levels = read_levels(call, faults);
    let at = read_time(call, "at", faults);
    write_difference(&difference(&before?, &used_rates(&levels?), at?), out);
    Some(())
}
