//! The files that commands read: catalogs and requests, or what is piped in for `-`. Their size is bounded.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most bytes of a file: more than a tenant may configure.
const MAX_FILE: u64 = 512 << 20;

/// Whether a name stands for what is piped in.
pub(super) fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// Reads a file, or stdin for `-`.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, String> {
    let name = if is_stdin(file) {
        "stdin".into()
    } else {
        file.display().to_string()
    };
    let mut text = Vec::new();
    let read = if is_stdin(file) {
        std::io::stdin()
            .lock()
            .take(MAX_FILE + 1)
            .read_to_end(&mut text)
    } else {
        File::open(file).and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut text))
    };
    let length = read.map_err(|cause| format!("{name} cannot be read: {cause}"))?;
    if u64::try_from(length).unwrap_or(u64::MAX) > MAX_FILE {
        return Err(format!("{name} is larger than 512 MiB"));
    }
    Ok(text)
}
