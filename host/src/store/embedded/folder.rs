//! The store's folder: making it, locking it, opening what is in it, and saying what is wrong.
//!
//! `tillgate.lock` is locked as long as the store is open and says nothing. `tillgate.redb` and the
//! two files of the journal, `tillgate.journal.0` and `.1`, are the store: none is anything without
//! the others. A new one is made under another name and gets its own when it is whole and its
//! journal is there, so that a crash cannot leave half a store.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError};

use super::journal::{Files, Unreadable};
use super::tables::{ABOUT, BLOCKS, FILED_KEY, FORMAT, FORMAT_KEY, MARK_KEY, ROWS, RUNS};

/// How much of the file redb keeps in memory; the operating system keeps more. 256 MiB.
const CACHE_BYTES: usize = 256 << 20;

/// The names of the journal's files.
const JOURNAL: [&str; 2] = ["tillgate.journal.0", "tillgate.journal.1"];

/// What a store says about itself.
pub(super) struct About {
    /// Up to which record the journal is filed.
    pub(super) filed: u64,
    /// What marks the journal's records.
    pub(super) mark: u64,
}

/// An open folder.
pub(super) struct Folder {
    /// `None` while it is closed.
    database: Option<Database>,
    path: PathBuf,
    /// After the database, so that it goes when that is closed.
    _lock: Option<File>,
}

impl Folder {
    /// Opens a folder, makes it if it is missing; what it says about itself, and its journal.
    pub(super) fn open(path: &Path) -> Result<(Self, About, Files), String> {
        make(path).map_err(|error| cannot("make", path, &error))?;
        let lock = lock(path)?;
        let file = path.join("tillgate.redb");
        if !file
            .try_exists()
            .map_err(|error| cannot("read", path, &error))?
        {
            create(path, &file)?;
        }
        let database = database(path, || builder(path).open(&file))?;
        let folder = Self {
            database: Some(database),
            path: path.to_owned(),
            _lock: Some(lock),
        };
        let about = folder.about()?;
        let [first, second] = JOURNAL.map(|name| journal(path, name));
        Ok((folder, about, [first?, second?]))
    }

    /// A store that is not in a folder, for tests of what a disk may do.
    #[cfg(test)]
    pub(super) fn on(backend: impl redb::StorageBackend) -> Result<(Self, About), String> {
        let path = PathBuf::from("a test");
        let database = database(&path, || builder(&path).create_with_backend(backend))?;
        set_up(&database).map_err(|error| describe(&path, &error))?;
        let folder = Self {
            database: Some(database),
            path,
            _lock: None,
        };
        let about = folder.about()?;
        Ok((folder, about))
    }

    /// What is in it.
    pub(super) fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::DatabaseClosed)
    }

    fn about(&self) -> Result<About, String> {
        let about = || -> Result<[Option<u64>; 3], redb::Error> {
            let about = self.database()?.begin_read()?.open_table(ABOUT)?;
            let fact = |key| Ok::<_, redb::Error>(about.get(key)?.map(|fact| fact.value()));
            Ok([fact(FORMAT_KEY)?, fact(FILED_KEY)?, fact(MARK_KEY)?])
        };
        let path = self.path.display();
        let about = catch_unwind(AssertUnwindSafe(about));
        match about.unwrap_or_else(|_| Err(redb::Error::Corrupted("its format".to_owned()))) {
            Ok([Some(FORMAT), Some(filed), Some(mark)]) => Ok(About { filed, mark }),
            Ok([Some(format), _, _]) => Err(format!(
                "the store in the folder {path} is of another version (format {format}, this one \
                 reads {FORMAT}): use that version"
            )),
            Ok(_) | Err(redb::Error::TableDoesNotExist(_)) => Err(format!(
                "the folder {path} holds something else than a store"
            )),
            Err(error) => Err(self.describe(&error)),
        }
    }

    /// What it means that the journal cannot be read.
    pub(super) fn unreadable(&self, error: Unreadable) -> String {
        self.describe(&match error {
            Unreadable::Io(error) => redb::Error::Io(error),
            Unreadable::Damaged(how) => redb::Error::Corrupted(how),
        })
    }

    /// What an error means for who runs this.
    pub(super) fn describe(&self, error: &redb::Error) -> String {
        describe(&self.path, error)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let database = self.database.take();
        // redb writes when it closes and panics at some kinds of damage; the panic has been
        // reported, and what was promised is durable already.
        let _closed = catch_unwind(AssertUnwindSafe(|| drop(database)));
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())
    }
}

/// Makes a folder that is only ours: it will hold keys.
fn make(path: &Path) -> io::Result<()> {
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
    // The names of what was made must be durable too.
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

/// Makes an empty store. The folder is locked.
fn create(path: &Path, file: &Path) -> Result<(), String> {
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

/// Puts what every store has into an empty one.
fn set_up(database: &Database) -> Result<(), redb::Error> {
    let tx = database.begin_write()?;
    {
        let mut about = tx.open_table(ABOUT)?;
        if about.get(FORMAT_KEY)?.is_some() {
            return Ok(());
        }
        about.insert(FORMAT_KEY, FORMAT)?;
        about.insert(FILED_KEY, 0)?;
        about.insert(MARK_KEY, uuid::Uuid::new_v4().as_u64_pair().1)?;
        tx.open_table(RUNS)?;
        tx.open_table(BLOCKS)?;
        tx.open_table(ROWS)?;
    }
    tx.commit()?;
    Ok(())
}

/// What redb opens. It panics at some kinds of damage.
fn database(
    path: &Path,
    open: impl FnOnce() -> Result<Database, DatabaseError>,
) -> Result<Database, String> {
    let damaged = |_| Err(StorageError::Corrupted("it cannot be read".to_owned()).into());
    catch_unwind(AssertUnwindSafe(open))
        .unwrap_or_else(damaged)
        .map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => in_use(path),
            error => describe(path, &error.into()),
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
            tracing::warn!(folder, percent, "the store was not closed: checking it");
        });
    builder
}

/// Opens a file that only we can read, makes it if it is missing.
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
            format!("the store in the folder {path} is damaged, use a copy of it: {what}")
        }
        redb::Error::Io(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ) =>
        {
            format!("the store in the folder {path} is damaged, use a copy of it: {error}")
        }
        error => format!("the store in the folder {path} failed: {error}"),
    }
}
