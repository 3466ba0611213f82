//! What the writer is asked: the work, what came of it in its group, and where the answer goes.
//!
//! A request is done in a group (`change`) and answered when that is durable, with the others of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::super::copy::Part;
use super::super::hints::Listeners;
use super::super::{Claimed, Commit, CommitError, Committed, Partition, Unavailable};
use super::change::Group;
use super::writer::ENOUGH_CHANGES;
use crate::clock::Timestamp;

/// Something to do for somebody who waits.
pub(super) enum Request {
    Commit(Asked<Commit, Result<Committed, CommitError>>),
    Trim(Asked<Trim, usize>),
    Claim(Asked<Claim, Claimed>),
    Restore(Asked<Restore, ()>),
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

/// [`Portable::restore`](super::super::copy::Portable::restore).
pub(super) struct Restore {
    pub(super) partition: Partition,
    pub(super) part: Part,
}

/// Work with where its answer goes.
pub(super) struct Asked<W, A> {
    work: W,
    /// What came of it in its group; the answer once that is durable.
    outcome: Option<A>,
    answer: oneshot::Sender<Result<A, Failure>>,
}

/// A group that was done, to be answered when this is dropped.
pub(super) struct Answers {
    pub(super) group: Vec<Request>,
    pub(super) written: Result<(), Failure>,
    pub(super) listeners: Arc<Listeners>,
}

/// Why a group did not become durable.
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

impl Request {
    /// How many changes and bytes it brings.
    pub(super) fn weight(&self) -> (usize, usize) {
        match self {
            Self::Commit(asked) => (
                1 + asked.work.ops.len() + asked.work.checks.len(),
                asked.work.bytes(),
            ),
            Self::Trim(asked) => (asked.work.max, 0),
            Self::Claim(asked) => (asked.work.max, 0),
            // Fills a group by itself.
            Self::Restore(_) => (ENOUGH_CHANGES, 0),
        }
    }

    /// Does it, in its group.
    pub(super) fn apply(
        &mut self,
        group: &mut Group<'_>,
        now: Timestamp,
    ) -> Result<(), redb::Error> {
        match self {
            Self::Commit(asked) => asked.outcome = Some(group.commit(&asked.work, now)?),
            Self::Trim(asked) => asked.outcome = Some(group.trim(&asked.work, now)?),
            Self::Claim(asked) => asked.outcome = Some(group.claim(&asked.work, now)?),
            Self::Restore(asked) => {
                group.restore(&asked.work, now)?;
                asked.outcome = Some(());
            }
        }
        Ok(())
    }

    /// The partition that it changed.
    fn changed(&self) -> Option<&Partition> {
        match self {
            Self::Commit(asked) => asked
                .outcome
                .as_ref()
                .is_some_and(took_effect)
                .then_some(&asked.work.partition),
            Self::Trim(_) | Self::Claim(_) | Self::Restore(_) => None,
        }
    }

    /// Tells who asked.
    fn finish(self, written: &Result<(), Failure>) {
        match self {
            Self::Commit(asked) => asked.answer(written),
            Self::Trim(asked) => asked.answer(written),
            Self::Claim(asked) => asked.answer(written),
            Self::Restore(asked) => asked.answer(written),
        }
    }
}

impl Drop for Answers {
    /// Tells who listens and who asked, also where the runtime is gone.
    fn drop(&mut self) {
        let mut told = None;
        for request in &self.group {
            let changed = request.changed().filter(|_| self.written.is_ok());
            if changed.is_some() && changed != told {
                changed.inspect(|partition| self.listeners.tell(partition));
                told = changed;
            }
        }
        for request in self.group.drain(..) {
            request.finish(&self.written);
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
