//! Reads the files that commands take, rules and requests, or piped input for `-`. Their size is limited. Pipes and
//! devices are refused at once.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tillgate_store::regular_file;

use super::output::shown_path;

/// The largest file, in bytes: larger than the configuration of any tenant.
const MAX_FILE: u64 = 512 << 20;

/// Returns whether a name stands for piped input.
pub fn is_stdin(file: &Path) -> bool {
    file == Path::new("-") || file == Path::new("/dev/stdin")
}

/// The folders of files that this process already has open, such as `<(...)` in a shell. Opening them never waits.
const OPEN_ALREADY: [&str; 2] = ["/dev/fd/", "/proc/self/fd/"];

/// Opens a file for reading.
pub fn open(file: &Path) -> io::Result<File> {
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
pub fn read(file: &Path) -> Result<Vec<u8>, String> {
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

/// Reads to the end, or to one byte beyond the limit.
fn read_most(source: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    source.take(MAX_FILE + 1).read_to_end(&mut text)?;
    Ok(text)
}
