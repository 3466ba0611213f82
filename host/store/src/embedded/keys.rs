//! The keys of the store, the same in memory, in the journal and in redb.
//!
//! A key is a tag, then names, each ended by a zero byte, which no name contains; so keys are ordered name by name, and
//! each tag has one range of keys for a partition. Numbers are big-endian, so that they are ordered too. Timestamps are
//! microseconds.

use std::ops::Range;

use bytes::BufMut;

use super::engine::{Key, ROW_TAGS, malformed};
use super::values::text;
use crate::clock::Timestamp;

/// Partition, queue, when the job is due, job → how often it was claimed, body: the order of claims.
const DUE: u8 = b'd';
/// Partition, queue, when the job's lease ends, job → the same: the order in which leases end.
const LEASED: u8 = b'f';
/// Partition, key → revision, value.
const ENTRY: u8 = b'e';
/// Partition, queue, job → when it may be claimed, its lease.
const JOB: u8 = b'j';
/// Partition, log → newest position, newest trimmed position, newest stored position. Kept when all messages are trimmed.
const LOG: u8 = b'l';
/// Partition, log, position of the last message → the position before the first message, then the messages, each
/// preceded by its position and its length: publish time, attributes, body.
const MESSAGE: u8 = ROW_TAGS[0];
/// Partition → revision, publish time of the newest commit, newest lease.
const PARTITION: u8 = b'p';
/// Publish time of the first outcome, partition → outcomes of commits, each its id, publish time, revision, number of
/// positions and the positions. The order in which they expire.
const OUTCOMES: u8 = ROW_TAGS[1];

/// An order, partition, queue → a key that no job of the order comes before. A queue that never had a job has none.
const WATERMARK: u8 = b'w';

/// The two orders of a queue's jobs. A lease that is settled leaves a tombstone; those of leases are kept apart from the
/// jobs that are due, so that a search for one never walks over them.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Of jobs that are not under a lease, by when they are due.
    Due,
    /// Of those that are, by when it ends.
    Leased,
}

impl Order {
    pub(super) const ALL: [Self; 2] = [Self::Due, Self::Leased];

    const fn tag(self) -> u8 {
        match self {
            Self::Due => DUE,
            Self::Leased => LEASED,
        }
    }
}

fn key(tag: u8, names: &[&str]) -> Key {
    let bytes: usize = names.iter().map(|name| name.len() + 1).sum();
    // Leaves room for what often follows: a position or a time, and an id.
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

/// All keys from `first` on that begin with `prefix`. Its last byte ends a tag, a name or a character, so it is never
/// the greatest byte and can be incremented.
fn from(prefix: &[u8], first: Key) -> Range<Key> {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last = last.saturating_add(1);
    }
    first.min(end.clone())..end
}

/// The first key after `key`.
pub(super) fn successor(key: Key) -> Key {
    with(key, &[0])
}

pub(super) fn entry(partition: &str, name: &str) -> Key {
    with(key(ENTRY, &[partition]), name.as_bytes())
}

/// The entries with a prefix, after a key.
pub(super) fn entries(partition: &str, prefix: &str, after: Option<&str>) -> Range<Key> {
    let prefix = entry(partition, prefix);
    let first = after.map(|after| successor(entry(partition, after)));
    from(&prefix, first.unwrap_or_default().max(prefix.clone()))
}

/// The name of an entry, from its key.
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

/// The jobs of a partition in an order, of all queues after `after`.
pub(super) fn queues(order: Order, partition: &str, after: Option<&str>) -> Range<Key> {
    let prefix = key(order.tag(), &[partition]);
    let first = after.map_or_else(
        || prefix.clone(),
        |after| {
            let queue = queue(order, partition, after);
            jobs(&queue, queue.clone()).end
        },
    );
    from(&prefix, first)
}

/// The name that follows the partition's in a key: of a log or a queue.
pub(super) fn second_name(partition: &str, key: &[u8]) -> Result<String, redb::Error> {
    let rest = key.get(partition.len() + 2..);
    text(rest.and_then(|rest| rest.split(|byte| *byte == 0).next()))
}

/// The row of messages that ends with the position `last`.
pub(super) fn message(partition: &str, log: &str, last: u64) -> Key {
    with(key(MESSAGE, &[partition, log]), &last.to_be_bytes())
}

/// The rows of a log that contain messages after a position; the first may also contain earlier ones.
pub(super) fn messages(partition: &str, log: &str, after: u64) -> Range<Key> {
    let first = successor(message(partition, log, after));
    from(&key(MESSAGE, &[partition, log]), first)
}

/// The position of the last message of a row.
pub(super) fn last_of(key: &[u8]) -> Result<u64, redb::Error> {
    let position = key.last_chunk().ok_or_else(malformed)?;
    Ok(u64::from_be_bytes(*position))
}

pub(super) fn job(partition: &str, queue: &str, id: &str) -> Key {
    with(key(JOB, &[partition, queue]), id.as_bytes())
}

/// A queue: the prefix of the keys of its jobs in an order.
pub(super) fn queue(order: Order, partition: &str, queue: &str) -> Key {
    key(order.tag(), &[partition, queue])
}

/// The key of a job in an order, by when it may be claimed.
pub(super) fn due(order: Order, partition: &str, of_queue: &str, due: u64, id: &str) -> Key {
    with(
        with(queue(order, partition, of_queue), &due.to_be_bytes()),
        id.as_bytes(),
    )
}

/// The jobs of a queue in an order, from the key `first` on.
pub(super) fn jobs(queue: &[u8], first: Key) -> Range<Key> {
    from(queue, first)
}

/// The key of the watermark of a queue in an order.
pub(super) fn watermark(queue: &[u8]) -> Key {
    with(vec![WATERMARK], queue)
}

/// When the job of such a key may be claimed, and its id.
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
    let first = after.map_or_else(|| vec![PARTITION], |name| successor(partition(name)));
    from(&[PARTITION], first)
}

pub(super) fn partition_name(key: &[u8]) -> Result<String, redb::Error> {
    text(key.get(1..key.len().saturating_sub(1)))
}

/// The outcomes of a partition whose first was published at `at`.
pub(super) fn outcomes(at: u64, partition: &str) -> Key {
    let mut key = Vec::with_capacity(1 + 8 + partition.len());
    key.push(OUTCOMES);
    key.put_u64(at);
    key.extend_from_slice(partition.as_bytes());
    key
}

/// The outcomes of all partitions, from a publish time on.
pub(super) fn outcomes_since(at: u64) -> Range<Key> {
    let first = with(vec![OUTCOMES], &at.to_be_bytes());
    from(&[OUTCOMES], first)
}

/// The publish time of the first outcome and the partition, from the key of outcomes.
pub(super) fn outcomes_of(key: &[u8]) -> Result<(u64, String), redb::Error> {
    let rest = key.get(1..).and_then(<[u8]>::split_first_chunk);
    let (at, partition) = rest.ok_or_else(malformed)?;
    Ok((u64::from_be_bytes(*at), text(Some(partition))?))
}
