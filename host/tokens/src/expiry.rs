//! The background jobs of the token service: they remove clients that were pending for too long, statements that have
//! expired, and signing keys that were replaced, when they are due.
//!
//! The removals themselves are in `registration.rs`, `statements.rs` and `keys/`.

use std::sync::Arc;

use tillgate_base::data::feed::Subscriber;
use tillgate_base::data::records::Records;
use tillgate_base::error::Result;
use tillgate_base::jobs::{Queue, Runner, Scope, Work};
use tillgate_base::keys::Keys;
use tillgate_store::clock::Clock;

use super::registry::Registry;

/// The queue of clients to remove when they have been pending for too long. A job's id is the id of a client.
pub(super) const PENDING: &str = "pending";

/// The queue of statements to remove when they expire. A job's id is `{tenantId}/{jti}`.
pub(super) const STATEMENTS: &str = "statements";

/// The context of the jobs.
#[derive(Debug)]
pub(super) struct Expiry {
    pub(super) records: Records,
    pub(super) clock: Arc<dyn Clock>,
    registry: Arc<Registry>,
    keys: Arc<Keys>,
}

impl Expiry {
    pub(super) fn new(
        records: &Records,
        clock: &Arc<dyn Clock>,
        registry: &Arc<Registry>,
        keys: &Arc<Keys>,
    ) -> Arc<Self> {
        Arc::new(Self {
            records: records.clone(),
            clock: Arc::clone(clock),
            registry: Arc::clone(registry),
            keys: Arc::clone(keys),
        })
    }

    /// Registers the handlers of the queues.
    pub(super) fn register(self: &Arc<Self>, runner: &Runner) {
        for name in [PENDING, STATEMENTS, self.keys.queue()] {
            let queue = Queue::new(name, Scope::Partition(self.records.partition().clone()));
            let expiry = Arc::clone(self);
            runner.register(queue, move |work: Work| {
                let expiry = Arc::clone(&expiry);
                async move { expiry.remove(&work).await }
            });
        }
    }

    /// Runs a job, and then updates this host's caches at once.
    async fn remove(&self, work: &Work) -> Result<()> {
        match work.queue {
            PENDING => self.remove_pending(work).await,
            STATEMENTS => self.remove_statement(work).await,
            _ => self.keys.retire(work).await,
        }?;
        self.registry.catch_up().await
    }
}
