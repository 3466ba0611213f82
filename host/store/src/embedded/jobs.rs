//! Claims, and the jobs of commits, applied to a batch.
//!
//! A job has two keys: one by its id, with its due time and lease; one by its due time or the end of its lease, with its
//! attempts and body. Claims walk over the second and read nothing else, from the queue's watermarks on: a search from
//! the first key would walk over the tombstones of all jobs that are gone. A queue without watermarks never had a job,
//! so looking at it reads nothing.

use bytes::Bytes;

use super::super::contract::{Claimed, Job, Lease};
use super::batch::BatchWriter;
use super::engine::{Key, malformed};
use super::keys::{self, Order};
use super::requests::Claim;
use super::values;
use crate::clock::Timestamp;

/// The lease of a job that is not under one. Leases count from one.
pub(super) const NO_LEASE: u64 = 0;

/// A job without its attempts and body.
pub(super) struct JobState {
    /// When it may be claimed: when it is due, or when its lease ends.
    pub(super) due: u64,
    pub(super) lease: u64,
}

impl JobState {
    const fn order(&self) -> Order {
        match self.lease {
            NO_LEASE => Order::Due,
            _ => Order::Leased,
        }
    }

    fn key(&self, partition: &str, queue: &str, id: &str) -> Key {
        keys::due(self.order(), partition, queue, self.due, id)
    }
}

/// A job that may be claimed.
struct DueJob {
    due: Timestamp,
    id: String,
    key: Key,
    content: Bytes,
}

impl BatchWriter<'_> {
    /// Puts a job, replacing an existing one of its id.
    pub(super) fn enqueue(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        due: Timestamp,
        body: &Bytes,
    ) -> Result<(), redb::Error> {
        if let Some(replaced) = self.job(partition, queue, id)? {
            self.remove(replaced.key(partition, queue, id));
        }
        let fresh = JobState {
            due: due.0,
            lease: NO_LEASE,
        };
        self.put_job(partition, queue, id, &fresh, values::numbered(0, body))
    }

    /// Ends a claim whose lease was checked.
    pub(super) fn settle(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        next: Option<Timestamp>,
    ) -> Result<(), redb::Error> {
        let Some(settled) = self.job(partition, queue, id)? else {
            return Ok(());
        };
        let key = settled.key(partition, queue, id);
        let Some(next) = next else {
            self.remove(key);
            self.remove(keys::job(partition, queue, id));
            return Ok(());
        };
        let content = self.find(&key)?.ok_or_else(malformed)?;
        self.remove(key);
        let again = JobState {
            due: next.0,
            lease: NO_LEASE,
        };
        self.put_job(partition, queue, id, &again, content)
    }

    /// Claims due jobs.
    pub(super) fn claim(&mut self, claim: &Claim, now: Timestamp) -> Result<Claimed, redb::Error> {
        let (partition, queue) = (claim.partition.as_str(), claim.queue.as_str());
        let mut jobs = Vec::new();
        for mut found in self.due_jobs(partition, queue, now, claim.max)? {
            let [attempt] = values::read_numbers(&mut found.content)?;
            let (id, body, attempt) = (found.id, found.content, attempt.saturating_add(1));
            self.remove(found.key);
            let counters = &mut self.open(&claim.partition)?.counters;
            counters.lease = counters.lease.saturating_add(1);
            let lease = counters.lease;
            let leased = JobState {
                due: now.plus(claim.lease).0,
                lease,
            };
            let content = values::numbered(attempt, &body);
            self.put_job(partition, queue, &id, &leased, content)?;
            jobs.push(Job {
                id,
                lease: Lease(lease),
                attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
                body,
            });
        }
        Ok(Claimed {
            next_due: self.first_due(partition, queue, !jobs.is_empty())?,
            jobs,
        })
    }

    /// Up to `max` due jobs, longest due first.
    fn due_jobs(
        &mut self,
        partition: &str,
        queue: &str,
        now: Timestamp,
        max: usize,
    ) -> Result<Vec<DueJob>, redb::Error> {
        let (mut jobs, mut until): (Vec<DueJob>, _) = (Vec::new(), now);
        for order in Order::ALL {
            let queue = keys::queue(order, partition, queue);
            let Some(watermark) = self.watermark(&queue)? else {
                continue;
            };
            let due = keys::jobs_until(&queue, watermark, until);
            for found in self.range(&due)?.take(max) {
                let (key, content) = found?;
                let (due, id) = keys::due_of(&queue, &key)?;
                jobs.push(DueJob {
                    due,
                    id,
                    key,
                    content,
                });
            }
            // Behind a lease that has ended there may be the tombstones of very many that were settled: the search for
            // it ends where it could add nothing.
            if jobs.len() == max {
                until = jobs.last().map_or(until, |last| last.due);
            }
        }
        jobs.sort_unstable_by(|one, other| (one.due, &one.id).cmp(&(other.due, &other.id)));
        jobs.truncate(max);
        Ok(jobs)
    }

    /// When the first job may be claimed. If the batch changes the queue, the first keys of both orders become its
    /// watermarks.
    fn first_due(
        &mut self,
        partition: &str,
        queue: &str,
        is_changed: bool,
    ) -> Result<Option<Timestamp>, redb::Error> {
        let mut first_due: Option<Timestamp> = None;
        for order in Order::ALL {
            let queue = keys::queue(order, partition, queue);
            let Some(watermark) = self.watermark(&queue)? else {
                continue;
            };
            let all = keys::jobs(&queue, watermark);
            let first = self.range(&all)?.next().transpose()?;
            let first = first.map(|(key, _)| key);
            let due = first.as_ref().map(|key| keys::due_of(&queue, key));
            let due = due.transpose()?.map(|(due, _)| due);
            first_due = first_due.into_iter().chain(due).min();
            if is_changed {
                self.put_watermark(queue, first.unwrap_or(all.end));
            }
        }
        Ok(first_due)
    }

    /// A key that no job of an order of a queue comes before; `None` if there never was one.
    fn watermark(&mut self, queue: &[u8]) -> Result<Option<Key>, redb::Error> {
        if let Some(known) = self.batch.watermarks.get(queue) {
            return Ok(known.clone());
        }
        let found = self.find(&keys::watermark(queue))?;
        let found = found.map(Key::from);
        self.batch.watermarks.insert(queue.to_vec(), found.clone());
        Ok(found)
    }

    fn put_watermark(&mut self, queue: Key, watermark: Key) {
        let key = keys::watermark(&queue);
        self.put(key, Bytes::from(watermark.clone()));
        self.batch.watermarks.insert(queue, Some(watermark));
    }

    /// Puts a job with its content: its attempts and its body.
    pub(super) fn put_job(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        job: &JobState,
        content: Bytes,
    ) -> Result<(), redb::Error> {
        self.put(
            keys::job(partition, queue, id),
            values::numbers(&[job.due, job.lease]),
        );
        let key = job.key(partition, queue, id);
        let queue = keys::queue(job.order(), partition, queue);
        if self.watermark(&queue)?.is_none_or(|first| key < first) {
            self.put_watermark(queue, key.clone());
        }
        self.put(key, content);
        Ok(())
    }

    fn job(&self, partition: &str, queue: &str, id: &str) -> Result<Option<JobState>, redb::Error> {
        let job = self.numbers(&keys::job(partition, queue, id))?;
        Ok(job.map(|[due, lease]| JobState { due, lease }))
    }

    /// The newest lease of a job, unless it was settled.
    pub(super) fn lease(
        &self,
        partition: &str,
        queue: &str,
        id: &str,
    ) -> Result<Option<Lease>, redb::Error> {
        let job = self.job(partition, queue, id)?;
        Ok(job
            .filter(|job| job.lease != NO_LEASE)
            .map(|job| Lease(job.lease)))
    }
}
