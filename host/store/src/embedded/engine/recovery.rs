//! Recovery: what a store contains when it is opened, and when its files are opened again after a failure.
//!
//! It reads and writes nothing, so it works on a full disk. What is in the journal and not in redb is back in memory;
//! the usual flush takes it from there.

use std::path::Path;
use std::sync::Arc;

use redb::StorageBackend;

use super::database::Database;
use super::disk::{damaged, describe};
use super::flush::Flusher;
use super::journal::{Journal, ReadError};
use super::panics::catch_panics;
use super::state::State;

/// What was recovered.
pub(in super::super) struct Recovered {
    pub(in super::super) state: State,
    /// Not prepared yet.
    pub(in super::super) journal: Journal,
    pub(in super::super) flusher: Flusher,
    /// The last record of the sealed memtable, if it has to be flushed.
    pub(in super::super) sealed: Option<u64>,
}

/// Recovers a store from its open files.
///
/// # Errors
/// What is wrong, for the operator.
pub(in super::super) fn recover(
    database: &Arc<Database>,
    journal: [Box<dyn StorageBackend>; 2],
    compaction_bytes: usize,
    path: &Path,
) -> Result<Recovered, String> {
    let recovered = catch_panics(|| {
        let facts = database.facts()?;
        let opened = Journal::open(journal, facts.salt, facts.flushed);
        let (journal, unflushed) = opened.map_err(|error| match error {
            ReadError::Io(error) => redb::Error::Io(error),
            ReadError::Damaged(how) => damaged(&how),
        })?;
        let flusher = Flusher::new(database, compaction_bytes)?;
        let (sealed, through) = unflushed.sealed.unzip();
        let sealed = sealed.unwrap_or_default();
        Ok(Recovered {
            state: State::recovered(flusher.snapshot()?, sealed, unflushed.active),
            journal,
            flusher,
            sealed: through,
        })
    });
    recovered.map_err(|error| describe(path, &error))
}
