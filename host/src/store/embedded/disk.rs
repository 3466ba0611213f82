//! A disk in memory for tests of what a disk may do: fail, be slow, lose what was not synced.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard};

use redb::StorageBackend;

use super::*;
use crate::clock::StoppedClock;

/// Which files of a [`Disk`] are which.
pub(super) const TABLE: usize = 0;
pub(super) const JOURNAL: [usize; 2] = [1, 2];

/// A disk in memory that keeps apart what was written from what was synced.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk(Arc<(Mutex<Device>, Condvar)>);

#[derive(Debug, Default)]
pub(super) struct Device {
    /// redb's file, and the journal's.
    pub(super) files: [Contents; 3],
    pub(super) syncs: usize,
    /// A file that cannot be written.
    pub(super) fails: Option<usize>,
    /// How many writes and syncs go well from now on.
    pub(super) good_for: Option<usize>,
    /// The same for syncs alone.
    pub(super) good_syncs: Option<usize>,
    /// Syncs of these files wait.
    pub(super) holds: Vec<usize>,
    /// Whether one waits.
    pub(super) waiting: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Contents {
    /// What is read.
    pub(super) written: Vec<u8>,
    /// What is there after a power cut, at least.
    pub(super) synced: Vec<u8>,
    /// What may be there after a power cut: changes since the last sync.
    pub(super) unsynced: Vec<Change>,
}

/// One of the files.
#[derive(Clone, Debug)]
struct DiskFile {
    disk: Disk,
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

impl Disk {
    pub(super) fn state(&self) -> MutexGuard<'_, Device> {
        self.0.0.lock().unwrap()
    }

    pub(super) fn store(&self) -> EmbeddedStore {
        self.try_store().unwrap()
    }

    /// Files of a journal are short, so that much is filed.
    pub(super) fn try_store(&self) -> Result<EmbeddedStore, String> {
        self.try_store_with(Lengths {
            enough: 6_000,
            full: 12_000,
            step: 2_000,
        })
    }

    /// A store that files nothing before it is closed.
    pub(super) fn journaling_store(&self) -> EmbeddedStore {
        self.try_store_with(Lengths::default()).unwrap()
    }

    pub(super) fn try_store_with(&self, lengths: Lengths) -> Result<EmbeddedStore, String> {
        self.try_store_at(Arc::new(StoppedClock::at(Timestamp(1_000_000))), lengths)
    }

    pub(super) fn try_store_at(
        &self,
        clock: Arc<StoppedClock>,
        lengths: Lengths,
    ) -> Result<EmbeddedStore, String> {
        let file = |file| DiskFile {
            disk: self.clone(),
            file,
        };
        let (folder, about) = Folder::on(file(TABLE))?;
        let journal: Files = [Box::new(file(JOURNAL[0])), Box::new(file(JOURNAL[1]))];
        EmbeddedStore::start(folder, &about, journal, clock, lengths)
    }

    pub(super) fn syncs(&self) -> usize {
        self.state().syncs
    }

    /// The disk after a power cut: of what was not synced, some is there, some is not, and some is
    /// half there, in no order.
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

    /// The disk as it is after a power cut when all that was written got there.
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

    pub(super) fn hold_syncs(&self, hold: bool) {
        self.hold(if hold { &JOURNAL } else { &[] });
    }

    /// Holds the syncs of those files alone.
    pub(super) fn hold(&self, files: &[usize]) {
        self.state().holds = files.to_vec();
        self.0.1.notify_all();
    }

    pub(super) fn wait_for_a_sync(&self) {
        let patience = Duration::from_secs(60);
        let waited = self
            .0
            .1
            .wait_timeout_while(self.state(), patience, |state| !state.waiting);
        assert!(!waited.unwrap().1.timed_out(), "nothing was synced");
    }
}

impl DiskFile {
    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.disk.state();
        state.work()?;
        if state.fails == Some(self.file) {
            return Err(io::Error::other("the disk is gone"));
        }
        let contents = &mut state.files[self.file];
        change.apply(&mut contents.written);
        contents.unsynced.push(change);
        Ok(())
    }
}

impl Device {
    fn work(&mut self) -> io::Result<()> {
        go(&mut self.good_for)
    }
}

fn go(good_for: &mut Option<usize>) -> io::Result<()> {
    match good_for {
        Some(0) => Err(io::Error::other("the disk is gone")),
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
        while state.holds.contains(&self.file) {
            state.waiting = true;
            self.disk.0.1.notify_all();
            state = self.disk.0.1.wait(state).unwrap();
            state.waiting = false;
        }
        state.work()?;
        go(&mut state.good_syncs)?;
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
