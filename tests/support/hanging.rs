//! Commands that hang while they write, until they are killed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::failing_disk::{FailingDisk, HANG};
use super::wait::wait_for;

/// A hanging command, killed when dropped.
pub struct Hanging {
    child: Child,
    _disk: FailingDisk,
}

impl Hanging {
    /// Starts a command, and waits until it writes to a folder or to one inside it.
    pub fn start(mut command: Command, folder: &Path) -> Self {
        let disk = FailingDisk::new();
        disk.fail("unfinished-write", HANG);
        disk.apply(&mut command);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let hanging = Self {
            child: command.spawn().unwrap(),
            _disk: disk,
        };
        // More than the folder's lock file.
        let has_files = |it: &PathBuf| fs::read_dir(it).is_ok_and(|files| files.count() > 1);
        let is_written = |it: &PathBuf| it.is_file() || has_files(it);
        wait_for("it writes", || unfinished(folder).iter().any(is_written));
        hanging
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the unfinished files and folders in a folder or in one inside it.
pub fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if name.to_str().unwrap().starts_with(".tillgate-unfinished-") {
            found.push(path)
        } else {
            found.extend(unfinished(&path))
        }
    }
    found
}
