//! A row as it is stored: its value and a checksum.
//!
//! redb has checksums of its pages but verifies them only when it repairs a file. The checksum covers the key too, so
//! that a row is not taken for another one.

use bytes::Bytes;

use super::tables::malformed;

/// A row with its checksum.
pub(super) fn seal(key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut row = Vec::with_capacity(value.len() + 4);
    row.extend_from_slice(value);
    row.extend_from_slice(&checksum(key, value));
    row
}

/// The value of a row that was read from disk.
///
/// # Errors
/// When it is not as it was written.
pub(super) fn open(key: &[u8], row: &[u8]) -> Result<Bytes, redb::Error> {
    let (value, found) = row.split_last_chunk().ok_or_else(malformed)?;
    if *found != checksum(key, value) {
        return Err(malformed());
    }
    Ok(Bytes::copy_from_slice(value))
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; 4] {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(key);
    checksum.update(value);
    checksum.finalize().to_be_bytes()
}
