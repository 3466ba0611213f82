//! What a change does to a state: which keys get which values.
//!
//! Every method either changes nothing or leaves its whole effect in the changes of its group, so
//! that many of them can share one record of the journal; an error gives up the group.

use std::collections::HashMap;

use bytes::Bytes;

use super::super::{
    Check, Claimed, Commit, CommitError, CommitId, Committed, Job, Lease, Op, Position, REMEMBER,
    Revision,
};
use super::ids::Ids;
use super::overlay::{self, Changes, Merged, State};
use super::tables::{self, Key};
use super::writer;
use crate::clock::Timestamp;

/// How many ids of old commits a commit forgets in passing. More than the one it adds, so that what
/// is remembered shrinks to what must be.
const FORGET_AT_ONCE: usize = 4;

/// What a job has that is not under a lease. Leases count from one.
pub(super) const NO_LEASE: u64 = 0;

/// What the changes of a group are made in.
pub(super) struct Group<'a> {
    /// The newest durable state.
    pub(super) state: &'a State,
    /// What the group changed so far.
    pub(super) changes: &'a mut Changes,
    /// The floors it moved ([`State::floors`]).
    pub(super) floors: &'a mut HashMap<Key, Key>,
    pub(super) ids: &'a mut Ids,
}

/// A partition's row.
#[derive(Clone, Copy, Default)]
struct Head {
    revision: u64,
    at: u64,
    lease: u64,
}

/// A job's row.
pub(super) struct Stored {
    /// When it may be claimed: when it is due, or when its lease ends.
    pub(super) due: u64,
    pub(super) lease: u64,
    pub(super) attempt: u64,
}

impl Group<'_> {
    /// Applies a commit, or says why not.
    pub(super) fn commit(
        &mut self,
        commit: &Commit,
        now: Timestamp,
    ) -> Result<Result<Committed, CommitError>, redb::Error> {
        let partition = commit.partition.as_str();
        if let Some(committed) = self.remembered(partition, commit.id)? {
            return Ok(Ok(committed));
        }
        for check in &commit.checks {
            if !self.holds(partition, check)? {
                return Ok(Err(CommitError::Conflict(check.clone())));
            }
        }
        if let Some(lost) = commit.lost_lease(|queue, job| self.lease(partition, queue, job))? {
            return Ok(Err(lost));
        }

        let mut head = self.head(partition)?;
        head.revision = head.revision.saturating_add(1);
        head.at = now.0.max(head.at.saturating_add(1));
        self.set_head(partition, head);
        // The revision, and the positions behind it.
        let mut outcome = vec![head.revision];
        for op in &commit.ops {
            outcome.extend(self.apply(partition, op, head)?);
        }
        self.forget(now.minus(REMEMBER))?;
        self.put(
            tables::remembered(head.at, partition, commit.id.0),
            tables::numbers(&outcome),
        );
        self.ids.add(partition, commit.id.0, head.at);
        Ok(Ok(committed(head.at, &outcome, false)))
    }

    /// Applies an op; where its message stands when it is an append.
    fn apply(&mut self, partition: &str, op: &Op, head: Head) -> Result<Option<u64>, redb::Error> {
        match op {
            Op::Put { key, value } => {
                self.put(
                    tables::entry(partition, key),
                    tables::numbered(head.revision, value),
                );
            }
            Op::Delete { key } => self.remove(tables::entry(partition, key)),
            Op::Append {
                log,
                attributes,
                body,
            } => {
                let value = tables::write_message(head.at, attributes, body);
                return self.append(partition, log, value).map(Some);
            }
            Op::Enqueue {
                queue,
                job,
                due,
                body,
            } => {
                self.remove_job(partition, queue, job)?;
                let fresh = Stored {
                    due: due.0,
                    lease: NO_LEASE,
                    attempt: 0,
                };
                self.put_job(partition, queue, job, &fresh, body.clone());
            }
            Op::Settle {
                queue, job, next, ..
            } => {
                let settled = self.remove_job(partition, queue, job)?;
                if let (Some(next), Some((old, body))) = (next, settled) {
                    let again = Stored {
                        due: next.0,
                        lease: NO_LEASE,
                        attempt: old.attempt,
                    };
                    self.put_job(partition, queue, job, &again, body);
                }
            }
        }
        Ok(None)
    }

    fn append(&mut self, partition: &str, log: &str, message: Bytes) -> Result<u64, redb::Error> {
        let ends = tables::log(partition, log);
        let [last, trimmed] = self.numbers(&ends)?.unwrap_or_default();
        let position = last.saturating_add(1);
        self.put(ends, tables::numbers(&[position, trimmed]));
        self.put(tables::message(partition, log, position), message);
        Ok(position)
    }

    /// Drops the oldest messages of a log; answers how many.
    pub(super) fn trim(&mut self, trim: &writer::Trim) -> Result<usize, redb::Error> {
        let (partition, log) = (trim.partition.as_str(), trim.log.as_str());
        let ends = tables::log(partition, log);
        let Some([last, trimmed]) = self.numbers(&ends)? else {
            return Ok(0);
        };
        let mut old = Vec::new();
        let all = tables::messages(partition, log, trimmed);
        for found in self.range(&all)?.take(trim.max) {
            let (key, mut value) = found?;
            let [at] = tables::read_numbers(&mut value)?;
            if at >= trim.before.0 {
                break;
            }
            old.push(key);
        }
        if let Some(newest) = old.last() {
            let trimmed = tables::position(newest)?;
            self.put(ends, tables::numbers(&[last, trimmed]));
        }
        let gone = old.len();
        for key in old {
            self.remove(key);
        }
        Ok(gone)
    }

    /// Claims due jobs.
    pub(super) fn claim(
        &mut self,
        claim: &writer::Claim,
        now: Timestamp,
    ) -> Result<Claimed, redb::Error> {
        let (partition, queue) = (claim.partition.as_str(), claim.queue.as_str());
        let mut head = self.head(partition)?;
        let mut jobs = Vec::new();
        for id in self.due_jobs(partition, queue, now, claim.max)? {
            let Some((old, body)) = self.remove_job(partition, queue, &id)? else {
                continue;
            };
            head.lease = head.lease.saturating_add(1);
            let attempt = old.attempt.saturating_add(1);
            let leased = Stored {
                due: now.plus(claim.lease).0,
                lease: head.lease,
                attempt,
            };
            self.put_job(partition, queue, &id, &leased, body.clone());
            jobs.push(Job {
                id,
                lease: Lease(head.lease),
                attempt: u32::try_from(attempt).unwrap_or(u32::MAX),
                body,
            });
        }
        if !jobs.is_empty() {
            self.set_head(partition, head);
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
        self.floors.insert(queue, first.unwrap_or(all.end));
        Ok(due)
    }

    fn floor(&self, queue: &[u8]) -> Option<&Key> {
        self.floors
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
            self.floors.insert(queue, due.clone());
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

    fn lease(&self, partition: &str, queue: &str, id: &str) -> Result<Option<Lease>, redb::Error> {
        let job = self.job(partition, queue, id)?;
        Ok(job
            .filter(|job| job.lease != NO_LEASE)
            .map(|job| Lease(job.lease)))
    }

    fn holds(&self, partition: &str, check: &Check) -> Result<bool, redb::Error> {
        let (Check::Absent(key) | Check::At(key, _)) = check;
        let found = self.numbers(&tables::entry(partition, key))?;
        Ok(match check {
            Check::Absent(_) => found.is_none(),
            Check::At(_, revision) => found == Some([revision.0]),
        })
    }

    fn head(&self, partition: &str) -> Result<Head, redb::Error> {
        let head = self.numbers(&tables::partition(partition))?;
        let [revision, at, lease] = head.unwrap_or_default();
        Ok(Head {
            revision,
            at,
            lease,
        })
    }

    fn set_head(&mut self, partition: &str, head: Head) {
        self.put(
            tables::partition(partition),
            tables::numbers(&[head.revision, head.at, head.lease]),
        );
    }

    fn remembered(&self, partition: &str, id: CommitId) -> Result<Option<Committed>, redb::Error> {
        for at in self.ids.times(partition, id.0) {
            if let Some(outcome) = self.find(&tables::remembered(at, partition, id.0))? {
                let outcome = tables::all_numbers(outcome)?;
                return Ok(Some(committed(at, &outcome, true)));
            }
        }
        Ok(None)
    }

    /// Forgets some of the commits that were published before `before`, of any partition.
    fn forget(&mut self, before: Timestamp) -> Result<(), redb::Error> {
        if self.ids.oldest >= before.0 {
            return Ok(());
        }
        let all = tables::remembered_since(self.ids.oldest);
        let oldest = self.range(&all)?.take(FORGET_AT_ONCE);
        let oldest: Vec<_> = oldest.collect::<Result<_, _>>()?;
        self.ids.oldest = u64::MAX;
        for (key, _) in oldest {
            let (at, partition, id) = tables::remembered_of(&key)?;
            self.ids.oldest = at;
            if at >= before.0 {
                break;
            }
            self.ids.remove(&partition, id, at);
            self.remove(key);
        }
        Ok(())
    }

    pub(super) fn put(&mut self, key: Key, value: Bytes) {
        self.changes.insert(key, Some(value));
    }

    fn remove(&mut self, key: Key) {
        self.changes.insert(key, None);
    }

    fn find(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        overlay::find(&self.layers(), &self.state.base, key)
    }

    /// The numbers a key's value begins with.
    fn numbers<const N: usize>(&self, key: &[u8]) -> Result<Option<[u64; N]>, redb::Error> {
        let found = self.find(key)?;
        found
            .map(|mut value| tables::read_numbers(&mut value))
            .transpose()
    }

    fn range(&self, range: &std::ops::Range<Key>) -> Result<Merged<'_>, redb::Error> {
        Merged::new(&self.layers(), &self.state.base, range)
    }

    fn layers(&self) -> [&Changes; 3] {
        [self.changes, &self.state.newest, &self.state.sealed]
    }
}

/// What a commit of that outcome, its revision and its positions, did.
fn committed(at: u64, outcome: &[u64], repeated: bool) -> Committed {
    let (revision, positions) = outcome.split_first().unwrap_or((&0, &[]));
    Committed {
        revision: Revision(*revision),
        at: Timestamp(at),
        positions: positions.iter().copied().map(Position).collect(),
        repeated,
    }
}
