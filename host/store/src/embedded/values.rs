//! The values of the store, the same in memory, in the journal and in redb. Numbers are big-endian.

use bytes::{Buf, BufMut, Bytes};

use super::super::contract::{Message, Position};
use super::engine::malformed;
use crate::clock::Timestamp;

/// Encodes the outcome of a commit at the end of a row.
pub(super) fn write_outcome(row: &mut Vec<u8>, outcome: &Outcome) {
    row.put_u128(outcome.id);
    row.put_u64(outcome.at);
    row.put_u64(outcome.revision);
    // A commit has at most as many positions as operations.
    row.put_u32(u32::try_from(outcome.positions.len()).unwrap_or(u32::MAX));
    for position in &outcome.positions {
        row.put_u64(*position);
    }
}

/// What a commit did, as it is remembered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    pub(super) id: u128,
    pub(super) at: u64,
    pub(super) revision: u64,
    pub(super) positions: Vec<u64>,
}

/// The outcomes of a row.
pub(super) fn outcomes(mut row: &[u8]) -> impl Iterator<Item = Result<Outcome, redb::Error>> {
    let mut next = move || -> Result<_, bytes::TryGetError> {
        let (id, at) = (row.try_get_u128()?, row.try_get_u64()?);
        let (revision, count) = (row.try_get_u64()?, row.try_get_u32()?);
        let positions = (0..count).map(|_| row.try_get_u64());
        let positions = positions.collect::<Result<_, _>>()?;
        let outcome = Outcome {
            id,
            at,
            revision,
            positions,
        };
        Ok((outcome, row.is_empty()))
    };
    let mut ended = row.is_empty();
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let found = next().map_err(|_| malformed());
        ended = found.as_ref().map_or(true, |(_, last)| *last);
        Some(found.map(|(outcome, _)| outcome))
    })
}

/// A value that consists of numbers.
pub(super) fn numbers(numbers: &[u64]) -> Bytes {
    let mut value = Vec::with_capacity(8 * numbers.len());
    for number in numbers {
        value.put_u64(*number);
    }
    value.into()
}

/// The numbers at the start of a value.
pub(super) fn read_numbers<const N: usize>(value: &mut Bytes) -> Result<[u64; N], redb::Error> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = value.try_get_u64().map_err(|_| malformed())?;
    }
    Ok(numbers)
}

/// A value that begins with a number, as an entry does with its revision.
pub(super) fn numbered(number: u64, rest: &[u8]) -> Bytes {
    let mut value = Vec::with_capacity(8 + rest.len());
    value.put_u64(number);
    value.extend_from_slice(rest);
    value.into()
}

/// Where the messages of a log begin and end, as stored.
#[derive(Clone, Copy, Default)]
pub(super) struct LogBounds {
    /// The newest position ever appended.
    pub(super) last: u64,
    /// The newest position that was trimmed.
    pub(super) trimmed: u64,
    /// The position of the last message that was stored: `last`, except in a log that is being imported.
    pub(super) stored: u64,
}

impl LogBounds {
    pub(super) fn read(value: &mut Bytes) -> Result<Self, redb::Error> {
        let [last, trimmed, stored] = read_numbers(value)?;
        Ok(Self {
            last,
            trimmed,
            stored,
        })
    }

    pub(super) fn value(self) -> Bytes {
        numbers(&[self.last, self.trimmed, self.stored])
    }
}

/// Begins a row of messages that come after a position. With it, a row that is missing between two others is noticed.
pub(super) fn begin_messages(after: u64) -> Vec<u8> {
    after.to_be_bytes().to_vec()
}

/// The position that a row of messages begins after.
pub(super) fn messages_begin_after(row: &[u8]) -> Result<u64, redb::Error> {
    let position = row.first_chunk().ok_or_else(malformed)?;
    Ok(u64::from_be_bytes(*position))
}

/// Appends a message to a row.
pub(super) fn write_message(
    row: &mut Vec<u8>,
    position: u64,
    at: u64,
    attributes: &[(String, String)],
    body: &[u8],
) {
    let strings = || attributes.iter().flat_map(|(name, value)| [name, value]);
    let bytes: usize = strings().map(|string| 4 + string.len()).sum();
    let length = 8 + 4 + bytes + body.len();
    row.reserve(8 + 4 + length);
    row.put_u64(position);
    // A commit is far smaller than 4 GiB.
    row.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    row.put_u64(at);
    row.put_u32(u32::try_from(attributes.len()).unwrap_or(u32::MAX));
    for string in strings() {
        row.put_u32(u32::try_from(string.len()).unwrap_or(u32::MAX));
        row.extend_from_slice(string.as_bytes());
    }
    row.extend_from_slice(body);
}

/// The messages of a row after a position. No message may be missing between that position and the row.
pub(super) fn read_messages(mut row: Bytes, after: u64) -> Result<Vec<Message>, redb::Error> {
    let mut messages = Vec::new();
    if messages_begin_after(&row)? > after {
        return Err(malformed());
    }
    row.advance(8);
    while row.has_remaining() {
        let [position] = read_numbers(&mut row)?;
        let length = row.try_get_u32().map_err(|_| malformed())?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > row.len() {
            return Err(malformed());
        }
        let message = row.split_to(length);
        if position > after {
            messages.push(read_message(position, message)?);
        }
    }
    Ok(messages)
}

fn read_message(position: u64, mut value: Bytes) -> Result<Message, redb::Error> {
    let [at] = read_numbers(&mut value)?;
    let count = value.try_get_u32().map_err(|_| malformed())?;
    let mut attributes = Vec::new();
    for _ in 0..count {
        attributes.push((string(&mut value)?, string(&mut value)?));
    }
    Ok(Message {
        position: Position(position),
        publish_time: Timestamp(at),
        attributes,
        body: value,
    })
}

fn string(value: &mut Bytes) -> Result<String, redb::Error> {
    let length = value.try_get_u32().map_err(|_| malformed())?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let string = text(value.get(..length))?;
    value.advance(length);
    Ok(string)
}

/// Bytes of a key or a value that must be UTF-8.
pub(super) fn text(bytes: Option<&[u8]>) -> Result<String, redb::Error> {
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    Ok(text.ok_or_else(malformed)?.to_owned())
}
