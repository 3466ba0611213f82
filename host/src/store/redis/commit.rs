//! Commits as `commit.lua` takes them, and what it answers.
//!
//! Which checks and settles hold is asked before anything is written. What the script is told of each is `words.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use redis::Value;

use super::super::{Commit, CommitError, Committed, Op, REMEMBER, Revision};
use super::gather::Outcome;
use super::layout::{Home, LARGE, Layout, position};
use super::scripts::{self, Request};
use super::words::Told;
use crate::clock::Timestamp;

/// The keys that every commit names: `commit.lua` knows their order.
const FIXED: [&str; 9] = [
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

/// The kinds of keys of a queue, in the order that `commit.lua` knows.
pub(super) const OF_QUEUE: [&str; 3] = ["due", "jobs", "claims"];

/// What was done is remembered by periods, each until the next one has ended: for at least [`REMEMBER`], also by hosts
/// whose clocks are somewhat apart.
const PERIOD: Duration = REMEMBER.saturating_add(Duration::from_secs(60));

/// What the script answered.
pub(super) enum Answer {
    /// Each commit has an outcome.
    Known(Vec<Outcome>),
    /// They are the first of their partition, which is not in the index yet.
    Unlisted,
    /// They came so late that nobody could be waiting for them.
    Late,
}

/// Commits of one partition that touch nothing in common, on their way.
pub(super) struct Batch<'a> {
    commits: &'a [Commit],
    keys: Vec<Bytes>,
    places: Places<'a>,
}

/// Where the keys of logs and queues stand among the keys, from 1.
pub(super) struct Places<'a> {
    pub(super) logs: BTreeMap<&'a str, usize>,
    /// The first of each queue's keys.
    queues: BTreeMap<&'a str, usize>,
}

impl Places<'_> {
    /// The stream of a log.
    pub(super) fn log(&self, log: &str) -> usize {
        // Every log and queue of a commit was named.
        self.logs.get(log).copied().unwrap_or_default()
    }

    /// The first key of a queue.
    pub(super) fn queue(&self, queue: &str) -> usize {
        self.queues.get(queue).copied().unwrap_or_default()
    }

    /// The claims of a queue.
    pub(super) fn claims(&self, queue: &str) -> usize {
        self.queue(queue) + 2
    }
}

impl<'a> Batch<'a> {
    /// Names every key that the commits touch.
    pub(super) fn new(commits: &'a [Commit], home: &Home) -> Self {
        let mut keys: Vec<Bytes> = FIXED.iter().map(|kind| home.key(kind)).collect();
        let ops = || commits.iter().flat_map(|commit| &commit.ops);
        let logs = ops().filter_map(|op| match op {
            Op::Append { log, .. } => Some(log.as_str()),
            _ => None,
        });
        let mut logs: BTreeMap<&str, usize> = logs.map(|log| (log, 0)).collect();
        for (log, place) in &mut logs {
            keys.push(home.key_of("log", log));
            *place = keys.len();
        }
        let queues = ops().filter_map(|op| match op {
            Op::Enqueue { queue, .. } | Op::Settle { queue, .. } => Some(queue.as_str()),
            _ => None,
        });
        let mut queues: BTreeMap<&str, usize> = queues.map(|queue| (queue, 0)).collect();
        for (queue, place) in &mut queues {
            *place = keys.len() + 1;
            keys.extend(OF_QUEUE.iter().map(|kind| home.key_of(kind, queue)));
        }
        Self {
            commits,
            keys,
            places: Places { logs, queues },
        }
    }

    /// How they are sent. `listed`: their partition is in the index.
    pub(super) fn request(&self, layout: &Layout, now: Timestamp, listed: bool) -> Request {
        let partition = self
            .commits
            .first()
            .map_or("", |commit| commit.partition.as_str());
        let told = Told::of(self.commits, &self.places);
        let mut arguments: Vec<Bytes> = vec![
            now.0.to_string().into(),
            PERIOD.as_micros().to_string().into(),
            LARGE.to_string().into(),
            u8::from(listed).to_string().into(),
            layout.channel().into(),
            partition.to_owned().into(),
            told.shape(),
        ];
        arguments.extend(told.words);
        Request::script(&scripts::COMMIT, self.keys.clone(), arguments)
    }

    /// What the script's answer means.
    pub(super) fn understand(&self, answer: Value) -> Answer {
        match answer {
            Value::Array(parts) => match parts.as_slice() {
                [Value::BulkString(word)] if word == b"late" => Answer::Late,
                [Value::BulkString(word)] if word == b"unlisted" => Answer::Unlisted,
                _ => Answer::Known(self.outcomes(&parts).unwrap_or_else(|| self.strange())),
            },
            _ => Answer::Known(self.strange()),
        }
    }

    /// The revision before the commits, the moment of the first, and of those that have no effect which and why.
    /// Revisions and moments of the others follow each other.
    fn outcomes(&self, answer: &[Value]) -> Option<Vec<Outcome>> {
        let [
            Value::Int(revision),
            Value::Int(moment),
            Value::Array(refusals),
        ] = answer
        else {
            return None;
        };
        let (mut revision, mut at) = (u64::try_from(*revision).ok()?, u64::try_from(*moment).ok()?);
        let mut refused = BTreeMap::new();
        for refusal in refusals {
            let (place, why, rest): (usize, String, String) =
                redis::from_redis_value_ref(refusal).ok()?;
            let outcome = refusal_of(self.commits.get(place)?, &why, &rest)?;
            refused.insert(place, outcome);
        }
        let outcomes = self.commits.iter().enumerate().map(|(place, commit)| {
            refused.remove(&place).unwrap_or_else(|| {
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

    fn strange(&self) -> Vec<Outcome> {
        let strange = "it answered something that none of our scripts says";
        vec![Err(CommitError::Unknown(strange.to_owned())); self.commits.len()]
    }
}

/// Why a commit has no effect: an earlier one of its id had, a check does not hold, or a settle does not.
fn refusal_of(commit: &Commit, why: &str, rest: &str) -> Option<Outcome> {
    Some(match why {
        "repeated" => {
            let mut numbers = rest.split(' ');
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
            commit.checks.get(rest.parse::<usize>().ok()?)?.clone(),
        )),
        "lost" => {
            let (queue, job, _) = commit.settles().nth(rest.parse().ok()?)?;
            let (queue, job) = (queue.to_owned(), job.to_owned());
            Err(CommitError::LeaseLost { queue, job })
        }
        _ => return None,
    })
}

/// Where messages stand follows from their commit's moment.
fn committed(revision: u64, at: u64, messages: usize, repeated: bool) -> Committed {
    let places = (0..).take(messages);
    Committed {
        revision: Revision(revision),
        at: Timestamp(at),
        positions: places.map(|place| position(at, place)).collect(),
        repeated,
    }
}
