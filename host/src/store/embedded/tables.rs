//! How the store lies in redb, and what its keys and values are, wherever they lie.
//!
//! A key is a tag, then names, each ended by a zero byte, which no name holds; so keys are ordered
//! name by name and a partition is one range of each tag. Numbers are big-endian, so they are
//! ordered too. Timestamps are microseconds. The journal speaks of the same keys and values. What a
//! later version cannot read any more needs another [`FORMAT`].

use std::ops::Range;

use bytes::{Buf, BufMut, Bytes};
use redb::TableDefinition;

use super::super::{Message, Position};
use crate::clock::Timestamp;

/// The version of this layout, of the journal's and of the folder's.
pub(super) const FORMAT: u64 = 3;

/// Facts about the store itself, by name: [`FORMAT`]; up to which record the journal is filed; what
/// marks its records.
pub(super) const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("about");
pub(super) const FORMAT_KEY: &str = "format";
pub(super) const FILED_KEY: &str = "filed";
pub(super) const MARK_KEY: &str = "mark";

/// The runs, by number (`runs`): level, number of keys, filter, checksum.
pub(super) const RUNS: TableDefinition<u64, &[u8]> = TableDefinition::new("runs");

/// The blocks of runs, by the run's number and the block's first key: everything else.
pub(super) const BLOCKS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("blocks");

/// Messages and remembered outcomes, by key: many of them are one row, which comes behind all others and changes no
/// more, so that nothing is gained from merging it.
pub(super) const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");

/// A key of what is stored.
pub(super) type Key = Vec<u8>;

/// Partition, job's queue, when it may be claimed, job's id → body: the order of claims.
const DUE: u8 = b'd';
/// Partition, key → revision, value.
const ENTRY: u8 = b'e';
/// Partition, queue, job's id → when it may be claimed, its lease, how often it was claimed.
const JOB: u8 = b'j';
/// Partition, log → newest position, newest trimmed position. Stays when all messages are gone.
const LOG: u8 = b'l';
/// Partition, log, position of the last → messages, each with its position and its length before it: publish time,
/// attributes, body.
const MESSAGE: u8 = b'm';
/// Partition → revision, publish time of the newest commit, newest lease.
const PARTITION: u8 = b'p';
/// Publish time of the first, partition → outcomes of commits: id, publish time, revision, how many positions, and
/// these. The order of forgetting.
const REMEMBERED: u8 = b'r';

/// Whether a key is of [`ROWS`].
pub(super) fn is_row(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(MESSAGE | REMEMBERED)))
}

fn key(tag: u8, names: &[&str]) -> Key {
    let bytes: usize = names.iter().map(|name| name.len() + 1).sum();
    // With room for what often follows: a position or a time, and an id.
    let mut key = Vec::with_capacity(1 + bytes + 40);
    key.push(tag);
    for name in names {
        key.extend_from_slice(name.as_bytes());
        key.push(0);
    }
    key
}

fn with(mut key: Key, rest: &[u8]) -> Key {
    key.extend_from_slice(rest);
    key
}

/// All keys from `first` on that begin with `prefix`, whose last byte is a tag, the end of a name or
/// of a character, and so never the greatest byte.
fn from(prefix: &[u8], first: Key) -> Range<Key> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last = last.saturating_add(1);
    }
    first.min(end.clone())..end
}

/// The first key behind `key`.
pub(super) fn behind(key: Key) -> Key {
    with(key, &[0])
}

pub(super) fn entry(partition: &str, name: &str) -> Key {
    with(key(ENTRY, &[partition]), name.as_bytes())
}

/// The entries with a prefix, after a key.
pub(super) fn entries(partition: &str, prefix: &str, after: Option<&str>) -> Range<Key> {
    let prefix = entry(partition, prefix);
    let first = after.map(|after| behind(entry(partition, after)));
    from(&prefix, first.unwrap_or_default().max(prefix.clone()))
}

/// The part of an entry's key that is the caller's.
pub(super) fn entry_name(partition: &str, key: &[u8]) -> Result<String, redb::Error> {
    text(key.get(partition.len() + 2..))
}

pub(super) fn log(partition: &str, log: &str) -> Key {
    key(LOG, &[partition, log])
}

/// The logs of a partition.
pub(super) fn logs(partition: &str) -> Range<Key> {
    let prefix = key(LOG, &[partition]);
    from(&prefix, prefix.clone())
}

/// The due jobs of a partition, of the queues after one.
pub(super) fn queues(partition: &str, after: Option<&str>) -> Range<Key> {
    let prefix = key(DUE, &[partition]);
    let first = after.map_or_else(
        || prefix.clone(),
        |after| due_jobs(&queue(partition, after), None).end,
    );
    from(&prefix, first)
}

/// The name behind the partition's in a key: a log's, a queue's.
pub(super) fn second_name(partition: &str, key: &[u8]) -> Result<String, redb::Error> {
    let rest = key.get(partition.len() + 2..);
    text(rest.and_then(|rest| rest.split(|byte| *byte == 0).next()))
}

/// The row of messages whose last has a position.
pub(super) fn message(partition: &str, log: &str, last: u64) -> Key {
    with(key(MESSAGE, &[partition, log]), &last.to_be_bytes())
}

/// The rows of a log that have messages after a position; the first may have others too.
pub(super) fn messages(partition: &str, log: &str, after: u64) -> Range<Key> {
    let first = behind(message(partition, log, after));
    from(&key(MESSAGE, &[partition, log]), first)
}

pub(super) fn job(partition: &str, queue: &str, id: &str) -> Key {
    with(key(JOB, &[partition, queue]), id.as_bytes())
}

/// A queue: what the keys of its due jobs begin with.
pub(super) fn queue(partition: &str, queue: &str) -> Key {
    key(DUE, &[partition, queue])
}

pub(super) fn due(partition: &str, of_queue: &str, due: u64, id: &str) -> Key {
    with(
        with(queue(partition, of_queue), &due.to_be_bytes()),
        id.as_bytes(),
    )
}

/// The due jobs of a queue, from a key of it on if there is one.
pub(super) fn due_jobs(queue: &[u8], first: Option<&Key>) -> Range<Key> {
    from(queue, first.map_or_else(|| queue.to_vec(), Key::clone))
}

/// When the job of a due key may be claimed, and its id.
pub(super) fn due_of(queue: &[u8], key: &[u8]) -> Result<(Timestamp, String), redb::Error> {
    let (due, id) = key
        .get(queue.len()..)
        .and_then(<[u8]>::split_first_chunk)
        .ok_or_else(malformed)?;
    Ok((Timestamp(u64::from_be_bytes(*due)), text(Some(id))?))
}

pub(super) fn partition(name: &str) -> Key {
    key(PARTITION, &[name])
}

/// The partitions after a name.
pub(super) fn partitions(after: Option<&str>) -> Range<Key> {
    let first = after.map_or_else(|| vec![PARTITION], |name| behind(partition(name)));
    from(&[PARTITION], first)
}

pub(super) fn partition_name(key: &[u8]) -> Result<String, redb::Error> {
    text(key.get(1..key.len().saturating_sub(1)))
}

pub(super) fn remembered(at: u64, partition: &str) -> Key {
    let mut key = Vec::with_capacity(1 + 8 + partition.len());
    key.push(REMEMBERED);
    key.put_u64(at);
    key.extend_from_slice(partition.as_bytes());
    key
}

/// The remembered commits, from a publish time on.
pub(super) fn remembered_since(at: u64) -> Range<Key> {
    let first = with(vec![REMEMBERED], &at.to_be_bytes());
    from(&[REMEMBERED], first)
}

/// Publish time of the first and partition of remembered commits.
pub(super) fn remembered_of(key: &[u8]) -> Result<(u64, String), redb::Error> {
    let rest = key.get(1..).and_then(<[u8]>::split_first_chunk);
    let (at, partition) = rest.ok_or_else(malformed)?;
    Ok((u64::from_be_bytes(*at), text(Some(partition))?))
}

/// Adds to a row what a commit did.
pub(super) fn write_outcome(row: &mut Vec<u8>, outcome: &Outcome) {
    row.put_u128(outcome.id);
    row.put_u64(outcome.at);
    row.put_u64(outcome.revision);
    // A commit has few positions.
    row.put_u32(u32::try_from(outcome.positions.len()).unwrap_or(u32::MAX));
    for position in &outcome.positions {
        row.put_u64(*position);
    }
}

/// What a remembered commit did.
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

/// A value of numbers alone.
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

/// A value that begins with a number: an entry.
pub(super) fn numbered(number: u64, rest: &[u8]) -> Bytes {
    let mut value = Vec::with_capacity(8 + rest.len());
    value.put_u64(number);
    value.extend_from_slice(rest);
    value.into()
}

/// Adds a message to a row.
pub(super) fn write_message(
    row: &mut Vec<u8>,
    position: u64,
    at: u64,
    attributes: &[(String, String)],
    body: &[u8],
) {
    let words = || attributes.iter().flat_map(|(name, value)| [name, value]);
    let bytes: usize = words().map(|word| 4 + word.len()).sum();
    let length = 8 + 4 + bytes + body.len();
    row.reserve(8 + 4 + length);
    row.put_u64(position);
    // A commit is smaller than a number of 32 bits counts.
    row.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    row.put_u64(at);
    row.put_u32(u32::try_from(attributes.len()).unwrap_or(u32::MAX));
    for word in words() {
        row.put_u32(u32::try_from(word.len()).unwrap_or(u32::MAX));
        row.extend_from_slice(word.as_bytes());
    }
    row.extend_from_slice(body);
}

/// The messages of a row after a position.
pub(super) fn read_messages(mut row: Bytes, after: u64) -> Result<Vec<Message>, redb::Error> {
    let mut messages = Vec::new();
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
        attributes.push((word(&mut value)?, word(&mut value)?));
    }
    Ok(Message {
        position: Position(position),
        publish_time: Timestamp(at),
        attributes,
        body: value,
    })
}

fn word(value: &mut Bytes) -> Result<String, redb::Error> {
    let length = value.try_get_u32().map_err(|_| malformed())?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let word = text(value.get(..length))?;
    value.advance(length);
    Ok(word)
}

fn text(bytes: Option<&[u8]>) -> Result<String, redb::Error> {
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    Ok(text.ok_or_else(malformed)?.to_owned())
}

pub(super) fn malformed() -> redb::Error {
    redb::Error::Corrupted("a row is not of this layout".to_owned())
}
