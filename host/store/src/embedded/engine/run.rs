//! A sorted run: keys with their values or tombstones, written once and never changed.
//!
//! A run is a row of [`RUNS`] and its blocks in [`BLOCKS`](super::tables::BLOCKS), by the run's number and where each
//! begins.

use std::ops::Range;
use std::sync::Arc;

use redb::{ReadableDatabase, ReadableTable, Table};

use super::block::Builder;
use super::database::Database;
use super::filter::{Filter, KeyHash};
use super::tables::{RUNS, malformed};

/// A run, without its blocks.
pub(in super::super) struct Run {
    /// Unique among all runs that the store has or had.
    pub(in super::super) number: u64,
    /// 0 for a flushed memtable; one more than the runs that a compacted one was merged from. Runs of a higher level are
    /// older; within a level, those with a lower number are.
    pub(in super::super) level: u64,
    /// How many keys it has, tombstones included.
    pub(in super::super) keys: u64,
    pub(in super::super) filter: Filter,
}

/// A run that is being written.
pub(in super::super) struct RunWriter {
    run: Run,
    block: Builder,
}

/// The table of blocks, to be written.
pub(in super::super) type Blocks<'a> = Table<'a, &'static [u8], &'static [u8]>;

/// What the keys of the blocks of a run begin with.
pub(in super::super) fn prefix(run: u64) -> [u8; 8] {
    run.to_be_bytes()
}

/// The key of the block that begins at `from`.
pub(in super::super) fn block_key(run: u64, from: &[u8]) -> Vec<u8> {
    [&prefix(run), from].concat()
}

/// The run that a block belongs to.
fn run_of(block_key: &[u8]) -> Result<u64, redb::Error> {
    let run = block_key.first_chunk().ok_or_else(malformed)?;
    Ok(u64::from_be_bytes(*run))
}

/// The keys of all blocks of a run.
fn blocks_of(run: u64) -> Range<Vec<u8>> {
    prefix(run).to_vec()..prefix(run.saturating_add(1)).to_vec()
}

/// All runs of a store, newest first.
pub(in super::super) fn all(database: &Database) -> Result<Vec<Arc<Run>>, redb::Error> {
    let table = database.redb()?.begin_read()?.open_table(RUNS)?;
    let mut runs = Vec::new();
    for row in table.iter()? {
        let (number, row) = row?;
        runs.push(Arc::new(Run::read(number.value(), row.value())?));
    }
    runs.sort_by_key(|run| (run.level, u64::MAX - run.number));
    Ok(runs)
}

/// The number of the first run after `after` that has a block.
pub(in super::super) fn next_with_blocks(
    blocks: &impl ReadableTable<&'static [u8], &'static [u8]>,
    after: Option<u64>,
) -> Result<Option<u64>, redb::Error> {
    let first = after.map_or_else(Vec::new, |after| blocks_of(after).end);
    let next = blocks.range(first.as_slice()..)?.next().transpose()?;
    next.map(|(key, _)| run_of(key.value())).transpose()
}

/// Removes the blocks of a run.
pub(in super::super) fn remove(blocks: &mut Blocks<'_>, run: u64) -> Result<(), redb::Error> {
    let all = blocks_of(run);
    blocks.retain_in(all.start.as_slice()..all.end.as_slice(), |_, _| false)?;
    Ok(())
}

impl Run {
    fn read(number: u64, row: &[u8]) -> Result<Self, redb::Error> {
        let (row, checksum) = row.split_last_chunk().ok_or_else(malformed)?;
        if checksum_of(number, row) != *checksum {
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

    /// Its row in the table of runs. It ends with a checksum, since a filter that lost a bit would hide keys.
    pub(in super::super) fn row(&self) -> Vec<u8> {
        let mut row = [self.level.to_be_bytes(), self.keys.to_be_bytes()].concat();
        self.filter.write(&mut row);
        let checksum = checksum_of(self.number, &row);
        row.extend_from_slice(&checksum);
        row
    }
}

fn checksum_of(number: u64, row: &[u8]) -> [u8; 4] {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&number.to_be_bytes());
    checksum.update(row);
    checksum.finalize().to_be_bytes()
}

impl RunWriter {
    /// Begins a run of at most so many keys.
    pub(in super::super) fn new(number: u64, level: u64, keys: u64) -> Self {
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

    /// Adds a key, which must be greater than those before it; a value of `None` is a tombstone.
    pub(in super::super) fn push(
        &mut self,
        blocks: &mut Blocks<'_>,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), redb::Error> {
        if !self.block.fits(key, value) {
            self.write(blocks, key)?;
        }
        self.run.keys += 1;
        self.run.filter.add(KeyHash::of(key));
        self.block.push(key, value)?;
        if self.block.is_large() {
            // Whoever looks for a later key finds it in the next block.
            self.write(blocks, &[key, &[0]].concat())?;
        }
        Ok(())
    }

    /// Writes the last block, which is empty behind a large entry.
    pub(in super::super) fn finish(mut self, blocks: &mut Blocks<'_>) -> Result<Run, redb::Error> {
        if self.run.keys > 0 {
            self.write(blocks, &[])?;
        }
        Ok(self.run)
    }

    /// Writes a block that ends before the key `to`.
    fn write(&mut self, blocks: &mut Blocks<'_>, to: &[u8]) -> Result<(), redb::Error> {
        let (from, block) = self.block.finish(self.run.number, to)?;
        let key = block_key(self.run.number, &from);
        blocks.insert(key.as_slice(), block.as_slice())?;
        Ok(())
    }
}
