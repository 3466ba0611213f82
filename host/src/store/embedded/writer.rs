//! The one thread that writes: everything that waits goes into one record of the journal.
//!
//! A request is answered when its record is durable and never before, whatever its outcome: a
//! conflict may come from a commit that shares the record. A group without effect needs no record.
//! After a failure nothing is written any more.

use std::sync::{Arc, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::super::Unavailable;
use super::change::{Group, Made};
use super::filing::Filer;
use super::ids::Ids;
use super::journal::Journal;
use super::overlay::{Layer, State};
use super::requests::{Answers, Failure, Request};
use super::{Shared, careful};
use crate::clock::Timestamp;

/// A group takes no more requests when it has this many changes…
pub(super) const ENOUGH_CHANGES: usize = 1_000;

/// …or this many bytes: 16 MiB.
const ENOUGH_BYTES: usize = 16 << 20;

/// The longest that the writer waits for one more request before it syncs, if the last group was larger; otherwise a
/// tenth of the last sync. Who was answered together mostly asks again together, and would otherwise fall into two
/// groups that wait for each other's syncs.
const PATIENCE: Duration = Duration::from_micros(300);

/// How long a file of the journal gets, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    /// From here on it is filed, if nothing else is being filed.
    pub(super) enough: u64,
    /// From here on the writer waits for that.
    pub(super) full: u64,
    /// How much a filing merges of a level, at least.
    pub(super) step: usize,
}

impl Default for Lengths {
    /// 32, 64 and 4 MiB. What is not filed yet is in memory too, and is read again after a crash.
    fn default() -> Self {
        Self {
            enough: 32 << 20,
            full: 64 << 20,
            step: 4 << 20,
        }
    }
}

/// What the thread has.
pub(super) struct Writer {
    shared: Arc<Shared>,
    journal: Journal,
    ids: Ids,
    lengths: Lengths,
    /// What files; `None` while it does.
    filer: Option<Filer>,
    /// The filing that is under way; it gives the filer back unless it failed.
    filing: Option<JoinHandle<Option<Filer>>>,
    /// How many requests the last group had.
    last_group: usize,
    /// How long the last sync took.
    last_sync: Duration,
}

impl Writer {
    pub(super) fn new(
        shared: Arc<Shared>,
        (journal, filer): (Journal, Filer),
        ids: Ids,
        lengths: Lengths,
    ) -> Self {
        Self {
            shared,
            journal,
            ids,
            lengths,
            filer: Some(filer),
            filing: None,
            last_group: 0,
            last_sync: Duration::ZERO,
        }
    }

    /// Serves requests until nobody can send any more and all are answered; then files all.
    pub(super) fn run(mut self, mut waiting: mpsc::Receiver<Request>) {
        while let Some(first) = waiting.blocking_recv() {
            let mut group = Vec::new();
            let written = self.write(first, &mut waiting, &mut group);
            if let Err(Failure::Away(reason) | Failure::Unknown(reason)) = &written
                && self.shared.working().is_ok()
            {
                self.shared.fail(reason);
            }
            self.answer(Answers {
                group,
                written,
                listeners: Arc::clone(&self.shared.listeners),
            });
            // While those who were answered think of what is next.
            self.shared.change(State::settle);
            if self.journal.length() >= self.lengths.enough {
                self.file();
            }
        }
        self.end_filing();
        if self.journal.length() > 0 {
            self.file();
            self.end_filing();
        }
    }

    /// Writes the first request and all that wait behind it, within bounds, as one record.
    fn write(
        &mut self,
        first: Request,
        waiting: &mut mpsc::Receiver<Request>,
        group: &mut Vec<Request>,
    ) -> Result<(), Failure> {
        let working = self.shared.working();
        let mut done = working.map_err(|Unavailable(reason)| Failure::Away(reason));
        let mut made = Made::default();
        let (mut count, mut bytes) = (0, 0);
        let mut next = Some(first);
        while let Some(mut request) = next.take() {
            let weight = request.weight();
            count += weight.0;
            bytes += weight.1;
            // Each is done while those behind it are still on their way.
            done = done.and_then(|()| self.make(&mut made, |group, now| request.apply(group, now)));
            group.push(request);
            if count < ENOUGH_CHANGES && bytes < ENOUGH_BYTES {
                next = self.next(waiting, group.len());
            }
        }
        self.last_group = group.len();
        done?;
        self.make(&mut made, |group, now| group.close(now))?;
        if !made.changes.is_empty() {
            let begin = Instant::now();
            self.journal.append(&made.changes).map_err(|error| {
                let error = redb::Error::Io(error);
                Failure::Unknown(self.shared.folder.describe(&error))
            })?;
            self.last_sync = begin.elapsed();
        }
        self.shared.change(|state| {
            state.last = made.changes;
            state.floors.extend(made.floors);
        });
        Ok(())
    }

    /// Answers a group. Many are answered from within the runtime: from here each might have to wake
    /// one of its threads.
    fn answer(&self, answers: Answers) {
        match self.shared.runtime.get() {
            Some(runtime) if answers.group.len() > 1 => {
                runtime.spawn(async move { drop(answers) });
            }
            _ => drop(answers),
        }
    }

    /// The next request that waits, or that comes in a moment when more are likely.
    fn next(&self, waiting: &mut mpsc::Receiver<Request>, had: usize) -> Option<Request> {
        let next = waiting.try_recv().ok();
        if next.is_some() || had >= self.last_group {
            return next;
        }
        let (begin, patience) = (Instant::now(), PATIENCE.min(self.last_sync / 10));
        while begin.elapsed() < patience {
            if let Ok(request) = waiting.try_recv() {
                return Some(request);
            }
            thread::yield_now();
        }
        None
    }

    /// Does something in a group.
    fn make(
        &mut self,
        made: &mut Made,
        work: impl FnOnce(&mut Group<'_>, Timestamp) -> Result<(), redb::Error>,
    ) -> Result<(), Failure> {
        let state = self.shared.state.read();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let mut group = Group {
            state: &state,
            made,
            ids: &mut self.ids,
        };
        let now = self.shared.clock.now();
        careful(|| work(&mut group, now))
            .map_err(|error| Failure::Away(self.shared.folder.describe(&error)))
    }

    /// Has the file that is written filed, and goes on in the other. While that is being filed
    /// itself, there is nothing to do but to wait, and that only when this one is full.
    fn file(&mut self) {
        let under_way = self.filing.as_ref();
        if under_way.is_some_and(|filing| !filing.is_finished())
            && self.journal.length() < self.lengths.full
        {
            return;
        }
        self.end_filing();
        let Some(filer) = self.filer.take() else {
            return;
        };
        let sealed = self.shared.change(State::seal);
        self.journal.turn();
        let (shared, through) = (Arc::clone(&self.shared), self.journal.last());
        let filing = thread::Builder::new()
            .name("store-filing".to_owned())
            .spawn(move || {
                step_back();
                file(&shared, filer, &sealed, through)
            });
        match filing {
            Ok(filing) => self.filing = Some(filing),
            Err(error) => self
                .shared
                .fail(&format!("the store's filing cannot start: {error}")),
        }
    }

    fn end_filing(&mut self) {
        if let Some(filing) = self.filing.take() {
            // One that panicked has been reported by the panic.
            match filing.join() {
                Ok(filer) => self.filer = filer,
                Err(_) => self.shared.fail("filing the journal panicked"),
            }
        }
    }
}

/// How nice a filing is to all others that run: it has time, and who commits or decides has not.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// Lets the others go first.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) =
        rustix::process::setpriority_process(Some(rustix::thread::gettid()), NICENESS)
    {
        tracing::debug!(%error, "filing goes on beside the others");
    }
}

/// Files a layer and takes it away.
fn file(shared: &Shared, mut filer: Filer, sealed: &Layer, through: u64) -> Option<Filer> {
    let base = careful(|| {
        let database = shared.folder.database()?;
        filer.file(database, sealed.changes(), through)?;
        filer.base(database)
    });
    match base {
        Ok(base) => {
            shared.change(|state| state.filed(base));
            Some(filer)
        }
        Err(error) => {
            shared.fail(&shared.folder.describe(&error));
            None
        }
    }
}
