//! Reads files that a host reads again while it runs, such as a certificate. Such a file may be replaced by something else: opening
//! a FIFO waits until another process writes to it, which may never happen, so only regular files are read.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

/// Reads a regular file, or the one that a symbolic link leads to, on a thread that may block.
///
/// # Errors
/// When it cannot be read, or is not a regular file.
pub async fn read(path: &Path) -> io::Result<Vec<u8>> {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || read_blocking(&path)).await?
}

/// As [`read`], on this thread.
///
/// # Errors
/// As [`read`].
pub fn read_blocking(path: &Path) -> io::Result<Vec<u8>> {
    // With O_NONBLOCK, opening a FIFO does not wait. Reading a regular file is not affected.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(content)
}
