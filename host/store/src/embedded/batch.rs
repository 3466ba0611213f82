//! A batch: the changes of all requests that share one record of the journal, and access to keys as they are with these
//! changes.
//!
//! What the requests do to it is in `apply.rs`, `jobs.rs` and `restore.rs`.

use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::RandomState;

use super::super::contract::{CommitId, Committed, Partition, Position, REMEMBER, Revision};
use super::commit_index::CommitIndex;
use super::engine::{Changes, Key, Merged, State, malformed};
use super::keys;
use super::values::{self, LogBounds, Outcome};
use crate::clock::Timestamp;

/// How many rows of outcomes a batch removes for each row that it adds, if they are expired. More than one, so that the
/// rest shrinks to what must be remembered.
const EXPIRE_AT_ONCE: usize = 4;

/// After how many bytes a row of messages is full: 64 KiB.
pub(super) const ROW_BYTES: usize = 64 << 10;

/// The changes of a batch so far.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) changes: Changes,
    /// The watermarks that were looked up, by the order of the queue; those that changed are among the changes.
    pub(super) watermarks: HashMap<Key, Option<Key>, RandomState>,
    /// What is written once for all commits of a partition, when the batch is finished.
    open: HashMap<Partition, OpenPartition, RandomState>,
}

/// Reads and changes keys in a batch over the newest durable state.
pub(super) struct BatchWriter<'a> {
    pub(super) state: &'a State,
    pub(super) batch: &'a mut Batch,
    pub(super) commits: &'a mut CommitIndex,
}

/// The counters of a partition, and its new messages and outcomes.
pub(super) struct OpenPartition {
    pub(super) counters: Counters,
    logs: HashMap<String, OpenLog, RandomState>,
    /// The publish time of the first outcome.
    at: u64,
    outcomes: Vec<u8>,
}

struct OpenLog {
    bounds: LogBounds,
    /// New messages, up to the last.
    row: Vec<u8>,
}

/// The counters of a partition, as they are stored.
#[derive(Clone, Copy, Default)]
pub(super) struct Counters {
    pub(super) revision: u64,
    pub(super) at: u64,
    /// The newest lease.
    pub(super) lease: u64,
}

impl BatchWriter<'_> {
    /// The counters, messages and outcomes of a partition that this batch changes.
    pub(super) fn open(
        &mut self,
        partition: &Partition,
    ) -> Result<&mut OpenPartition, redb::Error> {
        if !self.batch.open.contains_key(partition) {
            let counters = self.numbers(&keys::partition(partition.as_str()))?;
            let [revision, at, lease] = counters.unwrap_or_default();
            let open = OpenPartition {
                counters: Counters {
                    revision,
                    at,
                    lease,
                },
                logs: HashMap::default(),
                at: 0,
                outcomes: Vec::new(),
            };
            self.batch.open.insert(partition.clone(), open);
        }
        let open = self.batch.open.get_mut(partition);
        open.ok_or_else(malformed)
    }

    /// Appends a message to a log; returns its position.
    pub(super) fn append(
        &mut self,
        partition: &Partition,
        log: &str,
        write: impl FnOnce(&mut Vec<u8>, u64),
    ) -> Result<u64, redb::Error> {
        if !self.open(partition)?.logs.contains_key(log) {
            let open = OpenLog {
                bounds: self
                    .log_bounds(partition.as_str(), log)?
                    .unwrap_or_default(),
                row: Vec::new(),
            };
            self.open(partition)?.logs.insert(log.to_owned(), open);
        }
        let open = self.open(partition)?.logs.get_mut(log);
        let open = open.ok_or_else(malformed)?;
        if open.row.is_empty() {
            open.row = values::begin_messages(open.bounds.stored);
        }
        let position = open.bounds.last.saturating_add(1);
        (open.bounds.last, open.bounds.stored) = (position, position);
        write(&mut open.row, position);
        if open.row.len() >= ROW_BYTES {
            let row = std::mem::take(&mut open.row);
            let key = keys::message(partition.as_str(), log, position);
            self.put(key, row.into());
        }
        Ok(position)
    }

    /// Adds the outcome of a commit.
    pub(super) fn remember(
        &mut self,
        partition: &Partition,
        outcome: &Outcome,
    ) -> Result<(), redb::Error> {
        let open = self.open(partition)?;
        if open.outcomes.is_empty() {
            open.at = outcome.at;
        }
        values::write_outcome(&mut open.outcomes, outcome);
        let at = open.at;
        self.commits.add(partition.as_str(), outcome.id, at);
        Ok(())
    }

    /// Writes the counters, messages and outcomes of all open partitions.
    pub(super) fn close(&mut self, now: Timestamp) -> Result<(), redb::Error> {
        for (partition, open) in std::mem::take(&mut self.batch.open) {
            let (name, counters) = (partition.as_str(), open.counters);
            self.put(
                keys::partition(name),
                values::numbers(&[counters.revision, counters.at, counters.lease]),
            );
            for (log, open) in open.logs {
                self.put(keys::log(name, &log), open.bounds.value());
                if !open.row.is_empty() {
                    let key = keys::message(name, &log, open.bounds.stored);
                    self.put(key, open.row.into());
                }
            }
            if !open.outcomes.is_empty() {
                self.put(keys::outcomes(open.at, name), open.outcomes.into());
                self.expire_outcomes(now.minus(REMEMBER))?;
            }
        }
        Ok(())
    }

    /// The outcome of an earlier commit of the same id, if it is remembered.
    pub(super) fn remembered(
        &self,
        partition: &Partition,
        id: CommitId,
    ) -> Result<Option<Committed>, redb::Error> {
        for at in self.commits.times(partition.as_str(), id.0) {
            let open = self.batch.open.get(partition);
            let open = open.filter(|open| open.at == at && !open.outcomes.is_empty());
            let row = match open {
                Some(open) => Bytes::copy_from_slice(&open.outcomes),
                None => self
                    .find(&keys::outcomes(at, partition.as_str()))?
                    .ok_or_else(malformed)?,
            };
            for outcome in values::outcomes(&row) {
                let outcome = outcome?;
                if outcome.id == id.0 {
                    return Ok(Some(committed(outcome, true)));
                }
            }
        }
        Ok(None)
    }

    /// Removes the oldest rows of outcomes, of any partition, if they were published before `before`.
    fn expire_outcomes(&mut self, before: Timestamp) -> Result<(), redb::Error> {
        if self.commits.oldest >= before.0 {
            return Ok(());
        }
        let all = keys::outcomes_since(self.commits.oldest);
        let oldest = self.range(&all)?.take(EXPIRE_AT_ONCE);
        let oldest: Vec<_> = oldest.collect::<Result<_, _>>()?;
        self.commits.oldest = u64::MAX;
        for (key, row) in oldest {
            let (at, partition) = keys::outcomes_of(&key)?;
            self.commits.oldest = at;
            let outcomes: Vec<Outcome> = values::outcomes(&row).collect::<Result<_, _>>()?;
            if outcomes.iter().any(|outcome| outcome.at >= before.0) {
                break;
            }
            for outcome in outcomes {
                self.commits.remove(&partition, outcome.id, at);
            }
            self.remove(key);
        }
        Ok(())
    }

    pub(super) fn put(&mut self, key: Key, value: Bytes) {
        self.batch.changes.insert(key, Some(value));
    }

    pub(super) fn remove(&mut self, key: Key) {
        self.batch.changes.insert(key, None);
    }

    /// The value of a key, as it is with the changes of this batch.
    pub(super) fn find(&self, key: &[u8]) -> Result<Option<Bytes>, redb::Error> {
        let changed = self.batch.changes.get(key);
        changed.map_or_else(|| self.state.find(key), |change| Ok(change.clone()))
    }

    /// The numbers that the value of a key begins with.
    pub(super) fn numbers<const N: usize>(
        &self,
        key: &[u8],
    ) -> Result<Option<[u64; N]>, redb::Error> {
        let found = self.find(key)?;
        found
            .map(|mut value| values::read_numbers(&mut value))
            .transpose()
    }

    /// The bounds of a log.
    pub(super) fn log_bounds(
        &self,
        partition: &str,
        log: &str,
    ) -> Result<Option<LogBounds>, redb::Error> {
        let found = self.find(&keys::log(partition, log))?;
        found
            .map(|mut value| LogBounds::read(&mut value))
            .transpose()
    }

    /// The keys of a range, as they are with the changes of this batch.
    pub(super) fn range(&self, range: &std::ops::Range<Key>) -> Result<Merged<'_>, redb::Error> {
        self.state.range(&self.batch.changes, range)
    }
}

/// An outcome in the terms of the contract.
pub(super) fn committed(outcome: Outcome, repeated: bool) -> Committed {
    Committed {
        revision: Revision(outcome.revision),
        at: Timestamp(outcome.at),
        positions: outcome.positions.into_iter().map(Position).collect(),
        repeated,
    }
}
