//! The journal: what makes a commit durable, one record and one sync for all that were made
//! together.
//!
//! Two files are written in turn; each is written from its start again once all it holds is filed in
//! redb, so that neither grows without end and a sync has no new blocks to account for. A
//! record is a header of [`HEADER`] bytes and the changes of a group. Records are numbered without
//! gaps, a record is written when the one before it is synced, and a header bears the store's own
//! secret mark, so that nothing a caller stores can pass for one.
//!
//! After a crash, what follows the last whole record is a write that was never acknowledged, and is
//! dropped; if a later record is found behind it, or one is missing, the journal is damaged.

use std::fmt;
use std::io;
use std::ops::Range;

use bytes::{Buf, Bytes};
use redb::StorageBackend;

use super::overlay::Changes;

/// Mark, number, length of the changes, checksum of all that and the changes; padding.
const HEADER: usize = 32;

/// Where the checksum stands in a header.
const CHECKSUM: usize = 24;

/// By how much a file grows, at least: 1 MiB.
const GROWTH: usize = 1 << 20;

/// What stands for the length of the value of a key that goes.
const GONE: u32 = u32::MAX;

/// The files of a journal.
pub(super) type Files = [Box<dyn StorageBackend>; 2];

/// The journal of an open store, all of it filed or in the file that is written.
pub(super) struct Journal {
    files: Files,
    mark: u64,
    /// Which file is written.
    file: usize,
    /// Where its next record goes.
    end: u64,
    /// The number of the last record.
    last: u64,
    /// A record that is being made.
    record: Vec<u8>,
}

/// Why a journal cannot be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    Io(io::Error),
    /// It is damaged; how.
    Damaged(String),
}

impl From<io::Error> for Unreadable {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Journal {
    /// The changes since record `filed`, and the number of the last record.
    pub(super) fn read(files: &Files, mark: u64, filed: u64) -> Result<(Changes, u64), Unreadable> {
        let mut records = Vec::new();
        for file in files {
            let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
            file.read(0, &mut bytes)?;
            records.extend(whole_records(&Bytes::from(bytes), mark, filed)?);
        }
        records.sort_by_key(|(number, _)| *number);
        let (mut changes, mut last) = (Changes::new(), filed);
        for (number, body) in records {
            if number != last.saturating_add(1) {
                return Err(damaged(last, number));
            }
            decode(body, &mut changes)?;
            last = number;
        }
        Ok((changes, last))
    }

    /// A journal that goes on after record `last`; all up to that is filed.
    pub(super) fn new(files: Files, mark: u64, last: u64) -> Self {
        Self {
            files,
            mark,
            file: 0,
            end: 0,
            last,
            record: Vec::new(),
        }
    }

    /// Makes changes durable. After an error nobody knows whether they are.
    pub(super) fn append(&mut self, changes: &Changes) -> io::Result<()> {
        let number = self.last.saturating_add(1);
        encode(&mut self.record, changes, self.mark, number)?;
        let [first, second] = &self.files;
        let file = if self.file == 0 { first } else { second };
        let end = self.end.saturating_add(as_u64(self.record.len()));
        if end > file.len()? {
            // New blocks take a sync much longer than old ones, so they come many at once.
            let length = self.record.len().saturating_add(GROWTH);
            self.record.resize(length, 0);
        }
        file.write(self.end, &self.record)?;
        file.sync_data()?;
        (self.end, self.last) = (end, number);
        Ok(())
    }

    /// How many bytes the file that is written holds.
    pub(super) fn length(&self) -> u64 {
        self.end
    }

    /// The number of the last record.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Goes on in the other file, all of which must be filed.
    pub(super) fn turn(&mut self) {
        self.file = 1 - self.file;
        self.end = 0;
    }
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "journal up to record {}", self.last)
    }
}

/// Makes a record, padded to a multiple of [`HEADER`].
fn encode(record: &mut Vec<u8>, changes: &Changes, mark: u64, number: u64) -> io::Result<()> {
    record.clear();
    record.resize(HEADER, 0);
    for (key, value) in changes {
        let length = value.as_ref().map_or(Ok(GONE), |value| as_u32(value.len()));
        record.extend_from_slice(&as_u32(key.len())?.to_be_bytes());
        record.extend_from_slice(&length?.to_be_bytes());
        record.extend_from_slice(key);
        record.extend_from_slice(value.as_deref().unwrap_or_default());
    }
    let length = as_u64(record.len() - HEADER);
    let (header, body) = record.split_at_mut(HEADER);
    let mut checksum = crc32fast::Hasher::new();
    for (place, number) in header.chunks_exact_mut(8).zip([mark, number, length]) {
        place.copy_from_slice(&number.to_be_bytes());
        checksum.update(place);
    }
    checksum.update(body);
    if let Some(place) = header.get_mut(CHECKSUM..CHECKSUM + 4) {
        place.copy_from_slice(&checksum.finalize().to_be_bytes());
    }
    record.resize(record.len().next_multiple_of(HEADER), 0);
    Ok(())
}

/// The number and the changes of the record at `start`, if a whole one stands there.
fn record(file: &Bytes, start: usize, mark: u64) -> Option<(u64, Range<usize>)> {
    let body = start.checked_add(HEADER)?;
    let mut header = file.get(start..body)?;
    if header.get_u64() != mark {
        return None;
    }
    let (number, length) = (header.get_u64(), header.get_u64());
    let end = body.checked_add(usize::try_from(length).ok()?)?;
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(file.get(start..start + CHECKSUM)?);
    checksum.update(file.get(body..end)?);
    (checksum.finalize() == header.get_u32()).then_some((number, body..end))
}

/// The records of a file that are not filed, in their order.
fn whole_records(file: &Bytes, mark: u64, filed: u64) -> Result<Vec<(u64, Bytes)>, Unreadable> {
    let (mut records, mut start, mut last) = (Vec::new(), 0, None);
    while let Some((number, body)) = record(file, start, mark)
        && last.is_none_or(|last| number == last + 1)
    {
        start = body.end.next_multiple_of(HEADER);
        last = Some(number);
        if number > filed {
            records.push((number, file.slice(body)));
        }
    }
    // What follows is torn, or from an earlier turn, whose records are filed.
    let newest = last.unwrap_or(filed).max(filed);
    let rest = (start..file.len()).step_by(HEADER);
    let later = rest.filter_map(|start| record(file, start, mark));
    match later
        .map(|(number, _)| number)
        .find(|number| *number > newest)
    {
        Some(later) => Err(damaged(newest, later)),
        None => Ok(records),
    }
}

fn decode(mut body: Bytes, changes: &mut Changes) -> Result<(), Unreadable> {
    let malformed = || Unreadable::Damaged("a record of its journal is not one".to_owned());
    while body.has_remaining() {
        let key = body.try_get_u32().map_err(|_| malformed())?;
        let value = body.try_get_u32().map_err(|_| malformed())?;
        let key = take(&mut body, key).ok_or_else(malformed)?;
        let value = match value {
            GONE => None,
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

fn damaged(last: u64, next: u64) -> Unreadable {
    Unreadable::Damaged(format!(
        "its journal goes from record {last} to {next}, what is between is not whole"
    ))
}

fn as_u32(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(io::Error::other)
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
