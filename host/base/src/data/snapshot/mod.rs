//! The snapshot: the records that decisions need, in a folder, so that a host can start and decide while its store is
//! unavailable (`platform.md`, "Decisions outlive the store").
//!
//! Each feature says which records its decisions need ([`Contents`]). The [`SnapshotWriter`] follows these records
//! through the change feed. After changes, it writes a file for each partition, and the time up to which all of them
//! are complete (`file.rs`). If a host starts while the store is unavailable, [`SnapshotStore`] answers from these
//! files: the features start on it as on any store, and know how old it is. A snapshot contains nothing that could sign
//! or authenticate: a host without its store issues no tokens.

mod file;
mod store;
mod writer;

use bytes::Bytes;

pub use self::store::SnapshotStore;
pub use self::writer::SnapshotWriter;

/// The part of a partition that the snapshot keeps.
#[derive(Clone, Copy, Debug)]
pub struct Contents {
    /// The prefixes of the keys of its records.
    pub prefixes: &'static [&'static str],
    /// Returns the value of a key without secrets.
    pub redact: fn(&str, Bytes) -> Bytes,
}

impl Contents {
    /// Creates the contents for records that hold no secrets.
    #[must_use]
    pub const fn new(prefixes: &'static [&'static str]) -> Self {
        Self {
            prefixes,
            redact: |_, value| value,
        }
    }

    fn contain(&self, key: &str) -> bool {
        self.prefixes.iter().any(|prefix| key.starts_with(prefix))
    }
}
