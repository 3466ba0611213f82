//! A folder that `export` writes to, opened once. Its files are opened relative to its descriptor and no link is
//! followed, so that nothing is read, written or removed elsewhere when someone meanwhile replaces a folder or a file
//! with a link.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use tillgate_store::unfinished::{PREFIX, is_unfinished};
use uuid::Uuid;

use crate::output::shown_path;

/// The access to folders and files, before the process's mask restricts it.
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o777);
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// A folder and its open descriptor.
#[derive(Debug)]
pub(super) struct OpenFolder {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl OpenFolder {
    /// Opens a folder, or the one that a link names, and creates it if it is missing.
    pub(super) fn make(path: &Path) -> Result<Self, String> {
        let open = || {
            fs::create_dir_all(path)?;
            openat(CWD, path, FOLDER, Mode::empty()).map_err(io::Error::from)
        };
        Ok(Self {
            descriptor: open().map_err(|cause| unwritten(path, &cause))?,
            path: path.to_owned(),
        })
    }

    /// Opens the folder of this name, if it exists.
    ///
    /// # Errors
    /// If it is not a folder, or cannot be read.
    pub(super) fn folder(&self, name: &str) -> Result<Option<Self>, String> {
        let (path, flags) = (self.path.join(name), FOLDER | OFlags::NOFOLLOW);
        match openat(&self.descriptor, name, flags, Mode::empty()) {
            Ok(descriptor) => Ok(Some(Self { descriptor, path })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => Err(format!(
                "{} must be a folder, and not a link to one",
                shown_path(&path)
            )),
            Err(cause) => Err(unread(&path, &cause.into())),
        }
    }

    /// Creates the folder of this name, and opens it.
    pub(super) fn make_folder(&self, name: &str) -> Result<Self, String> {
        let path = self.path.join(name);
        mkdirat(&self.descriptor, name, FOLDER_MODE)
            .map_err(|cause| unwritten(&path, &cause.into()))?;
        let opened = self.folder(name)?;
        opened.ok_or_else(|| unread(&path, &Errno::NOENT.into()))
    }

    /// Returns its path, on one line.
    pub(super) fn shown(&self) -> String {
        shown_path(&self.path)
    }

    /// Returns the names of its entries.
    pub(super) fn names(&self) -> Result<Vec<OsString>, String> {
        let names = || {
            let entries = Dir::read_from(&self.descriptor)?;
            let names = entries
                .map(|entry| Ok(OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned()));
            names.collect::<Result<Vec<_>, Errno>>()
        };
        let mut names = names().map_err(|cause| unread(&self.path, &cause.into()))?;
        names.retain(|name| name != "." && name != "..");
        Ok(names)
    }

    /// Removes the unfinished files of killed processes. A running process keeps its file locked.
    pub(super) fn remove_unfinished(&self) -> Result<(), String> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        for name in self.names()?.iter().filter(|name| is_unfinished(name)) {
            let file = openat(&self.descriptor, name, flags, Mode::empty()).map(File::from);
            let is_abandoned = |file: &File| {
                file.metadata().is_ok_and(|it| it.is_file()) && file.try_lock().is_ok()
            };
            if file.as_ref().is_ok_and(is_abandoned) {
                self.remove(name)?;
            }
        }
        Ok(())
    }

    /// Reads a file; `None` if it has more than `max` bytes.
    ///
    /// # Errors
    /// If it is not a file, or cannot be read.
    pub(super) fn read(&self, name: &OsStr, max: u64) -> Result<Option<Vec<u8>>, String> {
        let path = self.path.join(name);
        let unread = |cause| unread(&path, &cause);
        // With O_NONBLOCK, opening a FIFO does not wait.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.descriptor, name, flags, Mode::empty()) {
            Ok(opened) => Some(File::from(opened)),
            Err(Errno::LOOP | Errno::NXIO) => None,
            Err(cause) => return Err(unread(cause.into())),
        };
        let is_file = |file: &File| file.metadata().is_ok_and(|metadata| metadata.is_file());
        let file = file.filter(is_file).ok_or_else(|| {
            format!(
                "{} must be a file, and not a link to one",
                shown_path(&path)
            )
        })?;
        let mut text = Vec::new();
        let length = file.take(max + 1).read_to_end(&mut text).map_err(unread)?;
        let fits = u64::try_from(length).is_ok_and(|length| length <= max);
        Ok(fits.then_some(text))
    }

    /// Replaces or creates a file as a whole, so that it never exists in part.
    pub(super) fn write(&self, name: &str, text: &[u8]) -> Result<(), String> {
        let temporary = format!("{PREFIX}{}", Uuid::new_v4());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let write = || {
            let mut file = File::from(openat(&self.descriptor, &temporary, flags, FILE_MODE)?);
            // The lock shows others that the file is not abandoned.
            let _ = file.try_lock();
            file.write_all(text)?;
            renameat(&self.descriptor, &temporary, &self.descriptor, name).map_err(io::Error::from)
        };
        write().map_err(|cause| {
            let _ = unlinkat(&self.descriptor, &temporary, AtFlags::empty());
            unwritten(&self.path.join(name), &cause)
        })
    }

    pub(super) fn remove(&self, name: &OsStr) -> Result<(), String> {
        let removed = unlinkat(&self.descriptor, name, AtFlags::empty());
        removed.map_err(|cause| unwritten(&self.path.join(name), &cause.into()))
    }
}

fn unread(path: &Path, cause: &io::Error) -> String {
    format!("{} cannot be read: {cause}", shown_path(path))
}

fn unwritten(path: &Path, cause: &io::Error) -> String {
    format!("{} cannot be written: {cause}", shown_path(path))
}
