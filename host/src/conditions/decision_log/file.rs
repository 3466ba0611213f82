//! Where the record is written: standard output, or a file that is renamed when it is large. Only whole lines are in the
//! file: what a full disk took of the last ones is cut off again, and what a crash left of one ends before the next.
//!
//! A file of our own rather than a library's: those at hand drop what they cannot write without saying so.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Error, ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The numbers of renamed files have 6 to 18 digits. The largest number of 18 digits is passed over, so each number has a next
/// one.
const DIGITS: usize = 6;
const MAX_DIGITS: u32 = 18;

/// Where lines are written.
#[derive(Debug)]
pub(super) enum Sink {
    /// Standard output.
    Stdout,
    /// A file.
    File(RotatingFile),
}

impl Sink {
    /// Writes lines: all of them, or none.
    ///
    /// # Errors
    /// Why they are not written.
    pub(super) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(lines)?;
                stdout.flush()
            }
            Self::File(file) => file.write(lines),
        }
    }

    /// Has what was written survive a loss of power; of standard output nothing is known.
    ///
    /// # Errors
    /// When it may not.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout => Ok(()),
            Self::File(file) => file.sync(),
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct RotatingFile {
    path: PathBuf,
    max_bytes: u64,
    /// How many renamed ones are kept.
    old_files: usize,
    file: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// Whether it is a file, and no pipe or device: those are written, and neither renamed nor synced.
    is_regular: bool,
    /// Whether its last line has no end.
    is_torn: bool,
    /// Whether its name survives a loss of power.
    is_named: bool,
}

impl RotatingFile {
    /// Opens a file, and begins it if there is none.
    ///
    /// # Errors
    /// When it cannot be written, or another process writes it.
    pub(super) fn open(path: &Path, max_bytes: u64, old_files: usize) -> io::Result<Self> {
        let open = Open::new(path)?;
        // Of a link, what it leads to is renamed, and not the link.
        let path = match open.is_regular {
            true => fs::canonicalize(path)?,
            false => path.to_owned(),
        };
        Ok(Self {
            path,
            max_bytes,
            old_files,
            file: Some(open),
        })
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let more = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        // By whatever the file has become: others may have cut, renamed or removed it.
        let file = self.opened()?.file.metadata()?;
        if !self.is_at_its_place(&file)? {
            self.file = None;
        } else if file.len() > 0 && file.len().saturating_add(more) > self.max_bytes {
            self.rotate()?;
        }
        self.opened()?.append(lines)
    }

    /// Whether the file that is open still has its name.
    fn is_at_its_place(&self, file: &Metadata) -> io::Result<bool> {
        match fs::metadata(&self.path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (file.dev(), file.ino())),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(false),
            Err(cause) => Err(cause),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let folder = folder_of(&self.path).to_owned();
        let open = self.opened()?;
        if !open.is_regular {
            return Ok(());
        }
        open.file.sync_data()?;
        if !open.is_named {
            File::open(folder)?.sync_all()?;
            open.is_named = true;
        }
        let written = open.file.metadata()?;
        match self.is_at_its_place(&written)? {
            true => Ok(()),
            // Who has renamed it may have copied it before this was written.
            false => Err(Error::other("the file was renamed while it was written")),
        }
    }

    fn opened(&mut self) -> io::Result<&mut Open> {
        match &mut self.file {
            Some(open) => Ok(open),
            none => Ok(none.insert(Open::new(&self.path)?)),
        }
    }

    /// Renames the file, and removes the oldest of those that were.
    fn rotate(&mut self) -> io::Result<()> {
        let old = old_files(&self.path)?;
        let newest = old.last().map_or(0, |(number, _)| *number);
        let mut names = (newest + 1..).map(|number| numbered(&self.path, number));
        // Never over a file that is there.
        let free = names.find(|name| !name.exists());
        let free = free.ok_or(ErrorKind::AlreadyExists)?;
        fs::rename(&self.path, free)?;
        self.file = None;
        let surplus = (old.len() + 1).saturating_sub(self.old_files);
        for (_, path) in old.iter().take(surplus) {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

impl Open {
    fn new(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o640);
        let file = options.open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::other("another process writes to it"));
            }
            // A file system without locks.
            Err(TryLockError::Error(cause)) if cause.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        let metadata = file.metadata()?;
        let is_torn = match metadata.len() {
            0 => false,
            size => {
                let mut last = [0];
                file.read_exact_at(&mut last, size - 1)?;
                last != *b"\n"
            }
        };
        Ok(Self {
            file,
            is_regular: metadata.is_file(),
            is_torn,
            is_named: false,
        })
    }

    /// Appends lines, or nothing.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let (before, was_torn) = (self.file.metadata()?.len(), self.is_torn);
        let appended = self.try_append(lines);
        if appended.is_err() {
            // What is left of a line is of no use. If it stays, it ends before the next.
            self.is_torn = was_torn || self.file.set_len(before).is_err();
        }
        appended
    }

    fn try_append(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.is_torn {
            self.file.write_all(b"\n")?;
            self.is_torn = false;
        }
        self.file.write_all(lines)
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The name that the file gets when it is renamed for that many times.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number:0DIGITS$}"));
    name.into()
}

/// The files that a record was renamed to, with their numbers, the oldest first.
///
/// # Errors
/// When their folder cannot be read.
pub fn old_files(path: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    let Some(name) = path.file_name().map(OsStr::as_bytes) else {
        return Ok(found);
    };
    for entry in fs::read_dir(folder_of(path))? {
        let entry = entry?.file_name();
        let digits = entry.as_bytes().strip_prefix(name);
        let digits = digits
            .and_then(|digits| digits.strip_prefix(b"."))
            .filter(|digits| digits.len() >= DIGITS)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let number = digits.and_then(|digits| digits.parse::<u64>().ok());
        if let Some(number) = number.filter(|number| *number < 10_u64.pow(MAX_DIGITS) - 1) {
            found.push((number, path.with_file_name(entry)));
        }
    }
    found.sort_unstable();
    Ok(found)
}
