//! Opens connections to the store's file, checks the file, and explains its errors to an operator.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ffi::{self, ErrorCode};
use rusqlite::{Connection, Error, OpenFlags};

/// The time a connection waits for another process that has the file locked, such as a backup by `sqlite3`.
const BUSY: Duration = Duration::from_secs(5);

/// The number of prepared statements that a connection keeps: more than there are.
const STATEMENTS: usize = 64;

/// The largest file that is checked when it is opened after an unclean end: 32 MiB, which takes a fraction of a second.
const CHECK_BYTES: u64 = 32 << 20;

/// The size of the smallest database, in bytes: the smallest page of SQLite.
const SHORTEST: u64 = 512;

/// A file of a store, and the memory that the page caches of its connections share.
#[derive(Clone, Debug)]
pub(super) struct Database {
    pub(super) file: PathBuf,
    pub(super) cache_bytes: u64,
}

impl Database {
    /// Refuses a file that is too short to be a store: SQLite would take it for a new one and overwrite it.
    ///
    /// # Errors
    /// The message says what is wrong, for the operator.
    pub(super) fn refuse_rest_of_file(&self) -> Result<(), String> {
        match self.file.metadata() {
            Ok(file) if (1..SHORTEST).contains(&file.len()) => {
                Err(damaged(&self.file, "most of it is missing"))
            }
            _ => Ok(()),
        }
    }

    /// Opens a connection that reads and writes.
    pub(super) fn writer(&self) -> rusqlite::Result<Connection> {
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, self.cache_bytes / 2)?;
        // Checkpoints run beside commits (`checkpoints.rs`).
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(db)
    }

    /// Opens a connection that only reads.
    pub(super) fn reader(&self) -> rusqlite::Result<Connection> {
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, self.cache_bytes / 32)?;
        db.pragma_update(None, "query_only", true)?;
        Ok(db)
    }

    fn connect(&self, flags: OpenFlags, cache_bytes: u64) -> rusqlite::Result<Connection> {
        let db = connect(&self.file, flags)?;
        let cache_kib = i64::try_from(cache_bytes >> 10).unwrap_or(i64::MAX);
        db.pragma_update(None, "cache_size", -cache_kib)?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.pragma_update(None, "temp_store", "MEMORY")?;
        Ok(db)
    }

    /// Reads the whole store once when the last process that had it open did not close it, and the store is small.
    ///
    /// # Errors
    /// The message says what is damaged, for the operator.
    pub(super) fn check_after_unclean_end(&self, db: &Connection) -> Result<(), String> {
        let size = |file: &Path| file.metadata().map_or(0, |file| file.len());
        let log = size(&log_of(&self.file));
        if log == 0 || size(&self.file) + log > CHECK_BYTES {
            return Ok(());
        }
        check(db, &self.file, "quick_check")
    }
}

/// Returns the path of the write-ahead log beside a file.
pub(super) fn log_of(file: &Path) -> PathBuf {
    let mut log = file.to_owned().into_os_string();
    log.push("-wal");
    log.into()
}

pub(super) fn connect(file: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}

/// Checks the file with a pragma: `quick_check` reads all pages, `integrity_check` compares the indexes with the tables
/// as well.
///
/// # Errors
/// The message says what is damaged, for the operator.
pub(super) fn check(db: &Connection, file: &Path, pragma: &str) -> Result<(), String> {
    let found: Result<String, Error> =
        db.query_row(&format!("PRAGMA {pragma}(1)"), [], |row| row.get(0));
    match found {
        Ok(found) if found == "ok" => Ok(()),
        Ok(found) => Err(damaged(file, &found)),
        Err(error) => Err(describe(file, &error)),
    }
}

/// Explains an error to the operator.
pub(super) fn describe(file: &Path, error: &Error) -> String {
    match error.sqlite_error() {
        // SQLite returns the same error when the disk cannot read a page.
        Some(ffi::Error {
            code: ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase,
            ..
        }) => format!(
            "{} is damaged or its disk fails, restore a backup unless it can be read again: {error}",
            file.display()
        ),
        // The second means that there is no room for `tillgate.db-shm`, which SQLite creates when it opens the file.
        Some(
            ffi::Error {
                code: ErrorCode::DiskFull,
                ..
            }
            | ffi::Error {
                extended_code: ffi::SQLITE_IOERR_SHMSIZE,
                ..
            },
        ) => format!("cannot write {}: the disk is full", file.display()),
        _ => format!("{}: {error}", file.display()),
    }
}

fn damaged(file: &Path, what: &str) -> String {
    format!(
        "{} is damaged, restore a backup of it: {what}",
        file.display()
    )
}
