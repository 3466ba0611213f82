//! What a change does to the tables of a write transaction.
//!
//! Every method leaves the tables either untouched or with its whole effect, so that many of them
//! can share one transaction; a redb error gives up the transaction.

use bytes::Bytes;
use redb::{ReadableTable, Table, WriteTransaction};

use super::super::{
    Check, Claimed, Commit, CommitError, CommitId, Committed, Job, Lease, Op, Position, REMEMBER,
    Revision,
};
use super::tables::{self, NO_LEASE, StoredJob, StoredMessage, StoredOutcome};
use super::{read, writer};
use crate::clock::Timestamp;

/// How many ids of old commits a commit forgets in passing. More than the one it adds, so that what
/// is remembered shrinks to what must be.
const FORGET_AT_ONCE: usize = 4;

/// The tables of a write transaction.
pub(super) struct Tables<'tx> {
    partitions: Table<'tx, &'static str, (u64, u64, u64)>,
    entries: Table<'tx, (&'static str, &'static str), (u64, &'static [u8])>,
    logs: Table<'tx, (&'static str, &'static str), (u64, u64)>,
    messages: Table<'tx, (&'static str, &'static str, u64), StoredMessage<'static>>,
    jobs: Table<'tx, (&'static str, &'static str, &'static str), StoredJob<'static>>,
    due: Table<'tx, (&'static str, &'static str, u64, &'static str), ()>,
    remembered: Table<'tx, (&'static str, u128), StoredOutcome>,
    by_age: Table<'tx, (u64, &'static str, u128), ()>,
}

/// A partition's row.
#[derive(Clone, Copy, Default)]
struct Head {
    revision: u64,
    at: u64,
    lease: u64,
}

impl<'tx> Tables<'tx> {
    /// Opens the tables, makes those that are not there.
    pub(super) fn open(tx: &'tx WriteTransaction) -> Result<Self, redb::Error> {
        Ok(Self {
            partitions: tx.open_table(tables::PARTITIONS)?,
            entries: tx.open_table(tables::ENTRIES)?,
            logs: tx.open_table(tables::LOGS)?,
            messages: tx.open_table(tables::MESSAGES)?,
            jobs: tx.open_table(tables::JOBS)?,
            due: tx.open_table(tables::DUE)?,
            remembered: tx.open_table(tables::REMEMBERED)?,
            by_age: tx.open_table(tables::BY_AGE)?,
        })
    }

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
        self.set_head(partition, head)?;
        let mut positions = Vec::new();
        for op in &commit.ops {
            self.apply(partition, op, head, &mut positions)?;
        }
        let outcome = (head.revision, head.at, positions);
        self.remember(partition, commit.id, &outcome)?;
        self.forget(now.minus(REMEMBER))?;
        Ok(Ok(committed(outcome, false)))
    }

    fn apply(
        &mut self,
        partition: &str,
        op: &Op,
        head: Head,
        positions: &mut Vec<u64>,
    ) -> Result<(), redb::Error> {
        match op {
            Op::Put { key, value } => {
                self.entries
                    .insert((partition, key.as_str()), (head.revision, value.as_ref()))?;
            }
            Op::Delete { key } => {
                self.entries.remove((partition, key.as_str()))?;
            }
            Op::Append {
                log,
                attributes,
                body,
            } => {
                positions.push(self.append(partition, log, attributes, body, head.at)?);
            }
            Op::Enqueue {
                queue,
                job,
                due,
                body,
            } => {
                self.remove_job(partition, queue, job)?;
                self.put_job(partition, queue, job, (due.0, NO_LEASE, 0, body.as_ref()))?;
            }
            Op::Settle {
                queue, job, next, ..
            } => {
                let settled = self.remove_job(partition, queue, job)?;
                if let (Some(next), Some((attempt, body))) = (next, settled) {
                    self.put_job(partition, queue, job, (next.0, NO_LEASE, attempt, &body))?;
                }
            }
        }
        Ok(())
    }

    fn append(
        &mut self,
        partition: &str,
        log: &str,
        attributes: &[(String, String)],
        body: &[u8],
        at: u64,
    ) -> Result<u64, redb::Error> {
        let (last, trimmed) = self
            .logs
            .get((partition, log))?
            .map_or((0, 0), |ends| ends.value());
        let position = last.saturating_add(1);
        self.logs.insert((partition, log), (position, trimmed))?;
        let attributes: Vec<(&str, &str)> = attributes
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.messages
            .insert((partition, log, position), (at, attributes, body))?;
        Ok(position)
    }

    /// Drops the oldest messages of a log; answers how many.
    pub(super) fn trim(&mut self, trim: &writer::Trim) -> Result<usize, redb::Error> {
        let (partition, log) = (trim.partition.as_str(), trim.log.as_str());
        let Some((last, _)) = self.logs.get((partition, log))?.map(|ends| ends.value()) else {
            return Ok(0);
        };
        let mut old = Vec::new();
        let all = (partition, log, 0)..=(partition, log, last);
        for found in self
            .messages
            .range::<(&str, &str, u64)>(all)?
            .take(trim.max)
        {
            let (key, stored) = found?;
            if stored.value().0 >= trim.before.0 {
                break;
            }
            old.push(key.value().2);
        }
        for position in &old {
            self.messages.remove((partition, log, *position))?;
        }
        if let Some(trimmed) = old.last() {
            self.logs.insert((partition, log), (last, *trimmed))?;
        }
        Ok(old.len())
    }

    /// Claims due jobs.
    pub(super) fn claim(
        &mut self,
        claim: &writer::Claim,
        now: Timestamp,
    ) -> Result<Claimed, redb::Error> {
        let (partition, queue) = (claim.partition.as_str(), claim.queue.as_str());
        let due = self.due_jobs(partition, queue, now, claim.max)?;
        let mut head = self.head(partition)?;
        let mut jobs = Vec::new();
        for id in due {
            let Some((attempt, body)) = self.remove_job(partition, queue, &id)? else {
                continue;
            };
            head.lease = head.lease.saturating_add(1);
            let attempt = attempt.saturating_add(1);
            let ends = now.plus(claim.lease).0;
            self.put_job(partition, queue, &id, (ends, head.lease, attempt, &body))?;
            jobs.push(Job {
                id,
                lease: Lease(head.lease),
                attempt,
                body,
            });
        }
        if !jobs.is_empty() {
            self.set_head(partition, head)?;
        }
        Ok(Claimed {
            jobs,
            next_due: read::first_due(&self.due, partition, queue)?,
        })
    }

    fn due_jobs(
        &self,
        partition: &str,
        queue: &str,
        now: Timestamp,
        max: usize,
    ) -> Result<Vec<String>, redb::Error> {
        let until_now = (partition, queue, 0, "")..(partition, queue, now.0.saturating_add(1), "");
        let mut jobs = Vec::new();
        for found in self
            .due
            .range::<(&str, &str, u64, &str)>(until_now)?
            .take(max)
        {
            jobs.push(found?.0.value().3.to_owned());
        }
        Ok(jobs)
    }

    fn put_job(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
        job: StoredJob<'_>,
    ) -> Result<(), redb::Error> {
        self.jobs.insert((partition, queue, id), job)?;
        self.due.insert((partition, queue, job.0, id), ())?;
        Ok(())
    }

    /// Removes a job if it is there; what it keeps for its next life: attempts and body.
    fn remove_job(
        &mut self,
        partition: &str,
        queue: &str,
        id: &str,
    ) -> Result<Option<(u32, Bytes)>, redb::Error> {
        let Some(job) = self.jobs.remove((partition, queue, id))? else {
            return Ok(None);
        };
        let (due, _, attempt, body) = job.value();
        self.due.remove((partition, queue, due, id))?;
        Ok(Some((attempt, Bytes::copy_from_slice(body))))
    }

    fn lease(&self, partition: &str, queue: &str, id: &str) -> Result<Option<Lease>, redb::Error> {
        let lease = self
            .jobs
            .get((partition, queue, id))?
            .map(|job| job.value().1);
        Ok(lease.filter(|lease| *lease != NO_LEASE).map(Lease))
    }

    fn holds(&self, partition: &str, check: &Check) -> Result<bool, redb::Error> {
        Ok(match check {
            Check::Absent(key) => self.entries.get((partition, key.as_str()))?.is_none(),
            Check::At(key, revision) => self
                .entries
                .get((partition, key.as_str()))?
                .is_some_and(|entry| entry.value().0 == revision.0),
        })
    }

    fn head(&self, partition: &str) -> Result<Head, redb::Error> {
        let head = self.partitions.get(partition)?.map(|head| head.value());
        Ok(
            head.map_or_else(Head::default, |(revision, at, lease)| Head {
                revision,
                at,
                lease,
            }),
        )
    }

    fn set_head(&mut self, partition: &str, head: Head) -> Result<(), redb::Error> {
        self.partitions
            .insert(partition, (head.revision, head.at, head.lease))?;
        Ok(())
    }

    fn remembered(&self, partition: &str, id: CommitId) -> Result<Option<Committed>, redb::Error> {
        let stored = self.remembered.get((partition, id.0))?;
        Ok(stored.map(|stored| committed(stored.value(), true)))
    }

    fn remember(
        &mut self,
        partition: &str,
        id: CommitId,
        outcome: &StoredOutcome,
    ) -> Result<(), redb::Error> {
        self.remembered.insert((partition, id.0), outcome)?;
        self.by_age.insert((outcome.1, partition, id.0), ())?;
        Ok(())
    }

    /// Forgets some of the commits that were published before `before`, of any partition.
    fn forget(&mut self, before: Timestamp) -> Result<(), redb::Error> {
        for _ in 0..FORGET_AT_ONCE {
            let oldest = self.by_age.first()?.map(|(key, _)| key.value().0);
            if oldest.is_none_or(|at| at >= before.0) {
                break;
            }
            if let Some((key, _)) = self.by_age.pop_first()? {
                let (_, partition, id) = key.value();
                self.remembered.remove((partition, id))?;
            }
        }
        Ok(())
    }
}

fn committed(outcome: StoredOutcome, repeated: bool) -> Committed {
    let (revision, at, positions) = outcome;
    let positions = positions.into_iter().map(Position).collect();
    Committed {
        revision: Revision(revision),
        at: Timestamp(at),
        positions,
        repeated,
    }
}
