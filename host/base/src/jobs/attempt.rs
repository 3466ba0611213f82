//! One attempt at a job: running its handler, and what happens when it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures_util::future::BoxFuture;
use tillgate_store::Store;
use tillgate_store::clock::{Clock, Timestamp};

use super::dead_letter_count::DeadLetterCount;
use super::queue::{DEAD_LETTERS, DeadLetter, Queue, QueueStatus, Work};
use crate::data::records::{Change, Records};
use crate::egress::with_urls_shown;
use crate::error::{Error, Result};
use crate::observe::traces::AttemptSpan;

/// The pause before a partition is read again after the store has failed.
pub(super) const STORE_PAUSE: Duration = Duration::from_secs(1);

/// The shortest and the longest pause before a failed job is retried.
const MIN_RETRY: Duration = Duration::from_secs(1);
const MAX_RETRY: Duration = Duration::from_secs(10 * 60);

#[derive(Debug, Default)]
pub(super) struct Counters {
    waiting_partitions: AtomicUsize,
    /// Microseconds since the epoch; 0 while none waits.
    waiting_since: AtomicU64,
    running: AtomicUsize,
    failures: AtomicU64,
    dead_lettered: AtomicU64,
}

/// Runs a job and settles it.
pub(super) type Handler = Arc<dyn Fn(Work) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// The shared parts that attempts at a queue's jobs need.
#[derive(Clone)]
pub(super) struct Attempts {
    pub(super) queue: Queue,
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) counters: Arc<Counters>,
    pub(super) dead_letter_count: Arc<DeadLetterCount>,
    pub(super) handler: Handler,
}

impl Counters {
    /// Publishes how many partitions wait for a slot, since when, and how many jobs run.
    pub(super) fn publish(&self, waiting: usize, since: Option<Timestamp>, running: usize) {
        self.waiting_partitions.store(waiting, Ordering::Relaxed);
        let since = since.map_or(0, |since| since.0);
        self.waiting_since.store(since, Ordering::Relaxed);
        self.running.store(running, Ordering::Relaxed);
    }

    pub(super) fn status(&self, queue: &'static str, dead_letters: usize) -> QueueStatus {
        let since = self.waiting_since.load(Ordering::Relaxed);
        QueueStatus {
            queue,
            waiting_partitions: self.waiting_partitions.load(Ordering::Relaxed),
            waiting_since: (since > 0).then_some(Timestamp(since)),
            running: self.running.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            dead_lettered: self.dead_lettered.load(Ordering::Relaxed),
            dead_letters,
        }
    }
}

impl Attempts {
    /// Tries a job once.
    pub(super) async fn run(self, work: Work) {
        // The last attempt that was allowed has reported no result: the job may have crashed its hosts.
        if work.job.attempt > self.queue.max_attempts {
            return self
                .dead_letter(&work, "its hosts crashed while it ran")
                .await;
        }
        let Work {
            queue,
            partition,
            job,
        } = &work;
        let mut span = AttemptSpan::begin(queue, partition.as_str(), &job.id, job.attempt);
        let handled = tokio::select! {
            biased;
            handled = (self.handler)(work.clone()) => Ok(handled),
            () = self.lease_is_nearly_over() => Err(()),
        };
        let cause = match handled {
            // Another host has claimed the job, or its subject has changed meanwhile.
            Ok(Ok(()) | Err(Error::Conflict(..))) => return,
            // A failure of the store is not a failure of the job.
            Ok(Err(cause @ (Error::Unavailable(_) | Error::Busy))) => {
                tracing::debug!(queue = work.queue, job = work.job.id, %cause, "a job waits for the store");
                return self.hand_back(&work, STORE_PAUSE).await;
            }
            Ok(Err(Error::Bug(cause))) => cause,
            Ok(Err(cause)) => cause.to_string(),
            Err(()) => "it did not finish in time".to_owned(),
        };
        span.fail(&cause);
        self.failed(&work, &cause).await;
    }

    /// Waits for most of a lease that starts now, by the clock that leases go by.
    async fn lease_is_nearly_over(&self) {
        let end = self.clock.now().plus(self.queue.lease.mul_f64(0.8));
        loop {
            let left = end.since(self.clock.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left).await;
        }
    }

    /// Schedules another attempt at a job that failed, or makes it a dead letter.
    pub(super) async fn failed(&self, work: &Work, cause: &str) {
        let cause = &*with_urls_shown(cause);
        self.counters.failures.fetch_add(1, Ordering::Relaxed);
        let Work {
            queue,
            partition,
            job,
        } = work;
        let attempt = job.attempt;
        if attempt >= self.queue.max_attempts {
            return self.dead_letter(work, cause).await;
        }
        tracing::warn!(
            queue,
            ?partition,
            job = job.id,
            attempt,
            cause,
            "a job failed and will be tried again"
        );
        let mut change = Change::default();
        let next = self.clock.now().plus(retry_pause(attempt));
        change.retry_at(queue, job, next);
        self.commit(work, change).await;
    }

    async fn dead_letter(&self, work: &Work, cause: &str) {
        let Work {
            queue,
            partition,
            job,
        } = work;
        let letter = DeadLetter {
            queue: (*queue).to_owned(),
            job: job.id.clone(),
            attempts: job.attempt,
            cause: cause.to_owned(),
            at: self.clock.now().to_millis_text(),
            body: BASE64_STANDARD.encode(&job.body),
        };
        let mut change = Change::default();
        work.settle(&mut change);
        let put = change.put(&format!("{DEAD_LETTERS}{queue}/{}", job.id), &letter);
        if put.is_ok() && self.commit(work, change).await {
            self.counters.dead_lettered.fetch_add(1, Ordering::Relaxed);
            self.dead_letter_count.add(partition);
            tracing::error!(
                queue,
                ?partition,
                job = job.id,
                attempts = job.attempt,
                cause,
                "a job became a dead letter"
            );
        }
    }

    /// Hands back a job that this host will not finish. This is not a failure: its attempts are counted from 0 again.
    pub(super) async fn hand_back(&self, work: &Work, pause: Duration) {
        let mut change = Change::default();
        work.reschedule(&mut change, self.clock.now().plus(pause));
        self.commit(work, change).await;
    }

    /// Commits a change and returns whether that succeeded. If not, the lease expires and the job is claimed again.
    async fn commit(&self, work: &Work, change: Change) -> bool {
        let records = Records::new(Arc::clone(&self.store), work.partition.clone());
        matches!(records.commit(change).await, Ok(Some(_)))
    }
}

/// Returns the pause after a failed attempt, by the number of that attempt.
fn retry_pause(attempt: u32) -> Duration {
    let pauses = ExponentialBuilder::default()
        .with_min_delay(MIN_RETRY)
        .with_max_delay(MAX_RETRY)
        .without_max_times()
        .build();
    let mut pauses = pauses.skip(usize::try_from(attempt.saturating_sub(1)).unwrap_or(0));
    pauses.next().unwrap_or(MAX_RETRY)
}
