//! Opens and reads regular files only, such as a certificate or a file of rules. Opening a FIFO waits for a process
//! that writes to it, which may never come, so FIFOs and devices are refused.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Reads a regular file, or the one that a symbolic link points to, on a thread that may block.
///
/// # Errors
/// When it cannot be read, or is not a regular file.
pub async fn read(path: &Path) -> io::Result<Vec<u8>> {
    let path = path.to_owned();
    tokio::task::spawn_blocking(move || read_blocking(&path)).await?
}

/// Reads a file as [`read`] does, but on this thread.
///
/// # Errors
/// As [`read`].
pub fn read_blocking(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// Opens a regular file, or the one that a symbolic link points to, without waiting.
///
/// # Errors
/// As [`read`].
pub fn open(path: &Path) -> io::Result<File> {
    // With O_NONBLOCK, opening a FIFO does not wait. Reading a regular file is not affected.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}
