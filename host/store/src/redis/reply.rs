//! Parses the replies of servers, except those to commits (`commit.rs`), into the types of the contract.
//!
//! Every function returns `None` for a reply that has an unexpected format.

use bytes::Bytes;
use redis::Value;

use super::super::contract::{Claimed, Entry, Job, Lease, Message, Position, Unavailable};
use super::super::portable::QueuedJob;
use super::keys::{decode_entry, position_of};
use crate::clock::Timestamp;

/// The error message for a reply that cannot be parsed.
pub(super) const UNEXPECTED: &str = "the server's reply has an unexpected format";

/// Returns the error for a reply that cannot be parsed.
pub(super) fn unexpected() -> Unavailable {
    Unavailable(UNEXPECTED.to_owned())
}

/// Parses entries; those that do not exist are nil.
pub(super) fn entries(reply: Value) -> Option<Vec<Option<Entry>>> {
    array(reply)?.into_iter().map(entry).collect()
}

/// Parses whether there are more, then alternating keys and entries.
pub(super) fn page(reply: Value) -> Option<(bool, Vec<(String, Entry)>)> {
    let mut values = array(reply)?.into_iter();
    let more = values.next()? == Value::Int(1);
    let mut entries = Vec::with_capacity(values.len() / 2);
    while let (Some(key), Some(value)) = (values.next(), values.next()) {
        if let Some(entry) = entry(value)? {
            entries.push((text(key)?, entry));
        }
    }
    Some((more, entries))
}

/// Parses the newest position, the newest that was trimmed, and messages.
pub(super) fn slice(reply: Value) -> Option<(Position, Position, Vec<Message>)> {
    let [last, trimmed, messages] = <[Value; 3]>::try_from(array(reply)?).ok()?;
    let messages = array(messages)?.into_iter().map(message);
    Some((
        bound(last)?,
        bound(trimmed)?,
        messages.collect::<Option<_>>()?,
    ))
}

pub(super) fn count(reply: Value) -> Option<usize> {
    match reply {
        Value::Int(count) => usize::try_from(count).ok(),
        _ => None,
    }
}

/// Parses how many messages were dropped, and whether there may be more.
pub(super) fn trimmed(reply: Value) -> Option<(usize, bool)> {
    match array(reply)?.as_slice() {
        [Value::Int(dropped), Value::Int(ended)] => {
            Some((usize::try_from(*dropped).ok()?, *ended == 0))
        }
        _ => None,
    }
}

/// Parses the claimed jobs; returns `Some(None)` when the deadline had passed.
pub(super) fn claimed(reply: Value) -> Option<Option<Claimed>> {
    let mut parts = array(reply)?.into_iter();
    if text(parts.next()?)? == "late" {
        return Some(None);
    }
    let next_due = text(parts.next()?)?;
    let next_due = if next_due.is_empty() {
        None
    } else {
        Some(score(&next_due)?)
    };
    let before = number(parts.next()?)?;
    let mut part = || array(parts.next()?);
    let (ids, attempts, bodies) = (part()?, part()?, part()?);
    if ids.len() != attempts.len() || ids.len() != bodies.len() {
        return None;
    }
    let jobs = (1..).zip(ids).zip(attempts.into_iter().zip(bodies));
    let jobs = jobs.map(|((nth, id), (attempt, body))| {
        Some(Job {
            id: text(id)?,
            lease: Lease(before.checked_add(nth)?),
            attempt: match attempt {
                Value::Int(attempt) => u32::try_from(attempt).unwrap_or(u32::MAX),
                _ => return None,
            },
            body: bytes(body)?,
        })
    });
    let jobs = jobs.collect::<Option<_>>()?;
    Some(Some(Claimed { jobs, next_due }))
}

/// Parses jobs of a queue, ordered by due time.
pub(super) fn queued_jobs(reply: Value) -> Option<Vec<QueuedJob>> {
    let jobs = array(reply)?.into_iter().map(|job| {
        let [id, due, attempt, body] = <[Value; 4]>::try_from(array(job)?).ok()?;
        Some(QueuedJob {
            id: text(id)?,
            due: score(&text(due)?)?,
            attempt: u32::try_from(number(attempt)?).unwrap_or(u32::MAX),
            body: bytes(body)?,
        })
    });
    jobs.collect()
}

pub(super) fn names(reply: Value) -> Option<Vec<String>> {
    array(reply)?.into_iter().map(text).collect()
}

fn entry(value: Value) -> Option<Option<Entry>> {
    match value {
        Value::Nil => Some(None),
        value => decode_entry(bytes(value)?).map(Some),
    }
}

/// Parses a stream entry: `time`, `body`, then attributes, each name prefixed with `a:`.
fn message(entry: Value) -> Option<Message> {
    let [id, fields] = <[Value; 2]>::try_from(array(entry)?).ok()?;
    let mut fields = array(fields)?.into_iter();
    let mut field = || Some((text(fields.next()?)?, fields.next()?));
    let (_, time) = field()?;
    let (_, body) = field()?;
    let mut attributes = Vec::new();
    while let Some((name, value)) = field() {
        attributes.push((name.strip_prefix("a:")?.to_owned(), text(value)?));
    }
    Some(Message {
        position: position_of(&text(id)?)?,
        publish_time: Timestamp(number(time)?),
        attributes,
        body: bytes(body)?,
    })
}

/// Parses a bound of a log; nil before the first message.
fn bound(id: Value) -> Option<Position> {
    match id {
        Value::Nil => Some(Position::default()),
        id => position_of(&text(id)?),
    }
}

/// Parses a score, a double: exact until the year 2255, and the greatest timestamp when it exceeds the range.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a score out of range saturates"
)]
fn score(text: &str) -> Option<Timestamp> {
    let score: f64 = text.parse().ok()?;
    Some(Timestamp(score as u64))
}

fn number(value: Value) -> Option<u64> {
    text(value)?.parse().ok()
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn bytes(value: Value) -> Option<Bytes> {
    match value {
        Value::BulkString(bytes) => Some(bytes.into()),
        _ => None,
    }
}

fn array(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}
