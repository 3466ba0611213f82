//! What a read finds in a state.

use std::sync::{PoisonError, RwLock};

use super::super::{Entry, Page, Partition, Position, Revision, Slice};
use super::overlay::{Snapshot, State};
use super::tables::{self, Key};
use crate::clock::Timestamp;

/// The entries of `keys`, in that order.
pub(super) fn entries(
    state: &RwLock<State>,
    partition: &Partition,
    keys: &[String],
) -> Result<Vec<Option<Entry>>, redb::Error> {
    let key = |name: &String| tables::entry(partition.as_str(), name);
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
    let range = tables::entries(partition.as_str(), prefix, after);
    let one_more = max.saturating_add(1);
    let snapshot = read(state, |state| state.snapshot(&[], &range, one_more));
    let mut page = Page::default();
    for found in snapshot.range(&range)? {
        if page.entries.len() == max {
            page.more = true;
            break;
        }
        let (key, value) = found?;
        let name = tables::entry_name(partition.as_str(), &key)?;
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
    let ends = tables::log(partition.as_str(), log);
    let range = tables::messages(partition.as_str(), log, after.0);
    let keys = std::slice::from_ref(&ends);
    let snapshot = read(state, |state| state.snapshot(keys, &range, max));
    let Some(mut ends) = snapshot.find(&ends)? else {
        return Ok(Slice::default());
    };
    let [last, trimmed] = tables::read_numbers(&mut ends)?;
    let mut slice = Slice {
        messages: Vec::new(),
        last: Position(last),
        trimmed: Position(trimmed),
    };
    // Who has read all has mostly nothing new to read.
    if after.0 >= last {
        return Ok(slice);
    }
    let after = after.0.max(trimmed);
    for found in snapshot.range(&range)?.take(max) {
        let messages = tables::read_messages(found?.1, after)?;
        let room = max - slice.messages.len();
        slice.messages.extend(messages.into_iter().take(room));
        if slice.messages.len() == max {
            break;
        }
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
    let ends = tables::log(partition, log);
    let Some(mut ends) = snapshot(state, std::slice::from_ref(&ends)).find(&ends)? else {
        return Ok(None);
    };
    let [_, trimmed] = tables::read_numbers(&mut ends)?;
    // A trim may come between; then it is somebody else's to go on.
    let range = tables::messages(partition, log, trimmed);
    let snapshot = read(state, |state| state.snapshot(&[], &range, 1));
    let oldest = snapshot.range(&range)?.next().transpose()?;
    let oldest = oldest.map(|(_, row)| tables::read_messages(row, trimmed));
    let oldest = oldest.transpose()?.unwrap_or_default();
    Ok(oldest.first().map(|message| message.publish_time))
}

/// When the first job of a queue may be claimed, if it has any; `None` when nobody knows where its
/// jobs begin.
pub(super) fn next_due(
    state: &RwLock<State>,
    partition: &Partition,
    queue: &str,
) -> Result<Option<Option<Timestamp>>, redb::Error> {
    let queue = tables::queue(partition.as_str(), queue);
    let found = read(state, |state| {
        let range = tables::due_jobs(&queue, Some(state.floors.get(&queue)?));
        let snapshot = state.snapshot(&[], &range, 1);
        Some((range, snapshot))
    });
    let Some((range, snapshot)) = found else {
        return Ok(None);
    };
    let first = snapshot.range(&range)?.next().transpose()?;
    let first = first.map(|(key, _)| tables::due_of(&queue, &key));
    Ok(Some(first.transpose()?.map(|(due, _)| due)))
}

/// Up to `max` partitions after a name.
pub(super) fn partitions(
    state: &RwLock<State>,
    after: Option<&str>,
    max: usize,
) -> Result<Vec<Partition>, redb::Error> {
    let range = tables::partitions(after);
    let snapshot = read(state, |state| state.snapshot(&[], &range, max));
    let mut found = Vec::new();
    for row in snapshot.range(&range)?.take(max) {
        found.extend(Partition::new(&tables::partition_name(&row?.0)?));
    }
    Ok(found)
}

fn entry(mut value: bytes::Bytes) -> Result<Entry, redb::Error> {
    let [revision] = tables::read_numbers(&mut value)?;
    Ok(Entry {
        revision: Revision(revision),
        value,
    })
}

/// What finding these keys needs.
pub(super) fn snapshot(state: &RwLock<State>, keys: &[Key]) -> Snapshot {
    read(state, |state| {
        state.snapshot(keys, &(Key::new()..Key::new()), 0)
    })
}

/// What `look` copies of the layers, under the lock.
pub(super) fn read<T>(state: &RwLock<State>, look: impl FnOnce(&State) -> T) -> T {
    look(&state.read().unwrap_or_else(PoisonError::into_inner))
}
