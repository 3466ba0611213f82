//! The background jobs of the token service: clients that were pending for too long, statements that have expired, and
//! signing keys that were replaced are removed when they are due.
//!
//! What is removed, and how, stands with each of them: `registration.rs`, `statements.rs`, `keys/`.

use std::sync::Arc;

use crate::app::App;
use crate::clock::Clock;
use crate::keys::Keys;
use crate::records::Records;
use crate::runner::{Queue, Scope, Work};

/// The queue of clients that are removed when they have been pending for too long. A job is the id of a client.
pub(super) const PENDING: &str = "pending";

/// The queue of statements that expire. A job is the end of a statement's key.
pub(super) const STATEMENTS: &str = "statements";

/// What the jobs need.
#[derive(Debug)]
pub(super) struct Expiry {
    pub(super) records: Records,
    pub(super) clock: Arc<dyn Clock>,
}

/// Has the jobs done from now on.
pub(super) fn register(app: &App, records: &Records, keys: &Arc<Keys>) {
    let queue = |name| Queue::new(name, Scope::Partition(records.partition().clone()));
    let expiry = Arc::new(Expiry {
        records: records.clone(),
        clock: Arc::clone(&app.clock),
    });
    let pending = Arc::clone(&expiry);
    app.runner.register(queue(PENDING), move |work: Work| {
        let expiry = Arc::clone(&pending);
        async move { expiry.remove_pending(&work).await }
    });
    app.runner.register(queue(STATEMENTS), move |work: Work| {
        let expiry = Arc::clone(&expiry);
        async move { expiry.remove_statement(&work).await }
    });
    let keys = Arc::clone(keys);
    app.runner.register(queue(keys.queue()), move |work: Work| {
        let keys = Arc::clone(&keys);
        async move { keys.retire(&work).await }
    });
}
