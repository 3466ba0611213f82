//! Values that bodies of several resources have.

use std::borrow::Cow;
use std::time::Duration;

use schemars::json_schema;
use tillgate_engine::json::NO_CONTROLS;
use uuid::Uuid;

use crate::schema;
use crate::value::{Value, or_fault};

/// The fault of a text that is not a time.
pub const TIME_RULE: &str = "must be a time such as 2026-11-20T17:40:00Z";

/// The most digits of a duration, so that its sum stays far below what `humantime` 2.4 panics at: 2^64 seconds.
const MAX_DURATION_DIGITS: usize = 15;

/// Reads a string.
pub fn text(value: Value<'_, '_, '_>) -> Option<String> {
    value.text_that(schema::text, |_| true, "must be a string")
}

/// Reads a name for people: a string of 1 to `max` characters, none of them a control character.
pub fn title(value: Value<'_, '_, '_>, max: usize) -> Option<String> {
    value.of(
        |_| schema::title(max),
        |node, faults| {
            let name = faults.name(node, max)?;
            let found = Some(name).filter(|name| !name.contains(char::is_control));
            or_fault(faults, node, found, NO_CONTROLS).map(Cow::into_owned)
        },
    )
}

/// Reads a UUID.
pub fn uuid(value: Value<'_, '_, '_>) -> Option<Uuid> {
    let parse = |text: &str| Uuid::try_parse(text).ok();
    value.parsed(schema::uuid, parse, "must be a UUID")
}

/// Reads a boolean.
pub fn boolean(value: Value<'_, '_, '_>) -> Option<bool> {
    value.of(
        |_| json_schema!({ "type": "boolean" }),
        |node, faults| faults.boolean(node),
    )
}

/// Reads a time, in microseconds since the epoch.
pub fn time(value: Value<'_, '_, '_>) -> Option<u64> {
    value.parsed(schema::time, parse_time, TIME_RULE)
}

/// Parses a time in the format of RFC 3339, in microseconds since the epoch; `None` before it.
pub fn parse_time(text: &str) -> Option<u64> {
    let at: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(at.as_microsecond()).ok()
}

/// Parses a duration such as `0s`, `24h` or `2 days`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let text = (digits <= MAX_DURATION_DIGITS).then_some(text)?;
    humantime::parse_duration(text).ok()
}
