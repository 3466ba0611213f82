//! How the store lies in redb's tables.
//!
//! Every key starts with the partition's name, so a partition is one range of each table. Tuples
//! are ordered member by member and strings by their bytes, as the contract asks. Timestamps are
//! microseconds. What a later version cannot read any more needs another [`FORMAT`].

use redb::TableDefinition;

/// The version of this layout, under the one key of [`ABOUT`].
pub(super) const FORMAT: u64 = 1;

/// The key of [`FORMAT`].
pub(super) const FORMAT_KEY: &str = "format";

/// Facts about the store itself.
pub(super) const ABOUT: TableDefinition<&str, u64> = TableDefinition::new("about");

/// Partition → revision, publish time of the newest commit, newest lease.
pub(super) const PARTITIONS: TableDefinition<&str, (u64, u64, u64)> =
    TableDefinition::new("partitions");

/// Partition, key → revision, value.
pub(super) const ENTRIES: TableDefinition<(&str, &str), (u64, &[u8])> =
    TableDefinition::new("entries");

/// Partition, log → newest position, newest trimmed position. Stays when all messages are gone.
pub(super) const LOGS: TableDefinition<(&str, &str), (u64, u64)> = TableDefinition::new("logs");

/// A message: publish time, attributes, body.
pub(super) type StoredMessage<'a> = (u64, Vec<(&'a str, &'a str)>, &'a [u8]);

/// Partition, log, position → message.
pub(super) const MESSAGES: TableDefinition<(&str, &str, u64), StoredMessage<'static>> =
    TableDefinition::new("messages");

/// A job: when it may be claimed, its lease ([`NO_LEASE`] if none), how often it was claimed, body.
pub(super) type StoredJob<'a> = (u64, u64, u32, &'a [u8]);

/// What a job has that is not under a lease. Leases count from one.
pub(super) const NO_LEASE: u64 = 0;

/// Partition, queue, job's id → job.
pub(super) const JOBS: TableDefinition<(&str, &str, &str), StoredJob<'static>> =
    TableDefinition::new("jobs");

/// Partition, queue, when the job may be claimed, job's id: the order of claims.
pub(super) const DUE: TableDefinition<(&str, &str, u64, &str), ()> = TableDefinition::new("due");

/// What a commit did: revision, publish time, positions.
pub(super) type StoredOutcome = (u64, u64, Vec<u64>);

/// Partition, commit's id → outcome.
pub(super) const REMEMBERED: TableDefinition<(&str, u128), StoredOutcome> =
    TableDefinition::new("remembered");

/// Publish time, partition, commit's id: the order of forgetting.
pub(super) const BY_AGE: TableDefinition<(u64, &str, u128), ()> = TableDefinition::new("by_age");
