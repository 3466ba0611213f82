//! Commits as `commit.lua` takes them, and what it answers.
//!
//! Ops apply in order, but only what they leave behind can be seen: the script is told the last word on each key and
//! job. Which checks and settles hold is asked before anything is written.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use redis::Value;

use super::super::{Check, Commit, CommitError, Committed, Op, REMEMBER, Revision};
use super::layout::{Home, Layout, position};
use super::scripts::{self, Request};
use crate::clock::Timestamp;

/// The keys that every commit names: `commit.lua` knows their order.
const FIXED: [&str; 8] = [
    "head",
    "keys",
    "revisions",
    "values",
    "ids",
    "age",
    "logs",
    "queues",
];

/// The kinds of keys of a queue, in the order that `commit.lua` knows.
pub(super) const OF_QUEUE: [&str; 3] = ["due", "jobs", "claims"];

/// How a job is after the commit.
enum Left<'a> {
    New(Timestamp, &'a Bytes),
    Next(Timestamp),
    Done,
}

/// What the script answered.
pub(super) enum Answer {
    /// Each commit has an outcome.
    Known(Vec<Result<Committed, CommitError>>),
    /// They are the first of their partition, which is not in the index yet.
    Unlisted,
    /// They came so late that nobody could be waiting for them.
    Late,
}

/// Commits of one partition that touch nothing in common, on their way.
pub(super) struct Batch<'a> {
    commits: &'a [Commit],
    keys: Vec<Bytes>,
    /// The places of streams among the keys, from 1.
    logs: BTreeMap<&'a str, usize>,
    /// The places of each queue's first key.
    queues: BTreeMap<&'a str, usize>,
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
            logs,
            queues,
        }
    }

    /// How they are sent. `listed`: their partition is in the index.
    pub(super) fn request(&self, layout: &Layout, now: Timestamp, listed: bool) -> Request {
        let mut words = Words::default();
        words.number(now.0);
        words.number(now.minus(REMEMBER).0);
        words.number(u64::from(listed));
        words.text(&layout.channel());
        words.text(
            self.commits
                .first()
                .map_or("", |commit| commit.partition.as_str()),
        );
        words.number(self.logs.len());
        for log in self.logs.keys() {
            words.text(log);
        }
        words.number(self.commits.len());
        for commit in self.commits {
            words.bytes(&Bytes::copy_from_slice(&commit.id.0.to_be_bytes()));
        }
        for commit in self.commits {
            let mut of_one = Words::default();
            of_one.checks(commit);
            of_one.settles(commit, &self.queues);
            of_one.entries(commit);
            of_one.messages(commit, &self.logs);
            of_one.jobs(commit, &self.queues);
            words.number(of_one.0.len());
            words.0.append(&mut of_one.0);
        }
        Request::script(&scripts::COMMIT, self.keys.clone(), words.0)
    }

    /// What the script's answer means.
    pub(super) fn understand(&self, answer: Value) -> Answer {
        if let Ok([word]) = redis::from_redis_value::<[String; 1]>(answer.clone()) {
            match word.as_str() {
                "late" => return Answer::Late,
                "unlisted" => return Answer::Unlisted,
                _ => {}
            }
        }
        let answers: Vec<(String, String)> = redis::from_redis_value(answer).unwrap_or_default();
        let outcomes = self.commits.iter().enumerate().map(|(index, commit)| {
            let known = answers
                .get(index)
                .and_then(|(word, rest)| outcome(commit, word, rest));
            known.unwrap_or_else(|| {
                let strange = "it answered something that none of our scripts says";
                Err(CommitError::Unknown(strange.to_owned()))
            })
        });
        Answer::Known(outcomes.collect())
    }
}

fn outcome(commit: &Commit, word: &str, rest: &str) -> Option<Result<Committed, CommitError>> {
    match word {
        "done" => committed(rest, false).map(Ok),
        "repeated" => committed(rest, true).map(Ok),
        "conflict" => {
            let check = commit.checks.get(rest.parse::<usize>().ok()?)?;
            Some(Err(CommitError::Conflict(check.clone())))
        }
        "lost" => {
            let mut settles = commit.ops.iter().filter_map(|op| match op {
                Op::Settle { queue, job, .. } => Some((queue.clone(), job.clone())),
                _ => None,
            });
            let (queue, job) = settles.nth(rest.parse().ok()?)?;
            Some(Err(CommitError::LeaseLost { queue, job }))
        }
        _ => None,
    }
}

/// Revision, moment and count of messages: where each stands follows from these.
fn committed(outcome: &str, repeated: bool) -> Option<Committed> {
    let mut numbers = outcome.split(' ').map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    let (revision, at, messages) = (next()?, next()?, next()?);
    Some(Committed {
        revision: Revision(revision),
        at: Timestamp(at),
        positions: (0..messages).map(|place| position(at, place)).collect(),
        repeated,
    })
}

/// What the script is told, word by word.
#[derive(Default)]
struct Words(Vec<Bytes>);

impl Words {
    fn bytes(&mut self, bytes: &Bytes) {
        self.0.push(Bytes::clone(bytes));
    }

    fn text(&mut self, text: &str) {
        self.0.push(Bytes::copy_from_slice(text.as_bytes()));
    }

    fn number(&mut self, number: impl ToString) {
        self.0.push(number.to_string().into());
    }

    fn checks(&mut self, commit: &Commit) {
        self.number(commit.checks.len());
        for check in &commit.checks {
            let (Check::Absent(key) | Check::At(key, _)) = check;
            self.text(key);
        }
        for check in &commit.checks {
            match check {
                Check::Absent(_) => self.text(""),
                Check::At(_, revision) => self.number(revision.0),
            }
        }
    }

    /// An enqueue forgets the job's lease and a settle uses it up: a job that was touched earlier in the commit has
    /// lease 0, which nobody has.
    fn settles(&mut self, commit: &Commit, queues: &BTreeMap<&str, usize>) {
        let mut touched = HashSet::new();
        let mut settles = Vec::new();
        for op in &commit.ops {
            match op {
                Op::Enqueue { queue, job, .. } => {
                    touched.insert((queue, job));
                }
                Op::Settle {
                    queue, job, lease, ..
                } => {
                    let first = touched.insert((queue, job));
                    settles.push((queue, job, if first { lease.0 } else { 0 }));
                }
                Op::Put { .. } | Op::Delete { .. } | Op::Append { .. } => {}
            }
        }
        self.number(settles.len());
        for (queue, job, lease) in settles {
            self.number(place(queues, queue));
            self.text(job);
            self.number(lease);
        }
    }

    fn entries(&mut self, commit: &Commit) {
        let mut left: BTreeMap<&str, Option<&Bytes>> = BTreeMap::new();
        for op in &commit.ops {
            match op {
                Op::Put { key, value } => drop(left.insert(key, Some(value))),
                Op::Delete { key } => drop(left.insert(key, None)),
                Op::Append { .. } | Op::Enqueue { .. } | Op::Settle { .. } => {}
            }
        }
        self.number(left.values().flatten().count());
        for (key, value) in &left {
            if let Some(value) = value {
                self.text(key);
                self.bytes(value);
            }
        }
        self.number(left.values().filter(|value| value.is_none()).count());
        for (key, value) in left {
            if value.is_none() {
                self.text(key);
            }
        }
    }

    fn messages(&mut self, commit: &Commit, logs: &BTreeMap<&str, usize>) {
        self.number(appends(commit).count());
        for (log, attributes, body) in appends(commit) {
            self.number(place(logs, log));
            self.number(2 + 2 * attributes.len());
            self.text("body");
            self.bytes(body);
            for (name, value) in attributes {
                self.text(&format!("a:{name}"));
                self.text(value);
            }
        }
    }

    fn jobs(&mut self, commit: &Commit, queues: &BTreeMap<&str, usize>) {
        let mut left = BTreeMap::new();
        for op in &commit.ops {
            match op {
                Op::Enqueue {
                    queue,
                    job,
                    due,
                    body,
                } => drop(left.insert((queue, job), Left::New(*due, body))),
                Op::Settle {
                    queue, job, next, ..
                } => drop(left.insert((queue, job), next.map_or(Left::Done, Left::Next))),
                Op::Put { .. } | Op::Delete { .. } | Op::Append { .. } => {}
            }
        }
        self.number(left.len());
        for ((queue, job), left) in left {
            self.number(place(queues, queue));
            self.text(job);
            match left {
                Left::New(due, body) => {
                    self.text("new");
                    self.number(due.0);
                    self.bytes(body);
                }
                Left::Next(due) => {
                    self.text("next");
                    self.number(due.0);
                }
                Left::Done => self.text("done"),
            }
        }
    }
}

type Appended<'a> = (&'a str, &'a [(String, String)], &'a Bytes);

fn appends(commit: &Commit) -> impl Iterator<Item = Appended<'_>> {
    commit.ops.iter().filter_map(|op| match op {
        Op::Append {
            log,
            attributes,
            body,
        } => Some((log.as_str(), attributes.as_slice(), body)),
        _ => None,
    })
}

/// Every log and queue of a commit was named.
fn place(named: &BTreeMap<&str, usize>, name: &str) -> usize {
    named.get(name).copied().unwrap_or_default()
}
