//! Export and import for the store on Redis.

use async_trait::async_trait;
use bytes::Bytes;
use redis::{Cmd, Value};

use super::super::contract::{Entry, Lease, Message, Partition, Position, Revision, Unavailable};
use super::super::portable::{Counters, Metadata, Part, Portable, QueuedJob};
use super::RedisStore;
use super::keys::{LARGE_VALUE, PartitionKeys, QUEUE_KEYS, encode_entry, position_of, stream_id};
use super::reply;
use super::scripts::{self, Request};
use super::shared::{PAGE_BYTES, Shared};
use crate::clock::Timestamp;

#[async_trait]
impl Portable for RedisStore {
    async fn metadata(&self, partition: &Partition) -> Result<Metadata, Unavailable> {
        metadata_of(&self.shared, partition).await
    }

    async fn jobs(
        &self,
        partition: &Partition,
        queue: &str,
        after: Option<&QueuedJob>,
        max: usize,
    ) -> Result<Vec<QueuedJob>, Unavailable> {
        let keys = self.shared.keyspace.partition(partition);
        let mut jobs: Vec<QueuedJob> = Vec::new();
        let mut after = after.map_or_else(String::new, |job| job.id.clone());
        while jobs.len() < max {
            let names = QUEUE_KEYS.map(|kind| keys.key_of(kind, queue));
            let arguments = vec![
                after.into(),
                (max - jobs.len()).to_string().into(),
                PAGE_BYTES.to_string().into(),
            ];
            let reply = self
                .run_script(keys.slot, &scripts::JOBS, names.into(), arguments)
                .await?;
            let page = reply::queued_jobs(reply).ok_or_else(reply::unexpected)?;
            let Some(last) = page.last() else { break };
            after = last.id.clone();
            jobs.extend(page);
        }
        Ok(jobs)
    }

    async fn restore(&self, partition: &Partition, part: Part) -> Result<(), Unavailable> {
        let keys = self.shared.keyspace.partition(partition);
        match part {
            Part::Entries(entries) => {
                for command in put_entries(&keys, &entries) {
                    self.run(&keys, command).await?;
                }
                Ok(())
            }
            Part::Messages(log, messages) => {
                let stream = vec![keys.key_of("log", &log)];
                let last = messages
                    .last()
                    .map(|message| message.position)
                    .unwrap_or_default();
                self.run_script(keys.slot, &scripts::RESTORE, stream, arguments(messages))
                    .await?;
                self.run(&keys, hset(keys.key("logs"), [(log, stream_id(last))]))
                    .await
            }
            Part::LogBounds(log, bounds) => {
                let last = (log.clone(), stream_id(bounds.last));
                self.run(&keys, hset(keys.key("logs"), [last])).await?;
                if bounds.trimmed > Position::default() {
                    let trimmed = (log, stream_id(bounds.trimmed));
                    self.run(&keys, hset(keys.key("trimmed"), [trimmed]))
                        .await?;
                }
                Ok(())
            }
            Part::Jobs(queue, jobs) => {
                for command in put_jobs(&keys, &queue, &jobs) {
                    self.run(&keys, command).await?;
                }
                Ok(())
            }
            Part::Counters(counters) => {
                // As with a first commit, the partition is added to the index before it exists.
                self.shared.list(partition).await?;
                let counters = [
                    ("revision".to_owned(), counters.revision.0.to_string()),
                    ("at".to_owned(), counters.at.0.to_string()),
                    ("lease".to_owned(), counters.lease.0.to_string()),
                ];
                self.run(&keys, hset(keys.key("head"), counters)).await
            }
        }
    }
}

impl RedisStore {
    /// Runs a command that is harmless to repeat.
    async fn run(&self, keys: &PartitionKeys, command: Cmd) -> Result<(), Unavailable> {
        let request = Request::command(command);
        self.shared
            .send_idempotent(keys.slot, &request)
            .await
            .map(drop)
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

fn put_entries(partition: &PartitionKeys, entries: &[(String, Entry)]) -> Vec<Cmd> {
    let begin = |name: &str, kind: &str| {
        let mut command = redis::cmd(name);
        command.arg(partition.key(kind).as_ref());
        command
    };
    let mut values = begin("HSET", "values");
    let mut keys = begin("ZADD", "keys");
    for (key, entry) in entries {
        values.arg(key).arg(encode_entry(entry));
        keys.arg(0).arg(key);
    }
    let (large, small): (Vec<_>, Vec<_>) = entries
        .iter()
        .partition(|(_, entry)| entry.value.len() > LARGE_VALUE);
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

fn put_jobs(partition: &PartitionKeys, queue: &str, jobs: &[QueuedJob]) -> [Cmd; 4] {
    let begin = |name: &str, kind: &str| {
        let mut command = redis::cmd(name);
        command.arg(partition.key_of(kind, queue).as_ref());
        command
    };
    let mut named = redis::cmd("SADD");
    named.arg(partition.key("queues").as_ref()).arg(queue);
    let mut bodies = begin("HSET", "jobs");
    let mut claims = begin("HSET", "claims");
    let mut due = begin("ZADD", "due");
    for job in jobs {
        bodies.arg(&job.id).arg(job.body.as_ref());
        // Lease 0 means no lease.
        claims.arg(&job.id).arg(format!("0 {}", job.attempt));
        due.arg(job.due.0).arg(&job.id);
    }
    [named, bodies, claims, due]
}

/// Encodes the arguments of `restore.lua`.
fn arguments(messages: Vec<Message>) -> Vec<Bytes> {
    let mut arguments: Vec<Bytes> = Vec::new();
    for message in messages {
        arguments.push(stream_id(message.position).into());
        arguments.push((4 + 2 * message.attributes.len()).to_string().into());
        arguments.push("time".into());
        arguments.push(message.publish_time.0.to_string().into());
        arguments.push("body".into());
        arguments.push(message.body);
        for (name, value) in message.attributes {
            arguments.push(format!("a:{name}").into());
            arguments.push(value.into());
        }
    }
    arguments
}

/// Reads the counters of a partition, and its logs and queues.
pub(super) async fn metadata_of(
    shared: &Shared,
    partition: &Partition,
) -> Result<Metadata, Unavailable> {
    let keys = shared.keyspace.partition(partition);
    let names = ["head", "logs", "trimmed", "queues"].map(|kind| keys.key(kind));
    let request = Request::script(&scripts::METADATA, names.into(), Vec::new());
    let reply = shared.send_idempotent(keys.slot, &request).await?;
    metadata(reply).ok_or_else(reply::unexpected)
}

fn metadata(reply: Value) -> Option<Metadata> {
    type Pairs = Vec<(String, String)>;
    let (counters, logs, trimmed, mut queues): (Vec<Option<u64>>, Pairs, Pairs, Vec<String>) =
        redis::from_redis_value(reply).ok()?;
    let counter = |index: usize| counters.get(index).copied().flatten().unwrap_or_default();
    let mut metadata = Metadata {
        counters: Counters {
            revision: Revision(counter(0)),
            at: Timestamp(counter(1)),
            lease: Lease(counter(2)),
        },
        ..Metadata::default()
    };
    for (log, last) in logs {
        metadata.logs.entry(log).or_default().last = position_of(&last)?;
    }
    for (log, trimmed) in trimmed {
        metadata.logs.entry(log).or_default().trimmed = position_of(&trimmed)?;
    }
    queues.sort_unstable();
    metadata.queues = queues;
    Some(metadata)
}
