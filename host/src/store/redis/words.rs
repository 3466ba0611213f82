//! What `commit.lua` is told of commits: words, and their shape, which is the numbers that say what the words are.
//!
//! Ops apply in order, but only what they leave behind can be seen: the script is told the last word on each key and
//! job. A number costs the server far less in the shape than as a word. Called by `commit.rs` alone.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::super::{Check, Commit, Op};
use super::commit::Places;
use crate::clock::Timestamp;

/// Words and their shape.
#[derive(Default)]
pub(super) struct Told {
    pub(super) words: Vec<Bytes>,
    shape: Vec<usize>,
}

/// How a job is after the commit.
enum Left<'a> {
    New(Timestamp, &'a Bytes),
    Next(Timestamp),
    Done,
}

impl Told {
    /// All of some commits, as `commit.lua` takes it.
    pub(super) fn of(commits: &[Commit], places: &Places) -> Self {
        let mut told = Self::default();
        told.number(commits.len());
        told.number(places.logs.len());
        told.number(commits.iter().map(|commit| commit.checks.len()).sum());
        for log in places.logs.keys() {
            told.text(log);
        }
        for commit in commits {
            told.word(commit.id.0.to_be_bytes().to_vec());
        }
        let checks = || commits.iter().flat_map(|commit| &commit.checks);
        for check in checks() {
            let (Check::Absent(key) | Check::At(key, _)) = check;
            told.text(key);
        }
        for check in checks() {
            match check {
                Check::Absent(_) => told.text(""),
                Check::At(_, revision) => told.word(revision.0.to_string()),
            }
        }
        for commit in commits {
            told.number(commit.checks.len());
            told.settles(commit, places);
        }
        let mut effects = Self::default();
        for commit in commits {
            effects.entries(commit);
            effects.messages(commit, places);
            effects.jobs(commit, places);
            told.number(effects.words.len());
            told.number(effects.shape.len());
            told.words.append(&mut effects.words);
            told.shape.append(&mut effects.shape);
        }
        told
    }

    /// The shape as MessagePack, which Lua reads on every server.
    pub(super) fn shape(&self) -> Bytes {
        let long = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes();
        let mut packed = vec![0xdd];
        packed.extend(long(self.shape.len()));
        for &number in &self.shape {
            match u8::try_from(number) {
                Ok(number @ ..0x80) => packed.push(number),
                _ => {
                    packed.push(0xce);
                    packed.extend(long(number));
                }
            }
        }
        packed.into()
    }

    fn word(&mut self, word: impl Into<Bytes>) {
        self.words.push(word.into());
    }

    fn text(&mut self, text: &str) {
        self.word(Bytes::copy_from_slice(text.as_bytes()));
    }

    fn number(&mut self, number: usize) {
        self.shape.push(number);
    }

    /// Where no lease holds, the script is told lease 0, which nobody has.
    fn settles(&mut self, commit: &Commit, places: &Places) {
        self.number(commit.settles().count());
        for (queue, job, lease) in commit.settles() {
            self.number(places.claims(queue));
            self.text(job);
            self.word(lease.map_or(0, |lease| lease.0).to_string());
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
                self.word(Bytes::clone(value));
            }
        }
        self.number(left.values().filter(|value| value.is_none()).count());
        for (key, value) in left {
            if value.is_none() {
                self.text(key);
            }
        }
    }

    fn messages(&mut self, commit: &Commit, places: &Places) {
        self.number(appends(commit).count());
        for (log, attributes, body) in appends(commit) {
            self.number(places.log(log));
            self.number(1 + 2 * attributes.len());
            self.word(Bytes::clone(body));
            for (name, value) in attributes {
                self.word(format!("a:{name}"));
                self.text(value);
            }
        }
    }

    fn jobs(&mut self, commit: &Commit, places: &Places) {
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
            self.number(places.queue(queue));
            let begin = self.words.len();
            self.text(job);
            match left {
                Left::New(due, body) => {
                    self.word(due.0.to_string());
                    self.word(Bytes::clone(body));
                }
                Left::Next(due) => self.word(due.0.to_string()),
                Left::Done => {}
            }
            self.number(self.words.len() - begin);
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
