//! The files of a record, one line after the other: those that a host has renamed, the oldest first, and the one that it
//! writes. The host may rename it meanwhile: its folder is looked at again before each file, so that none is missed.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::cli::input::is_stdin;
use crate::conditions::decision_log::old_files;

/// The most bytes of a line: far more than any has.
const MAX_LINE: u64 = 1 << 20;

/// What was read already.
#[derive(Debug, Default)]
pub(super) struct Sources {
    known: BTreeSet<PathBuf>,
    /// Files that have something in them, and no line that may be of a record.
    pub(super) foreign: Vec<String>,
}

impl Sources {
    /// Reads all lines of a host's record that may be some, unless they were read already. `each` answers whether to go on; so
    /// does this.
    pub(super) fn each_line(
        &mut self,
        root: &Path,
        mut each: impl FnMut(&[u8]) -> Result<bool, String>,
    ) -> Result<bool, String> {
        if is_stdin(root) {
            return self.each_line_of(std::io::stdin().lock(), root, &mut each);
        }
        // Renamed ones are beside the file itself, and not beside a link to it.
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let mut last = None;
        loop {
            let renamed = next(&root, last)?;
            let path = renamed.as_ref().map_or(&root, |(_, path)| path);
            let file = match File::open(path) {
                Ok(file) => file,
                // The host has removed the oldest, or it writes nothing now.
                Err(cause) if cause.kind() == ErrorKind::NotFound && renamed.is_some() => {
                    last = renamed.map(|(number, _)| number);
                    continue;
                }
                Err(cause) if cause.kind() == ErrorKind::NotFound && last.is_some() => {
                    return Ok(true);
                }
                Err(cause) => return Err(cannot(path, &cause)),
            };
            // What was opened may be another file already than the one that was renamed meanwhile.
            if renamed.is_none() && next(&root, last)?.is_some() {
                continue;
            }
            let is_new = self
                .known
                .insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
            if is_new && !self.each_line_of(BufReader::new(file), path, &mut each)? {
                return Ok(false);
            }
            match renamed {
                Some((number, _)) => last = Some(number),
                None => return Ok(true),
            }
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
            // Others print to standard output too.
            if line.starts_with(b"{") {
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

/// The records that were named. Those that others were renamed from come first, so that what a shell has listed in its own
/// order is in the right one.
pub(super) fn roots(files: &[PathBuf]) -> Vec<&Path> {
    let mut roots: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    roots.sort_by_key(|path| path.as_os_str().len());
    roots
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
        false => path.display().to_string(),
    }
}

fn cannot(path: &Path, cause: &std::io::Error) -> String {
    format!("{} cannot be read: {cause}", name(path))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::fs;

    use super::Sources;

    /// A file with a line of its name.
    fn write(folder: &std::path::Path, name: &str) {
        fs::write(folder.join(name), format!("{{{name}\n")).unwrap();
    }

    #[test]
    fn files_that_are_renamed_while_others_are_read_are_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a");
        for name in ["a.000001", "a.000002", "a"] {
            write(folder.path(), name);
        }
        let mut sources = Sources::default();
        let mut read = Vec::new();
        let each = |line: &[u8]| {
            let line = String::from_utf8_lossy(line).trim().to_owned();
            if line == "{a.000001" {
                fs::rename(&root, folder.path().join("a.000003")).unwrap();
                fs::remove_file(folder.path().join("a.000002")).unwrap();
                write(folder.path(), "a");
            }
            read.push(line);
            Ok(true)
        };
        assert_eq!(sources.each_line(&root, each), Ok(true));
        assert_eq!(read, ["{a.000001", "{a", "{a"]);
        // Nothing is read twice.
        let again = sources.each_line(&root, |_| Ok(false));
        assert_eq!((again, sources.foreign.len()), (Ok(true), 0));
    }
}
