//! What requests do to a batch.
//!
//! Every operation either changes nothing or leaves its whole effect in the batch, so that many requests can share it;
//! an error discards the batch.

use super::super::contract::{Check, Commit, CommitError, Committed, Op, Partition};
use super::batch::{BatchWriter, committed};
use super::keys;
use super::requests::{Request, Trim};
use super::values::{self, Outcome};
use crate::clock::Timestamp;

impl BatchWriter<'_> {
    /// Applies a request and keeps its outcome in it.
    pub(super) fn apply(
        &mut self,
        request: &mut Request,
        now: Timestamp,
    ) -> Result<(), redb::Error> {
        match request {
            Request::Commit(pending) => pending.outcome = Some(self.commit(&pending.work, now)?),
            Request::Trim(pending) => pending.outcome = Some(self.trim(&pending.work, now)?),
            Request::Claim(pending) => pending.outcome = Some(self.claim(&pending.work, now)?),
            Request::Restore(pending) => {
                self.restore(&pending.work, now)?;
                pending.outcome = Some(());
            }
            Request::Wake => {}
        }
        Ok(())
    }

    /// Applies a commit, unless a check or a lease of it does not hold.
    fn commit(
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

        let counters = &mut self.open(partition)?.counters;
        counters.revision = counters.revision.saturating_add(1);
        counters.at = now.0.max(counters.at.saturating_add(1));
        let mut outcome = Outcome {
            id: commit.id.0,
            at: counters.at,
            revision: counters.revision,
            positions: Vec::new(),
        };
        for op in &commit.ops {
            self.apply_op(partition, op, &mut outcome)?;
        }
        self.remember(partition, &outcome)?;
        Ok(Ok(committed(outcome, false)))
    }

    fn apply_op(
        &mut self,
        partition: &Partition,
        op: &Op,
        outcome: &mut Outcome,
    ) -> Result<(), redb::Error> {
        let name = partition.as_str();
        match op {
            Op::Put { key, value } => {
                self.put(
                    keys::entry(name, key),
                    values::numbered(outcome.revision, value),
                );
            }
            Op::Delete { key } => self.remove(keys::entry(name, key)),
            Op::Append {
                log,
                attributes,
                body,
            } => {
                let at = outcome.at;
                let write = |row: &mut Vec<u8>, position| {
                    values::write_message(row, position, at, attributes, body);
                };
                outcome.positions.push(self.append(partition, log, write)?);
            }
            Op::Enqueue {
                queue,
                job,
                due,
                body,
            } => self.enqueue(name, queue, job, *due, body)?,
            Op::Settle {
                queue, job, next, ..
            } => self.settle(name, queue, job, *next)?,
        }
        Ok(())
    }

    fn holds(&self, partition: &str, check: &Check) -> Result<bool, redb::Error> {
        let (Check::Absent(key) | Check::At(key, _)) = check;
        let found = self.numbers(&keys::entry(partition, key))?;
        Ok(match check {
            Check::Absent(_) => found.is_none(),
            Check::At(_, revision) => found == Some([revision.0]),
        })
    }

    /// Drops the oldest messages of a log; returns how many.
    fn trim(&mut self, trim: &Trim, now: Timestamp) -> Result<usize, redb::Error> {
        self.close(now)?;
        let (partition, log) = (trim.partition.as_str(), trim.log.as_str());
        let Some(mut bounds) = self.log_bounds(partition, log)? else {
            return Ok(0);
        };
        let (mut dropped, mut rows) = (0, Vec::new());
        for found in self.range(&keys::messages(partition, log, bounds.trimmed))? {
            let (key, row) = found?;
            let messages = values::read_messages(row, bounds.trimmed)?;
            let all = messages.len();
            let old = messages.iter().take(trim.max - dropped);
            let old = old.take_while(|message| message.publish_time < trim.before);
            let some = old
                .inspect(|message| bounds.trimmed = message.position.0)
                .count();
            dropped += some;
            if some < all {
                break;
            }
            rows.push(key);
        }
        if dropped > 0 {
            self.put(keys::log(partition, log), bounds.value());
        }
        for row in rows {
            self.remove(row);
        }
        Ok(dropped)
    }
}
