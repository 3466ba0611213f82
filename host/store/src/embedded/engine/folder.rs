//! The store's folder: creating it, locking it, opening its files, and describing what is wrong with it.
//!
//! `tillgate.lock` is locked as long as the store is open; its content means nothing. `tillgate.redb` and the two files
//! of the journal, `tillgate.journal.0` and `.1`, are the store: each is useless without the others. A new redb file is
//! created under another name and renamed once it and the journal are complete, so that a crash cannot leave half a
//! store.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable};

use super::facts::Facts;
use super::journal::{Files, ReadError};
use super::panics::catch_panics;
use super::tables::{BLOCKS, FORMAT, FORMAT_KEY, META, ROWS, RUNS};

/// The size of redb's cache of the file: 256 MiB. The operating system caches more.
const CACHE_BYTES: usize = 256 << 20;

/// The names of the journal's files.
const JOURNAL: [&str; 2] = ["tillgate.journal.0", "tillgate.journal.1"];

/// An open folder.
pub(in super::super) struct Folder {
    /// `None` while it is closed.
    database: Option<Database>,
    path: PathBuf,
    /// Declared after the database, so that it is released after that is closed.
    _lock: Option<File>,
}

impl Folder {
    /// Opens the store in a folder and the files of its journal; creates what is missing.
    pub(in super::super) fn open(path: &Path) -> Result<(Self, Facts, Files), String> {
        create_folder(path).map_err(|error| cannot("create", path, &error))?;
        let lock = lock(path)?;
        let file = path.join("tillgate.redb");
        if !file
            .try_exists()
            .map_err(|error| cannot("read", path, &error))?
        {
            create_store(path, &file)?;
        }
        let database = database(path, || builder(path).open(&file))?;
        let folder = Self {
            database: Some(database),
            path: path.to_owned(),
            _lock: Some(lock),
        };
        let facts = folder.facts()?;
        let [first, second] = JOURNAL.map(|name| journal(path, name));
        Ok((folder, facts, [first?, second?]))
    }

    /// A store that is not in a folder, for tests of disk failures.
    #[cfg(test)]
    pub(in super::super) fn on(
        backend: impl redb::StorageBackend,
    ) -> Result<(Self, Facts), String> {
        let path = PathBuf::from("a test");
        let database = database(&path, || builder(&path).create_with_backend(backend))?;
        set_up(&database).map_err(|error| describe(&path, &error))?;
        let folder = Self {
            database: Some(database),
            path,
            _lock: None,
        };
        let facts = folder.facts()?;
        Ok((folder, facts))
    }

    /// The redb file.
    pub(in super::super) fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::DatabaseClosed)
    }

    fn facts(&self) -> Result<Facts, String> {
        let read = catch_panics(|| {
            let table = self.database()?.begin_read()?.open_table(META)?;
            let format = table.get(FORMAT_KEY)?.map(|format| format.value());
            Ok((format, Facts::read(&table)))
        });
        let path = self.path.display();
        match read {
            Ok((Some(FORMAT), facts)) => facts.map_err(|error| self.describe(&error)),
            Ok((Some(format), _)) => Err(format!(
                "the store in the folder {path} has format {format}, and this version reads format \
                 {FORMAT}: use the version that wrote it"
            )),
            Ok((None, _)) | Err(redb::Error::TableDoesNotExist(_)) => Err(format!(
                "the folder {path} contains a database that is not a store"
            )),
            Err(error) => Err(self.describe(&error)),
        }
    }

    /// Why the journal cannot be read, for the operator.
    pub(in super::super) fn describe_journal(&self, error: ReadError) -> String {
        self.describe(&match error {
            ReadError::Io(error) => redb::Error::Io(error),
            ReadError::Damaged(how) => redb::Error::Corrupted(how),
        })
    }

    /// An error with the folder and what to do, for the operator.
    pub(in super::super) fn describe(&self, error: &redb::Error) -> String {
        describe(&self.path, error)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let database = self.database.take();
        // Closing writes, and redb panics on some kinds of damage. The panic hook has reported it, and what was
        // acknowledged is durable already.
        let _closed = catch_panics(|| {
            drop(database);
            Ok(())
        });
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

/// Creates a folder that only this user can read, since it will contain keys.
fn create_folder(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| !folder.exists())
        .collect();
    if missing.is_empty() && path.is_dir() {
        return Ok(());
    }
    let mut folder = DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.create(path)?;
    // The names of the new folders must be durable too.
    for folder in missing {
        folder.canonicalize()?.parent().map_or(Ok(()), sync)?;
    }
    Ok(())
}

fn lock(path: &Path) -> Result<File, String> {
    let file = private().open(path.join("tillgate.lock"));
    let file = file.map_err(|error| cannot("write", path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(in_use(path)),
        Err(TryLockError::Error(error)) => Err(cannot("lock", path, &error)),
    }
}

/// Creates an empty store. The folder is locked.
fn create_store(path: &Path, file: &Path) -> Result<(), String> {
    let unfinished = path.join("tillgate.redb.new");
    let failed = |error: io::Error| cannot("write", path, &error);
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    for name in JOURNAL {
        let journal = private().truncate(true).open(path.join(name));
        journal.map_err(failed)?;
    }
    let empty = private().open(&unfinished).map_err(failed)?;
    let database = database(path, || builder(path).create_file(empty))?;
    set_up(&database).map_err(|error| describe(path, &error))?;
    drop(database);
    fs::rename(&unfinished, file)
        .and_then(|()| sync(path))
        .map_err(failed)
}

/// Creates the tables of an empty store.
fn set_up(database: &Database) -> Result<(), redb::Error> {
    let mut tx = database.begin_write()?;
    tx.set_quick_repair(true);
    {
        let mut meta = tx.open_table(META)?;
        if meta.get(FORMAT_KEY)?.is_some() {
            return Ok(());
        }
        let facts = Facts {
            salt: uuid::Uuid::new_v4().as_u64_pair().1,
            ..Facts::default()
        };
        facts.write(&mut meta)?;
        tx.open_table(RUNS)?;
        tx.open_table(BLOCKS)?;
        tx.open_table(ROWS)?;
    }
    tx.commit()?;
    Ok(())
}

/// Opens a database. redb panics on some kinds of damage.
fn database(
    path: &Path,
    open: impl FnOnce() -> Result<Database, DatabaseError>,
) -> Result<Database, String> {
    catch_panics(|| open().map_err(redb::Error::from)).map_err(|error| match error {
        redb::Error::DatabaseAlreadyOpen => in_use(path),
        error => describe(path, &error),
    })
}

/// A file of the journal. The folder is locked.
fn journal(path: &Path, name: &str) -> Result<Box<dyn redb::StorageBackend>, String> {
    let file = private().create(false).open(path.join(name));
    let file = file.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let missing = format!("its file {name} is missing");
            describe(path, &redb::Error::Corrupted(missing))
        }
        _ => cannot("write", path, &error),
    })?;
    let file = FileBackend::new(file).map_err(|error| describe(path, &error.into()))?;
    Ok(Box::new(file))
}

fn builder(path: &Path) -> Builder {
    let folder = path.display().to_string();
    let mut builder = Database::builder();
    builder
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(move |repair| {
            let percent = (repair.progress() * 100.0).round();
            tracing::warn!(folder, percent, "the store was not closed, verifying it");
        });
    builder
}

/// Options for a file that only this user can read; it is created when it is missing.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the names in a folder durable.
fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn in_use(path: &Path) -> String {
    format!("the folder {} is open in another process", path.display())
}

fn cannot(verb: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {verb} the folder {}: {error}", path.display())
}

fn describe(path: &Path, error: &redb::Error) -> String {
    let path = path.display();
    match error {
        redb::Error::Corrupted(what) => {
            format!("the store in the folder {path} is damaged, restore a copy of it: {what}")
        }
        redb::Error::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ) =>
        {
            format!("the store in the folder {path} is damaged, restore a copy of it: {error}")
        }
        error => format!("the store in the folder {path} failed: {error}"),
    }
}
