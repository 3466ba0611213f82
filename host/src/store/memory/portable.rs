//! The store in memory laid open, so that it can be copied (`store/copy.rs`).

use async_trait::async_trait;

use super::super::copy::{Ends, Head, Outline, Part, Portable, Waiting};
use super::super::{Lease, Partition, Unavailable};
use super::{Contents, MemoryStore, Queued};

#[async_trait]
impl Portable for MemoryStore {
    async fn outline(&self, partition: &Partition) -> Result<Outline, Unavailable> {
        Ok(self.look(partition, |contents| Outline {
            head: Head {
                revision: contents.revision,
                at: contents.at,
                lease: Lease(contents.leases),
            },
            logs: contents
                .logs
                .iter()
                .map(|(name, log)| {
                    let (last, trimmed) = (log.last, log.trimmed);
                    (name.clone(), Ends { last, trimmed })
                })
                .collect(),
            queues: contents.queues.keys().cloned().collect(),
        }))
    }

    async fn jobs(
        &self,
        partition: &Partition,
        queue: &str,
        after: Option<&Waiting>,
        max: usize,
    ) -> Result<Vec<Waiting>, Unavailable> {
        let mut jobs = self.look(partition, |contents| {
            let jobs = contents.queues.get(queue).into_iter().flatten();
            jobs.map(|(id, job)| Waiting {
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
        contents.restore(part);
        Ok(())
    }
}

impl Contents {
    fn restore(&mut self, part: Part) {
        match part {
            Part::Entries(entries) => self.entries.extend(entries),
            Part::Messages(log, messages) => {
                let log = self.logs.entry(log).or_default();
                for message in messages {
                    log.last = log.last.max(message.position);
                    log.messages.insert(message.position, message);
                }
            }
            Part::Ends(log, ends) => {
                let log = self.logs.entry(log).or_default();
                (log.last, log.trimmed) = (ends.last, ends.trimmed);
            }
            Part::Jobs(queue, jobs) => {
                let queue = self.queues.entry(queue).or_default();
                queue.extend(jobs.into_iter().map(|job| {
                    let queued = Queued {
                        due: job.due,
                        lease: None,
                        attempt: job.attempt,
                        body: job.body,
                    };
                    (job.id, queued)
                }));
            }
            Part::Head(head) => {
                (self.revision, self.at, self.leases) = (head.revision, head.at, head.lease.0);
            }
        }
    }
}
