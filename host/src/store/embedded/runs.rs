//! What was filed, as redb keeps it: rows and runs.
//!
//! Messages and remembered outcomes are rows of a table of redb. Of everything else, a run is a sorted part, written at
//! once and never changed: blocks in another table, by the run's number and their first key. What a newer run says of a
//! key holds; a key that goes is said too, as long as an older run may have it. `filing` makes runs, from layers and
//! from other runs.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, Table};

use super::block::{Block, Builder};
use super::filter::{Filter, Mark};
use super::tables::{self, BLOCKS, Key, ROWS, RUNS, malformed};

/// What was filed, at a moment.
pub(super) struct Base {
    blocks: ReadOnlyTable<&'static [u8], &'static [u8]>,
    rows: ReadOnlyTable<&'static [u8], &'static [u8]>,
    /// Newest first.
    runs: Vec<Arc<Run>>,
}

/// A run, without its blocks.
pub(super) struct Run {
    /// What no other run of the store has or had.
    pub(super) number: u64,
    /// 0 for one that was a layer; one more than those that it was merged from. What is of a higher level is older;
    /// of the same, what has a lower number.
    pub(super) level: u64,
    /// How many keys it speaks of.
    pub(super) keys: u64,
    filter: Filter,
}

/// A run that is being written.
pub(super) struct Unfinished {
    run: Run,
    block: Builder,
}

/// The table of blocks, to be written.
pub(super) type Blocks<'a> = Table<'a, &'static [u8], &'static [u8]>;

/// A key, and its value unless it goes.
pub(super) type Found = (Bytes, Option<Bytes>);

/// Where the blocks of a run begin among all.
fn prefix(run: u64) -> [u8; 8] {
    run.to_be_bytes()
}

/// The key of a block.
fn block_key(run: u64, first: &[u8]) -> Vec<u8> {
    [&prefix(run), first].concat()
}

/// The run of a block's key, and the block's first key.
fn split(block_key: &[u8]) -> Result<(u64, &[u8]), redb::Error> {
    let (run, first) = block_key.split_first_chunk().ok_or_else(malformed)?;
    Ok((u64::from_be_bytes(*run), first))
}

/// All blocks of a run.
fn blocks_of(run: u64) -> Range<Vec<u8>> {
    prefix(run).to_vec()..prefix(run.saturating_add(1)).to_vec()
}

/// The runs of a store, newest first.
pub(super) fn all(database: &Database) -> Result<Vec<Arc<Run>>, redb::Error> {
    let table = database.begin_read()?.open_table(RUNS)?;
    let mut runs = Vec::new();
    for row in table.iter()? {
        let (number, row) = row?;
        runs.push(Arc::new(Run::read(number.value(), row.value())?));
    }
    runs.sort_by_key(|run| (run.level, u64::MAX - run.number));
    Ok(runs)
}

/// The number of the first run after `after` that has a block.
pub(super) fn next_with_blocks(
    blocks: &Blocks<'_>,
    after: Option<u64>,
) -> Result<Option<u64>, redb::Error> {
    let first = after.map_or_else(Vec::new, |after| blocks_of(after).end);
    let next = blocks.range(first.as_slice()..)?.next().transpose()?;
    next.map(|(key, _)| Ok(split(key.value())?.0)).transpose()
}

/// Removes the blocks of a run.
pub(super) fn remove(blocks: &mut Blocks<'_>, run: u64) -> Result<(), redb::Error> {
    let all = blocks_of(run);
    blocks.retain_in(all.start.as_slice()..all.end.as_slice(), |_, _| false)?;
    Ok(())
}

impl Run {
    fn read(number: u64, row: &[u8]) -> Result<Self, redb::Error> {
        let (row, checksum) = row.split_last_chunk().ok_or_else(malformed)?;
        if crc32fast::hash(row) != u32::from_be_bytes(*checksum) {
            return Err(malformed());
        }
        let (level, rest) = row.split_first_chunk().ok_or_else(malformed)?;
        let (keys, filter) = rest.split_first_chunk().ok_or_else(malformed)?;
        Ok(Self {
            number,
            level: u64::from_be_bytes(*level),
            keys: u64::from_be_bytes(*keys),
            filter: Filter::read(filter),
        })
    }

    /// Its row in the table of runs, ended by a checksum: a filter with a bit less would hide keys.
    pub(super) fn row(&self) -> Vec<u8> {
        let mut row = [self.level.to_be_bytes(), self.keys.to_be_bytes()].concat();
        self.filter.write(&mut row);
        let checksum = crc32fast::hash(&row);
        row.extend_from_slice(&checksum.to_be_bytes());
        row
    }
}

impl Unfinished {
    /// A run of so many keys at most.
    pub(super) fn new(number: u64, level: u64, keys: u64) -> Self {
        let run = Run {
            number,
            level,
            keys: 0,
            filter: Filter::new(keys),
        };
        Self {
            run,
            block: Builder::default(),
        }
    }

    /// Adds a key, which comes after those that it has.
    pub(super) fn push(
        &mut self,
        blocks: &mut Blocks<'_>,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), redb::Error> {
        if !self.block.fits(key, value) {
            self.write(blocks)?;
        }
        self.run.keys += 1;
        self.run.filter.add(Mark::of(key));
        self.block.push(key, value)
    }

    /// Writes its last block.
    pub(super) fn finish(mut self, blocks: &mut Blocks<'_>) -> Result<Run, redb::Error> {
        self.write(blocks)?;
        Ok(self.run)
    }

    fn write(&mut self, blocks: &mut Blocks<'_>) -> Result<(), redb::Error> {
        if let Some((first, block)) = self.block.finish() {
            let key = block_key(self.run.number, first);
            blocks.insert(key.as_slice(), block)?;
        }
        self.block.clear();
        Ok(())
    }
}

impl Base {
    /// What is filed now; `runs` are all there are, newest first.
    pub(super) fn of(database: &Database, runs: Vec<Arc<Run>>) -> Result<Self, redb::Error> {
        let read = database.begin_read()?;
        let (blocks, rows) = (read.open_table(BLOCKS)?, read.open_table(ROWS)?);
        Ok(Self { blocks, rows, runs })
    }

    /// The value of a key.
    pub(super) fn find(&self, key: &[u8], mark: Mark) -> Result<Option<Bytes>, redb::Error> {
        if tables::is_row(key) {
            let row = self.rows.get(key)?;
            return Ok(row.map(|row| Bytes::copy_from_slice(row.value())));
        }
        for run in self.runs.iter().filter(|run| run.filter.may_hold(mark)) {
            let (from, to) = (prefix(run.number), block_key(run.number, key));
            let mut blocks = self.blocks.range(from.as_slice()..=to.as_slice())?;
            if let Some((_, block)) = blocks.next_back().transpose()?
                && let Some(value) = Block::read(block.value())?.find(key)?
            {
                return Ok(value);
            }
        }
        Ok(None)
    }

    /// The keys of a range that are there; it has rows only, or none.
    pub(super) fn range(&self, range: &Range<Key>) -> Result<There, redb::Error> {
        if tables::is_row(&range.start) {
            let rows = self
                .rows
                .range(range.start.as_slice()..range.end.as_slice())?;
            return Ok(There::Rows(Box::new(rows)));
        }
        Ok(There::Keys(Newest::of(self, &self.runs, range)?))
    }

    /// What some of its runs, newest first, say from a key on.
    pub(super) fn merged(&self, runs: &[Arc<Run>], from: Key) -> Result<Newest, redb::Error> {
        // No key begins so.
        Newest::of(self, runs, &(from..vec![u8::MAX]))
    }
}

/// What runs say of the keys of a range: of each, what the newest says.
pub(super) struct Newest(Vec<Cursor>);

/// A run from a key on.
struct Cursor {
    blocks: redb::Range<'static, &'static [u8], &'static [u8]>,
    block: Bytes,
    /// The place of the next entry in the block.
    place: usize,
    end: Key,
    next: Option<Found>,
}

impl Newest {
    fn of(base: &Base, runs: &[Arc<Run>], range: &Range<Key>) -> Result<Self, redb::Error> {
        let cursors = runs.iter().map(|run| Cursor::new(base, run, range));
        Ok(Self(cursors.collect::<Result<_, _>>()?))
    }

    fn step(&mut self) -> Result<Option<Found>, redb::Error> {
        let keys = self.0.iter().filter_map(|cursor| cursor.next.as_ref());
        let Some(first) = keys.map(|(key, _)| key).min().cloned() else {
            return Ok(None);
        };
        let mut newest = None;
        for cursor in &mut self.0 {
            if cursor.next.as_ref().is_some_and(|(key, _)| *key == first) {
                let found = cursor.take()?;
                newest = newest.or(found);
            }
        }
        Ok(newest)
    }
}

impl Iterator for Newest {
    type Item = Result<Found, redb::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl Cursor {
    fn new(base: &Base, run: &Run, range: &Range<Key>) -> Result<Self, redb::Error> {
        // The first key may stand in the block that begins before it.
        let (from, to) = (prefix(run.number), block_key(run.number, &range.start));
        let mut before = base.blocks.range(from.as_slice()..=to.as_slice())?;
        let before = before.next_back().transpose()?;
        let first = before.map_or(to, |(key, _)| key.value().to_vec());
        let end = block_key(run.number, &range.end);
        let end = end.max(first.clone());
        let mut cursor = Self {
            blocks: base.blocks.range(first.as_slice()..end.as_slice())?,
            block: Bytes::new(),
            place: 0,
            end: range.end.clone(),
            next: None,
        };
        if cursor.load()? {
            cursor.place = Block::of(&cursor.block)?.place(&range.start)?;
            cursor.take()?;
        }
        Ok(cursor)
    }

    /// Goes on with the next block.
    fn load(&mut self) -> Result<bool, redb::Error> {
        let Some((_, block)) = self.blocks.next().transpose()? else {
            return Ok(false);
        };
        Block::read(block.value())?;
        (self.block, self.place) = (Bytes::copy_from_slice(block.value()), 0);
        Ok(true)
    }

    /// The next entry; what follows it comes in its place.
    fn take(&mut self) -> Result<Option<Found>, redb::Error> {
        let mut next = self.entry()?;
        while next.is_none() && self.load()? {
            next = self.entry()?;
        }
        let next = next.filter(|(key, _)| key[..] < self.end[..]);
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn entry(&mut self) -> Result<Option<Found>, redb::Error> {
        if self.block.is_empty() {
            return Ok(None);
        }
        let entry = Block::of(&self.block)?.entry(self.place)?;
        self.place += 1;
        let part = |part| self.block.slice_ref(part);
        Ok(entry.map(|(key, value)| (part(key), value.map(part))))
    }
}

/// The keys of a range that are there, with their values.
pub(super) enum There {
    Rows(Box<redb::Range<'static, &'static [u8], &'static [u8]>>),
    Keys(Newest),
}

impl Iterator for There {
    type Item = Result<(Bytes, Bytes), redb::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Rows(rows) => {
                let copy = Bytes::copy_from_slice;
                let row = rows
                    .next()?
                    .map(|(key, row)| (copy(key.value()), copy(row.value())));
                Some(row.map_err(redb::Error::from))
            }
            Self::Keys(keys) => keys.find_map(|found| match found {
                Ok((_, None)) => None,
                Ok((key, Some(value))) => Some(Ok((key, value))),
                Err(error) => Some(Err(error)),
            }),
        }
    }
}
