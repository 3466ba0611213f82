//! Export and import for the in-memory store.

use async_trait::async_trait;

use super::super::contract::{Lease, Partition, Unavailable};
use super::super::portable::{Counters, LogBounds, Metadata, Part, Portable, QueuedJob};
use super::MemoryStore;
use super::contents::{Contents, StoredJob};

#[async_trait]
impl Portable for MemoryStore {
    async fn metadata(&self, partition: &Partition) -> Result<Metadata, Unavailable> {
        Ok(self.with_partition(partition, |contents| Metadata {
            counters: Counters {
                revision: contents.revision,
                at: contents.at,
                lease: Lease(contents.leases),
            },
            logs: contents
                .logs
                .iter()
                .map(|(name, log)| {
                    let (last, trimmed) = (log.last, log.trimmed);
                    (name.clone(), LogBounds { last, trimmed })
                })
                .collect(),
            queues: contents.queues.keys().cloned().collect(),
        }))
    }

    async fn jobs(
        &self,
        partition: &Partition,
        queue: &str,
        after: Option<&QueuedJob>,
        max: usize,
    ) -> Result<Vec<QueuedJob>, Unavailable> {
        let mut jobs = self.with_partition(partition, |contents| {
            let jobs = contents.queues.get(queue).into_iter().flatten();
            jobs.map(|(id, job)| QueuedJob {
                id: id.clone(),
                due: job.due,
                attempt: job.attempt,
                body: job.body.clone(),
            })
            .filter(|job| after.is_none_or(|after| (after.due, &after.id) < (job.due, &job.id)))
            .collect::<Vec<_>>()
        });
        jobs.sort_by(|a, b| (a.due, &a.id).cmp(&(b.due, &b.id)));
        jobs.truncate(max);
        Ok(jobs)
    }

    async fn restore(&self, partition: &Partition, part: Part) -> Result<(), Unavailable> {
        let mut partitions = self.lock();
        let contents = partitions.entry(partition.as_str().to_owned()).or_default();
        restore(contents, part);
        Ok(())
    }
}

fn restore(contents: &mut Contents, part: Part) {
    match part {
        Part::Entries(entries) => contents.entries.extend(entries),
        Part::Messages(log, messages) => {
            let log = contents.logs.entry(log).or_default();
            for message in messages {
                log.last = log.last.max(message.position);
                log.messages.insert(message.position, message);
            }
        }
        Part::LogBounds(log, bounds) => {
            let log = contents.logs.entry(log).or_default();
            (log.last, log.trimmed) = (bounds.last, bounds.trimmed);
        }
        Part::Jobs(queue, jobs) => {
            let queue = contents.queues.entry(queue).or_default();
            queue.extend(jobs.into_iter().map(|job| {
                let stored = StoredJob {
                    due: job.due,
                    lease: None,
                    attempt: job.attempt,
                    body: job.body,
                };
                (job.id, stored)
            }));
        }
        Part::Counters(counters) => {
            contents.revision = counters.revision;
            contents.at = counters.at;
            contents.leases = counters.lease.0;
        }
    }
}
