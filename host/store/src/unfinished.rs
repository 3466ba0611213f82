//! A folder for files that are still being written and do not have their names yet. A killed process leaves the folder
//! behind, and the next one that writes beside it removes it, since its files may contain keys.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

/// The prefix of the names of these folders, and of unfinished files outside of one.
pub const PREFIX: &str = ".tillgate-unfinished-";

/// The file in the folder that is locked while the folder is in use. On a network file system, a lock on a file holds
/// for all machines, and a lock on a folder does not.
const LOCK: &str = "lock";

/// A folder for unfinished files. Dropping it removes the folder.
#[derive(Debug)]
pub struct Unfinished {
    folder: TempDir,
    _lock: File,
}

impl Unfinished {
    /// Creates a folder in `beside`, for this user only, and removes the folders that were left behind there.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub fn begin(beside: &Path) -> io::Result<Self> {
        remove_abandoned(beside);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(beside)?;
        // The lock file gets its name only once it is locked: other processes remove no folder without it, and it never
        // gets it on a file system without locks.
        let unlocked = folder.path().join("unlocked");
        let lock = File::create_new(&unlocked)?;
        if lock.try_lock().is_ok() {
            fs::rename(unlocked, folder.path().join(LOCK))?;
        }
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// Returns the path of the folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes from a folder what killed processes have left.
pub fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        if !is_unfinished(&name) || !is_folder {
            continue;
        }
        let lock = File::open(path.join(LOCK)).map(|it| it.try_lock().map(|()| it));
        if let Ok(Ok(_lock)) = lock
            && fs::remove_dir_all(&path).is_ok()
        {
            tracing::info!(folder = %path.display(), "the unfinished files of a killed process were removed");
        }
    }
}

/// Returns whether a name is that of a folder for unfinished files, or of such a file.
#[must_use]
pub fn is_unfinished(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}
