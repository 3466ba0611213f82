//! Background tasks: woken when something changes, in time for what is due, and ended with what they serve.
//!
//! A task does what is due and says when to come again; this knows no feature. Hints may be lost and clocks may be
//! wrong, so every task is looked after once in a while for nothing.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, Timestamp};
use crate::error::Result;
use crate::store::Hints;

/// How long nobody looks after a task that nothing wakes.
const POLL: Duration = Duration::from_secs(30);

/// How long a task that failed is left alone.
const PAUSE: Duration = Duration::from_secs(1);

/// Something that is done in the background.
pub trait Task: Send + Sync + 'static {
    /// Does what is due; answers when something is due again.
    fn run(&self) -> impl Future<Output = Result<Option<Timestamp>>> + Send;
}

/// Does a task whenever it is due, for as long as anyone holds it.
pub fn start<T: Task>(task: &Arc<T>, mut hints: Hints, clock: Arc<dyn Clock>) {
    let task = Arc::downgrade(task);
    tokio::spawn(async move {
        loop {
            let Some(alive) = task.upgrade() else { return };
            let done = alive.run().await;
            drop(alive);
            let wait = match done {
                Ok(Some(due)) => due.since(clock.now()).min(POLL),
                Ok(None) => POLL,
                Err(cause) => {
                    tracing::warn!(%cause, "a background task failed");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            if let Ok(Err(_)) = tokio::time::timeout(wait, hints.changed()).await {
                // The store gives no more hints: it is closed.
                tokio::time::sleep(PAUSE).await;
            }
        }
    });
}
