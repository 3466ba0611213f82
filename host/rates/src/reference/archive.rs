//! Unpacks a zip file of one document, as the ECB publishes its CSV.
//!
//! The file is unpacked in memory, up to a bound. A file with several entries, a folder or a password is refused:
//! it must be clear which document is meant and which content was checked. Entries named `__MACOSX/...` are
//! skipped: macOS adds one to each file, with its attributes.

use std::fmt::Display;
use std::io::{Cursor, Read};

use tillgate_api::rate::document_type::starts_as_zip;
use zip::CompressionMethod;
use zip::ZipArchive;

use super::text::shown;

/// The most bytes of the unpacked document, the same as for one that is sent unpacked.
const MAX_UNPACKED: usize = 16 << 20;

/// The folder of the entries that macOS adds.
const OF_MACOS: &str = "__MACOSX/";

/// The first bytes of each entry in a zip file's directory.
const ENTRY: &[u8] = b"PK\x01\x02";

/// The most occurrences of these bytes in a file that is read: the zip reader keeps all entries in memory. The bytes
/// may also occur elsewhere by chance.
const MAX_ENTRIES: usize = 64;

/// The accepted compression methods.
const READ: [CompressionMethod; 2] = [CompressionMethod::Stored, CompressionMethod::Deflated];

/// Returns the document in a zip file.
///
/// # Errors
/// A message that says why there is none, or none that is accepted.
pub(super) fn unpacked(document: &[u8]) -> Result<Vec<u8>, String> {
    if !starts_as_zip(document) {
        return Err("is not a zip file, although its content type says so".to_owned());
    }
    let entries = document.windows(ENTRY.len()).filter(|at| *at == ENTRY);
    if entries.take(MAX_ENTRIES + 1).count() > MAX_ENTRIES {
        return Err(not_one("many"));
    }
    let mut archive = ZipArchive::new(Cursor::new(document)).map_err(unreadable)?;
    if archive.has_duplicate_names() {
        return Err(not_one("several"));
    }
    let is_added = |index: &usize| {
        let name = archive.name_for_index(*index).and_then(Result::ok);
        name.is_some_and(|name| name.starts_with(OF_MACOS))
    };
    let documents: Vec<usize> = (0..archive.len())
        .filter(|index| !is_added(index))
        .collect();
    let &[document] = documents.as_slice() else {
        return Err(not_one(documents.len()));
    };
    let entry = archive.by_index_raw(document).map_err(unreadable)?;
    if entry.encrypted() {
        return Err("is a zip file with a password: send it without one".to_owned());
    }
    if !READ.contains(&entry.compression()) {
        return Err("is a zip file with a compression other than deflate".to_owned());
    }
    drop(entry);
    let entry = archive.by_index(document).map_err(unreadable)?;
    let mut unpacked = Vec::new();
    let bound = u64::try_from(MAX_UNPACKED).unwrap_or(0) + 1;
    let read = entry.take(bound).read_to_end(&mut unpacked);
    read.map_err(unreadable)?;
    if unpacked.len() > MAX_UNPACKED {
        Err("is a zip file of more than 16 MiB when unpacked".to_owned())
    } else {
        Ok(unpacked)
    }
}

fn not_one(count: impl Display) -> String {
    format!("must be a zip file of one document, not of {count}")
}

fn unreadable(cause: impl Display) -> String {
    format!(
        "is a zip file that cannot be read: {}",
        shown(&cause.to_string())
    )
}
