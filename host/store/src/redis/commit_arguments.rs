//! The arguments of `commit.lua`: values, and a layout of numbers that says which values are what.
//!
//! Ops apply in order, but only their result is visible, so the script receives the final state of each key and job. The
//! numbers are one argument, since every further argument costs the server far more than a number in it.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::super::contract::{Check, Commit, Op};
use crate::clock::Timestamp;

/// The indexes of the keys of logs and queues among the script's keys, from 1.
pub(super) struct KeyIndexes<'a> {
    pub(super) logs: BTreeMap<&'a str, usize>,
    /// The index of each queue's first key.
    pub(super) queues: BTreeMap<&'a str, usize>,
}

/// Values and their layout.
#[derive(Default)]
pub(super) struct Arguments {
    pub(super) values: Vec<Bytes>,
    layout: Vec<usize>,
}

/// The state of a job after a commit.
enum JobAfter<'a> {
    Enqueued(Timestamp, &'a Bytes),
    Rescheduled(Timestamp),
    Removed,
}

impl KeyIndexes<'_> {
    /// Returns the index of a log's stream.
    fn log(&self, log: &str) -> usize {
        // Every log and queue of the commits has an index.
        self.logs.get(log).copied().unwrap_or_default()
    }

    /// Returns the index of a queue's first key.
    fn queue(&self, queue: &str) -> usize {
        self.queues.get(queue).copied().unwrap_or_default()
    }

    /// Returns the index of a queue's claims, the last of its keys.
    fn claims(&self, queue: &str) -> usize {
        self.queue(queue) + 2
    }
}

impl Arguments {
    /// Encodes commits for `commit.lua`.
    pub(super) fn encode(commits: &[Commit], indexes: &KeyIndexes<'_>) -> Self {
        let mut arguments = Self::default();
        arguments.number(commits.len());
        arguments.number(indexes.logs.len());
        arguments.number(commits.iter().map(|commit| commit.checks.len()).sum());
        for log in indexes.logs.keys() {
            arguments.text(log);
        }
        for commit in commits {
            arguments.value(commit.id.0.to_be_bytes().to_vec());
        }
        let checks = || commits.iter().flat_map(|commit| &commit.checks);
        for check in checks() {
            let (Check::Absent(key) | Check::At(key, _)) = check;
            arguments.text(key);
        }
        for check in checks() {
            match check {
                Check::Absent(_) => arguments.text(""),
                Check::At(_, revision) => arguments.value(revision.0.to_string()),
            }
        }
        for commit in commits {
            arguments.number(commit.checks.len());
            arguments.settles(commit, indexes);
        }
        let mut effects = Self::default();
        for commit in commits {
            effects.entries(commit);
            effects.messages(commit, indexes);
            effects.jobs(commit, indexes);
            arguments.number(effects.values.len());
            arguments.number(effects.layout.len());
            arguments.values.append(&mut effects.values);
            arguments.layout.append(&mut effects.layout);
        }
        arguments
    }

    /// Encodes the layout as an array in MessagePack, which Lua decodes on every server.
    pub(super) fn layout(&self) -> Bytes {
        const ARRAY_32: u8 = 0xdd;
        const UINT_32: u8 = 0xce;
        let long = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
        let mut packed = vec![ARRAY_32];
        packed.extend(long(self.layout.len()));
        for &number in &self.layout {
            match u8::try_from(number) {
                Ok(number @ ..0x80) => packed.push(number),
                _ => {
                    packed.push(UINT_32);
                    packed.extend(long(number));
                }
            }
        }
        packed.into()
    }

    fn value(&mut self, value: impl Into<Bytes>) {
        self.values.push(value.into());
    }

    fn text(&mut self, text: &str) {
        self.value(Bytes::copy_from_slice(text.as_bytes()));
    }

    fn number(&mut self, number: usize) {
        self.layout.push(number);
    }

    /// A settle whose lease cannot be valid is encoded with lease 0, which no job has.
    fn settles(&mut self, commit: &Commit, indexes: &KeyIndexes<'_>) {
        self.number(commit.settles().count());
        for (queue, job, lease) in commit.settles() {
            self.number(indexes.claims(queue));
            self.text(job);
            self.value(lease.map_or(0, |lease| lease.0).to_string());
        }
    }

    fn entries(&mut self, commit: &Commit) {
        let mut after: BTreeMap<&str, Option<&Bytes>> = BTreeMap::new();
        for op in &commit.ops {
            match op {
                Op::Put { key, value } => drop(after.insert(key, Some(value))),
                Op::Delete { key } => drop(after.insert(key, None)),
                Op::Append { .. } | Op::Enqueue { .. } | Op::Settle { .. } => {}
            }
        }
        self.number(after.values().flatten().count());
        for (key, value) in &after {
            if let Some(value) = value {
                self.text(key);
                self.value(Bytes::clone(value));
            }
        }
        self.number(after.values().filter(|value| value.is_none()).count());
        for (key, value) in after {
            if value.is_none() {
                self.text(key);
            }
        }
    }

    fn messages(&mut self, commit: &Commit, indexes: &KeyIndexes<'_>) {
        self.number(appends(commit).count());
        for (log, attributes, body) in appends(commit) {
            self.number(indexes.log(log));
            self.number(1 + 2 * attributes.len());
            self.value(Bytes::clone(body));
            for (name, value) in attributes {
                self.value(format!("a:{name}"));
                self.text(value);
            }
        }
    }

    fn jobs(&mut self, commit: &Commit, indexes: &KeyIndexes<'_>) {
        let mut after = BTreeMap::new();
        for op in &commit.ops {
            match op {
                Op::Enqueue {
                    queue,
                    job,
                    due,
                    body,
                } => drop(after.insert((queue, job), JobAfter::Enqueued(*due, body))),
                Op::Settle {
                    queue, job, next, ..
                } => {
                    let settled = next.map_or(JobAfter::Removed, JobAfter::Rescheduled);
                    after.insert((queue, job), settled);
                }
                Op::Put { .. } | Op::Delete { .. } | Op::Append { .. } => {}
            }
        }
        self.number(after.len());
        for ((queue, job), after) in after {
            self.number(indexes.queue(queue));
            let begin = self.values.len();
            self.text(job);
            match after {
                JobAfter::Enqueued(due, body) => {
                    self.value(due.0.to_string());
                    self.value(Bytes::clone(body));
                }
                JobAfter::Rescheduled(due) => self.value(due.0.to_string()),
                JobAfter::Removed => {}
            }
            self.number(self.values.len() - begin);
        }
    }
}

type Append<'a> = (&'a str, &'a [(String, String)], &'a Bytes);

fn appends(commit: &Commit) -> impl Iterator<Item = Append<'_>> {
    commit.ops.iter().filter_map(|op| match op {
        Op::Append {
            log,
            attributes,
            body,
        } => Some((log.as_str(), attributes.as_slice(), body)),
        _ => None,
    })
}
