//! Facts about a store that its file records beside what it contains, to notice what is missing.

use redb::{ReadableTable, Table};

use super::tables::{FORMAT, FORMAT_KEY, ROW_TAGS, malformed};

/// The names of the facts in [`META`](super::tables::META), and of their checksum.
const NAMES: [&str; 5] = ["flushed", "salt", "runs", "first rows", "second rows"];
const CHECKSUM: &str = "checksum";

/// Facts about a store, each transaction's own.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Facts {
    /// The last record of the journal that is flushed.
    pub(in super::super) flushed: u64,
    /// The salt of the journal's records.
    pub(in super::super) salt: u64,
    /// How many runs it has.
    pub(super) runs: u64,
    /// How many rows it has, by tag, as in [`ROW_TAGS`].
    pub(super) rows: [u64; 2],
}

impl Facts {
    /// Reads them.
    ///
    /// # Errors
    /// When they are not as they were written.
    pub(super) fn read(table: &impl ReadableTable<&'static str, u64>) -> Result<Self, redb::Error> {
        let fact = |name| {
            let fact = table.get(name)?.ok_or_else(malformed)?;
            Ok::<u64, redb::Error>(fact.value())
        };
        let mut numbers = [0; NAMES.len()];
        for (number, name) in numbers.iter_mut().zip(NAMES) {
            *number = fact(name)?;
        }
        if fact(CHECKSUM)? != checksum(&numbers) {
            return Err(malformed());
        }
        let [flushed, salt, runs, first, second] = numbers;
        Ok(Self {
            flushed,
            salt,
            runs,
            rows: [first, second],
        })
    }

    pub(super) fn write(self, table: &mut Table<'_, &'static str, u64>) -> Result<(), redb::Error> {
        let [first, second] = self.rows;
        let numbers = [self.flushed, self.salt, self.runs, first, second];
        for (number, name) in numbers.iter().zip(NAMES) {
            table.insert(name, number)?;
        }
        table.insert(FORMAT_KEY, FORMAT)?;
        table.insert(CHECKSUM, checksum(&numbers))?;
        Ok(())
    }

    /// The number of rows with the tag of a key.
    pub(super) fn rows_like(&mut self, key: &[u8]) -> Option<&mut u64> {
        let tag = ROW_TAGS.iter().position(|tag| Some(tag) == key.first())?;
        self.rows.get_mut(tag)
    }
}

fn checksum(numbers: &[u64]) -> u64 {
    let mut checksum = crc32fast::Hasher::new();
    for number in numbers {
        checksum.update(&number.to_be_bytes());
    }
    checksum.finalize().into()
}
