//! Turns commits into requests to run `commit.lua`, and its reply into their outcomes.
//!
//! The script decides every check and every settle before it writes anything. `commit_arguments.rs` encodes its arguments.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;

use super::super::contract::{Commit, CommitError, Committed, Op, REMEMBER, Revision};
use super::commit_arguments::{Arguments, KeyIndexes};
use super::keys::{Keyspace, LARGE_VALUE, PartitionKeys, QUEUE_KEYS, position};
use super::reply;
use super::scripts::{self, Request};
use crate::clock::Timestamp;

/// The outcome of a commit.
pub(super) type Outcome = Result<Committed, CommitError>;

/// The keys that every commit names, in the order that `commit.lua` expects.
const FIXED_KEYS: [&str; 9] = [
    "head",
    "keys",
    "revisions",
    "values",
    "logs",
    "queues",
    "ids:0",
    "ids:1",
    "ids:2",
];

/// The period by which outcomes are remembered, each until the next period has ended: for at least [`REMEMBER`], even
/// by hosts whose clocks differ somewhat.
const PERIOD: Duration = REMEMBER.saturating_add(Duration::from_secs(60));

/// The reply of the script.
pub(super) enum CommitReply {
    /// Each commit has an outcome.
    Done(Vec<Outcome>),
    /// The commits are the first of their partition, which is not in the index yet. Nothing happened.
    Unlisted,
    /// The deadline had passed. Nothing happened.
    Late,
}

/// Commits of one partition that touch no key and no job in common, as a script to run.
pub(super) struct CommitScript<'a> {
    commits: &'a [Commit],
    keys: Vec<Bytes>,
    indexes: KeyIndexes<'a>,
}

impl<'a> CommitScript<'a> {
    /// Names every key that the commits touch.
    pub(super) fn new(commits: &'a [Commit], partition: &PartitionKeys) -> Self {
        let mut keys: Vec<Bytes> = FIXED_KEYS.iter().map(|kind| partition.key(kind)).collect();
        let ops = || commits.iter().flat_map(|commit| &commit.ops);
        let logs = ops().filter_map(|op| match op {
            Op::Append { log, .. } => Some(log.as_str()),
            _ => None,
        });
        let mut logs: BTreeMap<&str, usize> = logs.map(|log| (log, 0)).collect();
        for (log, index) in &mut logs {
            keys.push(partition.key_of("log", log));
            *index = keys.len();
        }
        let queues = ops().filter_map(|op| match op {
            Op::Enqueue { queue, .. } | Op::Settle { queue, .. } => Some(queue.as_str()),
            _ => None,
        });
        let mut queues: BTreeMap<&str, usize> = queues.map(|queue| (queue, 0)).collect();
        for (queue, index) in &mut queues {
            *index = keys.len() + 1;
            keys.extend(QUEUE_KEYS.iter().map(|kind| partition.key_of(kind, queue)));
        }
        Self {
            commits,
            keys,
            indexes: KeyIndexes { logs, queues },
        }
    }

    /// Returns the request to run the script. `listed` says that the partition is in the index.
    pub(super) fn request(&self, keyspace: &Keyspace, now: Timestamp, listed: bool) -> Request {
        let partition = self
            .commits
            .first()
            .map_or("", |commit| commit.partition.as_str());
        let encoded = Arguments::encode(self.commits, &self.indexes);
        let mut arguments: Vec<Bytes> = vec![
            now.0.to_string().into(),
            PERIOD.as_micros().to_string().into(),
            LARGE_VALUE.to_string().into(),
            u8::from(listed).to_string().into(),
            keyspace.channel().into(),
            partition.to_owned().into(),
            encoded.layout(),
        ];
        arguments.extend(encoded.values);
        Request::script(&scripts::COMMIT, self.keys.clone(), arguments)
    }

    /// Parses the reply of the script.
    pub(super) fn parse(&self, reply: Value) -> CommitReply {
        match reply {
            Value::Array(parts) => match parts.as_slice() {
                [Value::BulkString(status)] if status == b"late" => CommitReply::Late,
                [Value::BulkString(status)] if status == b"unlisted" => CommitReply::Unlisted,
                _ => CommitReply::Done(self.outcomes(&parts).unwrap_or_else(|| self.unknown())),
            },
            _ => CommitReply::Done(self.unknown()),
        }
    }

    /// Parses the revision before the commits, the publish time of the first that takes effect, and for each commit
    /// without effect its index and the reason. The revisions and times of the others are consecutive.
    fn outcomes(&self, reply: &[Value]) -> Option<Vec<Outcome>> {
        let [Value::Int(revision), Value::Int(at), Value::Array(refusals)] = reply else {
            return None;
        };
        let (mut revision, mut at) = (u64::try_from(*revision).ok()?, u64::try_from(*at).ok()?);
        let mut refused = BTreeMap::new();
        for refusal in refusals {
            let (index, why, detail): (usize, String, String) =
                redis::from_redis_value_ref(refusal).ok()?;
            let outcome = without_effect(self.commits.get(index)?, &why, &detail)?;
            refused.insert(index, outcome);
        }
        let outcomes = self.commits.iter().enumerate().map(|(index, commit)| {
            refused.remove(&index).unwrap_or_else(|| {
                revision += 1;
                at += 1;
                let messages = commit
                    .ops
                    .iter()
                    .filter(|op| matches!(op, Op::Append { .. }));
                Ok(committed(revision, at - 1, messages.count(), false))
            })
        });
        Some(outcomes.collect())
    }

    /// Returns the outcomes for a reply that cannot be parsed.
    fn unknown(&self) -> Vec<Outcome> {
        let unknown = CommitError::Unknown(reply::UNEXPECTED.to_owned());
        vec![Err(unknown); self.commits.len()]
    }
}

/// Returns the outcome of a commit without effect: an earlier one with its id took effect, or a check or a settle
/// failed.
fn without_effect(commit: &Commit, why: &str, detail: &str) -> Option<Outcome> {
    Some(match why {
        "repeated" => {
            let mut numbers = detail.split(' ');
            let mut next = || numbers.next();
            let (revision, at, messages) = (next()?, next()?, next()?);
            Ok(committed(
                revision.parse().ok()?,
                at.parse().ok()?,
                messages.parse().ok()?,
                true,
            ))
        }
        "conflict" => Err(CommitError::Conflict(
            commit.checks.get(detail.parse::<usize>().ok()?)?.clone(),
        )),
        "lost" => {
            let (queue, job, _) = commit.settles().nth(detail.parse().ok()?)?;
            let (queue, job) = (queue.to_owned(), job.to_owned());
            Err(CommitError::LeaseLost { queue, job })
        }
        _ => return None,
    })
}

/// The positions of messages follow from the publish time of their commit.
fn committed(revision: u64, at: u64, messages: usize, repeated: bool) -> Committed {
    let indexes = (0..).take(messages);
    Committed {
        revision: Revision(revision),
        at: Timestamp(at),
        positions: indexes.map(|index| position(at, index)).collect(),
        repeated,
    }
}
