//! The change feed: how caches stay as fresh as the store.
//!
//! Every write to a cached record appends a change notice, the key that it wrote, to the log [`CHANGES`] of its
//! partition, in the same commit. A [`Subscriber`] reads that log when the store hints at a change, and at once on the
//! host that wrote. It does not poll: the store says up to what time its hints are complete ([`Store::hints_as_of`]),
//! and a subscriber that has acted on all hints is as fresh as that. The cost of freshness therefore grows with the
//! store's servers, not with tenants. While the store answers, caches are never older than a second (`platform.md`,
//! "Store"). While it does not, some answers come from an older cache, and say how old it is
//! ([`Subscriber::ensure_within`]).

mod background;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_store::{Hints, Op, Partition, Position, Store, Unavailable};
use tokio::sync::{Mutex, Notify, watch};

pub use self::background::keep_fresh;
use crate::error::{Error, Result};

/// The log that holds the change notices of a partition.
pub const CHANGES: &str = "changes";

/// The greatest age of a fresh cache (`platform.md`, "Store").
pub const MAX_AGE: Duration = Duration::from_secs(1);

/// The longest wait of a request for a refresh, when the cache would do as it is and the store answers.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// The retention of change notices: a subscriber that falls further behind reads everything again.
const RETENTION: Duration = Duration::from_secs(60 * 60);

/// The number of messages that are read or trimmed at once.
const PAGE: usize = 500;

/// Returns the operation that announces a change to the record of a key.
#[must_use]
pub fn change_notice(key: &str) -> Op {
    Op::Append {
        log: CHANGES.to_owned(),
        attributes: Vec::new(),
        body: Bytes::copy_from_slice(key.as_bytes()),
    }
}

/// The changes since the feed was last read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The records of these keys; a key may appear more than once.
    Keys(Vec<String>),
    /// Possibly anything: nothing has been read yet, or notices were trimmed before they were read.
    Everything,
}

/// The age of a cache that is older than a second and is served because the store is unavailable; zero when it is
/// fresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Staleness(Duration);

impl Staleness {
    /// Returns the age in whole seconds, or `None` when the cache is fresh.
    #[must_use]
    pub const fn seconds(self) -> Option<u64> {
        if self.0.is_zero() {
            None
        } else {
            Some(self.0.as_secs())
        }
    }
}

/// The progress of a subscriber in the feed of its partition, and the age of its cache.
#[derive(Debug)]
pub struct Subscription {
    store: Arc<dyn Store>,
    partition: Partition,
    clock: Arc<dyn Clock>,
    /// Counts the hints of the partition.
    hints: Hints,
    /// The number of hints when the last successful read began.
    hints_read: AtomicU64,
    position: Mutex<Option<Position>>,
    /// The number of the newest read that has begun, and that of the newest read that has succeeded.
    begun: AtomicU64,
    done: AtomicU64,
    /// The last time that the cache was known to match the store, in microseconds since the epoch; 0 before the first
    /// read.
    fresh_at: AtomicU64,
    /// True if the last read failed and the background task is retrying.
    failing: AtomicBool,
    /// True if a request has used the cache since the last check.
    used: AtomicBool,
    /// Notified when a request's own read has failed.
    failed: Arc<Notify>,
    /// Closed when the subscription is dropped.
    alive: watch::Sender<()>,
}

impl Subscription {
    /// Creates a subscription to the feed of a partition. Nothing has been read yet.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, partition: Partition, clock: Arc<dyn Clock>) -> Self {
        Self {
            hints: store.hints(&partition),
            store,
            partition,
            clock,
            hints_read: AtomicU64::new(0),
            position: Mutex::new(None),
            begun: AtomicU64::new(0),
            done: AtomicU64::new(0),
            fresh_at: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            used: AtomicBool::new(false),
            failed: Arc::default(),
            alive: watch::Sender::new(()),
        }
    }

    /// Returns the partition.
    #[must_use]
    pub const fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Returns the age of the cache. A clock that was set back does not make it younger.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Duration {
        let age_of = |at: u64| Duration::from_micros(now.0.abs_diff(at));
        let fresh_at = self.fresh_at.load(Ordering::Relaxed);
        let age = age_of(fresh_at);
        if age <= MAX_AGE || fresh_at == 0 {
            return age;
        }
        // This order matters: a hint that arrives in between belongs to a later commit.
        let hinted = self.store.hints_as_of();
        match hinted.filter(|_| *self.hints.borrow() == self.hints_read.load(Ordering::Acquire)) {
            Some(hinted) if age_of(hinted.0) < age => {
                self.fresh_at.store(hinted.0, Ordering::Relaxed);
                age_of(hinted.0)
            }
            _ => age,
        }
    }

    /// Returns whether the store has answered within the last second, as far as its hints tell.
    fn is_store_available(&self, now: Timestamp) -> bool {
        let hinted = self.store.hints_as_of();
        hinted.is_some_and(|at| Duration::from_micros(now.0.abs_diff(at.0)) <= MAX_AGE)
    }

    /// Leaves the retry to the background task.
    fn leave_to_background(&self) {
        self.failing.store(true, Ordering::Relaxed);
        self.failed.notify_one();
    }

    /// Returns the age of the cache, if it was used lately.
    #[must_use]
    pub fn age_if_used(&self, now: Timestamp) -> Option<Duration> {
        let is_used = self.used.load(Ordering::Relaxed);
        is_used.then(|| self.age(now))
    }

    /// Marks the cache as used. Writes only when it is not marked yet, since requests on all processors read the mark.
    fn mark_used(&self) {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }

    async fn trim(&self) -> Result<()> {
        let before = self.clock.now().minus(RETENTION);
        while self
            .store
            .trim(&self.partition, CHANGES, before, PAGE)
            .await?
            == PAGE
        {}
        Ok(())
    }
}

/// A cache that the feed of a partition keeps fresh.
pub trait Subscriber: Send + Sync + 'static {
    /// Returns the cache's progress in the feed.
    fn subscription(&self) -> &Subscription;

    /// Updates the cache from the store after a change. Never runs twice at once.
    fn apply(&self, changed: Changed) -> impl Future<Output = Result<()>> + Send;

    /// Returns whether each change must be applied at once. Otherwise, changes are applied only while the cache is in
    /// use.
    fn has_listeners(&self) -> bool {
        true
    }

    /// Applies all changes so far. Concurrent calls share a read.
    fn catch_up(&self) -> impl Future<Output = Result<()>> + Send {
        async {
            let subscription = self.subscription();
            let begun = subscription.begun.load(Ordering::Acquire);
            let mut position = subscription.position.lock().await;
            if subscription.done.load(Ordering::Acquire) > begun {
                return Ok(());
            }
            let read = subscription.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let hints = *subscription.hints.borrow();
            let fresh_at = apply_all(self, &mut position).await;
            subscription
                .failing
                .store(fresh_at.is_err(), Ordering::Relaxed);
            subscription.fresh_at.store(fresh_at?.0, Ordering::Relaxed);
            subscription.hints_read.store(hints, Ordering::Release);
            subscription.done.store(read, Ordering::Release);
            Ok(())
        }
    }

    /// Succeeds if the cache is fresh or can be refreshed.
    fn ensure_fresh(&self, now: Timestamp) -> impl Future<Output = Result<()>> + Send {
        async move { self.ensure_within(now, Duration::ZERO).await.map(drop) }
    }

    /// Succeeds if the cache is fresh, can be refreshed, or is at most `max_stale` old while the store is unavailable.
    /// In the last case, requests do not wait for the store.
    fn ensure_within(
        &self,
        now: Timestamp,
        max_stale: Duration,
    ) -> impl Future<Output = Result<Staleness>> + Send {
        async move {
            let subscription = self.subscription();
            subscription.mark_used();
            let age = subscription.age(now);
            if age <= MAX_AGE {
                return Ok(Staleness::default());
            }
            // While the store is unavailable, the background task keeps trying, so that requests need not wait for it.
            let is_failing = subscription.failing.load(Ordering::Relaxed);
            if is_failing && age <= max_stale {
                return Ok(Staleness(age));
            }
            // Boxed: it is rarely needed, and would make every request as large as itself.
            Box::pin(refresh_within(self, (now, age), max_stale)).await
        }
    }
}

/// Refreshes a cache of this age. If that fails, the cache may still be young enough to be served.
async fn refresh_within<S: Subscriber + ?Sized>(
    subscriber: &S,
    (now, mut age): (Timestamp, Duration),
    max_stale: Duration,
) -> Result<Staleness> {
    let subscription = subscriber.subscription();
    if !subscription.failing.load(Ordering::Relaxed) {
        if age > max_stale || subscription.is_store_available(now) {
            let max_wait = if age <= max_stale { MAX_WAIT } else { MAX_AGE };
            let caught_up = tokio::time::timeout(max_wait, subscriber.catch_up()).await;
            // A damaged record is an error at any age.
            if let Ok(Err(cause @ Error::Bug(_))) = caught_up {
                return Err(cause);
            }
            age = subscription.age(now);
            if age <= MAX_AGE {
                return Ok(Staleness::default());
            }
        }
        subscription.leave_to_background();
    }
    if age <= max_stale {
        return Ok(Staleness(age));
    }
    let partition = &subscription.partition;
    let why = format!(
        "{partition:?}: the data in memory is {} s old",
        age.as_secs()
    );
    Err(Unavailable(why).into())
}

/// Applies all changes. Returns the time at which the last read began, the one that found nothing more.
async fn apply_all<S: Subscriber + ?Sized>(
    subscriber: &S,
    position: &mut Option<Position>,
) -> Result<Timestamp> {
    let Subscription {
        store,
        partition,
        clock,
        ..
    } = subscriber.subscription();
    loop {
        let read_at = store.snapshot_of().unwrap_or_else(|| clock.now());
        let (after, max) = position.map_or((Position::default(), 0), |at| (at, PAGE));
        let slice = store.read(partition, CHANGES, after, max).await?;
        if position.is_none_or(|at| at < slice.trimmed) {
            subscriber.apply(Changed::Everything).await?;
            *position = Some(slice.last);
            return Ok(read_at);
        }
        let Some(newest) = slice.messages.last().map(|message| message.position) else {
            return Ok(read_at);
        };
        let keys = slice.messages.iter();
        let keys = keys.map(|message| String::from_utf8_lossy(&message.body).into_owned());
        subscriber.apply(Changed::Keys(keys.collect())).await?;
        *position = Some(newest);
        if newest == slice.last {
            return Ok(read_at);
        }
    }
}
