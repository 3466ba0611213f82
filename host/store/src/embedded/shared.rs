//! What the store, its writer and the flushes share: the newest durable state, and whether it can be written.

use std::sync::{Arc, OnceLock, RwLock};

use arc_swap::ArcSwapOption;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::mpsc::WeakSender;

use super::super::contract::{Health, Unavailable};
use super::super::hints::Listeners;
use super::engine::{Disk, State, catch_panics, is_damage};
use super::read::with_state;
use super::requests::Request;
use crate::clock::{Clock, Timestamp};

pub(super) struct Shared {
    /// Declared before the disk, so that no file is used once the folder is unlocked.
    pub(super) state: RwLock<State>,
    pub(super) disk: Box<dyn Disk>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) listeners: Arc<Listeners>,
    /// The writer's queue.
    requests: WeakSender<Request>,
    /// The runtime of the callers, if it has threads of its own.
    runtime: OnceLock<Handle>,
    /// Why nothing is written, while that is so.
    stopped: ArcSwapOption<Stopped>,
}

/// Why the store writes nothing.
#[derive(Debug)]
pub(super) struct Stopped {
    since: Timestamp,
    /// For the operator.
    pub(super) why: String,
    /// Whether trying again may help.
    pub(super) heals: bool,
    /// Whether reads go on.
    reads: bool,
}

impl Shared {
    pub(super) fn new(
        state: State,
        disk: Box<dyn Disk>,
        clock: Arc<dyn Clock>,
        requests: WeakSender<Request>,
    ) -> Self {
        Self {
            state: RwLock::new(state),
            disk,
            clock,
            listeners: Arc::default(),
            requests,
            runtime: OnceLock::new(),
            stopped: ArcSwapOption::empty(),
        }
    }

    /// Fails while nothing is written.
    pub(super) fn check_writable(&self) -> Result<(), Unavailable> {
        self.stopped
            .load()
            .as_ref()
            .map_or(Ok(()), |stopped| Err(Unavailable(stopped.why.clone())))
    }

    pub(super) fn stopped(&self) -> Option<Arc<Stopped>> {
        self.stopped.load_full()
    }

    pub(super) fn health(&self) -> Health {
        let Some(stopped) = self.stopped.load_full() else {
            return Health::Up;
        };
        let (since, why) = (stopped.since, stopped.why.clone());
        if stopped.reads {
            Health::ReadOnly { since, why }
        } else {
            Health::Away { since, why }
        }
    }

    /// Reads the newest durable state, without waiting for the writer.
    pub(super) fn query<T>(
        &self,
        read: impl Fn(&RwLock<State>) -> Result<T, redb::Error>,
    ) -> Result<T, Unavailable> {
        let read = || {
            let done = catch_panics(|| read(&self.state));
            // What is read from a file that has failed may be anything: it is being opened again.
            let failure = || with_state(&self.state, State::failure);
            done.map_err(|error| failure().unwrap_or(error))
        };
        // The files may have been opened again meanwhile: the state is another one then.
        let done = read().or_else(|_| read());
        done.map_err(|error| {
            if !is_damage(&error) {
                self.fail(&error, false);
            }
            Unavailable(self.disk.describe(&error))
        })
    }

    /// Changes the newest durable state.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.write();
        change(state.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut()))
    }

    /// Stops writing because of an error, until the writer has healed the store; `reads` is whether reads go on.
    pub(super) fn fail(&self, error: &redb::Error, reads: bool) {
        // What is damaged may hide anything, so what a commit relies on cannot be decided any more.
        let heals = !is_damage(error);
        self.stop(&self.disk.describe(error), heals, reads || !heals);
    }

    pub(super) fn stop(&self, reason: &str, heals: bool, reads: bool) {
        let why = if heals {
            format!("{reason}; writes go on by themselves once the cause is removed")
        } else {
            reason.to_owned()
        };
        let earlier = self.stopped.load_full();
        if earlier
            .as_ref()
            .is_some_and(|earlier| earlier.heals <= heals && earlier.reads <= reads)
        {
            return;
        }
        let since = earlier.as_ref().map(|earlier| earlier.since);
        if earlier.is_none() || !heals {
            tracing::error!(folder = ?self.disk, reason, "the store is read-only");
        }
        self.stopped.store(Some(Arc::new(Stopped {
            since: since.unwrap_or_else(|| self.clock.now()),
            why,
            heals: heals && earlier.as_ref().is_none_or(|earlier| earlier.heals),
            reads: reads && earlier.as_ref().is_none_or(|earlier| earlier.reads),
        })));
        // The writer may be waiting for a request. When its queue is full, it is not.
        if let Some(requests) = self.requests.upgrade() {
            let _not_waiting = requests.try_send(Request::Wake);
        }
    }

    /// Writes again.
    pub(super) fn go_on(&self) {
        if let Some(stopped) = self.stopped.swap(None) {
            let for_ms = self.clock.now().0.saturating_sub(stopped.since.0) / 1_000;
            tracing::warn!(folder = ?self.disk, for_ms, "the store writes again");
        }
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
