//! The embedded store laid open, so that it can be copied (`store/copy.rs`).
//!
//! What is restored goes through the writer as a commit's changes do, and is as durable; but it counts as none, and
//! nobody hears of it.

use std::sync::RwLock;

use async_trait::async_trait;
use bytes::Bytes;

use super::super::copy::{Ends, Head, Outline, Part, Portable, Waiting};
use super::super::{Lease, Message, Partition, Position, Revision, Unavailable};
use super::change::{Group, ROW};
use super::jobs::{NO_LEASE, Stored};
use super::overlay::State;
use super::requests::{Request, Restore};
use super::tables::{self, Key};
use super::{EmbeddedStore, read};
use crate::clock::Timestamp;

/// What is read for a copy is read where a thread may block.
const MANY: usize = usize::MAX;

#[async_trait]
impl Portable for EmbeddedStore {
    async fn outline(&self, partition: &Partition) -> Result<Outline, Unavailable> {
        let partition = partition.clone();
        self.see(MANY, move |state| outline(state, partition.as_str()))
            .await
    }

    async fn jobs(
        &self,
        partition: &Partition,
        queue: &str,
        after: Option<&Waiting>,
        max: usize,
    ) -> Result<Vec<Waiting>, Unavailable> {
        let (partition, queue, after) = (partition.clone(), queue.to_owned(), after.cloned());
        self.see(MANY, move |state| {
            jobs(state, partition.as_str(), &queue, after.as_ref(), max)
        })
        .await
    }

    async fn restore(&self, partition: &Partition, part: Part) -> Result<(), Unavailable> {
        let partition = partition.clone();
        let restore = Restore { partition, part };
        Ok(self.ask(restore, Request::Restore).await?)
    }
}

/// The keys of a range and their values, up to `max`.
fn found(
    state: &RwLock<State>,
    range: &std::ops::Range<Key>,
    max: usize,
) -> Result<Vec<(Key, Bytes)>, redb::Error> {
    let snapshot = read::read(state, |state| state.snapshot(&[], range, max));
    snapshot.range(range)?.take(max).collect()
}

fn outline(state: &RwLock<State>, partition: &str) -> Result<Outline, redb::Error> {
    let mut outline = Outline::default();
    if let Some(mut head) = find(state, &tables::partition(partition))? {
        let [revision, at, lease] = tables::read_numbers(&mut head)?;
        outline.head = Head {
            revision: Revision(revision),
            at: Timestamp(at),
            lease: Lease(lease),
        };
    }
    for (key, mut ends) in found(state, &tables::logs(partition), MANY)? {
        let [last, trimmed] = tables::read_numbers(&mut ends)?;
        let (last, trimmed) = (Position(last), Position(trimmed));
        let log = tables::second_name(partition, &key)?;
        outline.logs.insert(log, Ends { last, trimmed });
    }
    // From one queue's name to the next, without a look at its jobs.
    let mut after: Option<String> = None;
    while let Some((key, _)) = found(state, &tables::queues(partition, after.as_deref()), 1)?.pop()
    {
        let queue = tables::second_name(partition, &key)?;
        outline.queues.push(queue.clone());
        after = Some(queue);
    }
    Ok(outline)
}

/// The value of a key.
fn find(state: &RwLock<State>, key: &Key) -> Result<Option<Bytes>, redb::Error> {
    read::snapshot(state, std::slice::from_ref(key)).find(key)
}

fn jobs(
    state: &RwLock<State>,
    partition: &str,
    of_queue: &str,
    after: Option<&Waiting>,
    max: usize,
) -> Result<Vec<Waiting>, redb::Error> {
    let queue = tables::queue(partition, of_queue);
    let first = after.map(|job| tables::due(partition, of_queue, job.due.0, &job.id));
    let range = tables::due_jobs(&queue, first.map(tables::behind).as_ref());
    let mut jobs = Vec::new();
    for (key, body) in found(state, &range, max)? {
        let (due, id) = tables::due_of(&queue, &key)?;
        let Some(mut stored) = find(state, &tables::job(partition, of_queue, &id))? else {
            continue;
        };
        let [_, _, attempt] = tables::read_numbers(&mut stored)?;
        let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
        jobs.push(Waiting {
            id,
            due,
            attempt,
            body,
        });
    }
    Ok(jobs)
}

impl Group<'_> {
    /// Puts a part of what another store had.
    pub(super) fn restore(
        &mut self,
        Restore { partition, part }: &Restore,
        now: Timestamp,
    ) -> Result<(), redb::Error> {
        self.close(now)?;
        let partition = partition.as_str();
        match part {
            Part::Entries(entries) => {
                for (key, entry) in entries {
                    let value = tables::numbered(entry.revision.0, &entry.value);
                    self.put(tables::entry(partition, key), value);
                }
            }
            Part::Messages(log, messages) => self.restore_messages(partition, log, messages)?,
            Part::Ends(log, Ends { last, trimmed }) => {
                let ends = tables::numbers(&[last.0, trimmed.0]);
                self.put(tables::log(partition, log), ends);
            }
            Part::Jobs(queue, waiting) => {
                for job in waiting {
                    let stored = Stored {
                        due: job.due.0,
                        lease: NO_LEASE,
                        attempt: job.attempt.into(),
                    };
                    self.put_job(partition, queue, &job.id, &stored, job.body.clone());
                }
            }
            Part::Head(head) => {
                let head = [head.revision.0, head.at.0, head.lease.0];
                self.put(tables::partition(partition), tables::numbers(&head));
            }
        }
        Ok(())
    }

    /// Puts those messages that are newer than what is there: of a repeat, none.
    fn restore_messages(
        &mut self,
        partition: &str,
        log: &str,
        messages: &[Message],
    ) -> Result<(), redb::Error> {
        let ends = self.numbers(&tables::log(partition, log))?;
        let [mut last, trimmed] = ends.unwrap_or_default();
        let mut row = Vec::new();
        for message in messages {
            if message.position.0 <= last {
                continue;
            }
            last = message.position.0;
            let at = message.publish_time.0;
            tables::write_message(&mut row, last, at, &message.attributes, &message.body);
            if row.len() >= ROW {
                let row = std::mem::take(&mut row);
                self.put(tables::message(partition, log, last), row.into());
            }
        }
        if !row.is_empty() {
            self.put(tables::message(partition, log, last), row.into());
        }
        let ends = tables::numbers(&[last, trimmed]);
        self.put(tables::log(partition, log), ends);
        Ok(())
    }
}
