//! Does what is due: removes clients that were pending for too long, statements that expired, keys that sign no more.
//!
//! Which of them goes, and how, stands with each: `registration.rs`, `statements.rs`, `rotation.rs`.

use std::sync::Arc;
use std::time::Duration;

use super::ledger::Ledger;
use super::{PENDING, RETIRED_KEYS, STATEMENTS};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::store::Job;
use crate::worker::Task;

/// How many jobs are taken at once.
const BATCH: usize = 100;

/// How far a job's due time may be ahead of this host's clock.
pub(super) const SKEW: Duration = Duration::from_secs(60);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Tidier {
    pub(super) ledger: Ledger,
    pub(super) clock: Arc<dyn Clock>,
}

impl Tidier {
    pub(super) const fn new(ledger: Ledger, clock: Arc<dyn Clock>) -> Self {
        Self { ledger, clock }
    }

    /// Does what is due of a queue; answers when something is due again.
    async fn tidy(&self, queue: &str) -> Result<Option<Timestamp>> {
        loop {
            let due = self.ledger.claim(queue, BATCH).await?;
            for job in &due.jobs {
                match self.settle(queue, job).await {
                    // Another worker has the job, or what it is about has come again.
                    Ok(()) | Err(Error::Conflict(_)) => {}
                    // A record that cannot be read must not keep the others from going.
                    Err(Error::Bug(cause)) => {
                        tracing::error!(queue, job = job.id, cause, "what is due was not done");
                    }
                    Err(cause) => return Err(cause),
                }
            }
            if due.jobs.len() < BATCH {
                return Ok(due.next_due);
            }
        }
    }

    async fn settle(&self, queue: &str, job: &Job) -> Result<()> {
        match queue {
            PENDING => self.remove_pending(job).await,
            STATEMENTS => self.remove_statement(job).await,
            _ => self.retire_keys(job).await,
        }
    }
}

impl Task for Tidier {
    async fn run(&self) -> Result<Option<Timestamp>> {
        let mut next = None;
        for queue in [PENDING, STATEMENTS, RETIRED_KEYS] {
            let due = self.tidy(queue).await?;
            next = [next, due].into_iter().flatten().min();
        }
        Ok(next)
    }
}
