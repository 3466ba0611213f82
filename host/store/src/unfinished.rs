//! A folder for files that are being written and do not have their names yet. A process that is killed leaves it behind, and
//! the next one that writes beside it removes it, since what is in it may have keys.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

/// The beginning of the names of these folders, and of unfinished files outside of one.
pub const PREFIX: &str = ".tillgate-unfinished-";

/// The file in the folder that is locked while the folder is in use. On network file systems the lock of a file holds for all
/// machines, and that of a folder does not.
const LOCK: &str = "lock";

/// A folder for unfinished files. Dropping it removes the folder.
#[derive(Debug)]
pub struct Unfinished {
    folder: TempDir,
    _lock: File,
}

impl Unfinished {
    /// Makes a folder in a folder, for this user only, and removes those that were left behind there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(beside: &Path) -> io::Result<Self> {
        remove_abandoned(beside);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(beside)?;
        // It gets its name once it is locked: others remove no folder without it, as on file systems that lock nothing.
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

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what processes that were killed have left in a folder.
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
            tracing::info!(folder = %path.display(), "what a killed process had left was removed");
        }
    }
}

/// Whether a name is that of a folder for unfinished files, or of such a file.
#[must_use]
pub fn is_unfinished(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
}
