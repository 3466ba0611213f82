//! What the scripts that read answer, as the store's own types.
//!
//! Every function answers `None` for what none of our scripts says.

use bytes::Bytes;
use redis::Value;

use super::super::copy::Waiting;
use super::super::{Claimed, Entry, Job, Lease, Message, Position};
use super::layout::{self, position_of};
use crate::clock::Timestamp;

/// Entries, nil for what is not there.
pub(super) fn entries(answer: Value) -> Option<Vec<Option<Entry>>> {
    array(answer)?.into_iter().map(entry).collect()
}

/// Whether there are more; then key and entry by turns.
pub(super) fn page(answer: Value) -> Option<(bool, Vec<(String, Entry)>)> {
    let mut values = array(answer)?.into_iter();
    let more = values.next()? == Value::Int(1);
    let mut entries = Vec::with_capacity(values.len() / 2);
    while let (Some(key), Some(value)) = (values.next(), values.next()) {
        if let Some(entry) = entry(value)? {
            entries.push((text(key)?, entry));
        }
    }
    Some((more, entries))
}

/// The newest position, the newest that was trimmed, and messages.
pub(super) fn slice(answer: Value) -> Option<(Position, Position, Vec<Message>)> {
    let [last, trimmed, messages] = <[Value; 3]>::try_from(array(answer)?).ok()?;
    let messages = array(messages)?.into_iter().map(message);
    Some((end(last)?, end(trimmed)?, messages.collect::<Option<_>>()?))
}

/// How many messages went, and whether there may be more.
pub(super) fn trimmed(answer: Value) -> Option<(usize, bool)> {
    match array(answer)?.as_slice() {
        [Value::Int(gone), Value::Int(ended)] => Some((usize::try_from(*gone).ok()?, *ended == 0)),
        _ => None,
    }
}

/// What was claimed; `None` inside when the claim came too late.
pub(super) fn claimed(answer: Value) -> Option<Option<Claimed>> {
    let mut parts = array(answer)?.into_iter();
    if text(parts.next()?)? == "late" {
        return Some(None);
    }
    let next_due = text(parts.next()?)?;
    let next_due = if next_due.is_empty() {
        None
    } else {
        Some(score(&next_due)?)
    };
    let jobs = array(parts.next()?)?.into_iter().map(job);
    let jobs = jobs.collect::<Option<_>>()?;
    Some(Some(Claimed { jobs, next_due }))
}

/// Jobs of a queue, by when they are due.
pub(super) fn waiting(answer: Value) -> Option<Vec<Waiting>> {
    let jobs = array(answer)?.into_iter().map(|job| {
        let [id, due, attempt, body] = <[Value; 4]>::try_from(array(job)?).ok()?;
        Some(Waiting {
            id: text(id)?,
            due: score(&text(due)?)?,
            attempt: u32::try_from(number(attempt)?).unwrap_or(u32::MAX),
            body: bytes(body)?,
        })
    });
    jobs.collect()
}

/// Names.
pub(super) fn names(answer: Value) -> Option<Vec<String>> {
    array(answer)?.into_iter().map(text).collect()
}

fn entry(value: Value) -> Option<Option<Entry>> {
    match value {
        Value::Nil => Some(None),
        value => layout::entry(bytes(value)?).map(Some),
    }
}

/// A stream's entry: `time`, `body`, then attributes, each name after `a:`.
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

fn job(claimed: Value) -> Option<Job> {
    let [id, lease, attempt, body] = <[Value; 4]>::try_from(array(claimed)?).ok()?;
    Some(Job {
        id: text(id)?,
        lease: Lease(number(lease)?),
        attempt: u32::try_from(number(attempt)?).unwrap_or(u32::MAX),
        body: bytes(body)?,
    })
}

/// An end of a log; nil before the first message.
fn end(id: Value) -> Option<Position> {
    match id {
        Value::Nil => Some(Position::default()),
        id => position_of(&text(id)?),
    }
}

/// A score is a double: exact until the year 2255, and the end of time is what is not less than that.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what does not fit is the end of time"
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
