//! Request bodies, read strictly: every fault is named by its path, unknown members are ignored.
//!
//! What all systems read in the same way. What a body of a resource must have stands beside the resource.

use std::borrow::Cow;
use std::time::Duration;

use tillgate_engine::json::{Document, Faults, NO_CONTROLS, Node};
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::identity::{TENANT_RULE, TenantId};

/// What is wrong with a text that is no time.
pub(crate) const TIME_RULE: &str = "must be a time such as 2026-11-20T17:40:00Z";

/// The most digits of a duration, so that its sum stays far below what `humantime` 2.4 panics at: 2^64 seconds.
const MAX_DURATION_DIGITS: usize = 15;

/// Reads a body, an object. `read` answers `None` where it has noted a fault.
///
/// # Errors
/// [`Error::Invalid`] with every fault.
pub(crate) fn read<T>(
    body: &[u8],
    read: impl for<'d> FnOnce(Node<'d, 'd>, &mut Faults) -> Option<T>,
) -> Result<T> {
    let document = Document::parse(body)?;
    let mut faults = Faults::default();
    let root = faults.object(document.root());
    let value = root.and_then(|root| read(root, &mut faults));
    faults.none_or_error()?;
    value.ok_or_else(|| Error::Bug("a body was refused without a fault".to_owned()))
}

/// What was found; without it, the rule is noted as a fault of the node.
pub(crate) fn or_fault<T>(
    faults: &mut Faults,
    node: Node<'_, '_>,
    found: Option<T>,
    rule: &'static str,
) -> Option<T> {
    if found.is_none() {
        faults.add(node, rule);
    }
    found
}

/// A required member: `None` if it is missing or has a fault.
pub(crate) fn required<'d, 'a, T>(
    object: Node<'d, 'a>,
    member: &str,
    faults: &mut Faults,
    read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
) -> Option<T> {
    let node = faults.required(object, member)?;
    read(node, faults)
}

/// An optional member: `Some(None)` if it is missing or null, `None` if it has a fault.
pub(crate) fn optional<'d, 'a, T>(
    object: Node<'d, 'a>,
    member: &str,
    faults: &mut Faults,
    read: impl FnOnce(Node<'d, 'a>, &mut Faults) -> Option<T>,
) -> Option<Option<T>> {
    match object.member(member).filter(|node| !node.is_null()) {
        Some(node) => read(node, faults).map(Some),
        None => Some(None),
    }
}

/// A string for which something holds.
pub(crate) fn text_that(
    node: Node<'_, '_>,
    faults: &mut Faults,
    holds: impl FnOnce(&str) -> bool,
    rule: &'static str,
) -> Option<String> {
    let text = node.text().filter(|text| holds(text));
    or_fault(
        faults,
        node,
        text.map(|text| text.clone().into_owned()),
        rule,
    )
}

/// A string.
pub(crate) fn text(node: Node<'_, '_>, faults: &mut Faults) -> Option<String> {
    text_that(node, faults, |_| true, "must be a string")
}

/// What people call something: a string of 1 to `max` characters, none of them a control character.
pub(crate) fn name(node: Node<'_, '_>, faults: &mut Faults, max: usize) -> Option<String> {
    let name = faults.name(node, max)?;
    let found = Some(name).filter(|name| !name.contains(char::is_control));
    or_fault(faults, node, found.map(Cow::into_owned), NO_CONTROLS)
}

/// A string that means something else.
pub(crate) fn parsed<T>(
    node: Node<'_, '_>,
    faults: &mut Faults,
    parse: impl FnOnce(&str) -> Option<T>,
    rule: &'static str,
) -> Option<T> {
    let found = node.text().and_then(|text| parse(text));
    or_fault(faults, node, found, rule)
}

/// The id of a tenant.
pub(crate) fn tenant(node: Node<'_, '_>, faults: &mut Faults) -> Option<TenantId> {
    parsed(node, faults, TenantId::new, TENANT_RULE)
}

/// A UUID.
pub(crate) fn uuid(node: Node<'_, '_>, faults: &mut Faults) -> Option<Uuid> {
    parsed(
        node,
        faults,
        |text| Uuid::try_parse(text).ok(),
        "must be a UUID",
    )
}

/// A time.
pub(crate) fn time(node: Node<'_, '_>, faults: &mut Faults) -> Option<Timestamp> {
    parsed(node, faults, parse_time, TIME_RULE)
}

/// The time that a text in the format of RFC 3339 names; none before the epoch.
pub(crate) fn parse_time(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.parse().ok()?;
    let micros = u64::try_from(at.as_microsecond()).ok()?;
    Some(Timestamp(micros))
}

/// The duration that a text such as `0s`, `24h` or `2 days` is.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let text = (digits <= MAX_DURATION_DIGITS).then_some(text)?;
    humantime::parse_duration(text).ok()
}
