//! Filing: what the journal holds goes into redb, many commits at once, as a run (`runs`).
//!
//! Eight runs of a level are merged into one of the next, so that there are few runs however much is stored, and every
//! key is written again only a few times; a B-tree of keys would write a page for nearly every one. Merging goes on in
//! steps: each filing merges, on every level, somewhat more than what it files, so that none takes long and merging
//! keeps up with what comes.
//!
//! One transaction files a layer, takes a step of each merge and says so in the same moment; after a crash it is
//! either filed or still in the journal. A merge that was not finished begins again. The writer starts a filing beside
//! its own work and waits for it only when the other file of the journal is full too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use redb::{Database, Durability, Table};

use super::overlay::Changes;
use super::runs::{self, Base, Blocks, Run, Unfinished};
use super::tables::{self, ABOUT, BLOCKS, FILED_KEY, Key, ROWS, RUNS};

/// How many runs of a level become one.
const TOGETHER: usize = 8;

/// What a filing writes.
struct Tables<'a> {
    blocks: Blocks<'a>,
    runs: Table<'a, u64, &'static [u8]>,
    rows: Table<'a, &'static [u8], &'static [u8]>,
}

/// What files.
pub(super) struct Filer {
    /// All runs, newest first.
    runs: Vec<Arc<Run>>,
    /// The merge of each level that has one.
    merges: BTreeMap<u64, Merge>,
    /// The number of the next run.
    next: u64,
    /// How many bytes a filing merges of a level, at least.
    step: usize,
}

/// Runs that become one.
struct Merge {
    /// Newest first.
    from: Vec<Arc<Run>>,
    to: Unfinished,
    /// The first key that is not merged yet.
    at: Key,
    /// Whether nothing is older, so that keys that go need not be said any more.
    oldest: bool,
}

impl Filer {
    /// What files in a database: removes what a merge left that was not finished.
    pub(super) fn new(database: &Database, step: usize) -> Result<Self, redb::Error> {
        let runs = runs::all(database)?;
        let known: BTreeSet<u64> = runs.iter().map(|run| run.number).collect();
        let mut last = known.last().copied();
        let tx = database.begin_write()?;
        let mut unfinished = Vec::new();
        {
            let mut blocks = tx.open_table(BLOCKS)?;
            let mut at = None;
            while let Some(run) = runs::next_with_blocks(&blocks, at)? {
                (at, last) = (Some(run), last.max(Some(run)));
                unfinished.extend((!known.contains(&run)).then_some(run));
            }
            for run in &unfinished {
                runs::remove(&mut blocks, *run)?;
            }
        }
        if unfinished.is_empty() {
            tx.abort()?;
        } else {
            tx.commit()?;
        }
        Ok(Self {
            runs,
            merges: BTreeMap::new(),
            next: last.map_or(0, |last| last.saturating_add(1)),
            step,
        })
    }

    /// What is filed.
    pub(super) fn base(&self, database: &Database) -> Result<Base, redb::Error> {
        Base::of(database, self.runs.clone())
    }

    /// Files the changes up to a record of the journal. After an error nothing more may be filed.
    pub(super) fn file(
        &mut self,
        database: &Database,
        changes: &Changes,
        through: u64,
    ) -> Result<(), redb::Error> {
        let base = self.base(database)?;
        let mut tx = database.begin_write()?;
        // One fsync a transaction. redb's other mode, two-phase commits with quick repair, needs two
        // and writes its free pages each time, to open faster after a crash. With one, opening after a
        // crash checks every page against its checksum instead, which is what a store should do that
        // was not closed; what it guards against, an adversary who forges checksums and times power
        // cuts, is not one of ours.
        tx.set_durability(Durability::Immediate)?;
        {
            let mut tables = Tables {
                blocks: tx.open_table(BLOCKS)?,
                runs: tx.open_table(RUNS)?,
                rows: tx.open_table(ROWS)?,
            };
            let length = |(key, value): (&Key, &Option<Bytes>)| {
                key.len() + value.as_ref().map_or(0, Bytes::len)
            };
            let filed = changes.iter().map(length).sum::<usize>();
            self.begin_merges();
            self.step_merges(&base, &mut tables, self.step.max(filed + filed / 4))?;
            self.add(&mut tables, changes)?;
            tx.open_table(ABOUT)?.insert(FILED_KEY, through)?;
        }
        tx.commit()?;
        Ok(())
    }

    /// Writes a layer as the newest run, and its rows.
    fn add(&mut self, tables: &mut Tables<'_>, changes: &Changes) -> Result<(), redb::Error> {
        let keys = changes.len().try_into().unwrap_or(u64::MAX);
        let mut run = self.unfinished(0, keys);
        for (key, value) in changes {
            match value {
                Some(row) if tables::is_row(key) => {
                    tables.rows.insert(key.as_slice(), row.as_ref())?;
                }
                None if tables::is_row(key) => drop(tables.rows.remove(key.as_slice())?),
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

    /// Begins a merge of every level that has enough runs and no merge yet, of its oldest runs.
    fn begin_merges(&mut self) {
        let mut levels: BTreeMap<u64, Vec<Arc<Run>>> = BTreeMap::new();
        for run in &self.runs {
            levels.entry(run.level).or_default().push(Arc::clone(run));
        }
        let oldest = self.runs.last().map(|run| run.number);
        for (level, mut runs) in levels {
            if runs.len() < TOGETHER || self.merges.contains_key(&level) {
                continue;
            }
            let from = runs.split_off(runs.len() - TOGETHER);
            let keys = from.iter().map(|run| run.keys).sum();
            let merge = Merge {
                oldest: from.last().map(|run| run.number) == oldest,
                to: self.unfinished(level.saturating_add(1), keys),
                from,
                at: Key::new(),
            };
            self.merges.insert(level, merge);
        }
    }

    /// Goes on with every merge, by so many bytes; one that new runs get ahead of, as when a store is
    /// always closed in the midst of it, is done at once.
    fn step_merges(
        &mut self,
        base: &Base,
        tables: &mut Tables<'_>,
        bytes: usize,
    ) -> Result<(), redb::Error> {
        for (level, mut merge) in std::mem::take(&mut self.merges) {
            let runs = self.runs.iter().filter(|run| run.level == level);
            let late = runs.count() >= 2 * TOGETHER;
            if merge.step(base, tables, if late { usize::MAX } else { bytes })? {
                self.end_merge(tables, merge)?;
            } else {
                self.merges.insert(level, merge);
            }
        }
        Ok(())
    }

    /// Puts what was merged in the place of what it was merged from.
    fn end_merge(&mut self, tables: &mut Tables<'_>, merge: Merge) -> Result<(), redb::Error> {
        let merged = Arc::new(merge.to.finish(&mut tables.blocks)?);
        if merged.keys > 0 {
            tables.runs.insert(merged.number, merged.row().as_slice())?;
        }
        for run in &merge.from {
            tables.runs.remove(run.number)?;
            runs::remove(&mut tables.blocks, run.number)?;
        }
        let newest = merge.from.first().map(|run| run.number);
        for run in &mut self.runs {
            if Some(run.number) == newest {
                *run = Arc::clone(&merged);
            }
        }
        self.runs.retain(|run| {
            let merged_away = merge.from.iter().any(|from| from.number == run.number);
            run.keys > 0 && !merged_away
        });
        Ok(())
    }

    fn unfinished(&mut self, level: u64, keys: u64) -> Unfinished {
        let number = self.next;
        self.next = self.next.saturating_add(1);
        Unfinished::new(number, level, keys)
    }
}

impl Merge {
    /// Merges so many bytes; whether nothing is left.
    fn step(
        &mut self,
        base: &Base,
        tables: &mut Tables<'_>,
        bytes: usize,
    ) -> Result<bool, redb::Error> {
        let mut merged = 0;
        for found in base.merged(&self.from, self.at.clone())? {
            let (key, value) = found?;
            if merged >= bytes {
                self.at = key.into();
                return Ok(false);
            }
            merged += key.len() + value.as_ref().map_or(0, Bytes::len);
            if value.is_some() || !self.oldest {
                self.to.push(&mut tables.blocks, &key, value.as_deref())?;
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use redb::ReadableDatabase;
    use redb::backends::InMemoryBackend;

    use super::super::folder::Folder;
    use super::super::tests::random;
    use super::*;

    /// What a filing of these tests merges at least: a small part of a level.
    const STEP: usize = 500;

    fn key(number: usize) -> Key {
        format!("e\0tenant\0key {number:04}").into()
    }

    fn layer(random: &mut impl FnMut(usize) -> usize) -> Changes {
        let change = |_| {
            let value = (random(3) > 0).then(|| Bytes::from(vec![b'x'; random(400)]));
            (key(random(200)), value)
        };
        (0..20).map(change).collect()
    }

    fn blocks(database: &Database) -> Vec<u64> {
        let table = database.begin_read().unwrap().open_table(BLOCKS).unwrap();
        let rows = table.range::<&[u8]>(..).unwrap();
        let run = |row: Result<(redb::AccessGuard<'_, &[u8]>, _), _>| {
            let (key, _): (_, redb::AccessGuard<'_, &[u8]>) = row.unwrap();
            u64::from_be_bytes(*key.value().first_chunk().unwrap())
        };
        rows.map(run).collect()
    }

    /// That a base has what a map has, asked for by key and by range.
    fn assert_like(base: &Base, model: &BTreeMap<Key, Bytes>) {
        let all: Vec<_> = base
            .range(&(key(0)..key(9_999)))
            .unwrap()
            .map(|found| found.map(|(key, value)| (Key::from(key), value)))
            .collect::<Result<_, _>>()
            .unwrap();
        let expected: Vec<_> = model.clone().into_iter().collect();
        assert_eq!(all, expected);
        for number in 0..200 {
            let key = key(number);
            let found = base.find(&key, super::super::filter::Mark::of(&key));
            assert_eq!(found.unwrap().as_ref(), model.get(&key));
        }
        let some: Vec<_> = base.range(&(key(50)..key(60))).unwrap().collect();
        assert_eq!(some.len(), model.range(key(50)..key(60)).count());
    }

    #[test]
    fn runs_stay_few_and_say_what_was_filed_also_when_a_merge_is_broken_off() {
        for seed in 0..8 {
            let mut random = random(seed);
            let (folder, _) = Folder::on(InMemoryBackend::new()).unwrap();
            let database = folder.database().unwrap();
            let mut filer = Filer::new(database, STEP).unwrap();
            let (mut model, mut broken_off) = (BTreeMap::new(), 0);
            for record in 1..=300 {
                let layer = layer(&mut random);
                filer.file(database, &layer, record).unwrap();
                for (key, value) in layer {
                    match value {
                        Some(value) => drop(model.insert(key, value)),
                        None => drop(model.remove(&key)),
                    }
                }
                // Every second store is never closed, every other one after nearly each filing.
                if seed % 2 == 1 && random(3) > 0 {
                    broken_off += usize::from(!filer.merges.is_empty());
                    filer = Filer::new(database, STEP).unwrap();
                    let known: BTreeSet<u64> = filer.runs.iter().map(|run| run.number).collect();
                    let there: BTreeSet<u64> = blocks(database).into_iter().collect();
                    assert_eq!(there, known, "seed {seed}: what was broken off is gone");
                }
                let levels = filer.runs.iter().map(|run| run.level).max().unwrap_or(0) + 1;
                let most = usize::try_from(levels).unwrap() * 2 * TOGETHER;
                assert!(filer.runs.len() <= most, "{} runs", filer.runs.len());
                if record % 50 == 0 {
                    assert_like(&filer.base(database).unwrap(), &model);
                }
            }
            assert!(filer.runs.iter().any(|run| run.level > 1), "seed {seed}");
            assert_eq!(broken_off > 0, seed % 2 == 1, "seed {seed}");
        }
    }

    #[test]
    fn keys_that_are_gone_leave_nothing_behind() {
        let (folder, _) = Folder::on(InMemoryBackend::new()).unwrap();
        let database = folder.database().unwrap();
        let mut filer = Filer::new(database, STEP).unwrap();
        for record in 1..=u64::try_from(TOGETHER).unwrap() {
            let value = (record == 1).then(|| Bytes::from_static(b"value"));
            let layer = Changes::from([(key(1), value)]);
            filer.file(database, &layer, record).unwrap();
        }
        assert_eq!(filer.runs.len(), TOGETHER);
        filer.file(database, &Changes::new(), 99).unwrap();
        assert_eq!(filer.runs.len(), 0);
        assert_eq!(blocks(database), Vec::<u64>::new());
        assert_like(&filer.base(database).unwrap(), &BTreeMap::new());
    }
}
