//! The snapshot: what decisions rest on, kept in a folder, so that a host can start and decide while its store is away
//! (`platform.md`, "Decisions outlive the store").
//!
//! Features say which records they decide with ([`Contents`]). The [`Keeper`] follows these through the change feed and
//! writes a file for each partition after changes, and until when all of them are complete (`file.rs`). At a start while
//! the store is away, [`SnapshotStore`] answers with them: the features start on it as on any store, and find it as old as
//! it is. Nothing that could sign or authenticate is kept: a host without its store gives no tokens.

mod file;
mod keeper;
mod store;

use bytes::Bytes;

pub use self::keeper::Keeper;
pub use self::store::SnapshotStore;

/// What is kept of a partition.
#[derive(Clone, Copy, Debug)]
pub struct Contents {
    /// What the keys of its records begin with.
    pub prefixes: &'static [&'static str],
    /// The value of a key as it is kept: without what must not lie in a folder.
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
