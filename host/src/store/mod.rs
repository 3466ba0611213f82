//! The store: what the product keeps, and the promises it keeps it with.
//!
//! A store is a set of **partitions**. A partition has keys with revisions, ordered logs and due-time queues. A
//! [`Commit`] is atomic within one partition and nothing spans two; state, message and job that belong together
//! therefore live in one partition and move in one commit (`platform.md`, "Store").
//!
//! Two real implementations, [`EmbeddedStore`] and [`RedisStore`], and [`MemoryStore`] for tests, pass one conformance
//! suite (`tests/store.rs`). Features know this file only; no feature knows a store, no store knows a feature.
//!
//! What every implementation promises:
//!
//! * `commit` answers after the effect is durable. Checks see, and ops change, one state: no other commit of the
//!   partition comes between. A commit with a failing check or a lost lease changes nothing.
//! * A commit id that took effect within the last [`REMEMBER`] is not applied again: the first outcome is answered, with
//!   `repeated` set. Only effects are remembered; a conflict may be tried again with the same id.
//! * `revision` counts the commits of a partition that took effect: 1, 2, 3, without gaps. An entry carries the
//!   revision of the commit that last put it.
//! * Publish times strictly increase from each commit of a partition to its next, over restarts and when the clock goes
//!   back. The messages of one commit share its time: a commit is one moment.
//! * Positions of a log are opaque, unique, ordered as they were appended, and never used again, trimmed or not.
//! * Keys are ordered by their bytes. Every read is bounded by the caller's `max`.
//! * A due job is given to one worker until its lease ends; settling with any other lease than the newest is
//!   [`CommitError::LeaseLost`]. Leases of a partition only grow, even when a job goes and another of its id comes. A
//!   worker that is late but was not replaced may still settle.

mod commit;
pub mod copy;
mod embedded;
mod hints;
mod memory;
mod redis;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

pub use self::embedded::EmbeddedStore;
pub use self::hints::{ChangedPartitions, PartitionHints};
pub use self::memory::MemoryStore;
pub use self::redis::{RedisStore, RedisUrl};
use crate::clock::{Clock, Timestamp};

/// How long the id of a commit that took effect is remembered, at least.
pub const REMEMBER: Duration = Duration::from_secs(15 * 60);

/// The most operations and checks of one commit, and attributes of one message, each.
pub const MAX_OPS: usize = 1_000;

/// The most bytes of keys, values, bodies and attributes of one commit: 32 MiB.
pub const MAX_COMMIT_BYTES: usize = 32 << 20;

/// The most bytes of a name: a partition, key, log, queue or job.
pub const MAX_NAME_BYTES: usize = 512;

/// The unit of atomicity: one tenant, or the platform. A name of 1 to [`MAX_NAME_BYTES`] bytes without control
/// characters and braces (a Redis hash tag could not hold them).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Partition(Arc<str>);

impl Partition {
    /// The partition of that name, `None` when it is not a name.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let fits = !name.is_empty() && name.len() <= MAX_NAME_BYTES;
        let clean = !name
            .chars()
            .any(|c| c.is_control() || matches!(c, '{' | '}'));
        (fits && clean).then(|| Self(Arc::from(name)))
    }

    /// The partition of a name that the host made itself.
    pub(crate) fn named(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Names an attempt to change something, so that repeating it is harmless. 128 random bits, or a hash of what is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommitId(pub u128);

impl CommitId {
    /// A new id that no other commit has.
    #[must_use]
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().as_u128())
    }
}

/// Counts the commits of a partition that took effect; 0 before the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// A place in a log, opaque and ordered. The default is before the first message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// The right to settle a claimed job: greater with every claim, so an old holder cannot settle (a fencing token).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lease(pub u64);

/// What must be true of a key for a commit to take effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// The key is not there.
    Absent(String),
    /// The key was last put by the commit of this revision.
    At(String, Revision),
}

/// One change of a commit. Ops apply in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Puts a value.
    Put {
        /// Which key.
        key: String,
        /// Its new value.
        value: Bytes,
    },
    /// Removes a key; nothing when it is not there.
    Delete {
        /// Which key.
        key: String,
    },
    /// Appends a message to a log.
    Append {
        /// Which log.
        log: String,
        /// The message's attributes, in order.
        attributes: Vec<(String, String)>,
        /// The message's body.
        body: Bytes,
    },
    /// Puts a job on a queue. A job of that id that is there already is replaced, its lease and attempts forgotten.
    Enqueue {
        /// Which queue.
        queue: String,
        /// The job's id within the queue.
        job: String,
        /// When it may first be claimed.
        due: Timestamp,
        /// What to do.
        body: Bytes,
    },
    /// Ends a claim, once. [`CommitError::LeaseLost`] when `lease` is not the job's newest, was settled already, or the
    /// job is gone.
    Settle {
        /// Which queue.
        queue: String,
        /// The job's id within the queue.
        job: String,
        /// The lease it was claimed with.
        lease: Lease,
        /// When it is due again; `None` when it is done and goes.
        next: Option<Timestamp>,
    },
}

/// A change of one partition: all of it or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Where.
    pub partition: Partition,
    /// Makes a repeat harmless.
    pub id: CommitId,
    /// What must be true.
    pub checks: Vec<Check>,
    /// What changes.
    pub ops: Vec<Op>,
}

/// What a commit did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The partition's revision, made by this commit.
    pub revision: Revision,
    /// The publish time of its messages.
    pub at: Timestamp,
    /// Where its messages stand, in the order of its `Append`s.
    pub positions: Vec<Position>,
    /// Whether an earlier commit of the same id did it.
    pub repeated: bool,
}

/// Why a commit did not do it, by what the caller can do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// A check failed: read again, decide again.
    #[error("{0:?} does not hold")]
    Conflict(Check),
    /// The lease of a settled job has gone to another worker: drop the work.
    #[error("the lease of job {job} in queue {queue} is lost")]
    LeaseLost {
        /// The queue.
        queue: String,
        /// The job.
        job: String,
    },
    /// The commit is larger than a store takes, or a name in it is not one.
    #[error("not a commit: {0}")]
    Refused(&'static str),
    /// Nothing happened; the store is away.
    #[error("the store is away: {0}")]
    Unavailable(String),
    /// It may have happened: repeat it with the same id.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
}

/// Why a read failed: the store is away. Try later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store is away: {0}")]
pub struct Unavailable(pub String);

/// A value with the revision that put it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The commit that last put it.
    pub revision: Revision,
    /// The value.
    pub value: Bytes,
}

/// Entries of a scan, in key order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Key and entry.
    pub entries: Vec<(String, Entry)>,
    /// Whether there are more after the last.
    pub more: bool,
}

/// A message of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Where it stands.
    pub position: Position,
    /// When it was appended.
    pub publish_time: Timestamp,
    /// Its attributes, as appended.
    pub attributes: Vec<(String, String)>,
    /// Its body, as appended.
    pub body: Bytes,
}

/// A part of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Messages after the asked position, oldest first.
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
    /// How often it was claimed, this time included.
    pub attempt: u32,
    /// What to do, as enqueued.
    pub body: Bytes,
}

/// What a claim got.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// Jobs, longest due first.
    pub jobs: Vec<Job>,
    /// When the next job is due or a lease ends, for the worker's timer.
    pub next_due: Option<Timestamp>,
}

/// Changes whenever its partition may have changed. Hints may be lost or come for nothing; they are never the truth.
pub type Hints = tokio::sync::watch::Receiver<u64>;

/// A store; the module's docs say what it promises.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug + 'static {
    /// Applies a commit, all of it or nothing; answers once it is durable.
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError>;

    /// The entries of `keys`, in that order, of one state of the partition.
    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable>;

    /// Up to `max` entries whose key starts with `prefix` and comes after `after`, by key.
    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable>;

    /// Up to `max` messages of a log after a position, oldest first.
    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable>;

    /// Drops up to `max` of the oldest messages published before `before`; answers how many went.
    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable>;

    /// Claims up to `max` jobs that are due and not under a lease, each until `lease` from now; at most [`MAX_OPS`] at
    /// once, since a claim is a change.
    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable>;

    /// Every partition with a commit, after `after`, by name; up to `max`.
    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable>;

    /// Something that changes when the partition does.
    fn hints(&self, partition: &Partition) -> Hints;

    /// Which partitions change, for a reader that looks after all of them.
    fn partition_hints(&self) -> PartitionHints;
}

/// Commits, and repeats with the same id as long as the outcome is unknown, a few times.
///
/// # Errors
/// As [`Store::commit`]; [`CommitError::Unknown`] when it stays unknown. Once it is, a store that is away does not make
/// it known: that nothing happened is true of that attempt alone.
pub async fn commit_surely(store: &dyn Store, commit: Commit) -> Result<Committed, CommitError> {
    const PAUSES: [u64; 4] = [50, 200, 400, 800];
    const LONG_ENOUGH: Duration = Duration::from_secs(4);
    let begin = Instant::now();
    let mut outcome = store.commit(commit.clone()).await;
    if !matches!(outcome, Err(CommitError::Unknown(_))) {
        return outcome;
    }
    for pause_ms in PAUSES {
        if begin.elapsed() > LONG_ENOUGH {
            break;
        }
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        match store.commit(commit.clone()).await {
            Err(CommitError::Unknown(why) | CommitError::Unavailable(why)) => {
                outcome = Err(CommitError::Unknown(why));
            }
            known => return known,
        }
    }
    outcome
}

/// Which store to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreUrl {
    /// `memory:`, gone with the process.
    Memory,
    /// `embedded:PATH`, a folder.
    Embedded(std::path::PathBuf),
    /// `redis://`, `rediss://`, `redis+sentinel://`, `redis+cluster://`.
    Redis(RedisUrl),
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(redis) = RedisUrl::parse(text) {
            return redis
                .map(Self::Redis)
                .map_err(|wrong| format!("store: {wrong}"));
        }
        match text.split_once(':') {
            Some(("memory", "")) => Ok(Self::Memory),
            Some(("embedded", path)) if !path.is_empty() => Ok(Self::Embedded(path.into())),
            // What is no URL of ours may hold a password all the same.
            _ => Err(
                "store: use embedded:FOLDER, redis://HOST:PORT, redis+cluster://HOST:PORT,..., \
                 redis+sentinel://HOST:PORT,.../SERVICE or memory:"
                    .to_owned(),
            ),
        }
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Embedded(path) => write!(f, "embedded:{}", path.display()),
            Self::Redis(url) => fmt::Display::fmt(url, f),
        }
    }
}

/// Opens a store. The message of an error says what is wrong with which folder or server and what to do.
///
/// # Errors
/// When the folder cannot be made or read, is damaged, or is open in another process; when the servers cannot be
/// reached; with `durable`, when what is acknowledged could be lost.
pub async fn open(
    url: &StoreUrl,
    clock: Arc<dyn Clock>,
    durable: bool,
) -> Result<Arc<dyn Store>, String> {
    let store: Arc<dyn Store> = open_portable(url, clock, durable).await?;
    Ok(store)
}

/// The same, to be copied.
///
/// # Errors
/// As [`open`].
pub async fn open_portable(
    url: &StoreUrl,
    clock: Arc<dyn Clock>,
    durable: bool,
) -> Result<Arc<dyn copy::Portable>, String> {
    match url {
        StoreUrl::Memory if durable => Err("memory: is gone with the process".to_owned()),
        StoreUrl::Memory => Ok(Arc::new(MemoryStore::new(clock))),
        StoreUrl::Embedded(folder) => Ok(Arc::new(EmbeddedStore::open(folder, clock)?)),
        StoreUrl::Redis(url) => Ok(Arc::new(RedisStore::open(url, clock, durable).await?)),
    }
}
