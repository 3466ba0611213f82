//! The tables of the redb file, and the version of the format.
//!
//! What an earlier or a later version can no longer read needs another [`FORMAT`].

use redb::TableDefinition;

/// The version of the tables, of their keys and values, of the journal and of the folder.
pub(in super::super) const FORMAT: u64 = 6;

/// Facts about the store itself, by name (`facts.rs`).
pub(in super::super) const META: TableDefinition<&str, u64> = TableDefinition::new("about");

/// In [`META`]: [`FORMAT`].
pub(in super::super) const FORMAT_KEY: &str = "format";

/// The sorted runs, by number (`run.rs`): level, number of keys, Bloom filter, checksum.
pub(in super::super) const RUNS: TableDefinition<u64, &[u8]> = TableDefinition::new("runs");

/// The blocks of the runs, by the run's number and the block's first key: everything that is not in [`ROWS`].
pub(in super::super) const BLOCKS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("blocks");

/// Messages and commit outcomes, by key, each row with a checksum behind it (`row.rs`). One row contains many of them, is
/// appended behind all others and never changes, so merging such rows would gain nothing.
pub(in super::super) const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");

/// A key of the store.
pub(in super::super) type Key = Vec<u8>;

/// What the keys of the table [`ROWS`] begin with: those of messages, those of outcomes.
pub(in super::super) const ROW_TAGS: [u8; 2] = *b"mr";

/// Whether a key belongs to the table [`ROWS`].
pub(in super::super) fn is_row(key: &[u8]) -> bool {
    key.first().is_some_and(|tag| ROW_TAGS.contains(tag))
}

/// The error for stored data that does not have the expected format.
pub(in super::super) fn malformed() -> redb::Error {
    redb::Error::Corrupted("a record is malformed".to_owned())
}
