//! The types of the contract and the trait that every store implements; `lib.rs` says what a store guarantees.

use std::fmt;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

pub use super::hints::{ChangedPartitions, Hints, PartitionHints, hinted};
pub use super::partition::{MAX_NAME_BYTES, Partition};
use crate::clock::Timestamp;

/// The minimum time for which the id of a commit that took effect is remembered.
pub const REMEMBER: Duration = Duration::from_secs(15 * 60);

/// The most operations in one commit, checks in one commit, and attributes of one message.
pub const MAX_OPS: usize = 1_000;

/// The most bytes of names, values, bodies and attributes in one commit: 32 MiB.
pub const MAX_COMMIT_BYTES: usize = 32 << 20;

/// Identifies an attempt to change something (an idempotency key), so that repeating it is harmless: 128 random bits, or
/// a hash of what is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitId(pub u128);

impl CommitId {
    /// Returns a new random id.
    #[must_use]
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().as_u128())
    }
}

/// Counts the commits of a partition that took effect; 0 before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// A position in a log, opaque and ordered. The default is before the first message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// The right to settle a claimed job: a fencing token that grows with every claim, so that an earlier holder cannot
/// settle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lease(pub u64);

/// A condition on a key that must hold for a commit to take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// The key does not exist.
    Absent(String),
    /// The key was last put by the commit of this revision.
    At(String, Revision),
}

/// One change of a commit. Ops apply in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Puts a value.
    Put {
        /// The key.
        key: String,
        /// The new value.
        value: Bytes,
    },
    /// Deletes a key; does nothing when it does not exist.
    Delete {
        /// The key.
        key: String,
    },
    /// Appends a message to a log.
    Append {
        /// The log.
        log: String,
        /// The message's attributes, in order.
        attributes: Vec<(String, String)>,
        /// The message's body.
        body: Bytes,
    },
    /// Puts a job on a queue. An existing job with that id is replaced, and its lease and attempts are forgotten.
    Enqueue {
        /// The queue.
        queue: String,
        /// The job's id within the queue.
        job: String,
        /// The earliest time at which it may be claimed.
        due: Timestamp,
        /// The work to do.
        body: Bytes,
    },
    /// Ends a claim, once. Fails with [`CommitError::LeaseLost`] when `lease` is not the job's newest or was already
    /// settled, or when the job no longer exists.
    Settle {
        /// The queue.
        queue: String,
        /// The job's id within the queue.
        job: String,
        /// The lease it was claimed with.
        lease: Lease,
        /// The time at which it is due again; `None` removes a job that is done.
        next: Option<Timestamp>,
    },
}

/// A change of one partition: all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The partition to change.
    pub partition: Partition,
    /// The id that makes a repeat harmless.
    pub id: CommitId,
    /// The conditions that must hold.
    pub checks: Vec<Check>,
    /// The changes to make.
    pub ops: Vec<Op>,
}

/// The effect of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The revision of the partition that this commit created.
    pub revision: Revision,
    /// The publish time of its messages.
    pub at: Timestamp,
    /// The positions of its messages, in the order of its `Append`s.
    pub positions: Vec<Position>,
    /// True if an earlier commit with the same id had this effect.
    pub repeated: bool,
}

/// The reason a commit failed, by what the caller can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A check failed: read again, decide again.
    #[error("the check {0:?} failed")]
    Conflict(Check),
    /// The job has been claimed by another worker, settled or replaced: drop the work.
    #[error("the lease of job {job} in queue {queue} is lost")]
    LeaseLost {
        /// The queue.
        queue: String,
        /// The job.
        job: String,
    },
    /// The commit exceeds a limit that every store has.
    #[error("the commit was refused: {0}")]
    Refused(Refusal),
    /// Nothing happened; the store is unavailable.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The commit may have taken effect: repeat it with the same id.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
}

/// A limit that a commit exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More than [`MAX_OPS`] operations, or more than [`MAX_OPS`] checks.
    #[error("it has more than {} operations or checks", MAX_OPS)]
    TooManyOps,
    /// A message with more than [`MAX_OPS`] attributes.
    #[error("a message has more than {} attributes", MAX_OPS)]
    TooManyAttributes,
    /// A name that is empty, is longer than [`MAX_NAME_BYTES`] or contains a NUL character.
    #[error(
        "a name is empty, is longer than {} bytes or contains a NUL character",
        MAX_NAME_BYTES
    )]
    MalformedName,
    /// More than [`MAX_COMMIT_BYTES`] of names, values, bodies and attributes.
    #[error("it is larger than {} MiB", MAX_COMMIT_BYTES >> 20)]
    TooLarge,
}

/// An operation failed because the store is unavailable. Try again later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store is unavailable: {0}")]
pub struct Unavailable(pub String);

/// The health of a store: what it can do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It can do everything.
    Up,
    /// It answers reads; commits, claims and trims fail, as with a full disk.
    ReadOnly {
        /// The time at which this state began.
        since: Timestamp,
        /// The cause, for the operator.
        why: String,
    },
    /// It answers nothing.
    Away {
        /// The time at which this state began.
        since: Timestamp,
        /// The cause, for the operator.
        why: String,
    },
}

/// A value with the revision that put it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The revision of the commit that last put it.
    pub revision: Revision,
    /// The value.
    pub value: Bytes,
}

/// Entries of a scan, in key order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The keys and their entries.
    pub entries: Vec<(String, Entry)>,
    /// True if more entries follow the last.
    pub more: bool,
}

/// A message of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its position in the log.
    pub position: Position,
    /// The time at which it was appended.
    pub publish_time: Timestamp,
    /// Its attributes, as appended.
    pub attributes: Vec<(String, String)>,
    /// Its body, as appended.
    pub body: Bytes,
}

/// A part of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Messages after the requested position, oldest first.
    pub messages: Vec<Message>,
    /// The newest position ever appended, trimmed or not.
    pub last: Position,
    /// The newest position that was trimmed: a reader whose position is before it has missed messages.
    pub trimmed: Position,
}

/// A job that was claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id within the queue.
    pub id: String,
    /// The right to settle it.
    pub lease: Lease,
    /// The number of claims so far, including this one.
    pub attempt: u32,
    /// The work to do, as enqueued.
    pub body: Bytes,
}

/// The result of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// Jobs, longest due first.
    pub jobs: Vec<Job>,
    /// The time at which the next job is due or a lease ends, for the worker's timer.
    pub next_due: Option<Timestamp>,
}

/// A store; the crate's documentation lists its guarantees.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// Applies a commit, all of it or nothing; returns once it is durable.
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError>;

    /// Returns the entries of `keys`, in that order, from one state of the partition.
    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable>;

    /// Returns up to `max` entries whose key starts with `prefix` and comes after `after`, in key order.
    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable>;

    /// Returns up to `max` messages of a log after a position, oldest first.
    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable>;

    /// Drops up to `max` of the oldest messages published before `before`; returns how many it dropped.
    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable>;

    /// Claims up to `max` jobs that are due and not under a lease, each for the span `lease` from now; at most
    /// [`MAX_OPS`] at once, since a claim is a change.
    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable>;

    /// Returns the number of jobs in a queue, due or not and under a lease or not, counted up to `max`.
    async fn queued(
        &self,
        partition: &Partition,
        queue: &str,
        max: usize,
    ) -> Result<usize, Unavailable>;

    /// Returns up to `max` partitions that have a commit and come after `after`, in the order of their names.
    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable>;

    /// Returns a channel that signals that the partition may have changed.
    fn hints(&self, partition: &Partition) -> Hints;

    /// Returns hints about every partition, for a reader that serves all of them.
    fn partition_hints(&self) -> PartitionHints;

    /// Returns the time up to which hints are complete: the hint of every commit that was acknowledged before it, on
    /// any host, has reached its listeners here. Returns `None` while that is not known. A reader that has acted on all
    /// hints so far is as fresh as this time.
    fn hints_as_of(&self) -> Option<Timestamp>;

    /// Returns the time of the snapshot for a store that answers from one, and `None` for all others.
    fn snapshot_of(&self) -> Option<Timestamp> {
        None
    }

    /// Returns what the store can do, as far as that is known without asking it.
    fn health(&self) -> Health;
}

/// Commits, and repeats the commit a few times with the same id while the outcome is unknown.
///
/// # Errors
/// As [`Store::commit`]; [`CommitError::Unknown`] when the outcome stays unknown. It stays unknown even if the store is
/// then unavailable: that says only that the repeat did nothing.
pub async fn commit_surely(store: &dyn Store, commit: Commit) -> Result<Committed, CommitError> {
    const BACKOFF_MS: [u64; 4] = [50, 200, 400, 800];
    const DEADLINE: Duration = Duration::from_secs(4);
    let begin = Instant::now();
    let mut outcome = store.commit(commit.clone()).await;
    if !matches!(outcome, Err(CommitError::Unknown(_))) {
        return outcome;
    }
    for backoff_ms in BACKOFF_MS {
        if begin.elapsed() > DEADLINE {
            break;
        }
        tokio::time::sleep(Duration::from_millis(backoff_ms)).await;
        match store.commit(commit.clone()).await {
            Err(CommitError::Unknown(why) | CommitError::Unavailable(why)) => {
                outcome = Err(CommitError::Unknown(why));
            }
            known => return known,
        }
    }
    outcome
}
