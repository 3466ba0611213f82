//! The files of a record, one line after the other: those that a host has renamed, the oldest first, and the one that it
//! writes. The host may rename it meanwhile, and so may others: the files that are named are opened before any is read, and
//! the folder of a record is looked at again before each of its files, so that none is missed.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io::{BufRead, BufReader, Error, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::cli::input::is_stdin;
use crate::cli::output::shown_path;
use crate::conditions::decision_log::old_files;

/// The most bytes of a line: far more than any has.
const MAX_LINE: u64 = 1 << 20;

/// A file that was named.
#[derive(Debug)]
pub(super) struct Root<'f> {
    path: &'f Path,
    opened: Option<File>,
    modified: Option<SystemTime>,
    /// The record that it belongs to: the shortest of the named ones that its own name begins with.
    pub(super) record: &'f Path,
}

/// The files that were named, the oldest first, in whichever order a shell has listed them.
///
/// # Errors
/// When one is there and cannot be read.
pub(super) fn roots(files: &[PathBuf]) -> Result<Vec<Root<'_>>, String> {
    let mut roots = Vec::new();
    for path in files {
        let opened = match is_stdin(path) {
            true => None,
            false => opened(path)?,
        };
        let metadata = opened.as_ref().and_then(|file| file.metadata().ok());
        let of_record = files
            .iter()
            .filter(|record| bytes(path).starts_with(bytes(record)));
        roots.push(Root {
            path,
            opened,
            modified: metadata.and_then(|metadata| metadata.modified().ok()),
            record: of_record
                .min_by_key(|record| bytes(record).len())
                .unwrap_or(path),
        });
    }
    // Of those of one moment, a renamed one first: its name is that of the record, and more.
    roots.sort_by_key(|root| {
        (
            root.modified.is_none(),
            root.modified,
            Reverse(bytes(root.path)),
        )
    });
    Ok(roots)
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

/// What was read already.
#[derive(Debug, Default)]
pub(super) struct Sources {
    known: HashSet<Identity>,
    /// Files that have something in them, and no line that may be of a record.
    pub(super) foreign: Vec<String>,
}

/// A file, whatever its name: its device, its number there, and when it was made, since numbers are used again.
type Identity = (u64, u64, Option<SystemTime>);

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino(), metadata.created().ok())
}

impl Sources {
    /// Reads all lines of a named file that may be of a record, after those of the files that its host has renamed it to,
    /// unless they were read already. `each` answers whether to go on; so does this.
    pub(super) fn each_line(
        &mut self,
        root: &Root<'_>,
        mut each: impl FnMut(&[u8]) -> Result<bool, String>,
    ) -> Result<bool, String> {
        if is_stdin(root.path) {
            return self.each_line_of(std::io::stdin().lock(), root.path, &mut each);
        }
        // Renamed ones are beside the file itself, and not beside a link to it.
        let path = fs::canonicalize(root.path).unwrap_or_else(|_| root.path.to_owned());
        let mut last = None;
        let current = loop {
            if let Some((number, renamed)) = next(&path, last)? {
                last = Some(number);
                let file = opened(&renamed)?;
                if let Some(file) = file
                    && !self.file(&file, &renamed, &mut each)?
                {
                    return Ok(false);
                }
                continue;
            }
            let current = opened(&path)?;
            // It may have been renamed in between.
            if next(&path, last)?.is_none() {
                break current;
            }
        };
        if current.is_none() && root.opened.is_none() && last.is_none() {
            let why = "there is no such file";
            return Err(format!("{} cannot be read: {why}", name(root.path)));
        }
        // What was opened first may have got a name that is not looked for.
        for file in root.opened.iter().chain(&current) {
            if !self.file(file, &path, &mut each)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads a file, unless it was read already.
    fn file(
        &mut self,
        file: &File,
        path: &Path,
        each: &mut impl FnMut(&[u8]) -> Result<bool, String>,
    ) -> Result<bool, String> {
        let metadata = file.metadata().map_err(|cause| cannot(path, &cause))?;
        match self.known.insert(identity(&metadata)) {
            true => self.each_line_of(BufReader::new(file), path, each),
            false => Ok(true),
        }
    }

    fn each_line_of(
        &mut self,
        mut source: impl BufRead,
        path: &Path,
        each: &mut impl FnMut(&[u8]) -> Result<bool, String>,
    ) -> Result<bool, String> {
        let mut line = Vec::new();
        let (mut has_any, mut is_record) = (false, false);
        loop {
            line.clear();
            let read = source
                .by_ref()
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)
                .map_err(|cause| cannot(path, &cause))?;
            if read == 0 {
                break;
            }
            has_any = true;
            // Others print to standard output too. Zeros are what a loss of power leaves.
            if line.trim_ascii_start().starts_with(b"{") || line.starts_with(&[0]) {
                is_record = true;
                if !each(&line)? {
                    return Ok(false);
                }
            }
        }
        if has_any && !is_record {
            self.foreign.push(name(path));
        }
        Ok(true)
    }
}

/// A file; none where there is none.
fn opened(path: &Path) -> Result<Option<File>, String> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cannot(path, &cause)),
    }
}

/// The first of the renamed files after a number.
fn next(root: &Path, last: Option<u64>) -> Result<Option<(u64, PathBuf)>, String> {
    let mut old = old_files(root)
        .map_err(|cause| cannot(root, &cause))?
        .into_iter();
    Ok(old.find(|(number, _)| last.is_none_or(|last| *number > last)))
}

fn name(path: &Path) -> String {
    match is_stdin(path) {
        true => "stdin".into(),
        false => shown_path(path),
    }
}

fn cannot(path: &Path, cause: &Error) -> String {
    format!("{} cannot be read: {cause}", name(path))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{Sources, roots};

    /// A file with a line of its name.
    fn write(folder: &Path, name: &str) {
        fs::write(folder.join(name), format!("{{{name}\n")).unwrap();
    }

    /// What is read of files in a folder, when this happens after the first line.
    fn read(folder: &Path, names: &[&str], meanwhile: impl Fn()) -> Vec<String> {
        let files: Vec<_> = names.iter().map(|name| folder.join(name)).collect();
        let mut sources = Sources::default();
        let mut read = Vec::new();
        for root in roots(&files).unwrap() {
            let each = |line: &[u8]| {
                if read.is_empty() {
                    meanwhile();
                }
                read.push(String::from_utf8_lossy(line).trim().to_owned());
                Ok(true)
            };
            assert_eq!(sources.each_line(&root, each), Ok(true));
        }
        read
    }

    #[test]
    fn files_that_the_host_renames_while_others_are_read_are_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for name in ["a.000001", "a.000002", "a"] {
            write(folder, name);
        }
        let read = read(folder, &["a"], || {
            fs::rename(folder.join("a"), folder.join("a.000003")).unwrap();
            fs::remove_file(folder.join("a.000002")).unwrap();
            fs::write(folder.join("a"), "{new\n").unwrap();
        });
        assert_eq!(read, ["{a.000001", "{a", "{new"]);
    }

    #[test]
    fn files_that_others_rename_while_others_are_read_are_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for name in ["a.2", "a.1", "a"] {
            write(folder, name);
        }
        let read = read(folder, &["a", "a.1", "a.2"], || {
            for (from, to) in [("a.2", "a.3"), ("a.1", "a.2"), ("a", "a.1")] {
                fs::rename(folder.join(from), folder.join(to)).unwrap();
            }
        });
        assert_eq!(read, ["{a.2", "{a.1", "{a"]);
    }
}
