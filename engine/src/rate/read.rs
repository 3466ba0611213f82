//! Reading the rates of a request and naming what is wrong with them; [`super::text`] says what they look like.
//!
//! Each function reads a member of an object, or an object, and answers nothing when it noted a fault. One that has to
//! read several members reads them all before it gives up, so that every fault is named.

use super::{
    Currency, HeldRate, Level, Pair, Rate, RateKey, RateType, Refused, SetRate, UsedRate, Value,
    Why, Wrong, in_order,
};
use crate::json::{Faults, Node};

/// The most characters of a business unit's id, or of who set a rate.
const MAX_NAME: usize = 256;

const NO_STRING: Wrong = Wrong("must be a string");
const NO_DECIMAL: Wrong = Wrong("must be a decimal in a string");

/// A level, with the id of its business unit.
pub(super) fn level<'d>(node: Node<'d, 'd>, faults: &mut Faults) -> Option<Level<'d>> {
    let id = name(node, "businessUnitId", faults);
    let level = level_of(id.unwrap_or_default(), node, faults);
    id.and(level)
}

/// The level of the rates in an object's member `rates`.
#[inline(never)]
pub(super) fn level_of<'d>(
    id: &'d str,
    object: Node<'d, 'd>,
    faults: &mut Faults,
) -> Option<Level<'d>> {
    let list = list(object, "rates", faults)?;
    let (nodes, rates) = objects(list, set_rate, faults);
    let refused = match Level::new(id, &rates) {
        Ok(level) => return Some(level),
        Err(refused) => refused,
    };
    // A rate that could not be read may be the opposite that another one lacks.
    let are_all_read = list.children().count() == nodes.len();
    for Refused { place, why } in refused {
        let Some(node) = nodes.get(place).copied() else {
            continue;
        };
        match why {
            Why::SetTwice => faults.add(node, why.wrong().as_str()),
            Why::OppositeVanishes if are_all_read => note(node, "rateValue", why.wrong(), faults),
            Why::OppositeVanishes => {}
        }
    }
    None
}

/// The rates of a list in which each key is there once.
pub(super) fn distinct<'d, R>(
    object: Node<'d, 'd>,
    member: &str,
    read: fn(Node<'d, 'd>, &mut Faults) -> Option<R>,
    key: fn(&R) -> RateKey,
    faults: &mut Faults,
) -> Option<Vec<R>> {
    let (nodes, rates) = objects(list(object, member, faults)?, read, faults);
    note_repeats(&nodes, &|place| rates.get(place).map(key), faults);
    Some(rates)
}

fn note_repeats(
    nodes: &[Node<'_, '_>],
    key_at: &dyn Fn(usize) -> Option<RateKey>,
    faults: &mut Faults,
) {
    let mut is_repeat = vec![false; nodes.len()];
    let mut previous = None;
    for (key, place) in in_order(nodes.len(), key_at) {
        if previous.replace(key) == Some(key)
            && let Some(flag) = is_repeat.get_mut(place)
        {
            *flag = true;
        }
    }
    for (node, _) in nodes
        .iter()
        .zip(is_repeat)
        .filter(|(_, is_repeat)| *is_repeat)
    {
        faults.add(*node, "is there twice");
    }
}

fn set_rate<'d>(node: Node<'d, 'd>, faults: &mut Faults) -> Option<SetRate<'d>> {
    let key = key(node, faults);
    let rate = decimal(node, "rateValue", Rate::parse, faults);
    let created_by = optional(node, "createdBy", name, faults);
    Some(SetRate {
        key: key?,
        rate: rate?,
        created_by: created_by?,
    })
}

pub(super) fn used_rate<'d>(node: Node<'d, 'd>, faults: &mut Faults) -> Option<UsedRate<'d>> {
    let set = set_rate(node, faults);
    let value_with_markup = decimal(node, "rateValueWithMarkup", Value::parse, faults);
    let set_at = name(node, "setAt", faults);
    let SetRate {
        key,
        rate: value,
        created_by,
    } = set?;
    let (value_with_markup, set_at) = (value_with_markup?, set_at?);
    Some(UsedRate {
        key,
        value,
        value_with_markup,
        created_by,
        set_at,
    })
}

pub(super) fn held_rate<'d>(node: Node<'d, 'd>, faults: &mut Faults) -> Option<HeldRate<'d>> {
    let used = used_rate(node, faults);
    let created_date = time(node, "createdDate", faults);
    let last_modified = optional(node, "lastModified", time, faults);
    let (used, created_date) = (used?, created_date?);
    Some(HeldRate {
        used,
        created_date,
        last_modified: last_modified?,
    })
}

fn key(node: Node<'_, '_>, faults: &mut Faults) -> Option<RateKey> {
    let rate_type = parsed(node, "exchangeRateType", NO_STRING, RateType::parse, faults);
    let from = currency(node, "currencyIdFrom", faults);
    let to = currency(node, "currencyIdTo", faults);
    match Pair::new(from?, to?) {
        Ok(pair) => Some(RateKey {
            rate_type: rate_type?,
            pair,
        }),
        Err(wrong) => refuse(node, "currencyIdTo", wrong, faults),
    }
}

#[inline(never)]
pub(super) fn currency(
    object: Node<'_, '_>,
    member: &str,
    faults: &mut Faults,
) -> Option<Currency> {
    parsed(object, member, NO_STRING, Currency::parse, faults)
}

#[inline(never)]
pub(super) fn decimal<T>(
    object: Node<'_, '_>,
    member: &str,
    parse: fn(&str) -> Result<T, Wrong>,
    faults: &mut Faults,
) -> Option<T> {
    parsed(object, member, NO_DECIMAL, parse, faults)
}

/// A required member, read from its text; `not_text` is what is wrong with one that is no string.
fn parsed<T>(
    object: Node<'_, '_>,
    member: &str,
    not_text: Wrong,
    parse: fn(&str) -> Result<T, Wrong>,
    faults: &mut Faults,
) -> Option<T> {
    match parse(text(object, member, not_text, faults)?) {
        Ok(value) => Some(value),
        Err(wrong) => refuse(object, member, wrong, faults),
    }
}

#[inline(never)]
fn text<'d>(
    object: Node<'d, '_>,
    member: &str,
    not_text: Wrong,
    faults: &mut Faults,
) -> Option<&'d str> {
    match faults.required(object, member)?.text() {
        Some(text) => Some(text),
        None => refuse(object, member, not_text, faults),
    }
}

#[inline(never)]
fn name<'d>(object: Node<'d, 'd>, member: &str, faults: &mut Faults) -> Option<&'d str> {
    let node = faults.required(object, member)?;
    faults.name(node, MAX_NAME)?;
    node.text().map(AsRef::as_ref)
}

#[inline(never)]
pub(super) fn time<'d>(object: Node<'d, 'd>, member: &str, faults: &mut Faults) -> Option<&'d str> {
    const NO_TIME: Wrong = Wrong("must be a time such as 2026-11-20T17:40:00.000Z");
    let time = text(object, member, NO_TIME, faults)?;
    if is_time(time) {
        Some(time)
    } else {
        refuse(object, member, NO_TIME, faults)
    }
}

/// Whether it has the form of a time; that its month has that day is for the clock that made it.
fn is_time(text: &str) -> bool {
    const FORM: &[u8; 24] = b"0000-00-00T00:00:00.000Z";
    let has_form = text.len() == FORM.len()
        && text.bytes().zip(FORM).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            sign => byte == *sign,
        });
    let is_within = |start, least, greatest| {
        text.get(start..start + 2)
            .is_some_and(|part| (least..=greatest).contains(&part))
    };
    has_form
        && is_within(5, "01", "12")
        && is_within(8, "01", "31")
        && is_within(11, "00", "23")
        && is_within(14, "00", "59")
        && is_within(17, "00", "59")
}

/// A member that may be missing or `null`: what was read of it, or that there is none.
pub(super) fn optional<'d, T>(
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

/// A member that is neither missing nor `null`.
#[inline(never)]
pub(super) fn present<'d>(object: Node<'d, 'd>, member: &str) -> Option<Node<'d, 'd>> {
    object.member(member).filter(|node| !node.is_null())
}

pub(super) fn list<'d>(
    object: Node<'d, 'd>,
    member: &str,
    faults: &mut Faults,
) -> Option<Node<'d, 'd>> {
    let list = faults.required(object, member)?;
    faults.array(list)
}

/// What was read of the objects in a list, and which they are; whatever cannot be read is left out.
pub(super) fn objects<'d, R>(
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

/// Notes what is wrong with a member, of which nothing was read then.
pub(super) fn refuse<T>(
    object: Node<'_, '_>,
    member: &str,
    wrong: Wrong,
    faults: &mut Faults,
) -> Option<T> {
    note(object, member, wrong, faults);
    None
}

#[cold]
#[inline(never)]
fn note(object: Node<'_, '_>, member: &str, wrong: Wrong, faults: &mut Faults) {
    faults.add(object.member(member).unwrap_or(object), wrong.as_str());
}
