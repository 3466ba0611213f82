//! Export and import for the embedded store.
//!
//! Imports go through the writer as commits do and are as durable, but have no revision and notify nobody.

use std::ops::Range;
use std::slice;
use std::sync::RwLock;

use async_trait::async_trait;
use bytes::Bytes;

use super::super::contract::{Lease, Partition, Position, Revision, Unavailable};
use super::super::portable::{Counters, LogBounds, Metadata, Part, Portable, QueuedJob};
use super::engine::{Key, State};
use super::keys::{self, Order};
use super::requests::{Request, Restore};
use super::{EmbeddedStore, read, values};
use crate::clock::Timestamp;

/// So many items that they are read on a thread that may block.
const MANY: usize = usize::MAX;

#[async_trait]
impl Portable for EmbeddedStore {
    async fn metadata(&self, partition: &Partition) -> Result<Metadata, Unavailable> {
        let partition = partition.clone();
        self.query(MANY, move |state| metadata(state, partition.as_str()))
            .await
    }

    async fn jobs(
        &self,
        partition: &Partition,
        queue: &str,
        after: Option<&QueuedJob>,
        max: usize,
    ) -> Result<Vec<QueuedJob>, Unavailable> {
        let (partition, queue, after) = (partition.clone(), queue.to_owned(), after.cloned());
        self.query(MANY, move |state| {
            jobs(state, partition.as_str(), &queue, after.as_ref(), max)
        })
        .await
    }

    async fn restore(&self, partition: &Partition, part: Part) -> Result<(), Unavailable> {
        let partition = partition.clone();
        let restore = Restore { partition, part };
        Ok(self.submit(restore, Request::Restore).await?)
    }
}

/// Up to `max` keys of a range, with their values.
fn scan(
    state: &RwLock<State>,
    range: &Range<Key>,
    max: usize,
) -> Result<Vec<(Key, Bytes)>, redb::Error> {
    let snapshot = read::with_state(state, |state| state.snapshot(&[], range, max));
    snapshot.range(range)?.take(max).collect()
}

fn metadata(state: &RwLock<State>, partition: &str) -> Result<Metadata, redb::Error> {
    let mut metadata = Metadata::default();
    if let Some(mut counters) = find(state, &keys::partition(partition))? {
        let [revision, at, lease] = values::read_numbers(&mut counters)?;
        metadata.counters = Counters {
            revision: Revision(revision),
            at: Timestamp(at),
            lease: Lease(lease),
        };
    }
    for (key, mut bounds) in scan(state, &keys::logs(partition), MANY)? {
        let [last, trimmed] = values::read_numbers(&mut bounds)?;
        let (last, trimmed) = (Position(last), Position(trimmed));
        let log = keys::second_name(partition, &key)?;
        metadata.logs.insert(log, LogBounds { last, trimmed });
    }
    // From the first job of one queue to the first of the next, without reading those between.
    let mut after: Option<String> = None;
    while let Some(queue) = next_queue(state, partition, after.as_deref())? {
        metadata.queues.push(queue.clone());
        after = Some(queue);
    }
    Ok(metadata)
}

/// The first queue after another one that has a job.
fn next_queue(
    state: &RwLock<State>,
    partition: &str,
    after: Option<&str>,
) -> Result<Option<String>, redb::Error> {
    let mut next: Option<String> = None;
    for order in Order::ALL {
        let found = scan(state, &keys::queues(order, partition, after), 1)?.pop();
        let found = found.map(|(key, _)| keys::second_name(partition, &key));
        next = next.into_iter().chain(found.transpose()?).min();
    }
    Ok(next)
}

/// The value of a key.
fn find(state: &RwLock<State>, key: &Key) -> Result<Option<Bytes>, redb::Error> {
    read::snapshot(state, slice::from_ref(key)).find(key)
}

fn jobs(
    state: &RwLock<State>,
    partition: &str,
    of_queue: &str,
    after: Option<&QueuedJob>,
    max: usize,
) -> Result<Vec<QueuedJob>, redb::Error> {
    let mut jobs = Vec::new();
    for order in Order::ALL {
        let queue = keys::queue(order, partition, of_queue);
        let first = after.map_or_else(
            || queue.clone(),
            |job| keys::successor(keys::due(order, partition, of_queue, job.due.0, &job.id)),
        );
        let range = keys::jobs(&queue, first);
        for (key, mut body) in scan(state, &range, max)? {
            let (due, id) = keys::due_of(&queue, &key)?;
            let [attempt] = values::read_numbers(&mut body)?;
            let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
            jobs.push(QueuedJob {
                id,
                due,
                attempt,
                body,
            });
        }
    }
    jobs.sort_unstable_by(|one, other| (one.due, &one.id).cmp(&(other.due, &other.id)));
    jobs.truncate(max);
    Ok(jobs)
}
