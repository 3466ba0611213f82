//! A disk in memory for tests of what a disk may do: fail, be slow, lose what was not synced.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use redb::StorageBackend;

use super::super::engine::{Database, Disk, FlushLimits};
use super::super::{EmbeddedStore, Timestamp};
use crate::clock::StoppedClock;

/// The files of a [`FakeDisk`], by index.
pub(super) const REDB: usize = 0;
pub(super) const JOURNAL: [usize; 2] = [1, 2];

/// A disk in memory that knows what of its contents was synced.
#[derive(Clone, Default)]
pub(in super::super) struct FakeDisk(Arc<(Mutex<Device>, Condvar)>);

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
    /// What becomes of the changes that a failed sync should have written.
    pub(super) after_failed_sync: AfterFailedSync,
    /// How many bytes fit on the disk; any number when `None`.
    pub(super) capacity: Option<usize>,
    /// Whether every read fails.
    pub(super) unreadable: bool,
    /// The files whose syncs block.
    pub(super) blocked: Vec<usize>,
    /// Whether a sync is blocked.
    pub(super) waiting: bool,
}

/// What operating systems do after a failed sync.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum AfterFailedSync {
    /// The changes are written by the next sync.
    #[default]
    Kept,
    /// Reads return the changes, but no later sync writes them.
    TakenForWritten,
    /// They are gone.
    Dropped,
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

impl Contents {
    fn sync(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            change.apply(&mut self.synced);
        }
    }

    fn fail_to_sync(&mut self, what: AfterFailedSync) {
        match what {
            AfterFailedSync::Kept => {}
            AfterFailedSync::TakenForWritten => self.unsynced.clear(),
            AfterFailedSync::Dropped => {
                self.unsynced.clear();
                self.written = self.synced.clone();
            }
        }
    }
}

impl Change {
    /// How long a file is at least, once this is applied.
    fn end(&self) -> usize {
        match self {
            Self::Length(length) => *length,
            Self::Bytes(offset, bytes) => offset + bytes.len(),
        }
    }

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
    /// Journal files so short that a store flushes often.
    pub(super) const SHORT: FlushLimits = FlushLimits {
        flush_at: 6_000,
        stall_at: 12_000,
        compaction_bytes: 2_000,
    };

    pub(super) fn state(&self) -> MutexGuard<'_, Device> {
        self.0.0.lock().unwrap()
    }

    pub(super) fn store(&self) -> EmbeddedStore {
        self.try_store().unwrap()
    }

    pub(super) fn try_store(&self) -> Result<EmbeddedStore, String> {
        self.try_store_with(Self::SHORT)
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
        EmbeddedStore::start(Box::new(self.clone()), clock, limits)
    }

    fn file(&self, file: usize) -> DiskFile {
        DiskFile {
            disk: self.clone(),
            file,
        }
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

    /// Leaves room for so many bytes more.
    pub(super) fn fill_up_to(&self, bytes: usize) {
        let mut state = self.state();
        let used: usize = state.files.iter().map(|file| file.written.len()).sum();
        state.capacity = Some(used + bytes);
    }

    /// A disk that works and has room again.
    pub(super) fn mend(&self) {
        let mut state = self.state();
        state.broken = None;
        state.writes_left = None;
        state.syncs_left = None;
        state.capacity = None;
        state.unreadable = false;
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

impl fmt::Debug for FakeDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a test")
    }
}

impl Disk for FakeDisk {
    fn redb(&self) -> Result<Box<dyn StorageBackend>, String> {
        if self.state().files[REDB].written.is_empty() {
            Database::create(self.file(REDB), self.path()).map_err(|error| error.to_string())?;
        }
        Ok(Box::new(self.file(REDB)))
    }

    fn journal(&self) -> Result<[Box<dyn StorageBackend>; 2], String> {
        Ok(JOURNAL.map(|file| Box::new(self.file(file)) as Box<dyn StorageBackend>))
    }

    fn path(&self) -> &Path {
        Path::new("a test")
    }
}

impl DiskFile {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.disk.state();
        count_down(&mut state.writes_left)?;
        if state.broken == Some(self.file) {
            return Err(io::Error::other("the disk is broken"));
        }
        let used: usize = state.files.iter().map(|file| file.written.len()).sum();
        let grows = change
            .end()
            .saturating_sub(state.files[self.file].written.len());
        if grows > 0
            && state
                .capacity
                .is_some_and(|capacity| used + grows > capacity)
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let contents = &mut state.files[self.file];
        change.apply(&mut contents.written);
        contents.unsynced.push(change);
        Ok(())
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
        if state.unreadable {
            return Err(io::Error::other("the disk is broken"));
        }
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
        let state = &mut *state;
        let contents = &mut state.files[self.file];
        let counted = count_down(&mut state.writes_left);
        if let Err(error) = counted.and_then(|()| count_down(&mut state.syncs_left)) {
            contents.fail_to_sync(state.after_failed_sync);
            return Err(error);
        }
        state.syncs += 1;
        contents.sync();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Change::Bytes(offset.try_into().unwrap(), data.to_vec()))
    }
}
