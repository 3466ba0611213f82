//! The files that commands read: rules and requests, or what is piped in for `-`. Their size is bounded. What is no file, such
//! as a pipe that nobody writes to, is refused and not waited for.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::output::shown_path;

/// The most bytes of a file: more than a tenant may configure.
const MAX_FILE: u64 = 512 << 20;

/// Whether a name stands for what is piped in.
pub(super) fn is_stdin(file: &Path) -> bool {
    file == Path::new("-") || file == Path::new("/dev/stdin")
}

/// Where the files are that this process has open already, such as `<(...)` of a shell: nobody waits for one to be opened.
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
    // To open a pipe without this waits until somebody writes to it.
    let flags = OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, file, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Reads a file, or stdin for `-`.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, String> {
    let (name, read) = match is_stdin(file) {
        true => ("stdin".to_owned(), read_most(io::stdin().lock())),
        false => (shown_path(file), open(file).and_then(read_most)),
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
