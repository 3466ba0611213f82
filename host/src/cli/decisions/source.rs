//! The files of a record, one line after the other. What one host has written is a chain of files: those that it has renamed,
//! the oldest first, and the one that it writes.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::cli::input::is_stdin;
use crate::conditions::decision_log::old_files;

/// The most bytes of a line: far more than any has.
const MAX_LINE: u64 = 1 << 20;

/// The files that one host has written, or what is piped in.
pub(super) struct Chain(Vec<PathBuf>);

/// The chains of the files that were named; a file that is in one already is not read again.
pub(super) fn chains(files: &[PathBuf]) -> Result<Vec<Chain>, String> {
    let (mut chains, mut known) = (Vec::new(), BTreeSet::new());
    // Those that others were renamed from come first, so that what a shell has listed in its own order is in the right one.
    let mut roots: Vec<&PathBuf> = files.iter().collect();
    roots.sort_by_key(|path| path.as_os_str().len());
    for path in roots {
        let mut chain = Vec::new();
        if !is_stdin(path) {
            let old = old_files(path).map_err(|cause| cannot(path, &cause))?;
            chain.extend(old.into_iter().map(|(_, path)| path));
        }
        if is_stdin(path) || chain.is_empty() || path.exists() {
            chain.push(path.clone());
        }
        chain.retain(|path| known.insert(path.clone()));
        chains.push(Chain(chain));
    }
    Ok(chains)
}

impl Chain {
    /// Reads all lines that may be of a record. `each` answers whether to go on; so does this.
    pub(super) fn each_line(
        self,
        mut each: impl FnMut(&[u8]) -> Result<bool, String>,
    ) -> Result<bool, String> {
        for path in self.0 {
            let goes_on = match is_stdin(&path) {
                true => each_line_of(std::io::stdin().lock(), &path, &mut each)?,
                false => {
                    let file = File::open(&path).map_err(|cause| cannot(&path, &cause))?;
                    each_line_of(BufReader::new(file), &path, &mut each)?
                }
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn each_line_of(
    mut source: impl BufRead,
    path: &Path,
    each: &mut impl FnMut(&[u8]) -> Result<bool, String>,
) -> Result<bool, String> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = source
            .by_ref()
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)
            .map_err(|cause| cannot(path, &cause))?;
        if read == 0 {
            return Ok(true);
        }
        // Others print to standard output too.
        if line.starts_with(b"{") && !each(&line)? {
            return Ok(false);
        }
    }
}

fn cannot(path: &Path, cause: &std::io::Error) -> String {
    let name = match is_stdin(path) {
        true => "stdin".into(),
        false => path.display().to_string(),
    };
    format!("{name} cannot be read: {cause}")
}
