//! What is flushed to redb, at one moment: rows and sorted runs.
//!
//! Messages and commit outcomes are rows of a table. Everything else is in the runs, where the newest run that has a key
//! decides: it has the key's value, or a tombstone that hides the key in older runs.

use std::ops::{Bound, Range};
use std::sync::Arc;

use bytes::Bytes;
use redb::{ReadOnlyTable, ReadableDatabase};

use super::block::Block;
use super::database::Database;
use super::filter::KeyHash;
use super::row;
use super::run::{Run, block_key, prefix};
use super::tables::{BLOCKS, Key, ROWS, is_row, malformed};

/// What is flushed, at one moment.
pub(in super::super) struct DiskSnapshot {
    blocks: ReadOnlyTable<&'static [u8], &'static [u8]>,
    rows: ReadOnlyTable<&'static [u8], &'static [u8]>,
    /// Keeps it open. Declared after the tables, which are of it.
    database: Arc<Database>,
    /// Newest first.
    runs: Vec<Arc<Run>>,
}

/// A key with its value; `None` for a tombstone.
pub(in super::super) type RunEntry = (Bytes, Option<Bytes>);

impl DiskSnapshot {
    /// What is flushed now; `runs` are all runs of the store, newest first.
    pub(in super::super) fn new(
        database: &Arc<Database>,
        runs: Vec<Arc<Run>>,
    ) -> Result<Self, redb::Error> {
        let read = database.redb()?.begin_read()?;
        let (blocks, rows) = (read.open_table(BLOCKS)?, read.open_table(ROWS)?);
        Ok(Self {
            blocks,
            rows,
            database: Arc::clone(database),
            runs,
        })
    }

    /// Why its file can no longer be used, if that is so.
    pub(super) fn failure(&self) -> Option<redb::Error> {
        self.database.failure()
    }

    /// The value of a key.
    pub(in super::super) fn find(
        &self,
        key: &[u8],
        hash: KeyHash,
    ) -> Result<Option<Bytes>, redb::Error> {
        if is_row(key) {
            let row = self.rows.get(key)?;
            return row.map(|row| row::open(key, row.value())).transpose();
        }
        for run in self.runs.iter().filter(|run| run.filter.may_contain(hash)) {
            let (from, to) = (prefix(run.number), block_key(run.number, key));
            let mut blocks = self.blocks.range(from.as_slice()..=to.as_slice())?;
            let (_, block) = blocks.next_back().transpose()?.ok_or_else(malformed)?;
            let block = Block::read(run.number, block.value())?;
            if !block.covers(key) {
                return Err(malformed());
            }
            if let Some(value) = block.find(key)? {
                return Ok(value);
            }
        }
        Ok(None)
    }

    /// The keys of a range, tombstones included. The range must contain only keys of rows, or none.
    pub(in super::super) fn range(&self, range: &Range<Key>) -> Result<DiskRange, redb::Error> {
        if is_row(&range.start) {
            let rows = self
                .rows
                .range(range.start.as_slice()..range.end.as_slice())?;
            return Ok(DiskRange::Rows(Box::new(rows)));
        }
        Ok(DiskRange::Runs(MergedRuns::new(self, &self.runs, range)?))
    }

    /// Some of its runs, newest first, merged from a key on, tombstones included.
    pub(in super::super) fn merged(
        &self,
        runs: &[Arc<Run>],
        from: Key,
    ) -> Result<MergedRuns, redb::Error> {
        // No tag is the greatest byte, so this range has no end.
        MergedRuns::new(self, runs, &(from..vec![u8::MAX]))
    }
}

/// Runs merged by key: of each key the entry of the newest run.
pub(in super::super) struct MergedRuns(Vec<Cursor>);

/// A position in a run.
struct Cursor {
    blocks: redb::Range<'static, &'static [u8], &'static [u8]>,
    run: u64,
    block: Bytes,
    /// The index of the next entry in the block.
    index: usize,
    end: Key,
    next: Option<RunEntry>,
}

impl MergedRuns {
    fn new(
        disk: &DiskSnapshot,
        runs: &[Arc<Run>],
        range: &Range<Key>,
    ) -> Result<Self, redb::Error> {
        // A search behind the last key of a range reads nothing.
        let runs = if range.is_empty() { &[] } else { runs };
        let cursors = runs.iter().map(|run| Cursor::new(disk, run, range));
        Ok(Self(cursors.collect::<Result<_, _>>()?))
    }

    fn step(&mut self) -> Result<Option<RunEntry>, redb::Error> {
        let keys = self.0.iter().filter_map(|cursor| cursor.next.as_ref());
        let Some(first) = keys.map(|(key, _)| key).min().cloned() else {
            return Ok(None);
        };
        let mut newest = None;
        for cursor in &mut self.0 {
            if cursor.next.as_ref().is_some_and(|(key, _)| *key == first) {
                let entry = cursor.take()?;
                newest = newest.or(entry);
            }
        }
        Ok(newest)
    }
}

impl Iterator for MergedRuns {
    type Item = Result<RunEntry, redb::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl Cursor {
    fn new(disk: &DiskSnapshot, run: &Run, range: &Range<Key>) -> Result<Self, redb::Error> {
        // The first key of the range may be in the block that begins before it.
        let (first, to) = (prefix(run.number), block_key(run.number, &range.start));
        let mut before = disk.blocks.range(first.as_slice()..=to.as_slice())?;
        let (first, block) = before.next_back().transpose()?.ok_or_else(malformed)?;
        let end = block_key(run.number, &range.end);
        let behind = (
            Bound::Excluded(first.value()),
            Bound::Excluded(end.as_slice()),
        );
        let mut cursor = Self {
            // Looks for the first of them only when it is asked for it.
            blocks: disk.blocks.range::<&[u8]>(behind)?,
            run: run.number,
            block: Bytes::copy_from_slice(block.value()),
            index: 0,
            end: range.end.clone(),
            next: None,
        };
        let block = Block::read(run.number, &cursor.block)?;
        if !block.covers(&range.start) {
            return Err(malformed());
        }
        cursor.index = block.lower_bound(&range.start)?;
        cursor.take()?;
        Ok(cursor)
    }

    /// Loads the next block; whether there is one.
    fn load_block(&mut self) -> Result<bool, redb::Error> {
        let to = Block::of(&self.block)?.to();
        if to.is_empty() || to >= self.end.as_slice() {
            return Ok(false);
        }
        let (_, next) = self.blocks.next().transpose()?.ok_or_else(malformed)?;
        if Block::read(self.run, next.value())?.from() != to {
            return Err(malformed());
        }
        let next = Bytes::copy_from_slice(next.value());
        (self.block, self.index) = (next, 0);
        Ok(true)
    }

    /// Returns the next entry and reads the one after it.
    fn take(&mut self) -> Result<Option<RunEntry>, redb::Error> {
        let mut next = self.entry()?;
        while next.is_none() && self.load_block()? {
            next = self.entry()?;
        }
        let next = next.filter(|(key, _)| key[..] < self.end[..]);
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn entry(&mut self) -> Result<Option<RunEntry>, redb::Error> {
        let entry = Block::of(&self.block)?.entry(self.index)?;
        self.index += 1;
        let slice = |bytes| self.block.slice_ref(bytes);
        Ok(entry.map(|(key, value)| (slice(key), value.map(slice))))
    }
}

/// The keys of a range on disk, tombstones included.
pub(in super::super) enum DiskRange {
    Rows(Box<redb::Range<'static, &'static [u8], &'static [u8]>>),
    Runs(MergedRuns),
}

impl Iterator for DiskRange {
    type Item = Result<RunEntry, redb::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Rows(rows) => {
                let row = rows.next()?.map_err(redb::Error::from);
                Some(row.and_then(|(key, row)| {
                    let key = Bytes::copy_from_slice(key.value());
                    let row = row::open(&key, row.value())?;
                    Ok((key, Some(row)))
                }))
            }
            Self::Runs(entries) => entries.next(),
        }
    }
}
