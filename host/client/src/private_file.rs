//! A file that only its owner can read, such as one with credentials.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes a file that only its owner can read.
///
/// # Errors
/// When it cannot be written.
pub fn write_private(file: &Path, content: &str) -> io::Result<()> {
    // Always a new file, because an existing one could be readable by others.
    let beside = PathBuf::from(format!("{}.{}.new", file.display(), std::process::id()));
    let _ = fs::remove_file(&beside);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut written = options.open(&beside)?;
    written.write_all(content.as_bytes())?;
    written.sync_all()?;
    fs::rename(beside, file)?;
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
