//! Makes a backup of a store in one file while a host serves it, and a store from a backup.
//!
//! SQLite's backup API copies a snapshot page by page. Commits continue meanwhile; the write-ahead log keeps their
//! changes until the copy is complete.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, Error, OpenFlags};
use tempfile::NamedTempFile;

use super::database::{check, connect, describe};
use super::folder::{Folder, database_in, existing_database, sync};
use super::formats::{FORMATS, format_of};
use super::number::Number;
use crate::clock::Timestamp;
use crate::regular_file;
use crate::unfinished::Unfinished;

/// The number of pages to copy at once: 1 MiB.
const STEP: i32 = 256;

/// The first bytes of every SQLite database.
const BEGIN: &[u8; 16] = b"SQLite format 3\0";

/// The progress of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The bytes copied so far.
    pub done: u64,
    /// The total bytes.
    pub total: u64,
}

/// The contents of a store, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Partitions that have a commit.
    pub partitions: u64,
    /// Entries.
    pub entries: u64,
    /// Messages.
    pub messages: u64,
    /// Jobs.
    pub jobs: u64,
    /// The publish time of the newest commit; 0 when there is none.
    pub newest: Timestamp,
}

/// Copies the store in `folder`, which a host may serve meanwhile, to a new file that only this user can read.
///
/// The copy is checked before it gets its name, so a damaged page is found.
///
/// # Errors
/// When there is no store, the file exists, something is damaged, or the disk fails. The message says what to do.
pub fn backup(
    folder: &Path,
    file: &Path,
    report: &mut dyn FnMut(Progress),
) -> Result<Contents, String> {
    let (database, db) = open(folder)?;
    write(&db, file, report)?;
    db.close()
        .map_err(|(_, error)| describe(&database, &error))?;
    contents(&open_file(file)?).map_err(|error| describe(file, &error))
}

/// Makes a store from a backup, in a folder that is empty or missing, or that has the remains of a killed restore.
///
/// # Errors
/// When the file is not a backup or is damaged, or the folder contains something. The message says what to do.
pub fn restore(
    file: &Path,
    folder: &Path,
    report: &mut dyn FnMut(Progress),
) -> Result<Contents, String> {
    require_database(file)?;
    let db = open_file(file)?;
    check(&db, file, "integrity_check")?;
    let folder = Folder::open_empty(folder)?;
    write(&db, &database_in(&folder.path), report)?;
    contents(&db).map_err(|error| describe(file, &error))
}

/// Fails unless a file begins as a backup does: SQLite would call any other file damaged.
fn require_database(file: &Path) -> Result<(), String> {
    let mut begin = [0; BEGIN.len()];
    let read = regular_file::open(file).and_then(|mut file| file.read_exact(&mut begin));
    match read {
        Ok(()) if begin == *BEGIN => Ok(()),
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => {
            Err(format!("cannot read {}: {error}", file.display()))
        }
        _ => Err(format!(
            "{} is not a backup: name a file that tillgate backup has written",
            file.display()
        )),
    }
}

/// Checks the store in `folder`, which a host may serve meanwhile, by reading every page of it.
///
/// # Errors
/// When there is no store, or something is damaged. The message says what to do.
pub fn inspect(folder: &Path) -> Result<Contents, String> {
    let (database, db) = open(folder)?;
    check(&db, &database, "quick_check")?;
    contents(&db).map_err(|error| describe(&database, &error))
}

/// Copies the database of a connection to a new file.
pub(super) fn write(
    db: &Connection,
    file: &Path,
    report: &mut dyn FnMut(Progress),
) -> Result<(), String> {
    let cannot =
        |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", file.display());
    if file.exists() {
        return Err(format!("{} exists already", file.display()));
    }
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let beside = Unfinished::begin(folder).map_err(|error| cannot(&error))?;
    // The file is removed unless it gets its name. Only this user can read it.
    let unfinished = NamedTempFile::new_in(beside.path()).map_err(|error| cannot(&error))?;
    copy(db, &unfinished, report).map_err(|error| cannot(&error))?;
    check(
        &open_file(unfinished.path())?,
        unfinished.path(),
        "quick_check",
    )?;
    unfinished
        .persist_noclobber(file)
        .map_err(|error| error.error)
        .and_then(|file| file.sync_all())
        .and_then(|()| sync(folder))
        .map_err(|error| cannot(&error))
}

fn copy(
    db: &Connection,
    file: &NamedTempFile,
    report: &mut dyn FnMut(Progress),
) -> rusqlite::Result<()> {
    let mut to = connect(file.path(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // An interrupted copy is thrown away, and what is written is synced below.
    to.pragma_update(None, "journal_mode", "OFF")?;
    to.pragma_update(None, "synchronous", "OFF")?;
    // All steps need one snapshot, which a transaction has from its first read on. Without it, each commit of the host
    // would restart the copy.
    let snapshot = db.unchecked_transaction()?;
    snapshot.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let page: Number = db.pragma_query_value(None, "page_size", |row| row.get(0))?;
    let backup = Backup::new(&snapshot, &mut to)?;
    loop {
        let step = backup.step(STEP)?;
        let progress = backup.progress();
        let bytes = |pages: i32| u64::try_from(pages).unwrap_or(0) * page.0;
        report(Progress {
            done: bytes(progress.pagecount - progress.remaining),
            total: bytes(progress.pagecount),
        });
        if step == StepResult::Done {
            break;
        }
        // Syncs a little at a time: one sync at the end would block the host's syncs for as long as it takes. An error
        // recurs in the last sync.
        let _synced = file.as_file().sync_data();
    }
    drop(backup);
    // Leaves one file without a log beside it, which any program can read wherever it is.
    to.pragma_update(None, "journal_mode", "DELETE")?;
    to.close().map_err(|(_, error)| error)
}

/// Opens the store in a folder for reading, beside a host.
pub(super) fn open(folder: &Path) -> Result<(PathBuf, Connection), String> {
    let file = existing_database(folder)?;
    let db = open_file(&file)?;
    Ok((file, db))
}

fn open_file(file: &Path) -> Result<Connection, String> {
    // This gives a missing file a message of its own. The file must not be opened for it: closing it would release the
    // locks that SQLite has on a store that this process has open.
    fs::metadata(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let db = connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let db = db.map_err(|error| describe(file, &error))?;
    match format_of(&db, file, FORMATS.newest())? {
        Some(_) => Ok(db),
        None => Err(format!("{} contains no store", file.display())),
    }
}

fn contents(db: &Connection) -> Result<Contents, Error> {
    let number = |sql: &str| db.query_row(sql, [], |row| Ok(row.get::<_, Number>(0)?.0));
    Ok(Contents {
        partitions: number("SELECT count(*) FROM partitions WHERE revision > 0")?,
        entries: number("SELECT count(*) FROM entries")?,
        messages: number("SELECT count(*) FROM messages")?,
        jobs: number("SELECT count(*) FROM jobs")?,
        newest: Timestamp(number("SELECT coalesce(max(at), 0) FROM partitions")?),
    })
}
