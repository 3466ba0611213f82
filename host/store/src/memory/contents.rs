//! The contents of a partition of the in-memory store, and the operations on them.
//!
//! Pure: no clock, no lock, no listeners.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::time::Duration;

use bytes::Bytes;

use super::super::contract::{
    Check, Claimed, Commit, CommitError, CommitId, Committed, Entry, Job, Lease, MAX_OPS, Message,
    Op, Page, Position, REMEMBER, Revision, Slice,
};
use crate::clock::Timestamp;

/// The contents of a partition.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) revision: Revision,
    /// The publish time of the newest commit.
    pub(super) at: Timestamp,
    /// The number of the newest lease.
    pub(super) leases: u64,
    pub(super) entries: BTreeMap<String, Entry>,
    pub(super) logs: BTreeMap<String, Log>,
    pub(super) queues: BTreeMap<String, BTreeMap<String, StoredJob>>,
    /// The outcomes of recent commits.
    pub(super) remembered: HashMap<CommitId, Committed>,
    /// Their ids by publish time, which is unique to a commit, in the order in which they expire.
    by_age: BTreeMap<Timestamp, CommitId>,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) messages: BTreeMap<Position, Message>,
    pub(super) last: Position,
    pub(super) trimmed: Position,
}

#[derive(Debug)]
pub(super) struct StoredJob {
    /// The time at which it may be claimed: when it is due, or when its lease ends.
    pub(super) due: Timestamp,
    pub(super) lease: Option<Lease>,
    pub(super) attempt: u32,
    pub(super) body: Bytes,
}

impl Contents {
    /// Checks whether a commit may take effect.
    pub(super) fn check(&self, commit: &Commit) -> Result<(), CommitError> {
        if let Some(check) = commit.checks.iter().find(|check| !self.holds(check)) {
            return Err(CommitError::Conflict(check.clone()));
        }
        let newest = |queue: &str, job: &str| -> Result<Option<Lease>, CommitError> {
            Ok(self.queues.get(queue).and_then(|jobs| jobs.get(job)?.lease))
        };
        commit.lost_lease(newest)?.map_or(Ok(()), Err)
    }

    /// Returns whether a check holds for the current entries.
    fn holds(&self, check: &Check) -> bool {
        match check {
            Check::Absent(key) => !self.entries.contains_key(key),
            Check::At(key, revision) => self
                .entries
                .get(key)
                .is_some_and(|entry| entry.revision == *revision),
        }
    }

    /// Applies a commit that may take effect.
    pub(super) fn apply(&mut self, commit: &Commit, now: Timestamp) -> Committed {
        self.revision = Revision(self.revision.0.saturating_add(1));
        self.at = now.max(Timestamp(self.at.0.saturating_add(1)));
        let positions = commit
            .ops
            .iter()
            .filter_map(|op| self.apply_op(op))
            .collect();
        let (revision, at) = (self.revision, self.at);
        let committed = Committed {
            revision,
            at,
            positions,
            repeated: false,
        };
        self.forget_before(now.minus(REMEMBER));
        self.by_age.insert(at, commit.id);
        self.remembered.insert(commit.id, committed.clone());
        committed
    }

    /// Forgets the outcomes of the commits published before `before`.
    fn forget_before(&mut self, before: Timestamp) {
        let recent = self.by_age.split_off(&before);
        for id in std::mem::replace(&mut self.by_age, recent).values() {
            self.remembered.remove(id);
        }
    }

    /// Applies an op; returns the position of the message when it is an append.
    fn apply_op(&mut self, op: &Op) -> Option<Position> {
        match op {
            Op::Put { key, value } => {
                let entry = Entry {
                    revision: self.revision,
                    value: value.clone(),
                };
                self.entries.insert(key.clone(), entry);
            }
            Op::Delete { key } => {
                self.entries.remove(key);
            }
            Op::Append {
                log,
                attributes,
                body,
            } => {
                let log = self.logs.entry(log.clone()).or_default();
                return Some(log.append(attributes.clone(), body.clone(), self.at));
            }
            Op::Enqueue {
                queue,
                job,
                due,
                body,
            } => {
                let queued = StoredJob {
                    due: *due,
                    lease: None,
                    attempt: 0,
                    body: body.clone(),
                };
                self.queues
                    .entry(queue.clone())
                    .or_default()
                    .insert(job.clone(), queued);
            }
            Op::Settle {
                queue, job, next, ..
            } => {
                let jobs = self.queues.entry(queue.clone()).or_default();
                match (next, jobs.get_mut(job)) {
                    (Some(next), Some(queued)) => (queued.due, queued.lease) = (*next, None),
                    _ => drop(jobs.remove(job)),
                }
            }
        }
        None
    }

    #[cfg(test)]
    pub(super) fn end_leases(&mut self, now: Timestamp) {
        for job in self.queues.values_mut().flat_map(BTreeMap::values_mut) {
            if job.lease.take().is_some() {
                job.due = job.due.min(now);
            }
        }
    }

    pub(super) fn scan(&self, prefix: &str, after: Option<&str>, max: usize) -> Page {
        let first = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let mut found = self
            .entries
            .range::<str, _>((first, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, entry)| (key.clone(), entry.clone()));
        let entries = found.by_ref().take(max).collect();
        Page {
            entries,
            more: found.next().is_some(),
        }
    }

    pub(super) fn claim(
        &mut self,
        queue: &str,
        span: Duration,
        max: usize,
        now: Timestamp,
    ) -> Claimed {
        let Some(jobs) = self.queues.get_mut(queue) else {
            return Claimed::default();
        };
        let mut due: Vec<_> = jobs
            .iter_mut()
            .filter(|(_, queued)| queued.due <= now)
            .collect();
        due.sort_by(|(a, x), (b, y)| (x.due, a).cmp(&(y.due, b)));
        due.truncate(max.min(MAX_OPS));
        let mut claimed = Claimed::default();
        for (id, queued) in due {
            self.leases = self.leases.saturating_add(1);
            let lease = Lease(self.leases);
            queued.lease = Some(lease);
            queued.due = now.plus(span);
            queued.attempt = queued.attempt.saturating_add(1);
            let (id, body) = (id.clone(), queued.body.clone());
            claimed.jobs.push(Job {
                id,
                lease,
                attempt: queued.attempt,
                body,
            });
        }
        claimed.next_due = jobs.values().map(|queued| queued.due).min();
        claimed
    }
}

impl Log {
    fn append(
        &mut self,
        attributes: Vec<(String, String)>,
        body: Bytes,
        publish_time: Timestamp,
    ) -> Position {
        let position = Position(self.last.0.saturating_add(1));
        self.messages.insert(
            position,
            Message {
                position,
                publish_time,
                attributes,
                body,
            },
        );
        self.last = position;
        position
    }

    pub(super) fn read(&self, after: Position, max: usize) -> Slice {
        let messages = self
            .messages
            .range((Bound::Excluded(after), Bound::Unbounded));
        Slice {
            messages: messages
                .take(max)
                .map(|(_, message)| message.clone())
                .collect(),
            last: self.last,
            trimmed: self.trimmed,
        }
    }

    pub(super) fn trim(&mut self, before: Timestamp, max: usize) -> usize {
        let mut dropped = 0;
        while dropped < max
            && let Some(oldest) = self.messages.first_entry()
            && oldest.get().publish_time < before
        {
            self.trimmed = *oldest.key();
            oldest.remove();
            dropped += 1;
        }
        dropped
    }
}
