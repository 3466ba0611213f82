//! Healing: after a failed write or sync the store opens its files again until they can be written, and goes on.
//!
//! Meanwhile reads go on from what is durable. What the disk really has is read back, as after a crash: a batch whose
//! outcome was unknown is there as a whole, with the ids of its commits, or not at all. It is served once the disk has
//! taken it again, and all listeners are told to look. Damage is not healed.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, error::TryRecvError};

use super::commit_index::CommitIndex;
use super::engine::{Database, catch_panics, damaged, recover};
use super::requests::{FinishedBatch, Request, WriteError};
use super::writer::Writer;

/// The pauses between two tries: the first, and the longest after each was twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(4);

/// How often the writer looks for requests during a pause.
const POLL: Duration = Duration::from_millis(10);

impl Writer {
    /// Tries to write again, with growing pauses, and refuses what is requested meanwhile. Returns whether the store goes
    /// on: `false` when it is closed.
    pub(super) fn heal(&mut self, waiting: &mut mpsc::Receiver<Request>) -> bool {
        let mut pause = FIRST_PAUSE;
        while let Some(stopped) = self.shared.stopped() {
            let begin = Instant::now();
            while begin.elapsed() < pause {
                match waiting.try_recv() {
                    Ok(request) => self.refuse(request, &stopped.why),
                    Err(TryRecvError::Empty) => thread::sleep(POLL),
                    Err(TryRecvError::Disconnected) => return false,
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            if stopped.heals && self.open_again().is_ok() {
                self.shared.go_on();
            }
        }
        true
    }

    fn refuse(&self, request: Request, why: &str) {
        self.answer(FinishedBatch {
            requests: vec![request],
            written: Err(WriteError::Unavailable(why.to_owned())),
            listeners: Arc::clone(&self.shared.listeners),
        });
    }

    /// Opens the files again and continues with what they contain.
    ///
    /// # Errors
    /// When they cannot be read or written; the store is as it was then.
    fn open_again(&mut self) -> Result<(), String> {
        self.finish_flush();
        let disk = &self.shared.disk;
        let failed = |error: &redb::Error| disk.describe(error);
        let database = match self.database.failure() {
            Some(_) => Arc::new(Database::open(disk.redb()?, disk.path())?),
            None => Arc::clone(&self.database),
        };
        if let Some(error) = database.failure() {
            return Err(failed(&error));
        }
        let limit = self.limits.compaction_bytes;
        let mut recovered = recover(&database, disk.journal()?, limit, disk.path())?;
        if recovered.journal.last() < self.journal.last() {
            let error = damaged("the disk has lost what it had synced");
            self.shared.fail(&error, true);
            return Err(failed(&error));
        }
        recovered
            .journal
            .prepare()
            .map_err(|error| failed(&error.into()))?;
        let commits =
            catch_panics(|| CommitIndex::on_disk(&database)?.with_recent(&recovered.state));
        let commits = commits.map_err(|error| failed(&error))?;

        self.shared.change(|state| *state = recovered.state);
        if !Arc::ptr_eq(&self.database, &database) {
            self.database.revoke();
        }
        (self.database, self.journal, self.commits) = (database, recovered.journal, commits);
        self.flusher = Some(recovered.flusher);
        self.shared.listeners.notify_all();
        // A disk that has no room for this would fail again soon.
        if let Some(through) = recovered.sealed {
            self.flush_sealed(through);
            self.finish_flush();
        }
        match self.flusher {
            Some(_) => Ok(()),
            None => Err("the journal cannot be flushed".to_owned()),
        }
    }
}
