//! The change feed: how what is cached in memory stays as fresh as the store.
//!
//! Every write to a record that is cached appends a change notice, the key that it wrote, to the log [`CHANGES`] of its
//! partition, in the same commit. A [`Subscriber`] reads that log: when the store hints at a change, by itself twice a
//! second, and at once on the host that wrote. Memory is therefore never older than a second, and never older than this
//! host's own writes (`platform.md`, "Store"): code that serves from memory ensures it first
//! ([`Subscriber::ensure_fresh`]) and reports that the store is away while it cannot be. A subscriber that nobody has
//! asked for in a minute rests until somebody does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;

use crate::clock::{Clock, Timestamp};
use crate::error::Result;
use crate::store::{Op, Partition, Position, Store, Unavailable};

/// The log that holds the change notices of a partition.
pub const CHANGES: &str = "changes";

/// How old memory may be and still be served (`platform.md`, "Store").
const MAX_AGE: Duration = Duration::from_secs(1);

/// How long a subscriber waits for a hint before it reads the log by itself.
const POLL: Duration = Duration::from_millis(500);

/// How long change notices are kept: far longer than a subscriber rests.
const RETENTION: Duration = Duration::from_secs(60 * 60);

/// The log is trimmed once in this many reads.
const READS_PER_TRIM: u32 = 600;

/// After this many reads without anybody asking, about a minute, a subscriber rests.
const READS_BEFORE_REST: u32 = 120;

/// How long a subscriber rests before it checks whether somebody has asked.
const REST: Duration = Duration::from_secs(5);

/// How many messages are read or trimmed at once.
const PAGE: usize = 500;

/// The operation that announces that the record of a key has changed.
#[must_use]
pub fn change_notice(key: &str) -> Op {
    Op::Append {
        log: CHANGES.to_owned(),
        attributes: Vec::new(),
        body: Bytes::copy_from_slice(key.as_bytes()),
    }
}

/// What has changed since the feed was last read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The records of these keys; a key may appear more than once.
    Keys(Vec<String>),
    /// Possibly anything: nothing has been read yet, or notices were trimmed before they were read.
    Everything,
}

/// How far a subscriber has read the feed of its partition, and when.
#[derive(Debug)]
pub struct Subscription {
    store: Arc<dyn Store>,
    partition: Partition,
    clock: Arc<dyn Clock>,
    position: Mutex<Option<Position>>,
    /// When memory was last known to hold everything that the store has: microseconds since the epoch.
    fresh_at: AtomicU64,
    /// Whether the last read failed.
    failing: AtomicBool,
    /// Whether somebody has asked since this was last checked.
    asked: AtomicBool,
}

impl Subscription {
    /// A subscription to the feed of a partition, of which nothing has been read yet.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, partition: Partition, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            partition,
            clock,
            position: Mutex::new(None),
            fresh_at: AtomicU64::new(0),
            failing: AtomicBool::new(false),
            asked: AtomicBool::new(false),
        }
    }

    /// The partition.
    #[must_use]
    pub const fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Whether memory is young enough to be served. A clock that was set back does not make it so.
    fn is_fresh(&self, now: Timestamp) -> bool {
        let apart = now.0.abs_diff(self.fresh_at.load(Ordering::Relaxed));
        Duration::from_micros(apart) <= MAX_AGE
    }

    /// Notes that somebody asks. Usually that is noted already, and then nothing is written.
    fn note_asked(&self) {
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
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

/// Memory that is kept fresh by the feed of a partition.
pub trait Subscriber: Send + Sync + 'static {
    /// How far it has read.
    fn subscription(&self) -> &Subscription;

    /// Brings memory up to date with what has changed, from the store. Never runs twice at once.
    fn apply(&self, changed: Changed) -> impl Future<Output = Result<()>> + Send;

    /// Whether anyone is notified of each change. Such a subscriber never rests.
    fn has_listeners(&self) -> bool {
        true
    }

    /// Applies everything that has changed until now.
    fn catch_up(&self) -> impl Future<Output = Result<()>> + Send {
        async {
            let subscription = self.subscription();
            let mut position = subscription.position.lock().await;
            let fresh_at = apply_all(self, &mut position).await;
            subscription
                .failing
                .store(fresh_at.is_err(), Ordering::Relaxed);
            subscription.fresh_at.store(fresh_at?.0, Ordering::Relaxed);
            Ok(())
        }
    }

    /// Succeeds when memory may be served now: it is young enough, or could be brought up to date.
    fn ensure_fresh(&self, now: Timestamp) -> impl Future<Output = Result<()>> + Send {
        async move {
            let subscription = self.subscription();
            subscription.note_asked();
            if subscription.is_fresh(now) {
                return Ok(());
            }
            let stale = |why: &str| Unavailable(format!("{:?}: {why}", subscription.partition));
            // The background task goes on trying; not every request has to wait for that.
            if subscription.failing.load(Ordering::Relaxed) {
                return Err(stale("what is in memory is older than a second").into());
            }
            let caught_up = tokio::time::timeout(MAX_AGE, self.catch_up()).await;
            caught_up.unwrap_or_else(|_| {
                Err(stale("memory could not be refreshed within a second").into())
            })
        }
    }
}

/// Applies everything that has changed; answers when the store was asked and had nothing more.
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
        let asked_at = clock.now();
        let (after, max) = position.map_or((Position::default(), 0), |at| (at, PAGE));
        let slice = store.read(partition, CHANGES, after, max).await?;
        if position.is_none_or(|at| at < slice.trimmed) {
            subscriber.apply(Changed::Everything).await?;
            *position = Some(slice.last);
            return Ok(asked_at);
        }
        let Some(newest) = slice.messages.last().map(|message| message.position) else {
            return Ok(asked_at);
        };
        let keys = slice.messages.iter();
        let keys = keys.map(|message| String::from_utf8_lossy(&message.body).into_owned());
        subscriber.apply(Changed::Keys(keys.collect())).await?;
        *position = Some(newest);
        if newest == slice.last {
            return Ok(asked_at);
        }
    }
}

/// Keeps a subscriber fresh in the background, for as long as anyone holds it and somebody asks for it.
pub fn keep_fresh<S: Subscriber>(subscriber: &Arc<S>) {
    let subscription = subscriber.subscription();
    let mut hints = subscription.store.hints(&subscription.partition);
    let subscriber = Arc::downgrade(subscriber);
    tokio::spawn(async move {
        let (mut reads, mut idle_reads) = (0_u32, 0_u32);
        loop {
            let wait = if idle_reads < READS_BEFORE_REST {
                POLL
            } else {
                REST
            };
            let hint = tokio::time::timeout(wait, hints.changed()).await;
            if let Ok(Err(_)) = hint {
                // The store was closed: there will be no more hints.
                tokio::time::sleep(POLL).await;
            }
            let Some(subscriber) = subscriber.upgrade() else {
                return;
            };
            let asked = subscriber
                .subscription()
                .asked
                .swap(false, Ordering::Relaxed);
            idle_reads = match asked || subscriber.has_listeners() {
                true => 0,
                // Hints do not count: others may keep changing what nobody asks for here.
                false if hint.is_err() => idle_reads.saturating_add(1),
                false => idle_reads,
            };
            if idle_reads < READS_BEFORE_REST {
                read_feed(subscriber.as_ref(), reads.is_multiple_of(READS_PER_TRIM)).await;
                reads = reads.wrapping_add(1);
            }
        }
    });
}

/// Applies what has changed, and logs when the store has gone away or come back.
async fn read_feed<S: Subscriber>(subscriber: &S, trims: bool) {
    let subscription = subscriber.subscription();
    let partition = &subscription.partition;
    let was_failing = subscription.failing.load(Ordering::Relaxed);
    match subscriber.catch_up().await {
        Err(cause) if !was_failing => {
            tracing::warn!(?partition, %cause, "memory cannot be refreshed");
        }
        Ok(()) if was_failing => tracing::warn!(?partition, "memory is fresh again"),
        _ => {}
    }
    if trims && let Err(cause) = subscription.trim().await {
        tracing::warn!(?partition, %cause, "old change notices could not be trimmed");
    }
}
