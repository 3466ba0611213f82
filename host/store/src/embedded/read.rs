//! The reads of the store, each on a snapshot of the newest durable state.

use std::slice;
use std::sync::{PoisonError, RwLock};

use super::super::contract::{Entry, Page, Partition, Position, Revision, Slice};
use super::engine::{Key, Snapshot, State, malformed};
use super::keys::{self, Order};
use super::values::{self, LogBounds};
use crate::clock::Timestamp;

/// The entries of `keys`, in that order.
pub(super) fn entries(
    state: &RwLock<State>,
    partition: &Partition,
    keys: &[String],
) -> Result<Vec<Option<Entry>>, redb::Error> {
    let key = |name: &String| keys::entry(partition.as_str(), name);
    let keys: Vec<Key> = keys.iter().map(key).collect();
    let snapshot = snapshot(state, &keys);
    keys.iter()
        .map(|key| snapshot.find(key)?.map(entry).transpose())
        .collect()
}

/// Up to `max` entries with a prefix, after a key.
pub(super) fn page(
    state: &RwLock<State>,
    partition: &Partition,
    prefix: &str,
    after: Option<&str>,
    max: usize,
) -> Result<Page, redb::Error> {
    let range = keys::entries(partition.as_str(), prefix, after);
    let one_more = max.saturating_add(1);
    let snapshot = with_state(state, |state| state.snapshot(&[], &range, one_more));
    let mut page = Page::default();
    for found in snapshot.range(&range)? {
        if page.entries.len() == max {
            page.more = true;
            break;
        }
        let (key, value) = found?;
        let name = keys::entry_name(partition.as_str(), &key)?;
        page.entries.push((name, entry(value)?));
    }
    Ok(page)
}

/// Up to `max` messages of a log after a position.
pub(super) fn slice(
    state: &RwLock<State>,
    partition: &Partition,
    log: &str,
    after: Position,
    max: usize,
) -> Result<Slice, redb::Error> {
    let bounds = keys::log(partition.as_str(), log);
    let range = keys::messages(partition.as_str(), log, after.0);
    let keys = slice::from_ref(&bounds);
    let snapshot = with_state(state, |state| state.snapshot(keys, &range, max));
    let Some(mut bounds) = snapshot.find(&bounds)? else {
        return Ok(Slice::default());
    };
    let bounds = LogBounds::read(&mut bounds)?;
    let mut slice = Slice {
        messages: Vec::new(),
        last: Position(bounds.last),
        trimmed: Position(bounds.trimmed),
    };
    let mut after = after.0.max(bounds.trimmed);
    // A reader that is up to date mostly finds nothing new.
    if after >= bounds.stored || max == 0 {
        return Ok(slice);
    }
    for found in snapshot.range(&range)? {
        let (key, row) = found?;
        let messages = values::read_messages(row, after)?;
        let room = max - slice.messages.len();
        slice.messages.extend(messages.into_iter().take(room));
        if slice.messages.len() == max {
            return Ok(slice);
        }
        after = keys::last_of(&key)?;
    }
    if after < bounds.stored {
        return Err(malformed());
    }
    Ok(slice)
}

/// The publish time of the oldest message of a log.
pub(super) fn oldest(
    state: &RwLock<State>,
    partition: &Partition,
    log: &str,
) -> Result<Option<Timestamp>, redb::Error> {
    let partition = partition.as_str();
    let bounds = keys::log(partition, log);
    let Some(mut bounds) = snapshot(state, slice::from_ref(&bounds)).find(&bounds)? else {
        return Ok(None);
    };
    let trimmed = LogBounds::read(&mut bounds)?.trimmed;
    // Another trim may come between the two snapshots; then it is the one that continues.
    let range = keys::messages(partition, log, trimmed);
    let snapshot = with_state(state, |state| state.snapshot(&[], &range, 1));
    let oldest = snapshot.range(&range)?.next().transpose()?;
    let oldest = oldest.map(|(_, row)| {
        let after = values::messages_begin_after(&row)?.max(trimmed);
        values::read_messages(row, after)
    });
    let oldest = oldest.transpose()?.unwrap_or_default();
    Ok(oldest.first().map(|message| message.publish_time))
}

/// When the first job of a queue may be claimed.
pub(super) fn next_due(
    state: &RwLock<State>,
    partition: &Partition,
    queue: &str,
) -> Result<Option<Timestamp>, redb::Error> {
    let mut first_due: Option<Timestamp> = None;
    for order in Order::ALL {
        let queue = keys::queue(order, partition.as_str(), queue);
        let first = first_job(state, &queue)?;
        let first = first.map(|key| keys::due_of(&queue, &key));
        let due = first.transpose()?.map(|(due, _)| due);
        first_due = first_due.into_iter().chain(due).min();
    }
    Ok(first_due)
}

/// The key of the first job of a queue in an order.
fn first_job(state: &RwLock<State>, queue: &[u8]) -> Result<Option<Key>, redb::Error> {
    let find = |key: &Key| snapshot(state, slice::from_ref(key)).find(key);
    // A job that is put before the watermark meanwhile, or is the queue's first, notifies those who wait for it.
    let Some(watermark) = find(&keys::watermark(queue))?.map(Key::from) else {
        return Ok(None);
    };
    // Mostly it is the first job; behind it there may be the tombstones of very many.
    if find(&watermark)?.is_some() {
        return Ok(Some(watermark));
    }
    let range = keys::jobs(queue, watermark);
    let snapshot = with_state(state, |state| state.snapshot(&[], &range, 1));
    let first = snapshot.range(&range)?.next().transpose()?;
    Ok(first.map(|(key, _)| key))
}

/// Up to `max` partitions after a name.
pub(super) fn partitions(
    state: &RwLock<State>,
    after: Option<&str>,
    max: usize,
) -> Result<Vec<Partition>, redb::Error> {
    let range = keys::partitions(after);
    let snapshot = with_state(state, |state| state.snapshot(&[], &range, max));
    let mut found = Vec::new();
    for row in snapshot.range(&range)?.take(max) {
        found.extend(Partition::new(&keys::partition_name(&row?.0)?));
    }
    Ok(found)
}

fn entry(mut value: bytes::Bytes) -> Result<Entry, redb::Error> {
    let [revision] = values::read_numbers(&mut value)?;
    Ok(Entry {
        revision: Revision(revision),
        value,
    })
}

/// A snapshot to find these keys in.
pub(super) fn snapshot(state: &RwLock<State>, keys: &[Key]) -> Snapshot {
    with_state(state, |state| {
        state.snapshot(keys, &(Key::new()..Key::new()), 0)
    })
}

/// Runs `copy` under the lock, to copy what a read needs of the memtables.
pub(super) fn with_state<T>(state: &RwLock<State>, copy: impl FnOnce(&State) -> T) -> T {
    copy(&state.read().unwrap_or_else(PoisonError::into_inner))
}
