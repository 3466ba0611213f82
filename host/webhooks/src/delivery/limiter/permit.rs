//! A delivery that waits for its permit, and then has it.

use std::sync::Arc;
use std::time::Duration;

use tillgate_store::clock::Timestamp;
use tokio::sync::{AcquireError, OwnedSemaphorePermit};

use super::Limiter;

/// The permission to send a delivery. One that is dropped unfinished says nothing about the webhook.
#[derive(Debug)]
pub(crate) struct Permit {
    limiter: Arc<Limiter>,
    _permit: OwnedSemaphorePermit,
    begun: Timestamp,
    is_probe: bool,
    is_finished: bool,
}

/// A delivery that waits for a permit.
pub(super) struct Waiting<'l> {
    limiter: &'l Arc<Limiter>,
    is_probe: bool,
}

impl<'l> Waiting<'l> {
    pub(super) const fn new(limiter: &'l Arc<Limiter>, is_probe: bool) -> Self {
        Self { limiter, is_probe }
    }

    /// Ends the wait with a permit.
    pub(super) fn begin(mut self, permit: OwnedSemaphorePermit, now: Timestamp) -> Permit {
        self.limiter.pacing().begin(now);
        Permit {
            limiter: Arc::clone(self.limiter),
            _permit: permit,
            begun: now,
            is_probe: std::mem::take(&mut self.is_probe),
            is_finished: false,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut pacing = self.limiter.pacing();
        pacing.leave();
        if self.is_probe {
            pacing.cancel_probe();
        }
    }
}

impl Limiter {
    /// Waits for the permit of a delivery: while the webhook is unproven, for the only one.
    pub(super) async fn permit(
        &self,
        now: Timestamp,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        if !self.is_proven(now) {
            let only = Arc::clone(&self.only).acquire_owned().await?;
            // The delivery before it may have proven the webhook.
            if !self.is_proven(now) {
                return Ok(only);
            }
        }
        Arc::clone(&self.permits).acquire_owned().await
    }
}

impl Permit {
    /// Notes how the delivery ended.
    pub(crate) fn finish(mut self, now: Timestamp, took: Duration, has_succeeded: bool) {
        self.is_finished = true;
        let mut pacing = self.limiter.pacing();
        pacing.finished(now, took, has_succeeded, self.is_probe);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut pacing = self.limiter.pacing();
        pacing.end(self.begun);
        if self.is_probe && !self.is_finished {
            pacing.cancel_probe();
        }
    }
}
