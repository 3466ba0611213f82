//! The store on Redis laid open, so that it can be copied (`store/copy.rs`).

use async_trait::async_trait;
use bytes::Bytes;
use redis::{Cmd, Value};

use super::super::copy::{Head, Outline, Part, Portable, Waiting};
use super::super::{Entry, Lease, Message, Partition, Position, Revision, Unavailable};
use super::layout::{self, Home, LARGE};
use super::scripts::{self, Request};
use super::{PAGE_BYTES, RedisStore, answer, strange};
use crate::clock::Timestamp;

#[async_trait]
impl Portable for RedisStore {
    async fn outline(&self, partition: &Partition) -> Result<Outline, Unavailable> {
        let home = self.shared.layout.home(partition);
        let keys = ["head", "logs", "trimmed", "queues"].map(|kind| home.key(kind));
        let answer = self
            .look(home.slot, &scripts::OUTLINE, keys.into(), Vec::new())
            .await?;
        outline(answer).ok_or_else(strange)
    }

    async fn jobs(
        &self,
        partition: &Partition,
        queue: &str,
        after: Option<&Waiting>,
        max: usize,
    ) -> Result<Vec<Waiting>, Unavailable> {
        let home = self.shared.layout.home(partition);
        let mut jobs: Vec<Waiting> = Vec::new();
        let mut after = after.map_or_else(String::new, |job| job.id.clone());
        while jobs.len() < max {
            let keys = ["due", "jobs", "claims"].map(|kind| home.key_of(kind, queue));
            let arguments = vec![
                after.into(),
                (max - jobs.len()).to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            let answer = self
                .look(home.slot, &scripts::JOBS, keys.into(), arguments)
                .await?;
            let page = answer::waiting(answer).ok_or_else(strange)?;
            let Some(last) = page.last() else { break };
            after = last.id.clone();
            jobs.extend(page);
        }
        Ok(jobs)
    }

    async fn restore(&self, partition: &Partition, part: Part) -> Result<(), Unavailable> {
        let home = self.shared.layout.home(partition);
        match part {
            Part::Entries(entries) => {
                for command in entries_of(&home, &entries) {
                    self.run(&home, command).await?;
                }
                Ok(())
            }
            Part::Messages(log, messages) => {
                let keys = vec![home.key_of("log", &log)];
                let last = messages
                    .last()
                    .map(|message| message.position)
                    .unwrap_or_default();
                self.look(home.slot, &scripts::RESTORE, keys, words(messages))
                    .await?;
                self.run(&home, hset(home.key("logs"), [(log, layout::id(last))]))
                    .await
            }
            Part::Ends(log, ends) => {
                let last = hset(home.key("logs"), [(log.clone(), layout::id(ends.last))]);
                self.run(&home, last).await?;
                if ends.trimmed > Position::default() {
                    let trimmed = hset(home.key("trimmed"), [(log, layout::id(ends.trimmed))]);
                    self.run(&home, trimmed).await?;
                }
                Ok(())
            }
            Part::Jobs(queue, jobs) => {
                for command in jobs_of(&home, &queue, &jobs) {
                    self.run(&home, command).await?;
                }
                Ok(())
            }
            Part::Head(head) => {
                // As with a first commit: it is listed before it is there.
                self.shared.list(partition).await?;
                let counts = [
                    ("revision".to_owned(), head.revision.0.to_string()),
                    ("at".to_owned(), head.at.0.to_string()),
                    ("lease".to_owned(), head.lease.0.to_string()),
                ];
                self.run(&home, hset(home.key("head"), counts)).await
            }
        }
    }
}

impl RedisStore {
    /// A command that a repeat does no harm.
    async fn run(&self, home: &Home, command: Cmd) -> Result<(), Unavailable> {
        let request = Request::command(command);
        self.shared.look(home.slot, &request).await.map(drop)
    }
}

fn hset(key: Bytes, fields: impl IntoIterator<Item = (String, String)>) -> Cmd {
    let mut command = redis::cmd("HSET");
    command.arg(key.as_ref());
    for (field, value) in fields {
        command.arg(field).arg(value);
    }
    command
}

fn entries_of(home: &Home, entries: &[(String, Entry)]) -> Vec<Cmd> {
    let begin = |name: &str, kind: &str| {
        let mut command = redis::cmd(name);
        command.arg(home.key(kind).as_ref());
        command
    };
    let mut values = begin("HSET", "values");
    let mut keys = begin("ZADD", "keys");
    for (key, entry) in entries {
        values.arg(key).arg(layout::put(entry));
        keys.arg(0).arg(key);
    }
    let (large, small): (Vec<_>, Vec<_>) = entries
        .iter()
        .partition(|(_, entry)| entry.value.len() > LARGE);
    let mut commands = vec![values, keys];
    if !large.is_empty() {
        let mut alone = begin("HSET", "revisions");
        for (key, entry) in large {
            alone.arg(key).arg(entry.revision.0);
        }
        commands.push(alone);
    }
    if !small.is_empty() {
        let mut within = begin("HDEL", "revisions");
        for (key, _) in small {
            within.arg(key);
        }
        commands.push(within);
    }
    commands
}

fn jobs_of(home: &Home, queue: &str, jobs: &[Waiting]) -> [Cmd; 4] {
    let begin = |name: &str, kind: &str| {
        let mut command = redis::cmd(name);
        command.arg(home.key_of(kind, queue).as_ref());
        command
    };
    let mut named = redis::cmd("SADD");
    named.arg(home.key("queues").as_ref()).arg(queue);
    let mut bodies = begin("HSET", "jobs");
    let mut claims = begin("HSET", "claims");
    let mut due = begin("ZADD", "due");
    for job in jobs {
        bodies.arg(&job.id).arg(job.body.as_ref());
        // Nobody has lease 0.
        claims.arg(&job.id).arg(format!("0 {}", job.attempt));
        due.arg(job.due.0).arg(&job.id);
    }
    [named, bodies, claims, due]
}

/// Messages as `restore.lua` takes them.
fn words(messages: Vec<Message>) -> Vec<Bytes> {
    let mut words: Vec<Bytes> = Vec::new();
    for message in messages {
        words.push(layout::id(message.position).into());
        words.push((4 + 2 * message.attributes.len()).to_string().into());
        words.push("time".into());
        words.push(message.publish_time.0.to_string().into());
        words.push("body".into());
        words.push(message.body);
        for (name, value) in message.attributes {
            words.push(format!("a:{name}").into());
            words.push(value.into());
        }
    }
    words
}

fn outline(answer: Value) -> Option<Outline> {
    type Pairs = Vec<(String, String)>;
    let (head, logs, trimmed, mut queues): (Vec<Option<u64>>, Pairs, Pairs, Vec<String>) =
        redis::from_redis_value(answer).ok()?;
    let count = |index: usize| head.get(index).copied().flatten().unwrap_or_default();
    let mut outline = Outline {
        head: Head {
            revision: Revision(count(0)),
            at: Timestamp(count(1)),
            lease: Lease(count(2)),
        },
        ..Outline::default()
    };
    for (log, last) in logs {
        let last = layout::position_of(&last)?;
        outline.logs.entry(log).or_default().last = last;
    }
    for (log, trimmed) in trimmed {
        let trimmed = layout::position_of(&trimmed)?;
        outline.logs.entry(log).or_default().trimmed = trimmed;
    }
    queues.sort_unstable();
    outline.queues = queues;
    Some(outline)
}
