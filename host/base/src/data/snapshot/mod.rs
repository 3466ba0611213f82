//! The snapshot: the records that decisions need, in a folder, so that a host can start and decide while its store is
//! unavailable (`platform.md`, "Decisions outlive the store").
//!
//! Features say which records they decide with ([`Contents`]). The [`SnapshotWriter`] follows these through the change feed
//! and, after changes, writes a file for each partition, and until when all of them are complete (`file.rs`). At a start
//! while the store is unavailable, [`SnapshotStore`] answers with them: the features start on it as on any store, and know
//! how old it is. A snapshot contains nothing that could sign or authenticate: a host without its store issues no tokens.

mod file;
mod store;
mod writer;

use bytes::Bytes;

pub use self::store::SnapshotStore;
pub use self::writer::SnapshotWriter;

/// What the snapshot has of a partition.
#[derive(Clone, Copy, Debug)]
pub struct Contents {
    /// What the keys of its records begin with.
    pub prefixes: &'static [&'static str],
    /// The value of a key in the snapshot: without secrets.
    pub redact: fn(&str, Bytes) -> Bytes,
}

impl Contents {
    /// Records that hold no secrets.
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
