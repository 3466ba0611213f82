//! What claims, and the jobs of commits, do to a state.
//!
//! A job has two rows: by its id, when it may be claimed, its lease and how often it was claimed; by when it may be
//! claimed, its body. Claims walk over the second, from the queue's floor on.

use bytes::Bytes;

use super::super::{Claimed, Job, Lease};
use super::change::Group;
use super::requests;
use super::tables::{self, Key};
use crate::clock::Timestamp;

/// What a job has that is not under a lease. Leases count from one.
pub(super) const NO_LEASE: u64 = 0;

/// A job's row.
pub(super) struct Stored {
    /// When it may be claimed: when it is due, or when its lease ends.
    pub(super) due: u64,
    pub(super) lease: u64,
    pub(super) attempt: u64,
}

impl Group<'_> {
    /// Puts a job in the place of one of its id, if there is one.
    pub(super) fn enqueue(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        due: Timestamp,
        body: &Bytes,
    ) -> Result<(), redb::Error> {
        self.remove_job(partition, queue, id)?;
        let fresh = Stored {
            due: due.0,
            lease: NO_LEASE,
            attempt: 0,
        };
        self.put_job(partition, queue, id, &fresh, body.clone());
        Ok(())
    }

    /// Ends a claim whose lease was looked at.
    pub(super) fn settle(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        next: Option<Timestamp>,
    ) -> Result<(), redb::Error> {
        let settled = self.remove_job(partition, queue, id)?;
        if let (Some(next), Some((old, body))) = (next, settled) {
            let again = Stored {
                due: next.0,
                lease: NO_LEASE,
                attempt: old.attempt,
            };
            self.put_job(partition, queue, id, &again, body);
        }
        Ok(())
    }

    /// Claims due jobs.
    pub(super) fn claim(
        &mut self,
        claim: &requests::Claim,
        now: Timestamp,
    ) -> Result<Claimed, redb::Error> {
        let (partition, queue) = (claim.partition.as_str(), claim.queue.as_str());
        let mut jobs = Vec::new();
        for id in self.due_jobs(partition, queue, now, claim.max)? {
            let Some((old, body)) = self.remove_job(partition, queue, &id)? else {
                continue;
            };
            let head = &mut self.open(&claim.partition)?.head;
            head.lease = head.lease.saturating_add(1);
            let (lease, attempt) = (head.lease, old.attempt.saturating_add(1));
            let leased = Stored {
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

    fn due_jobs(
        &self,
        partition: &str,
        queue: &str,
        now: Timestamp,
        max: usize,
    ) -> Result<Vec<String>, redb::Error> {
        let queue = tables::queue(partition, queue);
        let all = tables::due_jobs(&queue, self.floor(&queue));
        let mut jobs = Vec::new();
        for found in self.range(&all)?.take(max) {
            let (due, id) = tables::due_of(&queue, &found?.0)?;
            if due > now {
                break;
            }
            jobs.push(id);
        }
        Ok(jobs)
    }

    /// When the first job may be claimed, which is the queue's new floor.
    fn first_due(
        &mut self,
        partition: &str,
        queue: &str,
    ) -> Result<Option<Timestamp>, redb::Error> {
        let queue = tables::queue(partition, queue);
        let all = tables::due_jobs(&queue, self.floor(&queue));
        let first = self.range(&all)?.next().transpose()?;
        let first = first.map(|(key, _)| key);
        let due = first.as_ref().map(|key| tables::due_of(&queue, key));
        let due = due.transpose()?.map(|(due, _)| due);
        self.made.floors.insert(queue, first.unwrap_or(all.end));
        Ok(due)
    }

    fn floor(&self, queue: &[u8]) -> Option<&Key> {
        self.made
            .floors
            .get(queue)
            .or_else(|| self.state.floors.get(queue))
    }

    pub(super) fn put_job(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        job: &Stored,
        body: Bytes,
    ) {
        self.put(
            tables::job(partition, queue, id),
            tables::numbers(&[job.due, job.lease, job.attempt]),
        );
        let due = tables::due(partition, queue, job.due, id);
        let queue = tables::queue(partition, queue);
        if self.floor(&queue).is_some_and(|floor| due < *floor) {
            self.made.floors.insert(queue, due.clone());
        }
        self.put(due, body);
    }

    /// Removes a job if it is there; what it keeps for its next life: attempts and body.
    fn remove_job(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
    ) -> Result<Option<(Stored, Bytes)>, redb::Error> {
        let Some(job) = self.job(partition, queue, id)? else {
            return Ok(None);
        };
        let due = tables::due(partition, queue, job.due, id);
        let body = self.find(&due)?.unwrap_or_default();
        self.remove(due);
        self.remove(tables::job(partition, queue, id));
        Ok(Some((job, body)))
    }

    fn job(&self, partition: &str, queue: &str, id: &str) -> Result<Option<Stored>, redb::Error> {
        let job = self.numbers(&tables::job(partition, queue, id))?;
        Ok(job.map(|[due, lease, attempt]| Stored {
            due,
            lease,
            attempt,
        }))
    }

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
