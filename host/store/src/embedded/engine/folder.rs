//! The store's folder: creating it, locking it and opening its files.
//!
//! `tillgate.lock` is locked as long as the store is open; its content means nothing. `tillgate.redb` and the two files
//! of the journal, `tillgate.journal.0` and `.1`, are the store: each is useless without the others. A new redb file is
//! created under another name and renamed once it and the journal are complete, so that a crash cannot leave half a
//! store.

use std::fmt;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use redb::StorageBackend;
use redb::backends::FileBackend;

use super::database::Database;
use super::disk::{Disk, damaged, describe};
use super::panics::catch_panics;

/// The name of redb's file.
const REDB: &str = "tillgate.redb";

/// How long to wait for a folder that is locked, and how often to try.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// The names of the journal's files.
const JOURNAL: [&str; 2] = ["tillgate.journal.0", "tillgate.journal.1"];

/// A folder that is locked and contains a store.
pub(in super::super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Locks a folder; creates it, and a store in it, when they are missing.
    ///
    /// # Errors
    /// What is wrong, for the operator.
    pub(in super::super) fn open(path: &Path) -> Result<Self, String> {
        create_folder(path).map_err(|error| cannot("create", path, &error))?;
        let lock = lock(path)?;
        let redb = path.join(REDB);
        let exists = redb.try_exists();
        if !exists.map_err(|error| cannot("read", path, &error))? {
            create_store(path, &redb)?;
        }
        Ok(Self {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Opens one of its files, which exists.
    fn file(&self, name: &str) -> Result<Box<dyn StorageBackend>, String> {
        let file = private().create(false).open(self.path.join(name));
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                self.describe(&damaged(&format!("its file {name} is missing")))
            }
            _ => cannot("write", &self.path, &error),
        })?;
        let file = FileBackend::new(file).map_err(|error| self.describe(&error.into()))?;
        Ok(Box::new(file))
    }
}

impl Disk for Folder {
    fn redb(&self) -> Result<Box<dyn StorageBackend>, String> {
        self.file(REDB)
    }

    fn journal(&self) -> Result<[Box<dyn StorageBackend>; 2], String> {
        let [first, second] = JOURNAL.map(|name| self.file(name));
        Ok([first?, second?])
    }

    fn path(&self) -> &Path {
        &self.path
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

/// Locks the folder. Whoever held it until now may take a moment to let go: a process that is ending, or one that was begun
/// while the folder was open and has not become another program yet.
fn lock(path: &Path) -> Result<File, String> {
    let file = private().open(path.join("tillgate.lock"));
    let file = file.map_err(|error| cannot("write", path, &error))?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begin.elapsed() < LOCK_PATIENCE => {
                thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                let path = path.display();
                return Err(format!("the folder {path} is open in another process"));
            }
            Err(TryLockError::Error(error)) => return Err(cannot("lock", path, &error)),
        }
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
    catch_panics(|| Database::create(FileBackend::new(empty)?, path))
        .map_err(|error| describe(path, &error))?;
    fs::rename(&unfinished, file)
        .and_then(|()| sync(path))
        .map_err(failed)
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

fn cannot(verb: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {verb} the folder {}: {error}", path.display())
}
