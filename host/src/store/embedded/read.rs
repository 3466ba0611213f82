//! What a read finds in a state of the tables.

use std::ops::Bound;

use bytes::Bytes;
use redb::{ReadTransaction, ReadableTable};

use super::super::{Entry, Message, Page, Partition, Position, Revision, Slice};
use super::tables::{self, StoredMessage};
use crate::clock::Timestamp;

/// The entries of `keys`, in that order.
pub(super) fn entries(
    tx: &ReadTransaction,
    partition: &Partition,
    keys: &[String],
) -> Result<Vec<Option<Entry>>, redb::Error> {
    let table = tx.open_table(tables::ENTRIES)?;
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let stored = table.get((partition.as_str(), key.as_str()))?;
        found.push(stored.map(|stored| entry(stored.value())));
    }
    Ok(found)
}

/// Up to `max` entries with a prefix, after a key.
pub(super) fn page(
    tx: &ReadTransaction,
    partition: &Partition,
    prefix: &str,
    after: Option<&str>,
    max: usize,
) -> Result<Page, redb::Error> {
    let table = tx.open_table(tables::ENTRIES)?;
    let first = match after {
        Some(after) if after >= prefix => Bound::Excluded((partition.as_str(), after)),
        _ => Bound::Included((partition.as_str(), prefix)),
    };
    let mut page = Page::default();
    for found in table.range::<(&str, &str)>((first, Bound::Unbounded))? {
        let (key, stored) = found?;
        let (of_partition, key) = key.value();
        if of_partition != partition.as_str() || !key.starts_with(prefix) {
            break;
        }
        if page.entries.len() == max {
            page.more = true;
            break;
        }
        page.entries.push((key.to_owned(), entry(stored.value())));
    }
    Ok(page)
}

/// Up to `max` messages of a log after a position.
pub(super) fn slice(
    tx: &ReadTransaction,
    partition: &Partition,
    log: &str,
    after: Position,
    max: usize,
) -> Result<Slice, redb::Error> {
    let partition = partition.as_str();
    let Some(ends) = tx.open_table(tables::LOGS)?.get((partition, log))? else {
        return Ok(Slice::default());
    };
    let (last, trimmed) = ends.value();
    let mut slice = Slice {
        messages: Vec::new(),
        last: Position(last),
        trimmed: Position(trimmed),
    };
    // Who has read all has mostly nothing new to read.
    if after.0 >= last {
        return Ok(slice);
    }
    let table = tx.open_table(tables::MESSAGES)?;
    let wanted = (
        Bound::Excluded((partition, log, after.0)),
        Bound::Included((partition, log, last)),
    );
    for found in table.range::<(&str, &str, u64)>(wanted)?.take(max) {
        let (key, stored) = found?;
        slice.messages.push(message(key.value().2, stored.value()));
    }
    Ok(slice)
}

/// The publish time of the oldest message of a log.
pub(super) fn oldest(
    tx: &ReadTransaction,
    partition: &Partition,
    log: &str,
) -> Result<Option<Timestamp>, redb::Error> {
    let table = tx.open_table(tables::MESSAGES)?;
    let all = (partition.as_str(), log, 0)..=(partition.as_str(), log, u64::MAX);
    let oldest = table.range::<(&str, &str, u64)>(all)?.next().transpose()?;
    Ok(oldest.map(|(_, stored)| Timestamp(stored.value().0)))
}

/// When the first job of a queue may be claimed.
pub(super) fn next_due(
    tx: &ReadTransaction,
    partition: &Partition,
    queue: &str,
) -> Result<Option<Timestamp>, redb::Error> {
    first_due(&tx.open_table(tables::DUE)?, partition.as_str(), queue)
}

/// The same in a table that is open, to read or to write.
pub(super) fn first_due(
    table: &impl ReadableTable<(&'static str, &'static str, u64, &'static str), ()>,
    partition: &str,
    queue: &str,
) -> Result<Option<Timestamp>, redb::Error> {
    let first = table
        .range::<(&str, &str, u64, &str)>((partition, queue, 0, "")..)?
        .next();
    let first = first.transpose()?.and_then(|(key, _)| {
        let (of_partition, of_queue, due, _) = key.value();
        (of_partition == partition && of_queue == queue).then_some(Timestamp(due))
    });
    Ok(first)
}

/// Up to `max` partitions after a name.
pub(super) fn partitions(
    tx: &ReadTransaction,
    after: Option<&str>,
    max: usize,
) -> Result<Vec<Partition>, redb::Error> {
    let table = tx.open_table(tables::PARTITIONS)?;
    let first = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut found = Vec::new();
    for row in table.range::<&str>((first, Bound::Unbounded))?.take(max) {
        found.extend(Partition::new(row?.0.value()));
    }
    Ok(found)
}

fn entry((revision, value): (u64, &[u8])) -> Entry {
    Entry {
        revision: Revision(revision),
        value: Bytes::copy_from_slice(value),
    }
}

fn message(position: u64, (publish_time, attributes, body): StoredMessage<'_>) -> Message {
    let attributes = attributes.into_iter();
    Message {
        position: Position(position),
        publish_time: Timestamp(publish_time),
        attributes: attributes
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body: Bytes::copy_from_slice(body),
    }
}
