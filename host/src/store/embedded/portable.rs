//! The embedded store laid open, so that it can be copied (`store/copy.rs`).
//!
//! What is restored does not go through the writer: it is no commit, and nobody else uses the store meanwhile.

use std::ops::Bound;

use async_trait::async_trait;
use redb::{ReadTransaction, WriteTransaction};

use super::super::copy::{Ends, Head, Outline, Part, Portable, Waiting};
use super::super::{Lease, Partition, Position, Revision, Unavailable};
use super::EmbeddedStore;
use super::tables::{self, NO_LEASE};
use crate::clock::Timestamp;

/// What is read for a copy is read where a thread may block.
const MANY: usize = usize::MAX;

#[async_trait]
impl Portable for EmbeddedStore {
    async fn outline(&self, partition: &Partition) -> Result<Outline, Unavailable> {
        let partition = partition.clone();
        self.see(MANY, move |tx| outline(tx, partition.as_str()))
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
        self.see(MANY, move |tx| {
            jobs(tx, partition.as_str(), &queue, after.as_ref(), max)
        })
        .await
    }

    async fn restore(&self, partition: &Partition, part: Part) -> Result<(), Unavailable> {
        let (shared, partition) = (std::sync::Arc::clone(&self.shared), partition.clone());
        let restored = tokio::task::spawn_blocking(move || {
            shared.working()?;
            let restored = || -> Result<(), redb::Error> {
                let tx = shared.folder.database()?.begin_write()?;
                restore(&tx, partition.as_str(), part)?;
                Ok(tx.commit()?)
            };
            restored().map_err(|error| Unavailable(shared.folder.describe(&error)))
        });
        restored
            .await
            .unwrap_or_else(|error| Err(Unavailable(format!("a part was given up: {error}"))))
    }
}

fn outline(tx: &ReadTransaction, partition: &str) -> Result<Outline, redb::Error> {
    let mut outline = Outline::default();
    if let Some(head) = tx.open_table(tables::PARTITIONS)?.get(partition)? {
        let (revision, at, lease) = head.value();
        outline.head = Head {
            revision: Revision(revision),
            at: Timestamp(at),
            lease: Lease(lease),
        };
    }
    for found in tx
        .open_table(tables::LOGS)?
        .range::<(&str, &str)>((partition, "")..)?
    {
        let (key, ends) = found?;
        let (of_partition, log) = key.value();
        if of_partition != partition {
            break;
        }
        let (last, trimmed) = ends.value();
        let (last, trimmed) = (Position(last), Position(trimmed));
        outline.logs.insert(log.to_owned(), Ends { last, trimmed });
    }
    let due = tx.open_table(tables::DUE)?;
    let mut from = String::new();
    // From one queue's name to the next, without a look at its jobs.
    while let Some(found) = due
        .range::<(&str, &str, u64, &str)>((partition, from.as_str(), 0, "")..)?
        .next()
        .transpose()?
    {
        let (of_partition, queue, _, _) = found.0.value();
        if of_partition != partition {
            break;
        }
        outline.queues.push(queue.to_owned());
        // No name has NUL: this is behind all of that queue and before any other.
        from = format!("{queue}\0");
    }
    Ok(outline)
}

fn jobs(
    tx: &ReadTransaction,
    partition: &str,
    queue: &str,
    after: Option<&Waiting>,
    max: usize,
) -> Result<Vec<Waiting>, redb::Error> {
    let first = after.map_or(Bound::Included((partition, queue, 0, "")), |job| {
        Bound::Excluded((partition, queue, job.due.0, job.id.as_str()))
    });
    let (due, stored) = (tx.open_table(tables::DUE)?, tx.open_table(tables::JOBS)?);
    let mut jobs = Vec::new();
    for found in due
        .range::<(&str, &str, u64, &str)>((first, Bound::Unbounded))?
        .take(max)
    {
        let (key, _) = found?;
        let (of_partition, of_queue, due, id) = key.value();
        if of_partition != partition || of_queue != queue {
            break;
        }
        if let Some(job) = stored.get((partition, queue, id))? {
            let (_, _, attempt, body) = job.value();
            jobs.push(Waiting {
                id: id.to_owned(),
                due: Timestamp(due),
                attempt,
                body: bytes::Bytes::copy_from_slice(body),
            });
        }
    }
    Ok(jobs)
}

fn restore(tx: &WriteTransaction, partition: &str, part: Part) -> Result<(), redb::Error> {
    match part {
        Part::Entries(entries) => {
            let mut table = tx.open_table(tables::ENTRIES)?;
            for (key, entry) in entries {
                table.insert(
                    (partition, key.as_str()),
                    (entry.revision.0, entry.value.as_ref()),
                )?;
            }
        }
        Part::Messages(log, messages) => {
            let last = messages.last().map(|message| message.position.0);
            let mut table = tx.open_table(tables::MESSAGES)?;
            for message in messages {
                let attributes = message.attributes.iter();
                let attributes = attributes
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .collect();
                let stored = (message.publish_time.0, attributes, message.body.as_ref());
                table.insert((partition, log.as_str(), message.position.0), stored)?;
            }
            let mut logs = tx.open_table(tables::LOGS)?;
            logs.insert((partition, log.as_str()), (last.unwrap_or_default(), 0))?;
        }
        Part::Ends(log, ends) => {
            let ends = (ends.last.0, ends.trimmed.0);
            tx.open_table(tables::LOGS)?
                .insert((partition, log.as_str()), ends)?;
        }
        Part::Jobs(queue, waiting) => {
            let (mut jobs, mut due) = (tx.open_table(tables::JOBS)?, tx.open_table(tables::DUE)?);
            for job in waiting {
                let stored = (job.due.0, NO_LEASE, job.attempt, job.body.as_ref());
                jobs.insert((partition, queue.as_str(), job.id.as_str()), stored)?;
                due.insert((partition, queue.as_str(), job.due.0, job.id.as_str()), ())?;
            }
        }
        Part::Head(head) => {
            let head = (head.revision.0, head.at.0, head.lease.0);
            tx.open_table(tables::PARTITIONS)?.insert(partition, head)?;
        }
    }
    Ok(())
}
