//! The files that commands read: rules and requests, or what is piped in for `-`. Their size is bounded. Pipes
//! and devices are refused at once.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tillgate_store::regular_file;

use super::output::shown_path;

/// The most bytes of a file: more than a tenant may configure.
const MAX_FILE: u64 = 512 << 20;

/// Whether a name stands for what is piped in.
pub(super) fn is_stdin(file: &Path) -> bool {
    file == Path::new("-") || file == Path::new("/dev/stdin")
}

/// The folders of files that this process has open already, such as `<(...)` in a shell. Opening those never waits.
const OPEN_ALREADY: [&str; 2] = ["/dev/fd/", "/proc/self/fd/"];

/// Opens a file to read it.
pub(super) fn open(file: &Path) -> io::Result<File> {
    let text = file.as_os_str().as_encoded_bytes();
    if OPEN_ALREADY
        .iter()
        .any(|folder| text.starts_with(folder.as_bytes()))
    {
        return File::open(file);
    }
    regular_file::open(file)
}

/// Reads a file, or stdin for `-`.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, String> {
    let (name, read) = if is_stdin(file) {
        ("stdin".to_owned(), read_most(io::stdin().lock()))
    } else {
        (shown_path(file), open(file).and_then(read_most))
    };
    let text = read.map_err(|cause| format!("{name} cannot be read: {cause}"))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_FILE {
        return Err(format!("{name} is larger than 512 MiB"));
    }
    Ok(text)
}

/// Reads to the end, or so much that it is too large.
fn read_most(source: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    source.take(MAX_FILE + 1).read_to_end(&mut text)?;
    Ok(text)
}
