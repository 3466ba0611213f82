//! What a change does to a state: which keys get which values.
//!
//! Every method either changes nothing or leaves its whole effect in the changes of its group, so
//! that many of them can share one record of the journal; an error gives up the group.

use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::RandomState;

use super::super::{
    Check, Claimed, Commit, CommitError, CommitId, Committed, Job, Lease, Op, Partition, Position,
    REMEMBER, Revision,
};
use super::ids::Ids;
use super::overlay::{Changes, Merged, State};
use super::tables::{self, Key, Outcome};
use super::writer;
use crate::clock::Timestamp;

/// How many rows of outcomes a group forgets in passing for each that it adds, so that what is
/// remembered shrinks to what must be.
const FORGET_AT_ONCE: usize = 4;

/// How long a row of messages gets.
pub(super) const ROW: usize = 64 << 10;

/// What a job has that is not under a lease. Leases count from one.
pub(super) const NO_LEASE: u64 = 0;

/// What changes are made in.
pub(super) struct Group<'a> {
    /// The newest durable state.
    pub(super) state: &'a State,
    pub(super) made: &'a mut Made,
    pub(super) ids: &'a mut Ids,
}

/// What a group changed so far.
#[derive(Default)]
pub(super) struct Made {
    pub(super) changes: Changes,
    /// The floors it moved ([`State::floors`]).
    pub(super) floors: HashMap<Key, Key>,
    /// What is written once for all commits of a partition, when the group ends.
    open: HashMap<Partition, Open, RandomState>,
}

/// The head, the ends of logs, the newest messages and the newest outcomes of a partition.
struct Open {
    head: Head,
    logs: HashMap<String, OpenLog, RandomState>,
    /// When the first of the outcomes was published.
    at: u64,
    outcomes: Vec<u8>,
}

struct OpenLog {
    last: u64,
    trimmed: u64,
    /// Messages up to the last.
    row: Vec<u8>,
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
        let partition = &commit.partition;
        if let Some(committed) = self.remembered(partition, commit.id)? {
            return Ok(Ok(committed));
        }
        for check in &commit.checks {
            if !self.holds(partition.as_str(), check)? {
                return Ok(Err(CommitError::Conflict(check.clone())));
            }
        }
        let lease = |queue: &str, job: &str| self.lease(partition.as_str(), queue, job);
        if let Some(lost) = commit.lost_lease(lease)? {
            return Ok(Err(lost));
        }

        let head = &mut self.open(partition)?.head;
        head.revision = head.revision.saturating_add(1);
        head.at = now.0.max(head.at.saturating_add(1));
        let mut outcome = Outcome {
            id: commit.id.0,
            at: head.at,
            revision: head.revision,
            positions: Vec::new(),
        };
        for op in &commit.ops {
            self.apply(partition, op, &mut outcome)?;
        }
        self.remember(partition, &outcome)?;
        Ok(Ok(committed(outcome, false)))
    }

    /// Applies an op.
    fn apply(
        &mut self,
        partition: &Partition,
        op: &Op,
        outcome: &mut Outcome,
    ) -> Result<(), redb::Error> {
        let of = partition.as_str();
        match op {
            Op::Put { key, value } => {
                self.put(
                    tables::entry(of, key),
                    tables::numbered(outcome.revision, value),
                );
            }
            Op::Delete { key } => self.remove(tables::entry(of, key)),
            Op::Append {
                log,
                attributes,
                body,
            } => {
                let at = outcome.at;
                let write = |row: &mut Vec<u8>, position| {
                    tables::write_message(row, position, at, attributes, body);
                };
                outcome.positions.push(self.append(partition, log, write)?);
            }
            Op::Enqueue {
                queue,
                job,
                due,
                body,
            } => {
                self.remove_job(of, queue, job)?;
                let fresh = Stored {
                    due: due.0,
                    lease: NO_LEASE,
                    attempt: 0,
                };
                self.put_job(of, queue, job, &fresh, body.clone());
            }
            Op::Settle {
                queue, job, next, ..
            } => {
                let settled = self.remove_job(of, queue, job)?;
                if let (Some(next), Some((old, body))) = (next, settled) {
                    let again = Stored {
                        due: next.0,
                        lease: NO_LEASE,
                        attempt: old.attempt,
                    };
                    self.put_job(of, queue, job, &again, body);
                }
            }
        }
        Ok(())
    }

    /// What is open of a partition.
    fn open(&mut self, partition: &Partition) -> Result<&mut Open, redb::Error> {
        if !self.made.open.contains_key(partition) {
            let head = self.numbers(&tables::partition(partition.as_str()))?;
            let [revision, at, lease] = head.unwrap_or_default();
            let open = Open {
                head: Head {
                    revision,
                    at,
                    lease,
                },
                logs: HashMap::default(),
                at: 0,
                outcomes: Vec::new(),
            };
            self.made.open.insert(partition.clone(), open);
        }
        let open = self.made.open.get_mut(partition);
        open.ok_or_else(tables::malformed)
    }

    /// Appends a message to a log; its position.
    fn append(
        &mut self,
        partition: &Partition,
        log: &str,
        write: impl FnOnce(&mut Vec<u8>, u64),
    ) -> Result<u64, redb::Error> {
        if !self.open(partition)?.logs.contains_key(log) {
            let ends = self.numbers(&tables::log(partition.as_str(), log))?;
            let [last, trimmed] = ends.unwrap_or_default();
            let open = OpenLog {
                last,
                trimmed,
                row: Vec::new(),
            };
            self.open(partition)?.logs.insert(log.to_owned(), open);
        }
        let open = self.open(partition)?.logs.get_mut(log);
        let open = open.ok_or_else(tables::malformed)?;
        open.last = open.last.saturating_add(1);
        let position = open.last;
        write(&mut open.row, position);
        if open.row.len() >= ROW {
            let row = std::mem::take(&mut open.row);
            let key = tables::message(partition.as_str(), log, position);
            self.put(key, row.into());
        }
        Ok(position)
    }

    /// Remembers what a commit did.
    fn remember(&mut self, partition: &Partition, outcome: &Outcome) -> Result<(), redb::Error> {
        let open = self.open(partition)?;
        if open.outcomes.is_empty() {
            open.at = outcome.at;
        }
        tables::write_outcome(&mut open.outcomes, outcome);
        let at = open.at;
        self.ids.add(partition.as_str(), outcome.id, at);
        Ok(())
    }

    /// Puts what is open where it belongs.
    pub(super) fn close(&mut self, now: Timestamp) -> Result<(), redb::Error> {
        for (partition, open) in std::mem::take(&mut self.made.open) {
            let (of, head) = (partition.as_str(), open.head);
            self.put(
                tables::partition(of),
                tables::numbers(&[head.revision, head.at, head.lease]),
            );
            for (log, open) in open.logs {
                let ends = tables::numbers(&[open.last, open.trimmed]);
                self.put(tables::log(of, &log), ends);
                if !open.row.is_empty() {
                    self.put(tables::message(of, &log, open.last), open.row.into());
                }
            }
            if !open.outcomes.is_empty() {
                self.put(tables::remembered(open.at, of), open.outcomes.into());
                self.forget(now.minus(REMEMBER))?;
            }
        }
        Ok(())
    }

    /// Drops the oldest messages of a log; answers how many.
    pub(super) fn trim(
        &mut self,
        trim: &writer::Trim,
        now: Timestamp,
    ) -> Result<usize, redb::Error> {
        self.close(now)?;
        let (partition, log) = (trim.partition.as_str(), trim.log.as_str());
        let ends = tables::log(partition, log);
        let Some([last, trimmed]) = self.numbers(&ends)? else {
            return Ok(0);
        };
        let (mut gone, mut newest, mut rows) = (0, trimmed, Vec::new());
        for found in self.range(&tables::messages(partition, log, trimmed))? {
            let (key, row) = found?;
            let messages = tables::read_messages(row, trimmed)?;
            let all = messages.len();
            let old = messages.iter().take(trim.max - gone);
            let old = old.take_while(|message| message.publish_time < trim.before);
            let some = old.inspect(|message| newest = message.position.0).count();
            gone += some;
            if some < all {
                break;
            }
            rows.push(key);
        }
        if gone > 0 {
            self.put(ends, tables::numbers(&[last, newest]));
        }
        for row in rows {
            self.remove(row);
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

    fn remembered(
        &self,
        partition: &Partition,
        id: CommitId,
    ) -> Result<Option<Committed>, redb::Error> {
        for at in self.ids.times(partition.as_str(), id.0) {
            let open = self.made.open.get(partition);
            let open = open.filter(|open| open.at == at && !open.outcomes.is_empty());
            let row = match open {
                Some(open) => Bytes::copy_from_slice(&open.outcomes),
                None => self
                    .find(&tables::remembered(at, partition.as_str()))?
                    .unwrap_or_default(),
            };
            for outcome in tables::outcomes(&row) {
                let outcome = outcome?;
                if outcome.id == id.0 {
                    return Ok(Some(committed(outcome, true)));
                }
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
        for (key, row) in oldest {
            let (at, partition) = tables::remembered_of(&key)?;
            self.ids.oldest = at;
            let outcomes: Vec<Outcome> = tables::outcomes(&row).collect::<Result<_, _>>()?;
            if outcomes.iter().any(|outcome| outcome.at >= before.0) {
                break;
            }
            for outcome in outcomes {
                self.ids.remove(&partition, outcome.id, at);
            }
            self.remove(key);
        }
        Ok(())
    }

    pub(super) fn put(&mut self, key: Key, value: Bytes) {
        self.made.changes.insert(key, Some(value));
    }

    fn remove(&mut self, key: Key) {
        self.made.changes.insert(key, None);
    }

    fn find(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        let made = self.made.changes.get(key);
        made.map_or_else(|| self.state.find(key), |made| Ok(made.clone()))
    }

    /// The numbers a key's value begins with.
    fn numbers<const N: usize>(&self, key: &[u8]) -> Result<Option<[u64; N]>, redb::Error> {
        let found = self.find(key)?;
        found
            .map(|mut value| tables::read_numbers(&mut value))
            .transpose()
    }

    fn range(&self, range: &std::ops::Range<Key>) -> Result<Merged<'_>, redb::Error> {
        self.state.range(&self.made.changes, range)
    }
}

/// What a commit of that outcome did.
fn committed(outcome: Outcome, repeated: bool) -> Committed {
    Committed {
        revision: Revision(outcome.revision),
        at: Timestamp(outcome.at),
        positions: outcome.positions.into_iter().map(Position).collect(),
        repeated,
    }
}
