//! The journal, a write-ahead log: what makes commits durable, with one record and one fsync for a whole batch.
//!
//! Two files are written in turn. Each is overwritten from its start once all its records are flushed to redb, so that
//! neither grows without end and an fsync allocates no new blocks. A record is a header of [`HEADER`] bytes and the
//! changes of a batch. Records are numbered without gaps, and a record is written only after the one before it is synced.
//! The header carries the salt of the store, a secret, so that no stored value can pass for a record.
//!
//! After a crash, what follows the last complete record is a write that was never acknowledged, and is dropped. If a
//! later record is found behind it, or one is missing, the journal is damaged. The last record may be on its way to the
//! disk only, or not even that after a failed sync, so it is written again before anything follows it
//! ([`Journal::prepare`]).

use std::fmt;
use std::io;

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

/// The journal of an open store. Every record is flushed, is being flushed, or is in the current file.
pub(in super::super) struct Journal {
    files: [Box<dyn StorageBackend>; 2],
    salt: u64,
    /// The index of the current file.
    current: usize,
    /// The offset of its next record.
    end: u64,
    /// The number of the last record.
    last: u64,
    /// Where the last record is and what it is, if it was read and is not known to be durable.
    unsure: Option<(u64, Bytes)>,
    /// The buffer in which records are built.
    record: Vec<u8>,
}

/// What a journal has that is not flushed.
#[derive(Default)]
pub(super) struct Unflushed {
    /// The changes of the file that is no longer written, and its last record.
    pub(super) sealed: Option<(Changes, u64)>,
    /// The changes of the current file.
    pub(super) active: Changes,
}

/// Why a record could not be appended.
pub(in super::super) enum AppendError {
    /// None of it was written.
    Nothing(io::Error),
    /// It may be there.
    Unknown(io::Error),
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
    /// Opens a journal whose records up to `flushed` are flushed, and reads the others. Writes nothing.
    pub(super) fn open(
        files: [Box<dyn StorageBackend>; 2],
        salt: u64,
        flushed: u64,
    ) -> Result<(Self, Unflushed), ReadError> {
        let mut found = Vec::new();
        for (index, file) in files.iter().enumerate() {
            let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
            file.read(0, &mut bytes)?;
            let records = complete_records(&Bytes::from(bytes), salt, flushed)?;
            if let Some(first) = records.first() {
                found.push((first.number, index, records));
            }
        }
        found.sort_by_key(|(first, ..)| *first);
        let mut journal = Self {
            files,
            salt,
            current: 0,
            end: 0,
            last: flushed,
            unsure: None,
            record: Vec::new(),
        };
        let mut unflushed = Unflushed::default();
        for (_, index, records) in found {
            let active = std::mem::take(&mut unflushed.active);
            unflushed.sealed = (journal.last > flushed).then_some((active, journal.last));
            journal.current = index;
            for record in records {
                if record.number != journal.last.saturating_add(1) {
                    return Err(damaged(journal.last, record.number));
                }
                decode(record.body(), &mut unflushed.active)?;
                journal.last = record.number;
                journal.end = as_u64((record.start + record.whole.len()).next_multiple_of(HEADER));
                journal.unsure = Some((as_u64(record.start), record.whole));
            }
        }
        Ok((journal, unflushed))
    }

    /// Makes durable what was read, and room for more: shows that the disk can be written.
    pub(in super::super) fn prepare(&mut self) -> io::Result<()> {
        let file = current(&self.files, self.current);
        if let Some((start, record)) = &self.unsure {
            file.write(*start, record)?;
        }
        make_room(file, self.end.saturating_add(as_u64(GROWTH)))?;
        file.sync_data()?;
        self.unsure = None;
        Ok(())
    }

    /// Makes changes durable.
    pub(in super::super) fn append(&mut self, changes: &Changes) -> Result<(), AppendError> {
        let number = self.last.saturating_add(1);
        encode(&mut self.record, changes, self.salt, number).map_err(AppendError::Nothing)?;
        let file = current(&self.files, self.current);
        let end = self.end.saturating_add(as_u64(self.record.len()));
        // A full disk is noticed here, before anything is written.
        make_room(file, end).map_err(AppendError::Nothing)?;
        file.write(self.end, &self.record)
            .and_then(|()| file.sync_data())
            .map_err(AppendError::Unknown)?;
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

fn current(files: &[Box<dyn StorageBackend>; 2], index: usize) -> &dyn StorageBackend {
    let [first, second] = files;
    let file = if index == 0 { first } else { second };
    &**file
}

/// Lengthens a file that ends before `end`, by more than that: a sync that allocates blocks takes much longer.
fn make_room(file: &dyn StorageBackend, end: u64) -> io::Result<()> {
    let length = file.len()?;
    if end <= length {
        return Ok(());
    }
    let missing = usize::try_from(end - length).map_err(io::Error::other)?;
    file.write(length, &vec![0; missing.saturating_add(GROWTH)])
}

/// A record in a file.
struct Record {
    number: u64,
    start: usize,
    /// Its header, its changes and its padding.
    whole: Bytes,
    /// The length of its changes.
    length: usize,
}

impl Record {
    /// The complete record at `start`, if there is one.
    fn read(file: &Bytes, start: usize, salt: u64) -> Option<Self> {
        let body = start.checked_add(HEADER)?;
        let mut header = file.get(start..body)?;
        if header.get_u64() != salt {
            return None;
        }
        let (number, length) = (header.get_u64(), header.get_u64());
        let length = usize::try_from(length).ok()?;
        let end = body.checked_add(length)?;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(file.get(start..start + CHECKSUM)?);
        checksum.update(file.get(body..end)?);
        if checksum.finalize() != header.get_u32() {
            return None;
        }
        // The file may have lost the padding at its end.
        let padded = end.next_multiple_of(HEADER).min(file.len());
        Some(Self {
            number,
            start,
            whole: file.slice(start..padded),
            length,
        })
    }

    /// Its changes.
    fn body(&self) -> Bytes {
        self.whole.slice(HEADER..HEADER + self.length)
    }
}

/// The records of a file that are not flushed, in order.
fn complete_records(file: &Bytes, salt: u64, flushed: u64) -> Result<Vec<Record>, ReadError> {
    let (mut records, mut start, mut last) = (Vec::new(), 0, None);
    while let Some(record) = Record::read(file, start, salt)
        && last.is_none_or(|last| record.number == last + 1)
    {
        start = (start + HEADER + record.length).next_multiple_of(HEADER);
        last = Some(record.number);
        if record.number > flushed {
            records.push(record);
        }
    }
    // What follows is a torn write, or left from an earlier use of the file, whose records are flushed.
    let newest = last.unwrap_or(flushed).max(flushed);
    let rest = (start..file.len()).step_by(HEADER);
    let later = rest.filter_map(|start| Record::read(file, start, salt));
    match later
        .map(|record| record.number)
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
