//! The store's folder: making it, locking it, opening what is in it, and saying what is wrong.
//!
//! `tillgate.lock` is locked as long as the store is open and says nothing; `tillgate.redb` is the
//! store. A new one is made under another name and gets its own when it is whole, so that a crash
//! cannot leave half a store.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use redb::{Builder, Database, DatabaseError, ReadableDatabase, StorageError};

use super::change::Tables;
use super::tables::{ABOUT, FORMAT, FORMAT_KEY};

/// How much of the file redb keeps in memory; the operating system keeps more. 256 MiB.
const CACHE_BYTES: usize = 256 << 20;

/// An open folder.
pub(super) struct Folder {
    /// `None` while it is closed.
    database: Option<Database>,
    path: PathBuf,
    /// After the database, so that it goes when that is closed.
    _lock: Option<File>,
}

impl Folder {
    /// Opens a folder, makes it if it is missing.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
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
        folder.check_format()?;
        Ok(folder)
    }

    /// A store that is not in a folder, for tests of what a disk may do.
    #[cfg(test)]
    pub(super) fn on(backend: impl redb::StorageBackend) -> Result<Self, redb::Error> {
        let path = PathBuf::from("a test");
        let database = builder(&path).create_with_backend(backend)?;
        set_up(&database)?;
        Ok(Self {
            database: Some(database),
            path,
            _lock: None,
        })
    }

    /// What is in it.
    pub(super) fn database(&self) -> Result<&Database, redb::Error> {
        self.database.as_ref().ok_or(redb::Error::DatabaseClosed)
    }

    fn check_format(&self) -> Result<(), String> {
        let format = || -> Result<Option<u64>, redb::Error> {
            let about = self.database()?.begin_read()?.open_table(ABOUT)?;
            Ok(about.get(FORMAT_KEY)?.map(|format| format.value()))
        };
        let path = self.path.display();
        let format = catch_unwind(AssertUnwindSafe(format));
        match format.unwrap_or_else(|_| Err(redb::Error::Corrupted("its format".to_owned()))) {
            Ok(Some(FORMAT)) => Ok(()),
            Ok(Some(format)) => Err(format!(
                "the store in the folder {path} is of another version (format {format}, this one \
                 reads {FORMAT}): use that version"
            )),
            Ok(None) | Err(redb::Error::TableDoesNotExist(_)) => Err(format!(
                "the folder {path} holds something else than a store"
            )),
            Err(error) => Err(self.describe(&error)),
        }
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
    tx.open_table(ABOUT)?.insert(FORMAT_KEY, FORMAT)?;
    Tables::open(&tx)?;
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
