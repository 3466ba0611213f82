//! The store: the product's data, and the guarantees for it.
//!
//! A store is a set of **partitions**. A partition has keys with revisions, append-only logs and queues of jobs with
//! due times. A [`Commit`] is atomic within one partition and nothing spans two; state, messages and jobs that belong
//! together therefore live in one partition and change in one commit (`platform.md`, "Store").
//!
//! Two durable implementations, [`EmbeddedStore`] and [`RedisStore`], and [`MemoryStore`] for tests, pass one
//! conformance suite (`tests/store/`). Features see only this module: no feature knows which store it runs on, and no
//! store knows a feature.
//!
//! Every implementation guarantees:
//!
//! * `commit` returns once the effect is durable. Checks and ops apply to one state: no other commit of the partition
//!   comes in between. A commit with a failed check or a lost lease changes nothing.
//! * A commit is not applied again if its id took effect within the last [`REMEMBER`]: the first outcome is returned,
//!   with `repeated` set. Only effects are remembered; after a conflict the same id may be used again.
//! * `revision` counts the commits of a partition that took effect: 1, 2, 3, without gaps. An entry carries the
//!   revision of the commit that last put it.
//! * Publish times strictly increase from each commit of a partition to the next, across restarts and when the clock is
//!   set back. The messages of one commit share its time: a commit is one moment.
//! * Positions in a log are opaque, unique, in the order of appending, and never reused, even after a trim.
//! * Keys are ordered by their bytes. Every read is bounded by the caller's `max`.
//! * A due job is given to one worker until its lease ends; settling with any lease but the newest fails with
//!   [`CommitError::LeaseLost`]. The leases of a partition only increase, even when a job is removed and another is
//!   enqueued under its id. A worker that is late but was not replaced may still settle.

#![warn(missing_docs)]

pub mod clock;
mod commit;
mod contract;
pub mod copy;
mod embedded;
mod hints;
pub mod inspection;
mod memory;
mod open;
mod partition;
pub mod portable;
pub mod priority;
mod redis;
pub mod regular_file;
pub mod unfinished;

pub use self::contract::{
    ChangedPartitions, Check, Claimed, Commit, CommitError, CommitId, Committed, Entry, Health,
    Hints, Job, Lease, MAX_COMMIT_BYTES, MAX_NAME_BYTES, MAX_OPS, Message, Op, Page, Partition,
    PartitionHints, Position, REMEMBER, Refusal, Revision, Slice, Store, Unavailable,
    commit_surely, hinted,
};
pub use self::embedded::{EmbeddedStore, backup, list_folder};
pub use self::memory::MemoryStore;
pub use self::open::{StoreUrl, open, open_portable};
pub use self::redis::{RedisStore, RedisUrl, list_servers, servers};
