//! What a change does to a state: which keys get which values.
//!
//! Every method either changes nothing or leaves its whole effect in the changes of its group, so
//! that many of them can share one record of the journal; an error gives up the group.

use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::RandomState;

use super::super::{
    Check, Commit, CommitError, CommitId, Committed, Op, Partition, Position, REMEMBER, Revision,
};
use super::ids::Ids;
use super::overlay::{Changes, Merged, State};
use super::requests;
use super::tables::{self, Key, Outcome};
use crate::clock::Timestamp;

/// How many rows of outcomes a group forgets in passing for each that it adds, so that what is
/// remembered shrinks to what must be.
const FORGET_AT_ONCE: usize = 4;

/// How long a row of messages gets.
pub(super) const ROW: usize = 64 << 10;

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
pub(super) struct Open {
    pub(super) head: Head,
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
pub(super) struct Head {
    revision: u64,
    at: u64,
    /// The newest that was given.
    pub(super) lease: u64,
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
            } => self.enqueue(of, queue, job, *due, body)?,
            Op::Settle {
                queue, job, next, ..
            } => self.settle(of, queue, job, *next)?,
        }
        Ok(())
    }

    /// What is open of a partition.
    pub(super) fn open(&mut self, partition: &Partition) -> Result<&mut Open, redb::Error> {
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
        trim: &requests::Trim,
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

    pub(super) fn remove(&mut self, key: Key) {
        self.made.changes.insert(key, None);
    }

    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        let made = self.made.changes.get(key);
        made.map_or_else(|| self.state.find(key), |made| Ok(made.clone()))
    }

    /// The numbers a key's value begins with.
    pub(super) fn numbers<const N: usize>(
        &self,
        key: &[u8],
    ) -> Result<Option<[u64; N]>, redb::Error> {
        let found = self.find(key)?;
        found
            .map(|mut value| tables::read_numbers(&mut value))
            .transpose()
    }

    pub(super) fn range(&self, range: &std::ops::Range<Key>) -> Result<Merged<'_>, redb::Error> {
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
