//! Creates the store's folder, and locks it for one process.
//!
//! The folder and `tillgate.lock` are locked as long as the store is open; the content of `tillgate.lock` has no
//! meaning. `tillgate.db` is the store. While it is open, SQLite keeps `tillgate.db-wal` and `tillgate.db-shm` beside
//! it.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::unfinished;

/// The names of the store's file and of the lock.
const DATABASE: &str = "tillgate.db";
const LOCK: &str = "tillgate.lock";

/// The log of what SQLite has committed but not yet copied to the store's file.
const LOG: &str = "tillgate.db-wal";

/// A file of the previous store, which was never released.
const EARLIER: &str = "tillgate.redb";

/// The time to wait for a locked folder, and the pause between attempts.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A folder that is locked for this process.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) path: PathBuf,
    _locks: [File; 2],
}

impl Folder {
    /// Locks a folder; creates it when it is missing.
    ///
    /// # Errors
    /// The message says what is wrong, for the operator.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        create_folder(path).map_err(|error| cannot("create", path, &error))?;
        let locks = lock(path)?;
        unfinished::remove_abandoned(path);
        if path.join(EARLIER).exists() {
            return Err(format!(
                "the folder {} contains a store of a development version ({EARLIER}), which this version cannot \
                 read; use another folder",
                path.display()
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            _locks: locks,
        })
    }

    /// Opens a folder as [`Folder::open`] does, but only if it is empty.
    ///
    /// # Errors
    /// The message says what is wrong, for the operator.
    pub(super) fn open_empty(path: &Path) -> Result<Self, String> {
        let folder = Self::open(path)?;
        let files = fs::read_dir(path).map_err(|error| cannot("read", path, &error))?;
        for file in files {
            let name = file
                .map_err(|error| cannot("read", path, &error))?
                .file_name();
            if name != LOCK && !unfinished::is_unfinished(&name) {
                let name = name.to_string_lossy();
                return Err(format!(
                    "the folder {} is not empty: it contains {name}",
                    path.display()
                ));
            }
        }
        Ok(folder)
    }

    /// Returns the store's file, and creates an empty one, for this user only, when there is none. A log without its
    /// file is what is left of a store: no new store is created beside it.
    ///
    /// # Errors
    /// The message says what is wrong, for the operator.
    pub(super) fn database(&self) -> Result<PathBuf, String> {
        let file = database_in(&self.path);
        let length = |file: &Path| fs::metadata(file).map_or(0, |file| file.len());
        if length(&file) == 0 && length(&self.path.join(LOG)) > 0 {
            return Err(format!(
                "the store in {} lacks its file {DATABASE}, and {LOG} is there: put the file back, or restore a backup into \
                 another folder",
                self.path.display()
            ));
        }
        if !file.exists() {
            private()
                .open(&file)
                .and_then(|_empty| sync(&self.path))
                .map_err(|error| cannot("write", &self.path, &error))?;
        }
        Ok(file)
    }
}

/// Returns the path of the store's file in a folder.
pub(super) fn database_in(folder: &Path) -> PathBuf {
    folder.join(DATABASE)
}

/// Returns the path of the store's file in a folder, for callers that must not create one.
///
/// # Errors
/// When there is none, or the folder cannot be read.
pub(crate) fn existing_database(folder: &Path) -> Result<PathBuf, String> {
    let file = database_in(folder);
    match file.try_exists() {
        Ok(true) => Ok(file),
        Ok(false) => Err(format!("there is no store in {}", folder.display())),
        Err(error) => Err(cannot("read", folder, &error)),
    }
}

/// Creates a folder that only this user can read, since it will contain keys.
fn create_folder(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        // The last ancestor of a relative path is empty: the current directory.
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
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

/// Locks the folder and its lock file. The file alone is not enough: once it is removed, another process locks a new
/// one. `tillgate.db` is not locked here: closing a descriptor of it would release the locks that SQLite has on it.
fn lock(path: &Path) -> Result<[File; 2], String> {
    let file = private().open(path.join(LOCK));
    let file = file.map_err(|error| cannot("write", path, &error))?;
    let folder = File::open(path).map_err(|error| cannot("read", path, &error))?;
    // Network file systems lock folders only within one machine, or not at all.
    for (lock, is_needed) in [(&folder, false), (&file, true)] {
        match try_lock(lock) {
            Err(TryLockError::WouldBlock) => {
                let path = path.display();
                return Err(format!("the folder {path} is open in another process"));
            }
            Err(TryLockError::Error(error)) if is_needed => {
                return Err(cannot("lock", path, &error));
            }
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
    }
    Ok([folder, file])
}

/// Takes a lock that no other process holds. A process that is ending, or one that was forked while the folder was open
/// and has not yet become another program, may take a moment to release it.
fn try_lock(lock: &File) -> Result<(), TryLockError> {
    let begin = Instant::now();
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if begin.elapsed() < LOCK_PATIENCE => {
                thread::sleep(LOCK_PAUSE);
            }
            tried => return tried,
        }
    }
}

/// Returns options for a file that only this user can read; it is created when it is missing.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes the names in a folder durable.
pub(super) fn sync(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

pub(super) fn cannot(verb: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {verb} the folder {}: {error}", path.display())
}
