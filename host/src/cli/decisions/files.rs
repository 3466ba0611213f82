//! The files of a decision log, one line after the other: those that a host has renamed, the oldest first, and the one that it
//! writes.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Error, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::cli::input::is_stdin;
use crate::cli::output::shown_path;
use crate::decision_log::open_files;

/// The most bytes of a line: far more than any has.
const MAX_LINE: u64 = 1 << 20;

/// What was read.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// By device and number: a shell may name renamed ones as well.
    known: HashSet<(u64, u64)>,
    /// Files that have something in them, and no line that may be of a log.
    pub(super) foreign: Vec<String>,
}

impl Files {
    /// Reads all lines that may be of a log, each file once. `each` answers whether to go on.
    ///
    /// # Errors
    /// When a file is not there or cannot be read.
    pub(super) fn each_line(
        &mut self,
        paths: &[PathBuf],
        mut each: impl FnMut(&[u8]) -> Result<bool, String>,
    ) -> Result<(), String> {
        let mut opened = Vec::new();
        for path in paths.iter().filter(|path| !is_stdin(path)) {
            for file in open_files(path).map_err(|cause| cannot(path, &cause))? {
                opened.push((path, file));
            }
        }
        // The oldest first, in whichever order a shell has listed them.
        opened.sort_by_cached_key(|(_, file)| modified(file));
        for (path, file) in opened {
            let metadata = file.metadata().map_err(|cause| cannot(path, &cause))?;
            let is_new = self.known.insert((metadata.dev(), metadata.ino()));
            if is_new && !self.read(BufReader::new(file), path, &mut each)? {
                return Ok(());
            }
        }
        if let Some(path) = paths.iter().find(|path| is_stdin(path)) {
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
            // Others print to standard output too. Zeros are what a loss of power leaves.
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
