//! The files of a decision log, read one after the other: the files that a host has renamed, oldest first, and then the
//! one that it writes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Error, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tillgate_rules::decision_log::open_files;

use tillgate_client::input::is_stdin;
use tillgate_client::output::shown_path;

/// The longest line, in bytes: far longer than any real one.
const MAX_LINE: u64 = 1 << 20;

/// The files of logs, and those that turned out to be something else.
#[derive(Debug)]
pub(super) struct Files<'f> {
    opened: Vec<(&'f Path, File)>,
    stdin: Option<&'f Path>,
    /// Files that are not empty and have no line that may belong to a log.
    pub(super) foreign: Vec<String>,
}

impl<'f> Files<'f> {
    /// Opens the named files and those that they were renamed to.
    ///
    /// # Errors
    /// If one is missing or cannot be read.
    pub(super) fn open(paths: &'f [PathBuf]) -> Result<Self, String> {
        // By device and inode number: a shell may name renamed files as well.
        let mut known = HashSet::new();
        let mut opened = Vec::new();
        for path in paths.iter().filter(|path| !is_stdin(path)) {
            for file in open_files(path).map_err(|cause| cannot(path, &cause))? {
                let metadata = file.metadata().map_err(|cause| cannot(path, &cause))?;
                if known.insert((metadata.dev(), metadata.ino())) {
                    opened.push((path.as_path(), file));
                }
            }
        }
        // Oldest first, whatever order a shell lists them in.
        opened.sort_by_cached_key(|(_, file)| modified(file));
        let stdin = paths.iter().find(|path| is_stdin(path));
        Ok(Self {
            opened,
            stdin: stdin.map(PathBuf::as_path),
            foreign: Vec::new(),
        })
    }

    /// Reads all lines that may belong to a log, until `each` returns false.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn each_line(
        &mut self,
        mut each: impl FnMut(&[u8]) -> Result<bool, String>,
    ) -> Result<(), String> {
        for (path, file) in std::mem::take(&mut self.opened) {
            if !self.read(BufReader::new(file), path, &mut each)? {
                return Ok(());
            }
        }
        if let Some(path) = self.stdin {
            self.read(std::io::stdin().lock(), path, &mut each)?;
        }
        Ok(())
    }

    fn read(
        &mut self,
        mut source: impl BufRead,
        path: &Path,
        each: &mut impl FnMut(&[u8]) -> Result<bool, String>,
    ) -> Result<bool, String> {
        let mut line = Vec::new();
        let (mut has_any, mut is_log) = (false, false);
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
            // Other programs print to standard output too. A power failure leaves zeros.
            if line.trim_ascii_start().starts_with(b"{") || line.starts_with(&[0]) {
                is_log = true;
                if !each(&line)? {
                    return Ok(false);
                }
            }
        }
        if has_any && !is_log {
            self.foreign.push(name(path));
        }
        Ok(true)
    }
}

fn modified(file: &File) -> Option<std::time::SystemTime> {
    file.metadata()
        .and_then(|metadata| metadata.modified())
        .ok()
}

fn name(path: &Path) -> String {
    if is_stdin(path) {
        "stdin".into()
    } else {
        shown_path(path)
    }
}

fn cannot(path: &Path, cause: &Error) -> String {
    format!("{} cannot be read: {cause}", name(path))
}
