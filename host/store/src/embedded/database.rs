//! The store's file: opening connections to it, its format, and what its errors mean to an operator.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ffi::ErrorCode;
use rusqlite::{Connection, Error, OpenFlags, TransactionBehavior};

use super::backup;
use crate::clock::Clock;

/// Marks a file as a store of this program (`PRAGMA application_id`): "Till".
const APPLICATION: i64 = 0x5469_6c6c;

/// How long a connection waits for another process that has the file locked, such as a backup by `sqlite3`.
const BUSY: Duration = Duration::from_secs(5);

/// How many prepared statements a connection keeps: more than there are.
const STATEMENTS: usize = 64;

/// The largest file that is checked when it is opened after an unclean end: 32 MiB, which takes a fraction of a second.
const CHECK_BYTES: u64 = 32 << 20;

/// A database has at least so many bytes: the smallest page of SQLite.
const SHORTEST: u64 = 512;

/// The formats of a store: `PRAGMA user_version` is the number of one, from 1 on.
pub(super) struct Formats {
    /// Makes the tables of the newest.
    pub(super) schema: &'static str,
    /// What brings the tables of format 1 to format 2, those of 2 to 3, and so on.
    pub(super) upgrades: &'static [&'static str],
}

/// The formats that this version knows.
pub(super) const FORMATS: Formats = Formats {
    schema: include_str!("schema.sql"),
    upgrades: &[],
};

impl Formats {
    pub(super) fn newest(&self) -> usize {
        self.upgrades.len() + 1
    }
}

/// A file of a store, and the part of the page cache that each connection to it may use.
#[derive(Clone, Debug)]
pub(super) struct Database {
    pub(super) file: PathBuf,
    pub(super) cache_bytes: u64,
}

impl Database {
    /// Refuses a file that is too short to be a store: SQLite takes it for a new one and writes over it.
    ///
    /// # Errors
    /// What is wrong, for the operator.
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
        // Checkpoints are made beside commits (`checkpoints.rs`).
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        Ok(db)
    }

    /// Opens a connection that only reads.
    pub(super) fn reader(&self) -> rusqlite::Result<Connection> {
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, self.cache_bytes / 16)?;
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

    /// Makes the file a store of the newest format: makes its tables, or brings them up to date after a backup.
    ///
    /// # Errors
    /// When it is damaged, of a newer format, or not a store: what is wrong, for the operator.
    pub(super) fn prepare(
        &self,
        db: &mut Connection,
        formats: &Formats,
        clock: &dyn Clock,
    ) -> Result<(), String> {
        let failed = |error: Error| describe(&self.file, &error);
        let newest = formats.newest();
        let format = format_of(db, &self.file, newest)?;
        if format == Some(newest) {
            return Ok(());
        }
        if let Some(format) = format {
            let beside = format!("tillgate.format-{format}.{}.db", clock.now().seconds());
            let beside = self.file.with_file_name(beside);
            backup::write(db, &beside, &mut |_| ())?;
            tracing::warn!(
                backup = %beside.display(),
                "the store of format {format} is brought to format {newest}; the backup has it as it was"
            );
        } else {
            // Before the tables, since it cannot change within a transaction.
            db.pragma_update(None, "journal_mode", "WAL")
                .map_err(failed)?;
        }
        let change = || {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            match format {
                None => tx.execute_batch(formats.schema)?,
                Some(format) => {
                    for upgrade in formats.upgrades.iter().skip(format - 1) {
                        tx.execute_batch(upgrade)?;
                    }
                }
            }
            tx.pragma_update(None, "application_id", APPLICATION)?;
            tx.pragma_update(None, "user_version", i64::try_from(newest).unwrap_or(0))?;
            tx.commit()
        };
        let mut change = change;
        change().map_err(failed)
    }

    /// Reads everything once when the last process that had the store open did not close it, and the store is small.
    ///
    /// # Errors
    /// What is damaged, for the operator.
    pub(super) fn check_after_unclean_end(&self, db: &Connection) -> Result<(), String> {
        let size = |file: &Path| file.metadata().map_or(0, |file| file.len());
        let mut log = self.file.clone().into_os_string();
        log.push("-wal");
        let log = size(Path::new(&log));
        if log == 0 || size(&self.file) + log > CHECK_BYTES {
            return Ok(());
        }
        check(db, &self.file, "quick_check")
    }
}

/// Opens a connection.
pub(super) fn connect(file: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let db = Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
}

/// The format of a store; `None` when the file is empty or its first start was interrupted.
///
/// # Errors
/// When it is not a store, or of a newer format than `newest`.
pub(super) fn format_of(
    db: &Connection,
    file: &Path,
    newest: usize,
) -> Result<Option<usize>, String> {
    let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let read = || {
        let tables: i64 =
            db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        rusqlite::Result::Ok((number("application_id")?, number("user_version")?, tables))
    };
    match read().map_err(|error| describe(file, &error))? {
        (0, 0, 0) => Ok(None),
        (APPLICATION, format, _) => match usize::try_from(format) {
            Ok(format) if (1..=newest).contains(&format) => Ok(Some(format)),
            _ => Err(format!(
                "{} has format {format}, and this version reads formats up to {newest}: use a newer version",
                file.display()
            )),
        },
        _ => Err(format!(
            "{} is a database of another program",
            file.display()
        )),
    }
}

/// Checks the file with a pragma: `quick_check` reads all pages, `integrity_check` compares the indexes with the tables
/// as well.
///
/// # Errors
/// What is damaged, for the operator.
pub(super) fn check(db: &Connection, file: &Path, pragma: &str) -> Result<(), String> {
    let found: Result<String, Error> =
        db.query_row(&format!("PRAGMA {pragma}(1)"), [], |row| row.get(0));
    match found {
        Ok(found) if found == "ok" => Ok(()),
        Ok(found) => Err(damaged(file, &found)),
        Err(error) => Err(describe(file, &error)),
    }
}

/// What an error means, for the operator.
pub(super) fn describe(file: &Path, error: &Error) -> String {
    match error.sqlite_error_code() {
        // SQLite gives the same error when the disk cannot read a page.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => format!(
            "{} is damaged or its disk fails, restore a backup unless it can be read again: {error}",
            file.display()
        ),
        Some(ErrorCode::DiskFull) => format!("cannot write {}: the disk is full", file.display()),
        _ => format!("{}: {error}", file.display()),
    }
}

fn damaged(file: &Path, what: &str) -> String {
    format!(
        "{} is damaged, restore a backup of it: {what}",
        file.display()
    )
}
