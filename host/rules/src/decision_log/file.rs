//! The destination of the log: standard output, or a file that is renamed when it is large, as log files are: `FILE.1`
//! is the newest renamed file.
//!
//! The file is our own rather than a library's, because those at hand silently drop what they cannot write.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Error, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The destination of the lines.
#[derive(Debug)]
pub(super) enum Sink {
    Stdout,
    File(RotatingFile),
}

impl Sink {
    /// Writes at least one byte, and returns how many; `is_begun` says that the beginning of the lines is written already.
    ///
    /// # Errors
    /// The cause, when nothing is written.
    pub(super) fn write(&mut self, lines: &[u8], is_begun: bool) -> io::Result<usize> {
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                let written = stdout.write(lines)?;
                stdout.flush()?;
                Ok(written)
            }
            Self::File(file) => {
                if !is_begun {
                    file.make_room(lines.len())?;
                }
                file.opened()?.write(lines)
            }
        }
    }

    /// Makes what was written survive a loss of power. Nothing is known about standard output and pipes.
    ///
    /// # Errors
    /// When it may not survive.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let synced = match self {
            Self::Stdout => Ok(()),
            Self::File(file) => file.opened()?.sync_data(),
        };
        match synced {
            Err(cause) if cause.kind() == ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

#[derive(Debug)]
pub(super) struct RotatingFile {
    path: PathBuf,
    max_bytes: u64,
    /// The number of renamed files to keep.
    old_files: usize,
    file: Option<File>,
}

impl RotatingFile {
    /// Opens a file, and creates it if there is none.
    ///
    /// # Errors
    /// When it cannot be written, or another process writes it.
    pub(super) fn open(path: &Path, max_bytes: u64, old_files: usize) -> io::Result<Self> {
        let file = open(path)?;
        Ok(Self {
            // For a link, its target is renamed, and not the link.
            path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()),
            max_bytes,
            old_files,
            file: Some(file),
        })
    }

    fn opened(&mut self) -> io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(open(&self.path)?)),
        }
    }

    /// Renames the file if this many more bytes would make it too large. The oldest renamed file is replaced.
    fn make_room(&mut self, bytes: usize) -> io::Result<()> {
        let size = self.opened()?.metadata()?.len();
        let more = u64::try_from(bytes).unwrap_or(u64::MAX);
        if size == 0 || size.saturating_add(more) <= self.max_bytes {
            return Ok(());
        }
        for number in (0..self.old_files).rev() {
            let renamed = fs::rename(
                old_file(&self.path, number),
                old_file(&self.path, number + 1),
            );
            if let Err(cause) = renamed
                && cause.kind() != ErrorKind::NotFound
            {
                return Err(cause);
            }
        }
        self.file = None;
        Ok(())
    }
}

/// Opens a file to append to it. Its name survives a loss of power.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // A pipe that is opened for reading too does not wait for its reader.
    options.read(true).append(true).create(true).mode(0o640);
    let file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::other("another process writes to it")),
        // A file system without locks.
        Err(TryLockError::Error(cause)) if cause.kind() == ErrorKind::Unsupported => {}
        Err(TryLockError::Error(cause)) => return Err(cause),
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(file)
}

/// Returns the name of a log that was renamed this many times.
#[must_use]
pub fn old_file(path: &Path, number: usize) -> PathBuf {
    let mut name = OsString::from(path);
    if number > 0 {
        name.push(format!(".{number}"));
    }
    name.into()
}

/// Opens a log and its renamed files for reading, the oldest first. They are opened from the newest on, so that none is
/// missing if the host renames them meanwhile.
///
/// # Errors
/// When there is no such file, or one cannot be read.
pub fn open_files(path: &Path) -> io::Result<Vec<File>> {
    // Renamed files are beside the file itself, and not beside a link to it.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (mut files, mut known) = (Vec::new(), Vec::new());
    for number in 0.. {
        let file = match File::open(old_file(&path, number)) {
            Ok(file) => file,
            Err(cause) if cause.kind() == ErrorKind::NotFound && number > 0 => break,
            Err(cause) => return Err(cause),
        };
        let metadata = file.metadata()?;
        let identity = (metadata.dev(), metadata.ino());
        if !known.contains(&identity) {
            known.push(identity);
            files.push(file);
        }
    }
    files.reverse();
    Ok(files)
}
