//! What the store, its writer and the flushes share: the newest durable state and whether the store has failed.

use std::sync::{Arc, OnceLock, RwLock};

use tokio::runtime::{Handle, RuntimeFlavor};

use super::super::contract::{Health, Unavailable};
use super::super::hints::Listeners;
use super::engine::{Folder, State, catch_panics};
use crate::clock::{Clock, Timestamp};

pub(super) struct Shared {
    /// Declared before the folder, so that no snapshot of the database outlives it.
    pub(super) state: RwLock<State>,
    pub(super) folder: Folder,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) listeners: Arc<Listeners>,
    /// The runtime of the callers, if it has threads of its own.
    runtime: OnceLock<Handle>,
    /// Why the store has stopped, once a write has failed.
    failed: OnceLock<(Timestamp, String)>,
}

impl Shared {
    pub(super) fn new(state: State, folder: Folder, clock: Arc<dyn Clock>) -> Self {
        Self {
            state: RwLock::new(state),
            folder,
            clock,
            listeners: Arc::default(),
            runtime: OnceLock::new(),
            failed: OnceLock::new(),
        }
    }

    /// Fails once a write has failed.
    pub(super) fn check_running(&self) -> Result<(), Unavailable> {
        self.failed
            .get()
            .map_or(Ok(()), |(_, reason)| Err(Unavailable(reason.clone())))
    }

    /// Whether it still reads and writes.
    pub(super) fn health(&self) -> Health {
        self.failed
            .get()
            .cloned()
            .map_or(Health::Up, |(since, why)| Health::Away { since, why })
    }

    /// Reads the newest durable state, without waiting for the writer.
    pub(super) fn query<T>(
        &self,
        read: impl FnOnce(&RwLock<State>) -> Result<T, redb::Error>,
    ) -> Result<T, Unavailable> {
        self.check_running()?;
        catch_panics(|| read(&self.state))
            .map_err(|error| Unavailable(self.folder.describe(&error)))
    }

    /// Changes the newest durable state.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.write();
        change(state.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut()))
    }

    /// Stops the store for a reason. Only the first one is kept, since later ones follow from it.
    pub(super) fn fail(&self, reason: &str) {
        let reason = format!("{reason}; remove the cause, then restart");
        tracing::error!(folder = ?self.folder, reason, "the store has stopped");
        let _already_failed = self.failed.set((self.clock.now(), reason));
    }

    /// Keeps the current runtime, unless one is kept already or it makes progress only while somebody blocks on it.
    pub(super) fn capture_runtime(&self) {
        if self.runtime.get().is_none()
            && let Ok(runtime) = Handle::try_current()
            && runtime.runtime_flavor() == RuntimeFlavor::MultiThread
        {
            let _already_captured = self.runtime.set(runtime);
        }
    }

    /// The runtime that was captured.
    pub(super) fn runtime(&self) -> Option<&Handle> {
        self.runtime.get()
    }
}
