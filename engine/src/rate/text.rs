//! The rate math from text to text, many calls at a time: what the faces of the module carry.
//!
//! `{ "calls": [ … ] }`, 1 to 10,000 of them, is answered `{ "answers": [ … ] }`, one each in their order; or, when
//! anything is wrong with any call, an error that names every fault by its path (`$.calls[3].rate`) and no answers.
//! Numbers are decimal text both ways. An optional member may be `null`; members that are not named here are ignored.
//!
//! | `op` | members | answer |
//! |---|---|---|
//! | `opposite` | `rate` | `{ rate }`: 1 ÷ rate; a rate whose opposite is 0.000000 is a fault |
//! | `markup` | `rate`, `markupPercentage`, `opposite?` | `{ rate }`: with the markup taken off; with `opposite: true` taken off the unrounded opposite |
//! | `convert` | `amount`, `rate`, `currency` or `minorUnit` | `{ amount }`: amount × rate, with the decimals of that currency or 0 to 6; `rate` may be one with markup, 0 too |
//! | `used` | `levels`, `markupPercentage?` | `{ rates }`: [used rates](super::UsedRate) |
//! | `difference` | `before`, `after`, `at` | `{ createdRates, updatedRates, deletedRates, rates }`: [held rates](super::HeldRate) |
//! | `check` | `rates` | `{}` when they can all be set together at one business unit |
//!
//! A level is `{ businessUnitId, rates }`, the shop's own first. A rate that is set is
//! `{ exchangeRateType, currencyIdFrom, currencyIdTo, rateValue, createdBy? }`, a used one has `rateValueWithMarkup` and
//! `setAt` as well, a held one `createdDate` and `lastModified?` too. Currencies have one name throughout, so that what
//! `used` answers is an `after`, and the `rates` that `difference` answers are the next `before`; the host gives them
//! the names of a message. Times are RFC 3339 in UTC with milliseconds (`2026-11-20T17:40:00.000Z`).

use super::number::MAX_MINOR_UNIT;
use super::read::{
    currency, decimal, distinct, held_rate, level, level_of, list, objects, optional, present,
    refuse, time, used_rate,
};
use super::write::{write_difference, write_number, write_used};
use super::{Amount, Percentage, Rate, Value, Wrong, convert, difference, used_rates};
use crate::error::Error;
use crate::json::{Document, Faults, Node};

/// The most calls in a request.
const MAX_CALLS: usize = 10_000;

const VANISHES: Wrong = Wrong("has an opposite that rounds to 0.000000");

/// Appends the answers to the calls of a request, as JSON text; nothing when there is an error.
///
/// # Errors
/// [`Code::Invalid`](crate::error::Code::Invalid) with every fault of every call.
pub fn answer(request: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let document = Document::parse(request)?;
    let start = out.len();
    let mut faults = Faults::default();
    answers(document.root(), out, &mut faults);
    let result = faults.none_or_error();
    if result.is_err() {
        out.truncate(start);
    }
    result
}

/// Appends the answers; not all of them, and `None` perhaps, when there are faults.
fn answers(request: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    let request = faults.object(request)?;
    let calls = list(request, "calls", faults)?;
    let count = calls.children().take(MAX_CALLS + 1).count();
    if count == 0 || count > MAX_CALLS {
        faults.add(calls, "must hold 1 to 10,000 calls");
        return None;
    }
    out.extend_from_slice(b"{\"answers\":[");
    for call in calls.children() {
        if !out.ends_with(b"[") {
            out.push(b',');
        }
        answer_to(call, out, faults);
    }
    out.extend_from_slice(b"]}");
    Some(())
}

/// Appends the answer to a call; `None` when there is a fault.
fn answer_to(call: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    const OPS: Wrong = Wrong("must be opposite, markup, convert, used, difference or check");
    let call = faults.object(call)?;
    match faults.required(call, "op")?.text().map(AsRef::as_ref) {
        Some("opposite") => opposite(call, out, faults),
        Some("markup") => with_markup(call, out, faults),
        Some("convert") => converted(call, out, faults),
        Some("used") => used(call, out, faults),
        Some("difference") => differing(call, out, faults),
        Some("check") => level_of("", call, faults).map(|_| out.extend_from_slice(b"{}")),
        _ => refuse(call, "op", OPS, faults),
    }
}

fn opposite(call: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    match decimal(call, "rate", Rate::parse, faults)?.opposite() {
        Some(rate) => write_number("rate", rate.value(), out),
        None => return refuse(call, "rate", VANISHES, faults),
    }
    Some(())
}

fn with_markup(call: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    let rate = decimal(call, "rate", Rate::parse, faults);
    let markup = markup(call, "markupPercentage", faults);
    let is_of_opposite = match present(call, "opposite") {
        Some(flag) => faults.boolean(flag),
        None => Some(false),
    };
    let rate = rate?;
    let rate = match is_of_opposite? {
        true if rate.opposite().is_none() => return refuse(call, "rate", VANISHES, faults),
        true => rate.opposite_with_markup(markup?),
        false => rate.with_markup(markup?),
    };
    write_number("rate", rate.value(), out);
    Some(())
}

fn converted(call: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    const BOTH: Wrong = Wrong("must not be there beside currency");
    let amount = decimal(call, "amount", Amount::parse, faults);
    let rate = decimal(call, "rate", Value::parse, faults);
    let minor_unit = match (present(call, "currency"), present(call, "minorUnit")) {
        (Some(_), None) => currency(call, "currency", faults).map(|it| it.minor_unit()),
        (None, Some(digits)) => faults.integer(digits, MAX_MINOR_UNIT),
        (None, None) => {
            faults.add(call, "must have currency or minorUnit");
            None
        }
        (Some(_), Some(_)) => refuse(call, "minorUnit", BOTH, faults),
    };
    match convert(amount?, rate?, minor_unit?) {
        Ok(amount) => write_number("amount", amount, out),
        Err(wrong) => return refuse(call, "amount", wrong, faults),
    }
    Some(())
}

fn used(call: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    let markup = optional(call, "markupPercentage", markup, faults);
    let (_, levels) = objects(list(call, "levels", faults)?, level, faults);
    write_used(&used_rates(&levels, markup?.unwrap_or_default()), out);
    Some(())
}

fn differing(call: Node<'_, '_>, out: &mut Vec<u8>, faults: &mut Faults) -> Option<()> {
    let before = distinct(call, "before", held_rate, |rate| rate.used.key, faults);
    let after = distinct(call, "after", used_rate, |rate| rate.key, faults);
    let at = time(call, "at", faults);
    write_difference(&difference(&before?, &after?, at?), out);
    Some(())
}

fn markup(call: Node<'_, '_>, member: &str, faults: &mut Faults) -> Option<Percentage> {
    decimal(call, member, Percentage::parse, faults)
}
