//! What a store is kept on: its files, which are opened again after they have failed, and how errors of them are told.

use std::fmt;
use std::io;
use std::path::Path;

use redb::StorageBackend;

/// Where the files of a store are. A folder, and in tests a disk in memory.
pub(in super::super) trait Disk: fmt::Debug + Send + Sync + 'static {
    /// Opens redb's file, which exists.
    ///
    /// # Errors
    /// What is wrong, for the operator.
    fn redb(&self) -> Result<Box<dyn StorageBackend>, String>;

    /// Opens the files of the journal, which exist.
    ///
    /// # Errors
    /// What is wrong, for the operator.
    fn journal(&self) -> Result<[Box<dyn StorageBackend>; 2], String>;

    /// The folder, for messages.
    fn path(&self) -> &Path;

    /// An error with the folder and what to do, for the operator.
    fn describe(&self, error: &redb::Error) -> String {
        describe(self.path(), error)
    }
}

/// Whether stored data is not as it was written, so that trying again does not help.
pub(in super::super) fn is_damage(error: &redb::Error) -> bool {
    match error {
        redb::Error::Corrupted(_) => true,
        redb::Error::Io(error) => matches!(
            error.kind(),
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
        ),
        _ => false,
    }
}

/// An error for damage.
pub(in super::super) fn damaged(how: &str) -> redb::Error {
    redb::Error::Corrupted(how.to_owned())
}

pub(super) fn describe(path: &Path, error: &redb::Error) -> String {
    let path = path.display();
    if !is_damage(error) {
        return format!("the store in the folder {path} failed: {error}");
    }
    let how = match error {
        redb::Error::Corrupted(how) => how.clone(),
        error => error.to_string(),
    };
    format!("the store in the folder {path} is damaged, restore a copy of it: {how}")
}
