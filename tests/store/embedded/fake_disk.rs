//! A disk in memory for tests of what a disk may do: fail, be slow, lose what was not synced.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use redb::StorageBackend;

use super::super::engine::{Files, FlushLimits, Folder};
use super::super::{EmbeddedStore, Timestamp};
use crate::clock::StoppedClock;

/// The files of a [`FakeDisk`], by index.
pub(super) const REDB: usize = 0;
pub(super) const JOURNAL: [usize; 2] = [1, 2];

/// A disk in memory that knows what of its contents was synced.
#[derive(Clone, Debug, Default)]
pub(super) struct FakeDisk(Arc<(Mutex<Device>, Condvar)>);

#[derive(Debug, Default)]
pub(super) struct Device {
    /// redb's file and those of the journal.
    pub(super) files: [Contents; 3],
    pub(super) syncs: usize,
    /// A file that every write fails on.
    pub(super) broken: Option<usize>,
    /// How many writes and syncs succeed from now on; all when `None`.
    pub(super) writes_left: Option<usize>,
    /// How many syncs succeed from now on; all when `None`.
    pub(super) syncs_left: Option<usize>,
    /// The files whose syncs block.
    pub(super) blocked: Vec<usize>,
    /// Whether a sync is blocked.
    pub(super) waiting: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// What a read returns.
    pub(super) written: Vec<u8>,
    /// What survives a power cut for certain.
    pub(super) synced: Vec<u8>,
    /// What may survive a power cut: the changes since the last sync.
    pub(super) unsynced: Vec<Change>,
}

/// A file of the disk.
#[derive(Clone, Debug)]
struct DiskFile {
    disk: FakeDisk,
    file: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Change {
    Length(usize),
    Bytes(usize, Vec<u8>),
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Length(length) => to.resize(*length, 0),
            Self::Bytes(offset, bytes) => {
                let end = offset + bytes.len();
                to.resize(to.len().max(end), 0);
                to[*offset..end].copy_from_slice(bytes);
            }
        }
    }
}

impl FakeDisk {
    pub(super) fn state(&self) -> MutexGuard<'_, Device> {
        self.0.0.lock().unwrap()
    }

    pub(super) fn store(&self) -> EmbeddedStore {
        self.try_store().unwrap()
    }

    /// Opens a store whose journal files are short, so that it flushes often.
    pub(super) fn try_store(&self) -> Result<EmbeddedStore, String> {
        self.try_store_with(FlushLimits {
            flush_at: 6_000,
            stall_at: 12_000,
            compaction_bytes: 2_000,
        })
    }

    /// Opens a store that flushes nothing before it is closed.
    pub(super) fn journaling_store(&self) -> EmbeddedStore {
        self.try_store_with(FlushLimits::default()).unwrap()
    }

    pub(super) fn try_store_with(&self, limits: FlushLimits) -> Result<EmbeddedStore, String> {
        self.try_store_at(Arc::new(StoppedClock::at(Timestamp(1_000_000))), limits)
    }

    pub(super) fn try_store_at(
        &self,
        clock: Arc<StoppedClock>,
        limits: FlushLimits,
    ) -> Result<EmbeddedStore, String> {
        let file = |file| DiskFile {
            disk: self.clone(),
            file,
        };
        let (folder, facts) = Folder::on(file(REDB))?;
        let journal: Files = [Box::new(file(JOURNAL[0])), Box::new(file(JOURNAL[1]))];
        EmbeddedStore::start(folder, &facts, journal, clock, limits)
    }

    pub(super) fn syncs(&self) -> usize {
        self.state().syncs
    }

    /// The disk after a power cut: of the changes that were not synced, some are there, some are not, and some are there
    /// in part, in any combination.
    pub(super) fn after_a_power_cut(&self, random: &mut impl FnMut(usize) -> usize) -> Self {
        let state = self.state();
        let disk = Self::default();
        for (file, contents) in state.files.iter().enumerate() {
            let mut kept = contents.synced.clone();
            for change in &contents.unsynced {
                match (random(3), change) {
                    (0, _) => {}
                    (1, Change::Bytes(offset, bytes)) if bytes.len() > 512 => {
                        let part = bytes[..random(bytes.len() / 512) * 512].to_vec();
                        Change::Bytes(*offset, part).apply(&mut kept);
                    }
                    _ => change.apply(&mut kept),
                }
            }
            disk.put(file, kept);
        }
        drop(state);
        disk
    }

    /// The disk after a crash that loses nothing that was written.
    pub(super) fn copy(&self) -> Self {
        let disk = Self::default();
        for (file, contents) in self.state().files.iter().enumerate() {
            disk.put(file, contents.written.clone());
        }
        disk
    }

    pub(super) fn put(&self, file: usize, bytes: Vec<u8>) {
        let contents = Contents {
            written: bytes.clone(),
            synced: bytes,
            unsynced: Vec::new(),
        };
        self.state().files[file] = contents;
    }

    pub(super) fn block_journal_syncs(&self) {
        self.block_syncs(&JOURNAL);
    }

    pub(super) fn unblock_syncs(&self) {
        self.block_syncs(&[]);
    }

    /// Blocks the syncs of these files and of no others.
    pub(super) fn block_syncs(&self, files: &[usize]) {
        self.state().blocked = files.to_vec();
        self.0.1.notify_all();
    }

    pub(super) fn wait_for_blocked_sync(&self) {
        let timeout = Duration::from_secs(60);
        let waited = self
            .0
            .1
            .wait_timeout_while(self.state(), timeout, |state| !state.waiting);
        assert!(!waited.unwrap().1.timed_out(), "nothing was synced");
    }
}

impl DiskFile {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.disk.state();
        state.count_write()?;
        if state.broken == Some(self.file) {
            return Err(io::Error::other("the disk is broken"));
        }
        let contents = &mut state.files[self.file];
        change.apply(&mut contents.written);
        contents.unsynced.push(change);
        Ok(())
    }
}

impl Device {
    fn count_write(&mut self) -> io::Result<()> {
        count_down(&mut self.writes_left)
    }
}

fn count_down(left: &mut Option<usize>) -> io::Result<()> {
    match left {
        Some(0) => Err(io::Error::other("the disk is broken")),
        Some(left) => {
            *left -= 1;
            Ok(())
        }
        None => Ok(()),
    }
}

impl StorageBackend for DiskFile {
    fn len(&self) -> io::Result<u64> {
        let length = self.disk.state().files[self.file].written.len();
        Ok(length.try_into().unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        let state = self.disk.state();
        out.copy_from_slice(&state.files[self.file].written[offset..offset + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Change::Length(len.try_into().unwrap()))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.disk.state();
        while state.blocked.contains(&self.file) {
            state.waiting = true;
            self.disk.0.1.notify_all();
            state = self.disk.0.1.wait(state).unwrap();
            state.waiting = false;
        }
        state.count_write()?;
        count_down(&mut state.syncs_left)?;
        state.syncs += 1;
        let contents = &mut state.files[self.file];
        contents.synced = contents.written.clone();
        contents.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Change::Bytes(offset.try_into().unwrap(), data.to_vec()))
    }
}
