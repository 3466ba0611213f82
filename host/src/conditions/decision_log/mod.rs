//! Decisions on record: a line for each item and rule, of the tenants that have chosen that (`choice.rs`).
//!
//! A decision is handed over as it is (`queue.rs`), and a thread of its own makes lines of it (`records.rs`, `line.rs`) and
//! writes them (`writer.rs`, `file.rs`). So a decision waits for nothing, whatever the disk does: what the queue has no room
//! for is not on record, and the record says how many decisions it lacks. Tills hand in what they have decided themselves
//! (`handed_in/`). While no host records anything, and for a tenant that has not chosen it, a decision costs one comparison
//! more.

mod choosing;
mod file;
mod handed_in;
mod line;
mod measure;
mod queue;
mod records;
mod writer;

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytesize::ByteSize;
use parking_lot::Mutex;
use uuid::Uuid;

pub use self::file::old_files;
use self::file::{RotatingFile, Sink};
pub(super) use self::handed_in::{Report, TillQuery, is_till_cursor, report, till_schema};
pub use self::line::{GapOf, HostEvent, Line};
use self::queue::Decided;
use self::writer::Shared;
use super::Conditions;
use super::backlog::Backlog;
use super::catalog::TenantCatalog;
use super::choice::Choice;
use super::plan::Plan;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::identity::{Caller, TenantId};
use crate::{config, engine};

/// How long the end of a host waits for what is not written yet.
const GRACE: Duration = Duration::from_secs(2);

/// The records that are written in this process, by the setting that names them. A host that has started while its store was
/// away starts a second time when the store is back, and for a moment both write.
static OPEN: Mutex<Vec<(String, Weak<DecisionLog>)>> = Mutex::new(Vec::new());

/// The record that a host writes.
#[derive(Debug)]
pub struct DecisionLog {
    shared: Arc<Shared>,
}

impl DecisionLog {
    /// Opens the record that the configuration names, if it names one.
    ///
    /// # Errors
    /// [`Error::Bug`] when it cannot be written.
    pub(super) fn open(
        settings: &config::Decisions,
        clock: &Arc<dyn Clock>,
    ) -> Result<Option<Arc<Self>>> {
        if settings.log.is_empty() {
            return Ok(None);
        }
        let mut open = OPEN.lock();
        open.retain(|(_, log)| log.strong_count() > 0);
        let known = open.iter().filter(|(name, _)| *name == settings.log);
        let mut known = known.filter_map(|(_, log)| log.upgrade());
        if let Some(log) = known.find(|log| !log.shared.queue.is_closed()) {
            return Ok(Some(log));
        }
        let cannot =
            |cause: std::io::Error| Error::Bug(format!("decisions.log, {}: {cause}", settings.log));
        let sink = match settings.to_stdout() {
            true => Sink::Stdout,
            false => {
                let (path, bytes) = (Path::new(&settings.log), settings.file_bytes.as_u64());
                let file = RotatingFile::open(path, bytes, settings.old_files);
                Sink::File(file.map_err(cannot)?)
            }
        };
        let max_bytes = as_count(settings.queue_bytes);
        let shared = Shared::start(sink, Arc::clone(clock), max_bytes).map_err(cannot)?;
        let log = Arc::new(Self { shared });
        open.push((settings.log.clone(), Arc::downgrade(&log)));
        Ok(Some(log))
    }

    /// Has a record on standard output begin: the first line there, the host's address, is printed.
    pub fn begin(&self) {
        self.shared.begin();
    }

    /// Writes what waits, and ends. What comes later is dropped.
    pub async fn close(&self) {
        self.end();
        let mut ended = self.shared.has_ended.subscribe();
        let ending = tokio::time::timeout(GRACE, ended.wait_for(|has_ended| *has_ended));
        if ending.await.is_err() {
            let decisions = self.shared.waiting();
            tracing::error!(decisions, "the host ends, and decisions are not on record");
        }
    }

    fn end(&self) {
        self.shared.queue.close();
        self.shared.wake();
    }
}

impl Drop for DecisionLog {
    fn drop(&mut self) {
        self.end();
    }
}

fn as_count(size: ByteSize) -> usize {
    usize::try_from(size.as_u64()).unwrap_or(usize::MAX)
}

/// The place on record of a decision that is about to be made.
#[derive(Debug)]
pub(super) struct Place {
    log: Arc<DecisionLog>,
    tenant: TenantId,
    backlog: Arc<Backlog>,
    choice: Choice,
    caller: Arc<Caller>,
    correlation: Uuid,
}

impl Conditions {
    /// The record that this host writes, if it writes one.
    #[must_use]
    pub const fn decision_log(&self) -> Option<&Arc<DecisionLog>> {
        self.decision_log.as_ref()
    }

    /// The place on record of a decision, if it may go there. `asked` says who asks, and in which request.
    pub(super) fn place_on_record(
        &self,
        catalog: &TenantCatalog,
        asked: impl FnOnce() -> Result<(Arc<Caller>, Uuid)>,
    ) -> Result<Option<Place>> {
        let Some(log) = &self.decision_log else {
            return Ok(None);
        };
        let choice = catalog.on_record();
        if choice == Choice::None {
            return Ok(None);
        }
        let (caller, correlation) = asked()?;
        Ok(Some(Place {
            log: Arc::clone(log),
            tenant: catalog.tenant().clone(),
            backlog: Arc::clone(catalog.backlog()),
            choice,
            caller,
            correlation,
        }))
    }
}

impl Place {
    /// Puts the decision on record, unless it allows and only denials are.
    pub(super) fn take(self, plan: Plan<'_>, decided: &engine::Decided, at: Timestamp) {
        if self.choice == Choice::Denials && !denies(decided) {
            return;
        }
        let is_half_full = self.log.shared.queue.add(Decided {
            at,
            tenant: self.tenant,
            backlog: self.backlog,
            choice: self.choice,
            caller: self.caller,
            correlation: self.correlation,
            subject: plan.subject(),
            versions: plan.into_versions(),
            answer: decided.answer.clone(),
        });
        if is_half_full {
            self.log.shared.wake();
        }
    }
}

/// Whether a decision does not allow, or in a basket an item whose condition is not in force, which counts as no result.
fn denies(decided: &engine::Decided) -> bool {
    let mut tally = decided.tally.0.iter();
    tally.any(|[_, soft, hard]| soft + hard > 0) || decided.answer.starts_with(br#"{"allow":false"#)
}
