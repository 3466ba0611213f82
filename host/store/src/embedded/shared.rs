//! The state that the store and its threads share: whether the store can be written, and who is notified of changes.

use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::super::contract::Health;
use super::super::hints::Listeners;
use super::database::describe;
use crate::clock::{Clock, Timestamp};

pub(super) struct Shared {
    pub(super) file: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) listeners: Arc<Listeners>,
    /// The reason the last write failed, if it did.
    failure: ArcSwapOption<Failure>,
}

struct Failure {
    since: Timestamp,
    /// For the operator.
    why: String,
}

impl Shared {
    pub(super) fn new(file: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self {
            file,
            clock,
            listeners: Arc::default(),
            failure: ArcSwapOption::empty(),
        }
    }

    pub(super) fn health(&self) -> Health {
        match self.failure.load().as_deref() {
            None => Health::Up,
            Some(Failure { since, why }) => Health::ReadOnly {
                since: *since,
                why: why.clone(),
            },
        }
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failure.load().is_some()
    }

    /// Explains an error to the operator.
    pub(super) fn describe(&self, error: &rusqlite::Error) -> String {
        describe(&self.file, error)
    }

    /// Records that a write failed.
    pub(super) fn failed(&self, why: &str) {
        let since = self.failure.load().as_ref().map(|failure| failure.since);
        if since.is_none() {
            tracing::error!(why, "the store cannot be written; it is tried again");
        }
        self.failure.store(Some(Arc::new(Failure {
            since: since.unwrap_or_else(|| self.clock.now()),
            why: why.to_owned(),
        })));
    }

    /// Records that a write succeeded.
    pub(super) fn written(&self) {
        // This is almost always so.
        if !self.has_failed() {
            return;
        }
        if let Some(failure) = self.failure.swap(None) {
            let for_ms = self.clock.now().0.saturating_sub(failure.since.0) / 1_000;
            tracing::warn!(file = %self.file.display(), for_ms, "the store writes again");
        }
    }
}
