//! Requests to the writer, and their answers: the change to make, its outcome in the batch, and the caller that waits
//! for it.
//!
//! A request is applied to the transaction of its batch (`writer.rs`) and answered once that is durable.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::super::contract::{
    Claimed, Commit, CommitError, Committed, MAX_OPS, Partition, Unavailable,
};
use super::super::hints::Listeners;
use super::super::portable::Part;
use crate::clock::Timestamp;

/// A change to make, for a caller that waits for the answer.
pub(super) enum Request {
    Commit(Pending<Commit, Result<Committed, CommitError>>),
    Trim(Pending<Trim, usize>),
    Claim(Pending<Claim, Claimed>),
    Restore(Pending<Restore, ()>),
    /// Tries whether the store can be written again.
    Probe,
}

/// The arguments of [`Store::trim`](super::super::contract::Store::trim).
pub(super) struct Trim {
    pub(super) partition: Partition,
    pub(super) log: String,
    pub(super) before: Timestamp,
    pub(super) max: usize,
}

/// The arguments of [`Store::claim`](super::super::contract::Store::claim).
pub(super) struct Claim {
    pub(super) partition: Partition,
    pub(super) queue: String,
    pub(super) lease: Duration,
    pub(super) max: usize,
}

/// The arguments of [`Portable::restore`](super::super::portable::Portable::restore).
pub(super) struct Restore {
    pub(super) partition: Partition,
    pub(super) part: Part,
}

/// A request of one kind: its arguments, its outcome and where the answer goes.
pub(super) struct Pending<W, A> {
    pub(super) work: W,
    /// The outcome in its batch; it becomes the answer once the batch is durable.
    pub(super) outcome: Option<A>,
    answer: oneshot::Sender<Result<A, WriteError>>,
}

/// A finished batch. Its requests are answered when it is dropped.
pub(super) struct FinishedBatch {
    pub(super) requests: Vec<Request>,
    pub(super) written: Result<(), WriteError>,
    pub(super) listeners: Arc<Listeners>,
}

/// The reason a batch did not become durable.
#[derive(Clone, Debug)]
pub(super) enum WriteError {
    /// Nothing happened.
    Unavailable(String),
    /// It may have happened.
    Unknown(String),
}

impl From<WriteError> for CommitError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Unavailable(reason) => Self::Unavailable(reason),
            WriteError::Unknown(reason) => Self::Unknown(reason),
        }
    }
}

impl From<WriteError> for Unavailable {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Unavailable(reason) | WriteError::Unknown(reason) => Self(reason),
        }
    }
}

impl Request {
    /// Returns about how many changes it makes, and their bytes.
    pub(super) fn size(&self) -> (usize, usize) {
        match self {
            Self::Commit(pending) => (
                1 + pending.work.ops.len() + pending.work.checks.len(),
                pending.work.bytes(),
            ),
            Self::Trim(pending) => (pending.work.max, 0),
            Self::Claim(pending) => (pending.work.max, 0),
            // A part fills a batch.
            Self::Restore(_) => (MAX_OPS, 0),
            Self::Probe => (0, 0),
        }
    }

    /// Returns the partition whose listeners must be notified.
    fn changed(&self) -> Option<&Partition> {
        match self {
            Self::Commit(pending) => pending
                .outcome
                .as_ref()
                .is_some_and(took_effect)
                .then_some(&pending.work.partition),
            Self::Trim(_) | Self::Claim(_) | Self::Restore(_) | Self::Probe => None,
        }
    }

    fn answer(self, written: &Result<(), WriteError>) {
        match self {
            Self::Commit(pending) => pending.answer(written),
            Self::Trim(pending) => pending.answer(written),
            Self::Claim(pending) => pending.answer(written),
            Self::Restore(pending) => pending.answer(written),
            Self::Probe => {}
        }
    }
}

impl Drop for FinishedBatch {
    /// Notifies listeners and answers requests. This is in `drop` because it must happen even when the runtime that
    /// should do it has shut down.
    fn drop(&mut self) {
        let mut notified = None;
        for request in &self.requests {
            let changed = request.changed().filter(|_| self.written.is_ok());
            if changed.is_some() && changed != notified {
                changed.inspect(|partition| self.listeners.notify(partition));
                notified = changed;
            }
        }
        for request in self.requests.drain(..) {
            request.answer(&self.written);
        }
    }
}

fn took_effect(outcome: &Result<Committed, CommitError>) -> bool {
    outcome.as_ref().is_ok_and(|committed| !committed.repeated)
}

impl<W, A> Pending<W, A> {
    pub(super) fn new(work: W, answer: oneshot::Sender<Result<A, WriteError>>) -> Self {
        Self {
            work,
            outcome: None,
            answer,
        }
    }

    fn answer(self, written: &Result<(), WriteError>) {
        let not_tried = || WriteError::Unavailable("an earlier request failed".to_owned());
        let outcome = written
            .clone()
            .and_then(|()| self.outcome.ok_or_else(not_tried));
        // Sending fails when the caller no longer waits.
        let _received = self.answer.send(outcome);
    }
}
