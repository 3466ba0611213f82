//! Export and import for the embedded store.
//!
//! Imports go through the writer as commits do and are as durable, but have no revision and cause no hints.

use async_trait::async_trait;
use rusqlite::{Connection, Result};

use super::super::contract::{self, Unavailable};
use super::super::portable::{Counters, Metadata, Part, Portable, QueuedJob};
use super::partitions::Partition;
use super::requests::{Request, Restore};
use super::{EmbeddedStore, entries, jobs, logs};

/// A number of items so large that they are read on a thread that may block.
const MANY: usize = usize::MAX;

#[async_trait]
impl Portable for EmbeddedStore {
    async fn metadata(&self, partition: &contract::Partition) -> Result<Metadata, Unavailable> {
        let name = partition.clone();
        self.read_from(MANY, move |db| {
            let partition = Partition::find(db, name.as_str())?;
            Ok(Metadata {
                counters: partition.counters,
                logs: logs::bounds(db, partition.id)?.into_iter().collect(),
                queues: jobs::queues(db, partition.id)?,
            })
        })
        .await
    }

    async fn jobs(
        &self,
        partition: &contract::Partition,
        queue: &str,
        after: Option<&QueuedJob>,
        max: usize,
    ) -> Result<Vec<QueuedJob>, Unavailable> {
        let (name, queue, after) = (partition.clone(), queue.to_owned(), after.cloned());
        self.read_from(MANY, move |db| {
            let partition = Partition::find(db, name.as_str())?.id;
            jobs::list(db, partition, &queue, after.as_ref(), max)
        })
        .await
    }

    async fn restore(
        &self,
        partition: &contract::Partition,
        part: Part,
    ) -> Result<(), Unavailable> {
        let partition = partition.clone();
        let restore = Restore { partition, part };
        Ok(self.submit(restore, Request::Restore).await?)
    }
}

/// Imports a part of another store.
pub(super) fn restore(db: &Connection, Restore { partition, part }: &Restore) -> Result<()> {
    let name = partition.as_str();
    let mut id = Partition::find(db, name)?.id;
    if id == 0 {
        // It has no revision, so it is not listed yet.
        id = Partition::set(db, name, Counters::default())?;
    }
    match part {
        Part::Entries(some) => {
            for (key, entry) in some {
                entries::put(db, id, key, entry.revision, &entry.value)?;
            }
        }
        Part::Messages(log, messages) => logs::restore(db, id, log, messages)?,
        Part::LogBounds(log, bounds) => {
            logs::set_bounds(db, id, log, *bounds)?;
        }
        Part::Jobs(queue, some) => {
            for job in some {
                jobs::enqueue(db, id, queue, job)?;
            }
        }
        Part::Counters(counters) => {
            Partition::set(db, name, *counters)?;
        }
    }
    Ok(())
}
