//! Export and import: the operations beyond the contract that copying a store needs (`copy.rs`).

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;

use super::contract::{Entry, Lease, Message, Partition, Position, Revision, Store, Unavailable};
use crate::clock::Timestamp;

/// A store that exports and imports its contents. Entries and messages are exported by `scan` and `read`.
#[async_trait]
pub trait Portable: Store {
    /// Returns the counters of a partition, and its logs and queues.
    async fn metadata(&self, partition: &Partition) -> Result<Metadata, Unavailable>;

    /// Returns up to `max` jobs of a queue after a given one, ordered by due time, then by id.
    async fn jobs(
        &self,
        partition: &Partition,
        queue: &str,
        after: Option<&QueuedJob>,
        max: usize,
    ) -> Result<Vec<QueuedJob>, Unavailable>;

    /// Imports a part of another store's partition unchanged. This is not a commit: it has no revision and causes no
    /// hints. A repeat changes nothing. The partition is not listed until its [`Part::Counters`] are imported.
    async fn restore(&self, partition: &Partition, part: Part) -> Result<(), Unavailable>;
}

/// The counters of a partition, and its logs and queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Its counters.
    pub counters: Counters,
    /// Its logs by name.
    pub logs: BTreeMap<String, LogBounds>,
    /// The names of its queues, some of which may be empty.
    pub queues: Vec<String>,
}

/// The counters of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The revision of the newest commit; 0 when there was none.
    pub revision: Revision,
    /// The newest publish time.
    pub at: Timestamp,
    /// The newest lease.
    pub lease: Lease,
}

/// The newest position of a log, and the newest that was trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogBounds {
    /// The newest position ever appended.
    pub last: Position,
    /// The newest position that was trimmed.
    pub trimmed: Position,
}

/// A job of a queue, waiting or under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedJob {
    /// Its id within the queue.
    pub id: String,
    /// The time at which it may be claimed: when it is due, or when its lease ends.
    pub due: Timestamp,
    /// The number of times it was claimed.
    pub attempt: u32,
    /// The work to do.
    pub body: Bytes,
}

/// A part of a partition.
#[derive(Clone, Debug)]
pub enum Part {
    /// Some entries.
    Entries(Vec<(String, Entry)>),
    /// Some messages of a log, oldest first. Those that the log already has are skipped.
    Messages(String, Vec<Message>),
    /// The bounds of a log whose messages are all imported.
    LogBounds(String, LogBounds),
    /// Some jobs of a queue.
    Jobs(String, Vec<QueuedJob>),
    /// The counters of the partition; the last part.
    Counters(Counters),
}
