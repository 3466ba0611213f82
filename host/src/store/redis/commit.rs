//! A commit as `commit.lua` takes it, and what it answers.
//!
//! Ops apply in order, but only what they leave behind can be seen: the script is told the last word on each key and
//! job. Which settles hold is asked before anything is written.

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
    /// The commit has an outcome.
    Known(Result<Committed, CommitError>),
    /// It is the first of its partition, which is not in the index yet.
    Unlisted,
    /// It came so late that nobody could be waiting for it.
    Late,
}

/// A commit on its way.
pub(super) struct Sent<'a> {
    commit: &'a Commit,
    /// Settles, in the order of its ops.
    settles: Vec<(&'a str, &'a str)>,
    keys: Vec<Bytes>,
    arguments: Vec<Bytes>,
}

impl<'a> Sent<'a> {
    /// How a commit is sent. `listed`: its partition is in the index.
    pub(super) fn new(
        commit: &'a Commit,
        (layout, home): (&Layout, &Home),
        now: Timestamp,
        listed: bool,
    ) -> Self {
        let mut sent = Self {
            commit,
            settles: Vec::new(),
            keys: FIXED.iter().map(|kind| home.key(kind)).collect(),
            arguments: Vec::new(),
        };
        sent.arguments
            .push(Bytes::copy_from_slice(&commit.id.0.to_be_bytes()));
        sent.number(now.0);
        sent.number(now.minus(REMEMBER).0);
        sent.number(u64::from(listed));
        sent.arguments.push(layout.channel().into());
        sent.text(commit.partition.as_str());
        let logs = sent.name_logs(home);
        let queues = sent.name_queues(home);
        sent.checks();
        sent.settles(&queues);
        sent.entries();
        sent.number(logs.len());
        sent.messages(&logs);
        sent.jobs(&queues);
        sent
    }

    pub(super) fn request(self) -> (Request, Pending<'a>) {
        let request = Request::script(&scripts::COMMIT, self.keys, self.arguments);
        let (commit, settles) = (self.commit, self.settles);
        (request, Pending { commit, settles })
    }

    fn text(&mut self, text: &str) {
        self.arguments.push(Bytes::copy_from_slice(text.as_bytes()));
    }

    fn number(&mut self, number: impl ToString) {
        self.arguments.push(number.to_string().into());
    }

    /// Names the streams; a log's place among the keys, from 1.
    fn name_logs(&mut self, home: &Home) -> BTreeMap<&'a str, usize> {
        let mut logs = BTreeMap::new();
        for op in &self.commit.ops {
            if let Op::Append { log, .. } = op {
                logs.entry(log.as_str()).or_insert_with(|| {
                    self.keys.push(home.key_of("log", log));
                    self.keys.len()
                });
            }
        }
        logs
    }

    /// Names the keys of queues; the place of a queue's first.
    fn name_queues(&mut self, home: &Home) -> BTreeMap<&'a str, usize> {
        let mut queues = BTreeMap::new();
        for op in &self.commit.ops {
            if let Op::Enqueue { queue, .. } | Op::Settle { queue, .. } = op {
                queues.entry(queue.as_str()).or_insert_with(|| {
                    let keys = OF_QUEUE.iter().map(|kind| home.key_of(kind, queue));
                    self.keys.extend(keys);
                    self.keys.len() + 1 - OF_QUEUE.len()
                });
            }
        }
        queues
    }

    fn checks(&mut self) {
        let checks = &self.commit.checks;
        self.number(checks.len());
        for check in checks {
            let (Check::Absent(key) | Check::At(key, _)) = check;
            self.text(key);
        }
        for check in checks {
            match check {
                Check::Absent(_) => self.text(""),
                Check::At(_, revision) => self.number(revision.0),
            }
        }
    }

    /// An enqueue forgets the job's lease and a settle uses it up: a job that was touched earlier in the commit has
    /// lease 0, which nobody has.
    fn settles(&mut self, queues: &BTreeMap<&'a str, usize>) {
        let (mut touched, mut leases) = (HashSet::new(), Vec::new());
        for op in &self.commit.ops {
            match op {
                Op::Enqueue { queue, job, .. } => {
                    touched.insert((queue.as_str(), job.as_str()));
                }
                Op::Settle {
                    queue, job, lease, ..
                } => {
                    let first = touched.insert((queue, job));
                    self.settles.push((queue, job));
                    leases.push(if first { lease.0 } else { 0 });
                }
                Op::Put { .. } | Op::Delete { .. } | Op::Append { .. } => {}
            }
        }
        self.number(leases.len());
        for (index, lease) in leases.into_iter().enumerate() {
            if let Some((queue, job)) = self.settles.get(index).copied() {
                self.number(place(queues, queue));
                self.text(job);
                self.number(lease);
            }
        }
    }

    fn entries(&mut self) {
        let mut left: BTreeMap<&str, Option<&Bytes>> = BTreeMap::new();
        for op in &self.commit.ops {
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
                self.arguments.push(Bytes::clone(value));
            }
        }
        self.number(left.values().filter(|value| value.is_none()).count());
        for (key, value) in left {
            if value.is_none() {
                self.text(key);
            }
        }
    }

    fn messages(&mut self, logs: &BTreeMap<&'a str, usize>) {
        let commit = self.commit;
        self.number(appends(commit).count());
        let mut newest = BTreeMap::new();
        for (index, (log, attributes, body)) in appends(commit).enumerate() {
            newest.insert(log, index);
            self.number(place(logs, log));
            self.number(2 + 2 * attributes.len());
            self.text("body");
            self.arguments.push(Bytes::clone(body));
            for (name, value) in attributes {
                self.text(&format!("a:{name}"));
                self.text(value);
            }
        }
        for (log, index) in newest {
            self.text(log);
            self.number(index);
        }
    }

    fn jobs(&mut self, queues: &BTreeMap<&'a str, usize>) {
        let mut left = BTreeMap::new();
        for op in &self.commit.ops {
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
                    self.arguments.push(Bytes::clone(body));
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

/// A commit that was sent, to understand the answer with.
pub(super) struct Pending<'a> {
    commit: &'a Commit,
    settles: Vec<(&'a str, &'a str)>,
}

impl Pending<'_> {
    /// What the script's answer means.
    pub(super) fn understand(&self, answer: Value) -> Answer {
        let words: Vec<String> = redis::from_redis_value(answer).unwrap_or_default();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let known = match words.as_slice() {
            ["late", _] => return Answer::Late,
            ["unlisted"] => return Answer::Unlisted,
            ["done", outcome] => committed(outcome, false).map(Ok),
            ["repeated", outcome] => committed(outcome, true).map(Ok),
            ["conflict", index] => self.conflict(index).map(Err),
            ["lost", index] => self.lost(index).map(Err),
            _ => None,
        };
        Answer::Known(known.unwrap_or_else(|| {
            let strange = format!("the script answered {words:?}");
            Err(CommitError::Unknown(strange))
        }))
    }

    fn conflict(&self, index: &str) -> Option<CommitError> {
        let check = self.commit.checks.get(index.parse::<usize>().ok()?)?;
        Some(CommitError::Conflict(check.clone()))
    }

    fn lost(&self, index: &str) -> Option<CommitError> {
        let (queue, job) = self.settles.get(index.parse::<usize>().ok()?)?;
        Some(CommitError::LeaseLost {
            queue: (*queue).to_owned(),
            job: (*job).to_owned(),
        })
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
