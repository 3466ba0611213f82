//! The journal, a write-ahead log: what makes commits durable, with one record and one fsync for a whole batch.
//!
//! Two files are written in turn. Each is overwritten from its start once all its records are flushed to redb, so that
//! neither grows without end and an fsync allocates no new blocks. A record is a header of [`HEADER`] bytes and the
//! changes of a batch. Records are numbered without gaps, and a record is written only after the one before it is synced.
//! The header carries the salt of the store, a secret, so that no stored value can pass for a record.
//!
//! After a crash, what follows the last complete record is a write that was never acknowledged, and is dropped. If a
//! later record is found behind it, or one is missing, the journal is damaged.

use std::fmt;
use std::io;
use std::ops::Range;

use bytes::{Buf, Bytes};
use redb::StorageBackend;

use super::memtable::Changes;

/// Salt, number, length of the changes, checksum of these three and the changes; padding.
const HEADER: usize = 32;

/// The offset of the checksum in a header.
const CHECKSUM: usize = 24;

/// How many bytes a file grows by, at least: 1 MiB.
const GROWTH: usize = 1 << 20;

/// The length of the value that marks a tombstone.
const TOMBSTONE: u32 = u32::MAX;

/// The files of a journal.
pub(in super::super) type Files = [Box<dyn StorageBackend>; 2];

/// The journal of an open store. Every record is flushed, is being flushed, or is in the current file.
pub(in super::super) struct Journal {
    files: Files,
    salt: u64,
    /// The index of the current file.
    current: usize,
    /// The offset of its next record.
    end: u64,
    /// The number of the last record.
    last: u64,
    /// The buffer in which records are built.
    record: Vec<u8>,
}

/// Why a journal cannot be read.
#[derive(Debug)]
pub(in super::super) enum ReadError {
    Io(io::Error),
    /// It is damaged, in this way.
    Damaged(String),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Journal {
    /// The changes after record `flushed`, and the number of the last record.
    pub(in super::super) fn read(
        files: &Files,
        salt: u64,
        flushed: u64,
    ) -> Result<(Changes, u64), ReadError> {
        let mut records = Vec::new();
        for file in files {
            let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
            file.read(0, &mut bytes)?;
            records.extend(complete_records(&Bytes::from(bytes), salt, flushed)?);
        }
        records.sort_by_key(|(number, _)| *number);
        let (mut changes, mut last) = (Changes::new(), flushed);
        for (number, body) in records {
            if number != last.saturating_add(1) {
                return Err(damaged(last, number));
            }
            decode(body, &mut changes)?;
            last = number;
        }
        Ok((changes, last))
    }

    /// A journal that continues after record `last`, up to which all is flushed.
    pub(in super::super) fn new(files: Files, salt: u64, last: u64) -> Self {
        Self {
            files,
            salt,
            current: 0,
            end: 0,
            last,
            record: Vec::new(),
        }
    }

    /// Makes changes durable. After an error it is unknown whether they are.
    pub(in super::super) fn append(&mut self, changes: &Changes) -> io::Result<()> {
        let number = self.last.saturating_add(1);
        encode(&mut self.record, changes, self.salt, number)?;
        let [first, second] = &self.files;
        let file = if self.current == 0 { first } else { second };
        let end = self.end.saturating_add(as_u64(self.record.len()));
        if end > file.len()? {
            // An fsync that allocates blocks takes much longer, so many are allocated at once.
            let length = self.record.len().saturating_add(GROWTH);
            self.record.resize(length, 0);
        }
        file.write(self.end, &self.record)?;
        file.sync_data()?;
        (self.end, self.last) = (end, number);
        Ok(())
    }

    /// How many bytes of records the current file holds.
    pub(in super::super) fn bytes(&self) -> u64 {
        self.end
    }

    /// The number of the last record.
    pub(in super::super) fn last(&self) -> u64 {
        self.last
    }

    /// Continues in the other file, all of which must be flushed.
    pub(in super::super) fn switch_files(&mut self) {
        self.current = 1 - self.current;
        self.end = 0;
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "journal up to record {}", self.last)
    }
}

/// Builds a record, padded to a multiple of [`HEADER`].
fn encode(record: &mut Vec<u8>, changes: &Changes, salt: u64, number: u64) -> io::Result<()> {
    record.clear();
    record.resize(HEADER, 0);
    for (key, value) in changes {
        let length = value
            .as_ref()
            .map_or(Ok(TOMBSTONE), |value| as_u32(value.len()));
        record.extend_from_slice(&as_u32(key.len())?.to_be_bytes());
        record.extend_from_slice(&length?.to_be_bytes());
        record.extend_from_slice(key);
        record.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    let length = as_u64(record.len() - HEADER);
    let (header, body) = record.split_at_mut(HEADER);
    let mut checksum = crc32fast::Hasher::new();
    for (field, number) in header.chunks_exact_mut(8).zip([salt, number, length]) {
        field.copy_from_slice(&number.to_be_bytes());
        checksum.update(field);
    }
    checksum.update(body);
    if let Some(field) = header.get_mut(CHECKSUM..CHECKSUM + 4) {
        field.copy_from_slice(&checksum.finalize().to_be_bytes());
    }
    record.resize(record.len().next_multiple_of(HEADER), 0);
    Ok(())
}

/// The number of the record at `start` and the range of its changes, if a complete record is there.
fn record(file: &Bytes, start: usize, salt: u64) -> Option<(u64, Range<usize>)> {
    let body = start.checked_add(HEADER)?;
    let mut header = file.get(start..body)?;
    if header.get_u64() != salt {
        return None;
    }
    let (number, length) = (header.get_u64(), header.get_u64());
    let end = body.checked_add(usize::try_from(length).ok()?)?;
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(file.get(start..start + CHECKSUM)?);
    checksum.update(file.get(body..end)?);
    (checksum.finalize() == header.get_u32()).then_some((number, body..end))
}

/// The records of a file that are not flushed, in order.
fn complete_records(file: &Bytes, salt: u64, flushed: u64) -> Result<Vec<(u64, Bytes)>, ReadError> {
    let (mut records, mut start, mut last) = (Vec::new(), 0, None);
    while let Some((number, body)) = record(file, start, salt)
        && last.is_none_or(|last| number == last + 1)
    {
        start = body.end.next_multiple_of(HEADER);
        last = Some(number);
        if number > flushed {
            records.push((number, file.slice(body)));
        }
    }
    // What follows is a torn write, or left from an earlier use of the file, whose records are flushed.
    let newest = last.unwrap_or(flushed).max(flushed);
    let rest = (start..file.len()).step_by(HEADER);
    let later = rest.filter_map(|start| record(file, start, salt));
    match later
        .map(|(number, _)| number)
        .find(|number| *number > newest)
    {
        Some(later) => Err(damaged(newest, later)),
        None => Ok(records),
    }
}

fn decode(mut body: Bytes, changes: &mut Changes) -> Result<(), ReadError> {
    let malformed = || ReadError::Damaged("a record of its journal is malformed".to_owned());
    while body.has_remaining() {
        let key = body.try_get_u32().map_err(|_| malformed())?;
        let value = body.try_get_u32().map_err(|_| malformed())?;
        let key = take(&mut body, key).ok_or_else(malformed)?;
        let value = match value {
            TOMBSTONE => None,
            length => Some(take(&mut body, length).ok_or_else(malformed)?),
        };
        changes.insert(key.to_vec(), value);
    }
    Ok(())
}

fn take(body: &mut Bytes, length: u32) -> Option<Bytes> {
    let length = usize::try_from(length).ok()?;
    (length <= body.len()).then(|| body.split_to(length))
}

fn damaged(last: u64, next: u64) -> ReadError {
    ReadError::Damaged(format!(
        "its journal continues from record {last} with record {next}: those between are incomplete"
    ))
}

fn as_u32(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(io::Error::other)
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
