//! The one thread that writes: everything that waits goes into one transaction and one fsync.
//!
//! A request is answered when its transaction is durable and never before, whatever its outcome: a
//! conflict may come from a commit that shares the transaction. A transaction without effect needs
//! no fsync. After a failure nothing is written any more.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use redb::Durability;
use tokio::sync::{mpsc, oneshot};

use super::super::{Claimed, Commit, CommitError, Committed, Partition, Unavailable};
use super::Shared;
use super::change::Tables;
use crate::clock::Timestamp;

/// A transaction takes no more requests when it has this many changes…
const ENOUGH_CHANGES: usize = 1_000;

/// …or this many bytes: 16 MiB.
const ENOUGH_BYTES: usize = 16 << 20;

/// Something to do for somebody who waits.
pub(super) enum Request {
    Commit(Asked<Commit, Result<Committed, CommitError>>),
    Trim(Asked<Trim, usize>),
    Claim(Asked<Claim, Claimed>),
}

/// [`Store::trim`](super::Store::trim).
pub(super) struct Trim {
    pub(super) partition: Partition,
    pub(super) log: String,
    pub(super) before: Timestamp,
    pub(super) max: usize,
}

/// [`Store::claim`](super::Store::claim).
pub(super) struct Claim {
    pub(super) partition: Partition,
    pub(super) queue: String,
    pub(super) lease: Duration,
    pub(super) max: usize,
}

/// Work with where its answer goes.
pub(super) struct Asked<W, A> {
    work: W,
    /// What came of it in the transaction; the answer once that is durable.
    outcome: Option<A>,
    answer: oneshot::Sender<Result<A, Failure>>,
}

/// Why a transaction did not become durable.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// Nothing happened.
    Away(String),
    /// It may have happened.
    Unknown(String),
}

impl From<Failure> for CommitError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Away(reason) => Self::Unavailable(reason),
            Failure::Unknown(reason) => Self::Unknown(reason),
        }
    }
}

impl From<Failure> for Unavailable {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Away(reason) | Failure::Unknown(reason) => Self(reason),
        }
    }
}

/// Serves requests until nobody can send any more and all are answered.
pub(super) fn run(shared: &Shared, mut waiting: mpsc::Receiver<Request>) {
    while let Some(first) = waiting.blocking_recv() {
        let mut batch = gather(first, &mut waiting);
        let written = match shared.working() {
            Ok(()) => write(shared, &mut batch),
            Err(Unavailable(reason)) => Err(Failure::Away(reason)),
        };
        for request in batch {
            request.finish(shared, &written);
        }
    }
}

/// The first request and all that wait behind it, within bounds.
fn gather(first: Request, waiting: &mut mpsc::Receiver<Request>) -> Vec<Request> {
    let (mut changes, mut bytes) = first.weight();
    let mut batch = vec![first];
    while changes < ENOUGH_CHANGES
        && bytes < ENOUGH_BYTES
        && let Ok(next) = waiting.try_recv()
    {
        let weight = next.weight();
        changes += weight.0;
        bytes += weight.1;
        batch.push(next);
    }
    batch
}

/// Writes a batch; on failure remembers why, so that nothing is written any more.
fn write(shared: &Shared, batch: &mut [Request]) -> Result<(), Failure> {
    // redb panics at some kinds of damage.
    let written = catch_unwind(AssertUnwindSafe(|| transact(shared, batch)))
        .unwrap_or_else(|_| Err(Failure::Unknown("writing to it panicked".to_owned())));
    if let Err(Failure::Away(reason) | Failure::Unknown(reason)) = &written {
        let reason = format!("{reason}; restart when that is mended");
        tracing::error!(folder = ?shared.folder, reason, "the store stopped");
        // Only this thread sets it, once.
        let _set = shared.failed.set(reason);
    }
    written
}

fn transact(shared: &Shared, batch: &mut [Request]) -> Result<(), Failure> {
    let away = |error: redb::Error| Failure::Away(shared.folder.describe(&error));
    let database = shared.folder.database().map_err(away)?;
    let mut tx = database.begin_write().map_err(|error| away(error.into()))?;
    // One fsync a transaction. redb's other mode, two-phase commits with quick repair, needs two
    // and writes its free pages each time, to open faster after a crash. With one, opening after a
    // crash checks every page against its checksum instead, which is what a store should do that
    // was not closed; what it guards against, an adversary who forges checksums and times power
    // cuts, is not one of ours.
    tx.set_durability(Durability::Immediate)
        .map_err(|error| away(error.into()))?;
    let mut changed = false;
    {
        let mut tables = Tables::open(&tx).map_err(away)?;
        for request in batch {
            changed |= request
                .apply(&mut tables, shared.clock.now())
                .map_err(away)?;
        }
    }
    if changed {
        // redb leaves open whether a failed commit is durable.
        tx.commit()
            .map_err(|error| Failure::Unknown(shared.folder.describe(&error.into())))
    } else {
        tx.abort().map_err(|error| away(error.into()))
    }
}

impl Request {
    /// How many changes and bytes it brings.
    fn weight(&self) -> (usize, usize) {
        match self {
            Self::Commit(asked) => (
                1 + asked.work.ops.len() + asked.work.checks.len(),
                asked.work.bytes(),
            ),
            Self::Trim(asked) => (asked.work.max, 0),
            Self::Claim(asked) => (asked.work.max, 0),
        }
    }

    /// Does it, in the transaction; whether that changed anything.
    fn apply(&mut self, tables: &mut Tables<'_>, now: Timestamp) -> Result<bool, redb::Error> {
        Ok(match self {
            Self::Commit(asked) => {
                let outcome = asked.outcome.insert(tables.commit(&asked.work, now)?);
                took_effect(outcome)
            }
            Self::Trim(asked) => *asked.outcome.insert(tables.trim(&asked.work)?) > 0,
            Self::Claim(asked) => !asked
                .outcome
                .insert(tables.claim(&asked.work, now)?)
                .jobs
                .is_empty(),
        })
    }

    /// Tells who listens and who asked.
    fn finish(self, shared: &Shared, written: &Result<(), Failure>) {
        match self {
            Self::Commit(asked) => {
                if written.is_ok() && asked.outcome.as_ref().is_some_and(took_effect) {
                    shared.listeners.tell(&asked.work.partition);
                }
                asked.answer(written);
            }
            Self::Trim(asked) => asked.answer(written),
            Self::Claim(asked) => asked.answer(written),
        }
    }
}

fn took_effect(outcome: &Result<Committed, CommitError>) -> bool {
    outcome.as_ref().is_ok_and(|committed| !committed.repeated)
}

impl<W, A> Asked<W, A> {
    pub(super) fn new(work: W, answer: oneshot::Sender<Result<A, Failure>>) -> Self {
        Self {
            work,
            outcome: None,
            answer,
        }
    }

    fn answer(self, written: &Result<(), Failure>) {
        let undone = || Failure::Away("it was not tried".to_owned());
        let outcome = written
            .clone()
            .and_then(|()| self.outcome.ok_or_else(undone));
        // Nobody waits any more when the asker was dropped.
        let _heard = self.answer.send(outcome);
    }
}
