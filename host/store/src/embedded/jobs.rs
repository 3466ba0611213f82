//! Claims, and the jobs of commits, applied to a batch.
//!
//! A job has two keys: one by its id, with its due time, lease and attempts; one by its due time or the end of its lease,
//! with its body. Claims walk over the second, from the queue's watermarks on.

use bytes::Bytes;

use super::super::contract::{Claimed, Job, Lease};
use super::batch::BatchWriter;
use super::engine::Key;
use super::keys::{self, Order};
use super::requests::Claim;
use super::values;
use crate::clock::Timestamp;

/// The lease of a job that is not under one. Leases count from one.
pub(super) const NO_LEASE: u64 = 0;

/// A job without its body.
pub(super) struct JobState {
    /// When it may be claimed: when it is due, or when its lease ends.
    pub(super) due: u64,
    pub(super) lease: u64,
    pub(super) attempt: u64,
}

impl JobState {
    const fn order(&self) -> Order {
        match self.lease {
            NO_LEASE => Order::Due,
            _ => Order::Leased,
        }
    }
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
        self.remove_job(partition, queue, id)?;
        let fresh = JobState {
            due: due.0,
            lease: NO_LEASE,
            attempt: 0,
        };
        self.put_job(partition, queue, id, &fresh, body.clone());
        Ok(())
    }

    /// Ends a claim whose lease was checked.
    pub(super) fn settle(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        next: Option<Timestamp>,
    ) -> Result<(), redb::Error> {
        let settled = self.remove_job(partition, queue, id)?;
        if let (Some(next), Some((old, body))) = (next, settled) {
            let again = JobState {
                due: next.0,
                lease: NO_LEASE,
                attempt: old.attempt,
            };
            self.put_job(partition, queue, id, &again, body);
        }
        Ok(())
    }

    /// Claims due jobs.
    pub(super) fn claim(&mut self, claim: &Claim, now: Timestamp) -> Result<Claimed, redb::Error> {
        let (partition, queue) = (claim.partition.as_str(), claim.queue.as_str());
        let mut jobs = Vec::new();
        for id in self.due_jobs(partition, queue, now, claim.max)? {
            let Some((old, body)) = self.remove_job(partition, queue, &id)? else {
                continue;
            };
            let counters = &mut self.open(&claim.partition)?.counters;
            counters.lease = counters.lease.saturating_add(1);
            let (lease, attempt) = (counters.lease, old.attempt.saturating_add(1));
            let leased = JobState {
                due: now.plus(claim.lease).0,
                lease,
                attempt,
            };
            self.put_job(partition, queue, &id, &leased, body.clone());
            jobs.push(Job {
                id,
                lease: Lease(lease),
                attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
                body,
            });
        }
        Ok(Claimed {
            jobs,
            next_due: self.first_due(partition, queue)?,
        })
    }

    /// The ids of up to `max` due jobs, longest due first.
    fn due_jobs(
        &self,
        partition: &str,
        queue: &str,
        now: Timestamp,
        max: usize,
    ) -> Result<Vec<String>, redb::Error> {
        let mut jobs = Vec::new();
        for order in Order::ALL {
            let queue = keys::queue(order, partition, queue);
            let all = keys::jobs(&queue, self.watermark(&queue));
            for found in self.range(&all)?.take(max) {
                let (due, id) = keys::due_of(&queue, &found?.0)?;
                if due > now {
                    break;
                }
                jobs.push((due, id));
            }
        }
        jobs.sort_unstable();
        jobs.truncate(max);
        Ok(jobs.into_iter().map(|(_, id)| id).collect())
    }

    /// When the first job may be claimed. The first keys of both orders become the queue's watermarks.
    fn first_due(
        &mut self,
        partition: &str,
        queue: &str,
    ) -> Result<Option<Timestamp>, redb::Error> {
        let mut first_due: Option<Timestamp> = None;
        for order in Order::ALL {
            let queue = keys::queue(order, partition, queue);
            let all = keys::jobs(&queue, self.watermark(&queue));
            let first = self.range(&all)?.next().transpose()?;
            let first = first.map(|(key, _)| key);
            let due = first.as_ref().map(|key| keys::due_of(&queue, key));
            let due = due.transpose()?.map(|(due, _)| due);
            first_due = first_due.into_iter().chain(due).min();
            self.batch
                .watermarks
                .insert(queue, first.unwrap_or(all.end));
        }
        Ok(first_due)
    }

    fn watermark(&self, queue: &[u8]) -> Option<&Key> {
        self.batch
            .watermarks
            .get(queue)
            .or_else(|| self.state.watermarks.get(queue))
    }

    /// Puts a job and its body.
    pub(super) fn put_job(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        job: &JobState,
        body: Bytes,
    ) {
        self.put(
            keys::job(partition, queue, id),
            values::numbers(&[job.due, job.lease, job.attempt]),
        );
        let due = keys::due(job.order(), partition, queue, job.due, id);
        let queue = keys::queue(job.order(), partition, queue);
        if self
            .watermark(&queue)
            .is_some_and(|watermark| due < *watermark)
        {
            self.batch.watermarks.insert(queue, due.clone());
        }
        self.put(due, body);
    }

    /// Removes a job if it exists; returns its state and body.
    fn remove_job(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
    ) -> Result<Option<(JobState, Bytes)>, redb::Error> {
        let Some(job) = self.job(partition, queue, id)? else {
            return Ok(None);
        };
        let due = keys::due(job.order(), partition, queue, job.due, id);
        let body = self.find(&due)?.unwrap_or_default();
        self.remove(due);
        self.remove(keys::job(partition, queue, id));
        Ok(Some((job, body)))
    }

    fn job(&self, partition: &str, queue: &str, id: &str) -> Result<Option<JobState>, redb::Error> {
        let job = self.numbers(&keys::job(partition, queue, id))?;
        Ok(job.map(|[due, lease, attempt]| JobState {
            due,
            lease,
            attempt,
        }))
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
