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

/// An order of a queue, searched for jobs that may be claimed.
struct Searched {
    queue: Key,
    /// The first job behind those that were found.
    first: Option<Key>,
    /// Behind all jobs.
    end: Key,
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

    /// Claims due jobs, longest due first. If there are any, the first keys of both orders become the queue's watermarks.
    pub(super) fn claim(&mut self, claim: &Claim, now: Timestamp) -> Result<Claimed, redb::Error> {
        let (partition, queue) = (claim.partition.as_str(), claim.queue.as_str());
        let (mut searched, mut due, mut until) = (Vec::new(), Vec::new(), now);
        for order in Order::ALL {
            searched.extend(self.search(order, claim, until, &mut due)?);
            // Behind a lease that has ended there may be the tombstones of very many that were settled: the search for
            // it ends where it could add nothing.
            if due.len() == claim.max {
                until = due.last().map_or(until, |last: &DueJob| last.due);
            }
        }
        due.sort_unstable_by(|one, other| (one.due, &one.id).cmp(&(other.due, &other.id)));
        let rest = due.split_off(due.len().min(claim.max));
        let mut claimed = Claimed::default();
        for Searched { queue, first, end } in searched {
            let left = rest.iter().map(|job| &job.key);
            let left = left.filter(|key| key.starts_with(&queue));
            let first = left.chain(&first).min().cloned();
            if let Some(first) = &first {
                let (due, _) = keys::due_of(&queue, first)?;
                claimed.next_due = claimed.next_due.into_iter().chain([due]).min();
            }
            if !due.is_empty() {
                self.put_watermark(queue, first.unwrap_or(end));
            }
        }
        for mut found in due {
            let [attempt] = values::read_numbers(&mut found.content)?;
            let (id, body, attempt) = (found.id, found.content, attempt.saturating_add(1));
            self.remove(found.key);
            let counters = &mut self.open(&claim.partition)?.counters;
            counters.lease = counters.lease.saturating_add(1);
            let lease = counters.lease;
            let until = now.plus(claim.lease);
            let leased = JobState {
                due: until.0,
                lease,
            };
            let content = values::numbered(attempt, &body);
            self.put_job(partition, queue, &id, &leased, content)?;
            claimed.next_due = claimed.next_due.into_iter().chain([until]).min();
            claimed.jobs.push(Job {
                id,
                lease: Lease(lease),
                attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
                body,
            });
        }
        Ok(claimed)
    }

    /// Adds the jobs of an order that are due at `until`, as many as are claimed at most. `None` if there never was one.
    fn search(
        &mut self,
        order: Order,
        claim: &Claim,
        until: Timestamp,
        due: &mut Vec<DueJob>,
    ) -> Result<Option<Searched>, redb::Error> {
        let queue = keys::queue(order, claim.partition.as_str(), &claim.queue);
        let Some(watermark) = self.watermark(&queue)? else {
            return Ok(None);
        };
        let all = keys::jobs(&queue, watermark);
        let (mut first, mut room) = (None, claim.max);
        for found in self.range(&all)? {
            let (key, content) = found?;
            let (at, id) = keys::due_of(&queue, &key)?;
            if room == 0 || at > until {
                first = Some(key);
                break;
            }
            room -= 1;
            due.push(DueJob {
                due: at,
                id,
                key,
                content,
            });
        }
        Ok(Some(Searched {
            queue,
            first,
            end: all.end,
        }))
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
