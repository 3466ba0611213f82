//! The task that keeps a cache fresh: it reads the log when the store hints at a change, and again after a failed read.
//!
//! While the store is unavailable, the task backs off. It need not retry often to notice that the store is back: the
//! store detects that once for all caches, and hints ([`Hints`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tillgate_store::{Hints, hinted};
use tokio::sync::Notify;

use super::Subscriber;
use crate::error::Error;

/// The shortest time between two reads of the log: all hints within it share a read.
const MIN_INTERVAL: Duration = Duration::from_millis(20);

/// The first and the longest wait after a failed read.
const MIN_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// The log is trimmed once in this many reads.
const READS_PER_TRIM: u32 = 600;

/// Keeps a subscriber fresh in the background, until it is dropped.
pub fn keep_fresh<S: Subscriber>(subscriber: &Arc<S>) {
    let subscription = subscriber.subscription();
    let mut hints = subscription.hints.clone();
    let mut alive = subscription.alive.subscribe();
    let failed = Arc::clone(&subscription.failed);
    let subscriber = Arc::downgrade(subscriber);
    tokio::spawn(async move {
        let (mut reads, mut failures, mut seen) = (0_u32, 0_u32, None);
        loop {
            let hinted = tokio::select! {
                hinted = next_read(&mut hints, &failed, failures) => hinted,
                _ = alive.changed() => return,
            };
            let Some(subscriber) = subscriber.upgrade() else {
                return;
            };
            if hinted {
                failures = 0;
            }
            let count = Some(*hints.borrow());
            let is_changed = std::mem::replace(&mut seen, count) != count;
            let subscription = subscriber.subscription();
            if !is_changed && !subscription.failing.load(Ordering::Relaxed) {
                continue;
            }
            // A cache that is not in use is refreshed by the next request that uses it.
            let used = subscription.used.swap(false, Ordering::Relaxed);
            if !used && !subscriber.has_listeners() {
                subscription.failing.store(false, Ordering::Relaxed);
                failures = 0;
                continue;
            }
            reads = reads.wrapping_add(1);
            let trims = reads.is_multiple_of(READS_PER_TRIM);
            // Boxed: there is a task for each tenant, which is idle most of the time.
            let is_fresh = Box::pin(read_feed(subscriber.as_ref(), trims)).await;
            failures = if is_fresh {
                0
            } else {
                failures.saturating_add(1)
            };
            drop(subscriber);
            tokio::time::sleep(MIN_INTERVAL).await;
        }
    });
}

/// Returns the wait after this many failed reads in a row.
fn backoff(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(u32::BITS - 1);
    MIN_BACKOFF.saturating_mul(1 << doublings).min(MAX_BACKOFF)
}

/// Waits until the log needs to be read: after a hint, after a request's own read has failed, or after a backoff.
/// Returns whether there was a hint, which means that the store answers.
async fn next_read(hints: &mut Hints, failed: &Notify, failures: u32) -> bool {
    if failures > 0 {
        let hint = tokio::time::timeout(backoff(failures), hinted(hints));
        return hint.await.is_ok();
    }
    tokio::select! {
        () = hinted(hints) => true,
        () = failed.notified() => false,
    }
}

/// Applies the changes. Returns whether the cache is fresh.
async fn read_feed<S: Subscriber>(subscriber: &S, trims: bool) -> bool {
    let subscription = subscriber.subscription();
    let partition = &subscription.partition;
    let read = subscriber.catch_up().await;
    match &read {
        // Readiness logs once for all partitions that the store is unavailable.
        Err(cause @ Error::Unavailable(_)) => {
            tracing::debug!(?partition, %cause, "memory cannot be refreshed");
        }
        Err(cause) => tracing::warn!(?partition, %cause, "memory cannot be refreshed"),
        Ok(()) => {}
    }
    if trims && let Err(cause) = subscription.trim().await {
        tracing::warn!(?partition, %cause, "old change notices could not be trimmed");
    }
    read.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_fails_again_and_again_is_tried_less_and_less_often_down_to_every_five_seconds() {
        let waits = (1..=7).map(|failures| backoff(failures).as_millis());
        let expected = [500, 1_000, 2_000, 4_000, 5_000, 5_000, 5_000];
        assert_eq!(waits.collect::<Vec<_>>(), expected);
        assert_eq!(backoff(u32::MAX), MAX_BACKOFF);
    }
}
