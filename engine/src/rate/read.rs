//! Reads the rates of a request, in the shapes of [`super::text`], and collects their faults.
//!
//! Each function reads an object or one of its members, and returns `None` if a fault leaves it without a value. A
//! function that reads several members reads all of them before it returns, so that every fault is found.

use super::{
    Currency, HeldRate, Invalid, Level, Markups, Pair, PairMarkup, Percentage, Rate, RateKey,
    RateType, SetRate, SetRateError, SetRateErrorKind, UsedRate, Value, sorted_keys,
};
use crate::json::{Faults, Node};

/// The maximum length of a business unit's id, or of the name of a rate's author, in characters.
const MAX_NAME: usize = 256;

const NOT_A_STRING: Invalid = Invalid("must be a string");
const NOT_A_DECIMAL: Invalid = Invalid("must be a decimal in a string");

pub(super) fn read_levels<'d>(call: Node<'d, 'd>, faults: &mut Faults) -> Option<Vec<Level<'d>>> {
    let list = read_list(call, "levels", faults)?;
    Some(read_objects(list, read_level, faults).1)
}

fn read_level<'d>(node: Node<'d, 'd>, faults: &mut Faults) -> Option<Level<'d>> {
    faults.refuse_unknown(
        node,
        &["businessUnitId", "rates", "markupPercentage", "markups"],
    );
    let id = read_name(node, "businessUnitId", faults);
    let level = read_rates(node, id.unwrap_or_default(), faults);
    let general = read_optional(node, "markupPercentage", read_percentage, faults);
    let pairs = read_optional(node, "markups", read_pair_markups, faults);
    id?;
    Some(level?.with_markups(Markups {
        general: general?,
        pairs: pairs?.unwrap_or_default(),
    }))
}

fn read_pair_markups<'d>(
    level: Node<'d, 'd>,
    member: &str,
    faults: &mut Faults,
) -> Option<Vec<PairMarkup>> {
    let pair = |markup: &PairMarkup| markup.key.unordered();
    read_distinct(level, member, read_pair_markup, pair, faults)
}

fn read_pair_markup(node: Node<'_, '_>, faults: &mut Faults) -> Option<PairMarkup> {
    faults.refuse_unknown(
        node,
        &[
            "exchangeRateType",
            "currencyIdFrom",
            "currencyIdTo",
            "markupPercentage",
        ],
    );
    let key = read_key(node, faults);
    let markup = read_percentage(node, "markupPercentage", faults);
    Some(PairMarkup {
        key: key?,
        markup: markup?,
    })
}

pub(super) fn read_percentage(
    object: Node<'_, '_>,
    member: &str,
    faults: &mut Faults,
) -> Option<Percentage> {
    read_decimal(object, member, Percentage::parse, faults)
}

/// Reads the member `rates` of an object as the level of a business unit.
#[inline(never)]
pub(super) fn read_rates<'d>(
    object: Node<'d, 'd>,
    business_unit_id: &'d str,
    faults: &mut Faults,
) -> Option<Level<'d>> {
    let list = read_list(object, "rates", faults)?;
    let (nodes, rates) = read_objects(list, read_set_rate, faults);
    let errors = match Level::new(business_unit_id, &rates) {
        Ok(level) => return Some(level),
        Err(errors) => errors,
    };
    // A rate that could not be read may be the opposite that another rate lacks.
    let are_all_read = list.children().count() == nodes.len();
    for SetRateError { index, kind } in errors {
        let Some(node) = nodes.get(index).copied() else {
            continue;
        };
        match kind {
            SetRateErrorKind::Duplicate => faults.add(node, kind.message().as_str()),
            SetRateErrorKind::OppositeIsZero if are_all_read => {
                add_fault(node, "rateValue", kind.message(), faults);
            }
            SetRateErrorKind::OppositeIsZero => {}
        }
    }
    None
}

/// Reads a list of rates; a repeated key is a fault.
pub(super) fn read_distinct<'d, R>(
    object: Node<'d, 'd>,
    member: &str,
    read: fn(Node<'d, 'd>, &mut Faults) -> Option<R>,
    key: fn(&R) -> RateKey,
    faults: &mut Faults,
) -> Option<Vec<R>> {
    let (nodes, rates) = read_objects(read_list(object, member, faults)?, read, faults);
    reject_duplicates(&nodes, &|index| rates.get(index).map(key), faults);
    Some(rates)
}

fn reject_duplicates(
    nodes: &[Node<'_, '_>],
    key_at: &dyn Fn(usize) -> Option<RateKey>,
    faults: &mut Faults,
) {
    let mut is_duplicate = vec![false; nodes.len()];
    let mut previous = None;
    for (key, index) in sorted_keys(nodes.len(), key_at) {
        if previous.replace(key) == Some(key)
            && let Some(flag) = is_duplicate.get_mut(index)
        {
            *flag = true;
        }
    }
    for (node, is_duplicate) in nodes.iter().zip(is_duplicate) {
        if is_duplicate {
            faults.add(*node, "is a duplicate");
        }
    }
}

fn read_set_rate<'d>(node: Node<'d, 'd>, faults: &mut Faults) -> Option<SetRate<'d>> {
    let key = read_key(node, faults);
    let rate = read_decimal(node, "rateValue", Rate::parse, faults);
    let created_by = read_optional(node, "createdBy", read_name, faults);
    Some(SetRate {
        key: key?,
        rate: rate?,
        created_by: created_by?,
        as_of: as_of(node),
    })
}

/// Returns the day of the reference that a set or used rate was taken from. It has no part in the math.
fn as_of<'d>(node: Node<'d, 'd>) -> Option<&'d str> {
    let of_set = || node.member("reference")?.member("date");
    let day = node.member("asOf").or_else(of_set)?;
    day.text().map(AsRef::as_ref)
}

pub(super) fn read_held_rate<'d>(node: Node<'d, 'd>, faults: &mut Faults) -> Option<HeldRate<'d>> {
    let set = read_set_rate(node, faults);
    let value_with_markup = read_decimal(node, "rateValueWithMarkup", Value::parse, faults);
    let set_at = read_name(node, "setAt", faults);
    let created_date = read_time(node, "createdDate", faults);
    let last_modified = read_optional(node, "lastModified", read_time, faults);
    let set = set?;
    let used = UsedRate {
        key: set.key,
        value: set.rate,
        value_with_markup: value_with_markup?,
        created_by: set.created_by,
        set_at: set_at?,
        as_of: set.as_of,
    };
    Some(HeldRate {
        used,
        created_date: created_date?,
        last_modified: last_modified?,
    })
}

fn read_key(node: Node<'_, '_>, faults: &mut Faults) -> Option<RateKey> {
    let rate_type = read_parsed(
        node,
        "exchangeRateType",
        NOT_A_STRING,
        RateType::parse,
        faults,
    );
    let from = read_currency(node, "currencyIdFrom", faults);
    let to = read_currency(node, "currencyIdTo", faults);
    match Pair::new(from?, to?) {
        Ok(pair) => Some(RateKey {
            rate_type: rate_type?,
            pair,
        }),
        Err(invalid) => reject(node, "currencyIdTo", invalid, faults),
    }
}

#[inline(never)]
pub(super) fn read_currency(
    object: Node<'_, '_>,
    member: &str,
    faults: &mut Faults,
) -> Option<Currency> {
    read_parsed(object, member, NOT_A_STRING, Currency::parse, faults)
}

#[inline(never)]
pub(super) fn read_decimal<T>(
    object: Node<'_, '_>,
    member: &str,
    parse: fn(&str) -> Result<T, Invalid>,
    faults: &mut Faults,
) -> Option<T> {
    read_parsed(object, member, NOT_A_DECIMAL, parse, faults)
}

/// Reads and parses a required string member; `not_a_string` is the fault of any other type.
fn read_parsed<T>(
    object: Node<'_, '_>,
    member: &str,
    not_a_string: Invalid,
    parse: fn(&str) -> Result<T, Invalid>,
    faults: &mut Faults,
) -> Option<T> {
    match parse(read_text(object, member, not_a_string, faults)?) {
        Ok(value) => Some(value),
        Err(invalid) => reject(object, member, invalid, faults),
    }
}

#[inline(never)]
fn read_text<'d>(
    object: Node<'d, '_>,
    member: &str,
    not_a_string: Invalid,
    faults: &mut Faults,
) -> Option<&'d str> {
    match faults.required(object, member)?.text() {
        Some(text) => Some(text),
        None => reject(object, member, not_a_string, faults),
    }
}

#[inline(never)]
fn read_name<'d>(object: Node<'d, 'd>, member: &str, faults: &mut Faults) -> Option<&'d str> {
    let node = faults.required(object, member)?;
    faults.name(node, MAX_NAME)?;
    node.text().map(AsRef::as_ref)
}

#[inline(never)]
pub(super) fn read_time<'d>(
    object: Node<'d, 'd>,
    member: &str,
    faults: &mut Faults,
) -> Option<&'d str> {
    const NOT_A_TIME: Invalid = Invalid("must be a time such as 2026-11-20T17:40:00.000Z");
    let time = read_text(object, member, NOT_A_TIME, faults)?;
    if is_time(time) {
        Some(time)
    } else {
        reject(object, member, NOT_A_TIME, faults)
    }
}

/// Returns whether the text has the form of a time. The day is not checked against the month: a clock made the time.
fn is_time(text: &str) -> bool {
    const FORMAT: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    let has_format = text.len() == FORMAT.len()
        && text.bytes().zip(FORMAT).all(|(byte, format)| match format {
            b'0' => byte.is_ascii_digit(),
            separator => byte == *separator,
        });
    let is_within = |start, min, max| {
        text.get(start..start + 2)
            .is_some_and(|part| (min..=max).contains(&part))
    };
    has_format
        && is_within(5, "01", "12")
        && is_within(8, "01", "31")
        && is_within(11, "00", "23")
        && is_within(14, "00", "59")
        && is_within(17, "00", "59")
}

/// Reads an optional member; returns `Some(None)` if it is missing or `null`.
pub(super) fn read_optional<'d, T>(
    object: Node<'d, 'd>,
    member: &str,
    read: fn(Node<'d, 'd>, &str, &mut Faults) -> Option<T>,
    faults: &mut Faults,
) -> Option<Option<T>> {
    match present(object, member) {
        Some(_) => read(object, member, faults).map(Some),
        None => Some(None),
    }
}

/// Returns the member unless it is missing or `null`.
#[inline(never)]
pub(super) fn present<'d>(object: Node<'d, 'd>, member: &str) -> Option<Node<'d, 'd>> {
    object.member(member).filter(|node| !node.is_null())
}

pub(super) fn read_list<'d>(
    object: Node<'d, 'd>,
    member: &str,
    faults: &mut Faults,
) -> Option<Node<'d, 'd>> {
    let list = faults.required(object, member)?;
    faults.array(list)
}

/// Reads the objects in a list, and returns their nodes and values; an object that cannot be read is in neither.
pub(super) fn read_objects<'d, R>(
    list: Node<'d, 'd>,
    read: fn(Node<'d, 'd>, &mut Faults) -> Option<R>,
    faults: &mut Faults,
) -> (Vec<Node<'d, 'd>>, Vec<R>) {
    let (mut nodes, mut objects) = (Vec::new(), Vec::new());
    for node in list.children() {
        if let Some(object) = faults.object(node).and_then(|object| read(object, faults)) {
            nodes.push(node);
            objects.push(object);
        }
    }
    (nodes, objects)
}

/// Adds a fault of a member, and returns `None` as the member's value.
pub(super) fn reject<T>(
    object: Node<'_, '_>,
    member: &str,
    invalid: Invalid,
    faults: &mut Faults,
) -> Option<T> {
    add_fault(object, member, invalid, faults);
    None
}

#[cold]
#[inline(never)]
fn add_fault(object: Node<'_, '_>, member: &str, invalid: Invalid, faults: &mut Faults) {
    faults.add(object.member(member).unwrap_or(object), invalid.as_str());
}
