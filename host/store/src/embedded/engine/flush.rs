//! A flush: a memtable becomes a sorted run in redb, and compactions advance.
//!
//! This is a log-structured merge tree. Eight runs of a level are compacted into one of the next, so that there are few
//! runs however much is stored, and every key is rewritten only a few times; a B-tree of keys would rewrite a page for
//! nearly every one. Compactions advance in steps: each flush merges, on every level, somewhat more than it writes, so
//! that no flush takes long and compactions keep up with what is written.
//!
//! One transaction writes the run, takes a step of each compaction and records both; after a crash the changes are
//! either flushed or still in the journal. A compaction that was interrupted starts over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use redb::{Durability, ReadableDatabase, Table};

use super::compaction::Compaction;
use super::database::Database;
use super::disk_snapshot::DiskSnapshot;
use super::facts::Facts;
use super::filter::KeyHash;
use super::memtable::Changes;
use super::row;
use super::run::{self, Blocks, Run, RunWriter};
use super::tables::{BLOCKS, Key, META, ROWS, RUNS, is_row, malformed};

/// How many runs of a level are compacted into one.
const FANOUT: usize = 8;

/// When the journal is flushed, and how much is compacted then.
#[derive(Clone, Copy)]
pub(in super::super) struct FlushLimits {
    /// How large a file of the journal gets before a flush begins, in bytes.
    pub(in super::super) flush_at: u64,
    /// At which size the writer stalls until the flush before has finished, in bytes.
    pub(in super::super) stall_at: u64,
    /// How many bytes a flush compacts on each level, at least.
    pub(in super::super) compaction_bytes: usize,
}

impl Default for FlushLimits {
    /// 8, 32 and 4 MiB. What is not flushed is also in memory, and is read again after a crash.
    fn default() -> Self {
        Self {
            flush_at: 8 << 20,
            stall_at: 32 << 20,
            compaction_bytes: 4 << 20,
        }
    }
}

/// The tables that a flush writes.
struct Tables<'a> {
    blocks: Blocks<'a>,
    runs: Table<'a, u64, &'static [u8]>,
    rows: Table<'a, &'static [u8], &'static [u8]>,
}

/// The runs of a store and their compactions.
pub(in super::super) struct Flusher {
    database: Arc<Database>,
    facts: Facts,
    /// All runs, newest first.
    runs: Vec<Arc<Run>>,
    /// Runs that an interrupted compaction has begun; the next flush removes their blocks.
    unfinished: Vec<u64>,
    /// The compactions that are under way, by the level of their inputs.
    compactions: BTreeMap<u64, Compaction>,
    /// The number of the next run.
    next_number: u64,
    /// How many bytes a flush compacts on each level, at least.
    compaction_bytes: usize,
}

impl Flusher {
    /// Reads the runs of a database. Writes nothing.
    pub(super) fn new(
        database: &Arc<Database>,
        compaction_bytes: usize,
    ) -> Result<Self, redb::Error> {
        let runs = run::all(database)?;
        let facts = database.facts()?;
        if facts.runs != as_u64(runs.len()) {
            return Err(malformed());
        }
        let known: BTreeSet<u64> = runs.iter().map(|run| run.number).collect();
        let mut last = known.last().copied();
        let mut unfinished = Vec::new();
        let blocks = database.redb()?.begin_read()?.open_table(BLOCKS)?;
        let mut after = None;
        while let Some(number) = run::next_with_blocks(&blocks, after)? {
            (after, last) = (Some(number), last.max(Some(number)));
            unfinished.extend((!known.contains(&number)).then_some(number));
        }
        Ok(Self {
            database: Arc::clone(database),
            facts,
            runs,
            unfinished,
            compactions: BTreeMap::new(),
            next_number: last.map_or(0, |last| last.saturating_add(1)),
            compaction_bytes,
        })
    }

    /// What is flushed now.
    pub(in super::super) fn snapshot(&self) -> Result<DiskSnapshot, redb::Error> {
        DiskSnapshot::new(&self.database, self.runs.clone())
    }

    /// Why the file can no longer be written, if that is so.
    pub(in super::super) fn failure(&self) -> Option<redb::Error> {
        self.database.failure()
    }

    /// Flushes the changes up to the journal's record `through`. After an error nothing more may be flushed.
    pub(in super::super) fn flush(
        &mut self,
        changes: &Changes,
        through: u64,
    ) -> Result<(), redb::Error> {
        let disk = self.snapshot()?;
        let database = Arc::clone(&self.database);
        let mut tx = database.redb()?.begin_write()?;
        tx.set_durability(Durability::Immediate)?;
        // Two fsyncs instead of one, and redb's free pages with every transaction. Without it, opening after a crash reads
        // and verifies the whole file, seconds for a store of a gigabyte; blocks, rows and runs have checksums of their
        // own, which every read verifies.
        tx.set_quick_repair(true);
        {
            let mut tables = Tables {
                blocks: tx.open_table(BLOCKS)?,
                runs: tx.open_table(RUNS)?,
                rows: tx.open_table(ROWS)?,
            };
            for number in self.unfinished.drain(..) {
                run::remove(&mut tables.blocks, number)?;
            }
            let length = |(key, value): (&Key, &Option<Bytes>)| {
                key.len() + value.as_ref().map_or(0, Bytes::len)
            };
            let flushed = changes.iter().map(length).sum::<usize>();
            let bytes = self.compaction_bytes.max(flushed + flushed / 4);
            self.begin_compactions();
            self.step_compactions(&disk, &mut tables, bytes)?;
            self.add_run(&mut tables, changes)?;
            (self.facts.flushed, self.facts.runs) = (through, as_u64(self.runs.len()));
            self.facts.write(&mut tx.open_table(META)?)?;
        }
        tx.commit()?;
        // Only in memory, if the file has failed.
        self.failure().map_or(Ok(()), Err)
    }

    /// Writes changes as the newest run, and as rows.
    fn add_run(&mut self, tables: &mut Tables<'_>, changes: &Changes) -> Result<(), redb::Error> {
        let keys = changes.len().try_into().unwrap_or(u64::MAX);
        let mut run = self.begin_run(0, keys);
        for (key, value) in changes {
            match value {
                Some(row) if is_row(key) => {
                    let row = row::seal(key, row);
                    let is_new = tables
                        .rows
                        .insert(key.as_slice(), row.as_slice())?
                        .is_none();
                    let rows = self.facts.rows_like(key).filter(|_| is_new);
                    rows.into_iter().for_each(|rows| *rows += 1);
                }
                None if is_row(key) => {
                    let existed = tables.rows.remove(key.as_slice())?.is_some();
                    let rows = self.facts.rows_like(key).filter(|_| existed);
                    rows.into_iter()
                        .for_each(|rows| *rows = rows.saturating_sub(1));
                }
                // What came and went between two flushes, as most leases do, leaves no tombstone.
                None if !self.may_contain(key) => {}
                _ => run.push(&mut tables.blocks, key, value.as_deref())?,
            }
        }
        let run = run.finish(&mut tables.blocks)?;
        if run.keys > 0 {
            tables.runs.insert(run.number, run.row().as_slice())?;
            self.runs.insert(0, Arc::new(run));
        }
        Ok(())
    }

    /// Whether a run may have a key that is not a row's.
    fn may_contain(&self, key: &[u8]) -> bool {
        let hash = KeyHash::of(key);
        self.runs.iter().any(|run| run.filter.may_contain(hash))
    }

    /// Begins a compaction of the oldest runs of every level that has enough of them and no compaction yet.
    fn begin_compactions(&mut self) {
        let mut levels: BTreeMap<u64, Vec<Arc<Run>>> = BTreeMap::new();
        for run in &self.runs {
            levels.entry(run.level).or_default().push(Arc::clone(run));
        }
        let oldest = self.runs.last().map(|run| run.number);
        for (level, mut runs) in levels {
            if runs.len() < FANOUT || self.compactions.contains_key(&level) {
                continue;
            }
            let inputs = runs.split_off(runs.len() - FANOUT);
            let keys = inputs.iter().map(|run| run.keys).sum();
            let output = self.begin_run(level.saturating_add(1), keys);
            let has_oldest = inputs.last().map(|run| run.number) == oldest;
            let compaction = Compaction::new(inputs, output, has_oldest);
            self.compactions.insert(level, compaction);
        }
    }

    /// Advances every compaction by so many bytes. One that falls behind new runs, as when a store is always closed
    /// before it is finished, is completed at once.
    fn step_compactions(
        &mut self,
        disk: &DiskSnapshot,
        tables: &mut Tables<'_>,
        bytes: usize,
    ) -> Result<(), redb::Error> {
        for (level, mut compaction) in std::mem::take(&mut self.compactions) {
            let runs = self.runs.iter().filter(|run| run.level == level);
            let is_behind = runs.count() >= 2 * FANOUT;
            let bytes = if is_behind { usize::MAX } else { bytes };
            if compaction.step(disk, &mut tables.blocks, bytes)? {
                self.finish_compaction(tables, compaction)?;
            } else {
                self.compactions.insert(level, compaction);
            }
        }
        Ok(())
    }

    /// Replaces the inputs of a compaction by its output.
    fn finish_compaction(
        &mut self,
        tables: &mut Tables<'_>,
        compaction: Compaction,
    ) -> Result<(), redb::Error> {
        let (inputs, output) = compaction.finish(&mut tables.blocks)?;
        let output = Arc::new(output);
        if output.keys > 0 {
            tables.runs.insert(output.number, output.row().as_slice())?;
        }
        for run in &inputs {
            tables.runs.remove(run.number)?;
            run::remove(&mut tables.blocks, run.number)?;
        }
        let newest = inputs.first().map(|run| run.number);
        for run in &mut self.runs {
            if Some(run.number) == newest {
                *run = Arc::clone(&output);
            }
        }
        self.runs.retain(|run| {
            let is_input = inputs.iter().any(|input| input.number == run.number);
            run.keys > 0 && !is_input
        });
        Ok(())
    }

    fn begin_run(&mut self, level: u64, keys: u64) -> RunWriter {
        let number = self.next_number;
        self.next_number = self.next_number.saturating_add(1);
        RunWriter::new(number, level, keys)
    }
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::super::super::tests::{FakeDisk, random};
    use super::super::Disk;
    use super::super::disk_snapshot::RunEntry;
    use super::*;

    /// How much a flush compacts on each level, at least: a small part of a level.
    const COMPACTION_BYTES: usize = 500;

    fn key(number: usize) -> Key {
        format!("e\0tenant\0key {number:04}").into()
    }

    /// Of values that are no longer than this, few of which are long.
    fn changes(random: &mut impl FnMut(usize) -> usize, longest: usize) -> Changes {
        let change = |_| {
            let length = if random(20) == 0 { longest } else { 400 };
            let value = (random(3) > 0).then(|| Bytes::from(vec![b'x'; random(length)]));
            (key(random(200)), value)
        };
        (0..20).map(change).collect()
    }

    fn database() -> Arc<Database> {
        let disk = FakeDisk::default();
        Arc::new(Database::open(disk.redb().unwrap(), disk.path()).unwrap())
    }

    /// The run of each block.
    fn blocks(database: &Database) -> Vec<u64> {
        let table = database
            .redb()
            .unwrap()
            .begin_read()
            .unwrap()
            .open_table(BLOCKS)
            .unwrap();
        let rows = table.range::<&[u8]>(..).unwrap();
        let run = |row: Result<(redb::AccessGuard<'_, &[u8]>, _), _>| {
            let (key, _): (_, redb::AccessGuard<'_, &[u8]>) = row.unwrap();
            u64::from_be_bytes(*key.value().first_chunk().unwrap())
        };
        rows.map(run).collect()
    }

    /// What is found, unless it is a tombstone.
    fn existing(found: Result<RunEntry, redb::Error>) -> Option<Result<(Key, Bytes), redb::Error>> {
        found
            .map(|(key, value)| Some((Key::from(key), value?)))
            .transpose()
    }

    /// Asserts that a snapshot finds what a map contains, by key and by range.
    fn assert_matches(disk: &DiskSnapshot, model: &BTreeMap<Key, Bytes>) {
        let all: Vec<_> = disk
            .range(&(key(0)..key(9_999)))
            .unwrap()
            .filter_map(existing)
            .collect::<Result<_, _>>()
            .unwrap();
        let expected: Vec<_> = model.clone().into_iter().collect();
        assert_eq!(all, expected);
        for number in 0..200 {
            let key = key(number);
            let found = disk.find(&key, super::super::filter::KeyHash::of(&key));
            assert_eq!(found.unwrap().as_ref(), model.get(&key));
        }
        let some = disk.range(&(key(50)..key(60))).unwrap();
        let some = some.filter_map(existing).count();
        assert_eq!(some, model.range(key(50)..key(60)).count());
    }

    #[test]
    fn runs_stay_few_and_complete_even_when_compactions_are_interrupted() {
        for seed in 0..8 {
            let mut random = random(seed);
            let database = &database();
            let mut flusher = Flusher::new(database, COMPACTION_BYTES).unwrap();
            let (mut model, mut interrupted) = (BTreeMap::new(), 0);
            // A long value is written at once, also by a compaction that has just begun.
            let longest = if seed % 2 == 1 { 400 } else { 40_000 };
            for record in 1..=300 {
                let changes = changes(&mut random, longest);
                flusher.flush(&changes, record).unwrap();
                for (key, value) in changes {
                    match value {
                        Some(value) => drop(model.insert(key, value)),
                        None => drop(model.remove(&key)),
                    }
                }
                // Every second store is never closed, the others after nearly every flush.
                if seed % 2 == 1 && random(3) > 0 {
                    interrupted += usize::from(!flusher.compactions.is_empty());
                    flusher = Flusher::new(database, COMPACTION_BYTES).unwrap();
                    flusher.flush(&Changes::new(), record).unwrap();
                    let known: BTreeSet<u64> = flusher.runs.iter().map(|run| run.number).collect();
                    let with_blocks: BTreeSet<u64> = blocks(database).into_iter().collect();
                    assert_eq!(
                        with_blocks, known,
                        "seed {seed}: an interrupted compaction left blocks"
                    );
                }
                let levels = flusher.runs.iter().map(|run| run.level).max().unwrap_or(0) + 1;
                let most = usize::try_from(levels).unwrap() * 2 * FANOUT;
                assert!(flusher.runs.len() <= most, "{} runs", flusher.runs.len());
                if record % 50 == 0 {
                    assert_matches(&flusher.snapshot().unwrap(), &model);
                }
            }
            assert!(flusher.runs.iter().any(|run| run.level > 1), "seed {seed}");
            assert_eq!(interrupted > 0, seed % 2 == 1, "seed {seed}");
        }
    }

    #[test]
    fn only_who_looks_for_a_large_value_reads_it() {
        let value = |length| Some(Bytes::from(vec![b'x'; length]));
        let changes = Changes::from([(key(1), value(10)), (key(3), value(300_000))]);
        for with_more in [true, false] {
            let more = with_more.then(|| (key(5), value(10)));
            let changes = changes.clone().into_iter().chain(more).collect();
            let database = database();
            let mut flusher = Flusher::new(&database, COMPACTION_BYTES).unwrap();
            flusher.flush(&changes, 1).unwrap();
            let run = flusher.runs.first().unwrap().number;
            let table = database.redb().unwrap().begin_read().unwrap();
            let table = table.open_table(BLOCKS).unwrap();
            for other in [0, 1, 2, 4, 5, 6] {
                let to = run::block_key(run, &key(other));
                let mut before = table.range::<&[u8]>(..=to.as_slice()).unwrap();
                let (_, block) = before.next_back().unwrap().unwrap();
                let length = block.value().len();
                assert!(length < 1_000, "{length} bytes for key {other}");
            }
            let model = changes
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?)))
                .collect();
            assert_matches(&flusher.snapshot().unwrap(), &model);
        }
    }

    #[test]
    fn a_key_that_came_and_went_between_two_flushes_is_not_written() {
        let database = &database();
        let mut flusher = Flusher::new(database, COMPACTION_BYTES).unwrap();
        let value = Some(Bytes::from_static(b"value"));
        let changes = Changes::from([(key(1), value), (key(2), None)]);
        flusher.flush(&changes, 1).unwrap();
        assert_eq!(flusher.runs.first().unwrap().keys, 1);
        let changes = Changes::from([(key(1), None), (key(2), None)]);
        flusher.flush(&changes, 2).unwrap();
        assert_eq!(flusher.runs.first().unwrap().keys, 1);
        assert_matches(&flusher.snapshot().unwrap(), &BTreeMap::new());
    }

    #[test]
    fn deleted_keys_leave_nothing_behind() {
        let database = &database();
        let mut flusher = Flusher::new(database, COMPACTION_BYTES).unwrap();
        for record in 1..=u64::try_from(FANOUT).unwrap() {
            let value = (record == 1).then(|| Bytes::from_static(b"value"));
            let changes = Changes::from([(key(1), value)]);
            flusher.flush(&changes, record).unwrap();
        }
        assert_eq!(flusher.runs.len(), FANOUT);
        flusher.flush(&Changes::new(), 99).unwrap();
        assert_eq!(flusher.runs.len(), 0);
        assert_eq!(blocks(database), Vec::<u64>::new());
        assert_matches(&flusher.snapshot().unwrap(), &BTreeMap::new());
    }
}
