//! A row as it is stored: its value and a checksum.
//!
//! redb has checksums of its pages but verifies them only when it repairs a file. The checksum covers the key too, so
//! that a row is not taken for another one.

use std::ops::Range;

use bytes::Bytes;
use redb::ReadableDatabase;

use super::database::Database;
use super::facts::Facts;
use super::tables::{Key, META, ROWS, malformed};

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
    verified(key, row).map(Bytes::copy_from_slice)
}

/// Visits all rows on disk with the tag of a row, by key.
///
/// # Errors
/// When one is missing or not as it was written, or a visit fails.
pub(in super::super) fn visit_rows(
    database: &Database,
    all: &Range<Key>,
    mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), redb::Error>,
) -> Result<(), redb::Error> {
    let read = database.redb()?.begin_read()?;
    let mut facts = Facts::read(&read.open_table(META)?)?;
    let mut missing = facts.rows_like(&all.start).copied().unwrap_or_default();
    let rows = read.open_table(ROWS)?;
    for found in rows.range(all.start.as_slice()..all.end.as_slice())? {
        let (key, row) = found?;
        visit(key.value(), verified(key.value(), row.value())?)?;
        missing = missing.checked_sub(1).ok_or_else(malformed)?;
    }
    match missing {
        0 => Ok(()),
        _ => Err(malformed()),
    }
}

fn verified<'a>(key: &[u8], row: &'a [u8]) -> Result<&'a [u8], redb::Error> {
    let (value, found) = row.split_last_chunk().ok_or_else(malformed)?;
    match *found == checksum(key, value) {
        true => Ok(value),
        false => Err(malformed()),
    }
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; 4] {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(key);
    checksum.update(value);
    checksum.finalize().to_be_bytes()
}
