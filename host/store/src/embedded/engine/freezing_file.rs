//! A file that freezes: once a write or a sync of it fails, nothing is written to it any more, and what would have been
//! is kept in memory instead.
//!
//! redb answers nothing after an error of its file, reads included. On a frozen file it goes on, and what it had written
//! before stays readable; its owner sees in [`FreezingFile::failure`] that what came after is not on the disk. A frozen
//! file is also how a store is opened that cannot be written: what redb writes while it opens stays in memory.
//!
//! Some file systems drop what a failed sync should have written, and redb, which trusts what it reads, would panic on
//! what was there before. So the checksums of what is not synced are kept, and such a page is an error to read.

use std::collections::BTreeMap;
use std::io;
use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
};

use redb::StorageBackend;

/// The unit in which a frozen file keeps changes.
const PAGE: usize = 4_096;

/// A file, shared by redb and the owner of the database.
#[derive(Clone, Debug)]
pub(super) struct FreezingFile(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Box<dyn StorageBackend>,
    mode: RwLock<Mode>,
    /// What was written since the last sync.
    unsynced: Mutex<Checksums>,
    /// The first error.
    failure: OnceLock<io::Error>,
}

#[derive(Debug)]
enum Mode {
    Written,
    Frozen(Changes),
    /// Another handle writes the file, so that what this one would read may be something else by now.
    Revoked,
}

/// The checksums of pages, by number; `None` of those that were not written as a whole.
type Checksums = BTreeMap<u64, Option<u32>>;

/// What is not on the disk.
#[derive(Debug)]
struct Changes {
    /// How long the file would be.
    length: u64,
    /// How many bytes of the file still count.
    in_file: u64,
    /// Changed pages, by number.
    pages: BTreeMap<u64, Vec<u8>>,
    /// What was written to the file, and may be lost.
    unsynced: Checksums,
}

impl FreezingFile {
    pub(super) fn new(file: Box<dyn StorageBackend>) -> Self {
        Self(Arc::new(Inner {
            file,
            mode: RwLock::new(Mode::Written),
            unsynced: Mutex::default(),
            failure: OnceLock::new(),
        }))
    }

    /// The first error of the file, if it had one.
    pub(super) fn failure(&self) -> Option<io::Error> {
        self.0.failure.get().map(same)
    }

    /// Makes every later read fail. Those that are under way end before this returns.
    pub(super) fn revoke(&self) {
        *self.0.change() = Mode::Revoked;
    }
}

impl Inner {
    fn mode(&self) -> RwLockReadGuard<'_, Mode> {
        self.mode.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self) -> RwLockWriteGuard<'_, Mode> {
        self.mode.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn unsynced(&self) -> MutexGuard<'_, Checksums> {
        self.unsynced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes to the file while it can be written, and to memory from the first error on.
    fn write(
        &self,
        to_file: impl FnOnce(&dyn StorageBackend) -> io::Result<()>,
        to_memory: impl FnOnce(&mut Changes, &dyn StorageBackend) -> io::Result<()>,
    ) -> io::Result<()> {
        if matches!(*self.mode(), Mode::Written) {
            let Err(error) = to_file(&*self.file) else {
                return Ok(());
            };
            let _earlier = self.failure.set(error);
        }
        let mut mode = self.change();
        if matches!(*mode, Mode::Written) {
            let length = self.file.len()?;
            *mode = Mode::Frozen(Changes {
                length,
                in_file: length,
                pages: BTreeMap::new(),
                unsynced: std::mem::take(&mut self.unsynced()),
            });
        }
        match &mut *mode {
            Mode::Frozen(changes) => to_memory(changes, &*self.file),
            Mode::Written | Mode::Revoked => Err(revoked()),
        }
    }

    /// Reads, and remembers an error.
    fn read<T>(&self, read: impl FnOnce(&Mode) -> io::Result<T>) -> io::Result<T> {
        let mode = self.mode();
        read(&mode).inspect_err(|error| {
            let _earlier = self.failure.set(same(error));
        })
    }
}

impl Changes {
    fn read(&self, file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset.saturating_add(as_u64(out.len()));
        if end > self.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let from_file = as_usize(self.in_file.saturating_sub(offset)).min(out.len());
        let (stored, beyond) = out.split_at_mut(from_file);
        beyond.fill(0);
        if !stored.is_empty() {
            file.read(offset, stored)?;
        }
        for (number, within, range) in pages(offset, out.len()) {
            let Some(out) = out.get_mut(range) else {
                continue;
            };
            if let Some(page) = self.pages.get(&number) {
                if let Some(page) = page.get(within) {
                    out.copy_from_slice(page);
                }
            } else if !self.is_as_written(number, out) {
                return Err(io::Error::other(
                    "the disk has dropped what it was to write",
                ));
            }
        }
        Ok(())
    }

    /// Whether a page of the file, or a part of one, is what was written, as far as that is known.
    fn is_as_written(&self, number: u64, page: &[u8]) -> bool {
        let written = self.unsynced.get(&number).copied().flatten();
        let written = written.filter(|_| page.len() == PAGE);
        written.is_none_or(|written| crc32fast::hash(page) == written)
    }

    fn write(&mut self, file: &dyn StorageBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        let end = offset.saturating_add(as_u64(data.len()));
        self.length = self.length.max(end);
        for (number, within, range) in pages(offset, data.len()) {
            let mut page = match self.pages.remove(&number) {
                Some(page) => page,
                None => self.stored_page(file, number)?,
            };
            if let (Some(page), Some(data)) = (page.get_mut(within), data.get(range)) {
                page.copy_from_slice(data);
            }
            self.pages.insert(number, page);
        }
        Ok(())
    }

    fn set_len(&mut self, length: u64) {
        self.length = length;
        self.in_file = self.in_file.min(length);
        cut(&mut self.unsynced, length);
        self.pages
            .retain(|number, _| number * as_u64(PAGE) < length);
        let last = self.pages.get_mut(&(length / as_u64(PAGE)));
        let rest = last.and_then(|page| page.get_mut(as_usize(length % as_u64(PAGE))..));
        rest.into_iter().for_each(|rest| rest.fill(0));
    }

    /// A page as it is on the disk, zeros where the file has ended.
    fn stored_page(&self, file: &dyn StorageBackend, number: u64) -> io::Result<Vec<u8>> {
        let mut page = vec![0; PAGE];
        let offset = number * as_u64(PAGE);
        let stored = as_usize(self.in_file.saturating_sub(offset)).min(PAGE);
        if let Some(stored) = page.get_mut(..stored).filter(|stored| !stored.is_empty()) {
            file.read(offset, stored)?;
        }
        Ok(page)
    }
}

/// Forgets what was written behind the end of a file, and its last page.
fn cut(unsynced: &mut Checksums, length: u64) {
    drop(unsynced.split_off(&(length / as_u64(PAGE))));
}

/// The pages of a range of a file: the number of each, and which part of it is which part of the range.
fn pages(
    offset: u64,
    length: usize,
) -> impl Iterator<Item = (u64, std::ops::Range<usize>, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset.saturating_add(as_u64(done));
        let begin = as_usize(at % as_u64(PAGE));
        let part = (PAGE - begin).min(length - done);
        let range = done..done + part;
        done += part;
        (part > 0).then(|| (at / as_u64(PAGE), begin..begin + part, range))
    })
}

impl StorageBackend for FreezingFile {
    fn len(&self) -> io::Result<u64> {
        self.0.read(|mode| match mode {
            Mode::Written => self.0.file.len(),
            Mode::Frozen(changes) => Ok(changes.length),
            Mode::Revoked => Err(revoked()),
        })
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(|mode| match mode {
            Mode::Written => self.0.file.read(offset, out),
            Mode::Frozen(changes) => changes.read(&*self.0.file, offset, out),
            Mode::Revoked => Err(revoked()),
        })
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.write(
            |file| {
                file.set_len(length)?;
                cut(&mut self.0.unsynced(), length);
                Ok(())
            },
            |changes, _| {
                changes.set_len(length);
                Ok(())
            },
        )
    }

    fn sync_data(&self) -> io::Result<()> {
        let sync = |file: &dyn StorageBackend| {
            file.sync_data()?;
            self.0.unsynced().clear();
            Ok(())
        };
        self.0.write(sync, |_, _| Ok(()))
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let write = |file: &dyn StorageBackend| {
            file.write(offset, data)?;
            let mut unsynced = self.0.unsynced();
            for (number, _, range) in pages(offset, data.len()) {
                let page = data.get(range).filter(|page| page.len() == PAGE);
                unsynced.insert(number, page.map(crc32fast::hash));
            }
            Ok(())
        };
        self.0
            .write(write, |changes, file| changes.write(file, offset, data))
    }
}

/// The error again, which cannot be cloned.
fn same(error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), error.to_string())
}

fn revoked() -> io::Error {
    io::Error::other("it was opened again")
}

fn as_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn as_usize(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use redb::backends::InMemoryBackend;

    use super::*;

    /// A file whose syncs fail and drop what was written to its second page.
    #[derive(Debug, Default)]
    struct Lossy(InMemoryBackend);

    impl StorageBackend for Lossy {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read(offset, out)
        }

        fn set_len(&self, length: u64) -> io::Result<()> {
            self.0.set_len(length)
        }

        fn sync_data(&self) -> io::Result<()> {
            self.0.write(as_u64(PAGE), &[0; PAGE])?;
            Err(io::Error::other("the disk is broken"))
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            self.0.write(offset, data)
        }
    }

    #[test]
    fn what_a_failed_sync_has_dropped_cannot_be_read_until_it_is_written_again() {
        let file = FreezingFile::new(Box::new(Lossy::default()));
        let written = [7; 3 * PAGE];
        let page = as_u64(PAGE);
        file.set_len(page * 4).unwrap();
        file.write(0, &written).unwrap();
        file.sync_data().unwrap();
        assert!(file.failure().is_some());
        let read = |page: u64, pages: usize| {
            let mut out = vec![0; pages * PAGE];
            file.read(page * as_u64(PAGE), &mut out).map(|()| out)
        };
        assert_eq!(read(0, 1).unwrap(), [7; PAGE]);
        assert_eq!(read(2, 1).unwrap(), [7; PAGE]);
        assert_eq!(read(3, 1).unwrap(), [0; PAGE]);
        assert!(read(1, 1).is_err() && read(0, 3).is_err());
        file.write(page, &[8; PAGE]).unwrap();
        assert_eq!(read(1, 1).unwrap(), [8; PAGE]);
        file.set_len(page).unwrap();
        file.set_len(page * 3).unwrap();
        assert_eq!(read(2, 1).unwrap(), [0; PAGE]);
    }
}
