//! Following what changes: how memory stays as fresh as the store.
//!
//! Every write of what is read from memory appends the keys it wrote to the log [`CHANGES`] of its partition, in the
//! same commit. A [`Follow`]er reads that log: woken by the store's hints, by itself within half a second, and at once
//! by the host that wrote. So memory is never older than a second, and never older than this host's own writes
//! (`platform.md`, "Store"): who serves from it asks first whether it is ([`Follow::be_fresh`]), and says that the store
//! is away while it cannot be. What nobody has asked for in a minute rests until somebody does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;

use crate::clock::{Clock, Timestamp};
use crate::error::Result;
use crate::store::{Op, Partition, Position, Store, Unavailable};

/// The log that names the keys that were written.
pub const CHANGES: &str = "changes";

/// How old may be what is served from memory (`platform.md`, "Store").
const MAX_AGE: Duration = Duration::from_secs(1);

/// How long a follower waits for a hint before it looks by itself.
const LOOK: Duration = Duration::from_millis(500);

/// How long a name stays in the log: far longer than any follower sleeps.
const KEEP: Duration = Duration::from_secs(60 * 60);

/// How many looks lie between two clean-ups of the log.
const LOOKS_PER_TRIM: u32 = 600;

/// How many looks without anybody who asks let memory rest: a minute's.
const LOOKS_TO_REST: u32 = 120;

/// How long it rests before it looks whether somebody has asked.
const REST: Duration = Duration::from_secs(5);

/// How many messages are read or trimmed at once.
const PAGE: usize = 500;

/// The operation that tells followers of a key.
#[must_use]
pub fn tell(key: &str) -> Op {
    Op::Append {
        log: CHANGES.to_owned(),
        attributes: Vec::new(),
        body: Bytes::copy_from_slice(key.as_bytes()),
    }
}

/// What changed since the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// These keys, perhaps some of them twice.
    Keys(Vec<String>),
    /// Anything: nothing is known yet, or too much was missed.
    Everything,
}

/// Where a follower stands.
#[derive(Debug)]
pub struct Follower {
    store: Arc<dyn Store>,
    partition: Partition,
    clock: Arc<dyn Clock>,
    position: Mutex<Option<Position>>,
    /// When the store was asked and had nothing that is not in memory: microseconds.
    seen: AtomicU64,
    /// Whether the last look failed.
    away: AtomicBool,
    /// Whether somebody has asked since it was last looked after.
    asked: AtomicBool,
}

impl Follower {
    /// A follower of a partition that has seen nothing yet.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, partition: Partition, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            partition,
            clock,
            position: Mutex::new(None),
            seen: AtomicU64::new(0),
            away: AtomicBool::new(false),
            asked: AtomicBool::new(false),
        }
    }

    /// The partition.
    #[must_use]
    pub const fn partition(&self) -> &Partition {
        &self.partition
    }

    /// Whether memory is young enough to be served, also when the clock was set back.
    fn is_fresh(&self, now: Timestamp) -> bool {
        let apart = now.0.abs_diff(self.seen.load(Ordering::Relaxed));
        Duration::from_micros(apart) <= MAX_AGE
    }

    /// Notes that somebody asks. Mostly somebody has already, and then nothing is written.
    fn note_asked(&self) {
        if !self.asked.load(Ordering::Relaxed) {
            self.asked.store(true, Ordering::Relaxed);
        }
    }

    async fn trim(&self) -> Result<()> {
        let before = self.clock.now().minus(KEEP);
        while self
            .store
            .trim(&self.partition, CHANGES, before, PAGE)
            .await?
            == PAGE
        {}
        Ok(())
    }
}

/// Something in memory that follows a partition.
pub trait Follow: Send + Sync + 'static {
    /// Where it stands.
    fn follower(&self) -> &Follower;

    /// Takes in what changed, from the store. Called by one at a time.
    fn take_in(&self, changed: Changed) -> impl Future<Output = Result<()>> + Send;

    /// Whether somebody is told of each change. What this is so for never rests.
    fn is_listened_to(&self) -> bool {
        true
    }

    /// Takes in all that changed until now.
    fn catch_up(&self) -> impl Future<Output = Result<()>> + Send {
        async {
            let follower = self.follower();
            let mut position = follower.position.lock().await;
            let seen = take_in_all(self, &mut position).await;
            follower.away.store(seen.is_err(), Ordering::Relaxed);
            follower.seen.store(seen?.0, Ordering::Relaxed);
            Ok(())
        }
    }

    /// Nothing, when memory may be served now: it is young enough, or could be made so.
    fn be_fresh(&self, now: Timestamp) -> impl Future<Output = Result<()>> + Send {
        async move {
            let follower = self.follower();
            follower.note_asked();
            if follower.is_fresh(now) {
                return Ok(());
            }
            let old = |why: &str| Unavailable(format!("{:?}: {why}", follower.partition));
            // Who keeps it fresh goes on trying; not everyone who asks must wait for that.
            if follower.away.load(Ordering::Relaxed) {
                return Err(old("what is in memory is older than a second").into());
            }
            let caught_up = tokio::time::timeout(MAX_AGE, self.catch_up()).await;
            caught_up
                .unwrap_or_else(|_| Err(old("memory was not refreshed within a second").into()))
        }
    }
}

/// Takes in all that changed; answers when the store was asked and had nothing more.
async fn take_in_all<F: Follow + ?Sized>(
    followed: &F,
    position: &mut Option<Position>,
) -> Result<Timestamp> {
    let Follower {
        store,
        partition,
        clock,
        ..
    } = followed.follower();
    loop {
        let asked = clock.now();
        let (after, max) = position.map_or((Position::default(), 0), |at| (at, PAGE));
        let slice = store.read(partition, CHANGES, after, max).await?;
        if position.is_none_or(|at| at < slice.trimmed) {
            followed.take_in(Changed::Everything).await?;
            *position = Some(slice.last);
            return Ok(asked);
        }
        let Some(newest) = slice.messages.last().map(|message| message.position) else {
            return Ok(asked);
        };
        let keys = slice.messages.iter();
        let keys = keys.map(|message| String::from_utf8_lossy(&message.body).into_owned());
        followed.take_in(Changed::Keys(keys.collect())).await?;
        *position = Some(newest);
        if newest == slice.last {
            return Ok(asked);
        }
    }
}

/// Keeps something in memory fresh for as long as anyone holds it and somebody asks for it.
pub fn keep_fresh<F: Follow>(followed: &Arc<F>) {
    let follower = followed.follower();
    let mut hints = follower.store.hints(&follower.partition);
    let followed = Arc::downgrade(followed);
    tokio::spawn(async move {
        let (mut looks, mut idle) = (0_u32, 0_u32);
        loop {
            let wait = if idle < LOOKS_TO_REST { LOOK } else { REST };
            let hint = tokio::time::timeout(wait, hints.changed()).await;
            if let Ok(Err(_)) = hint {
                // The store gives no more hints: it is closed.
                tokio::time::sleep(LOOK).await;
            }
            let Some(followed) = followed.upgrade() else {
                return;
            };
            let asked = followed.follower().asked.swap(false, Ordering::Relaxed);
            idle = match asked || followed.is_listened_to() {
                true => 0,
                // Hints do not count: others may change all the time what nobody asks for here.
                false if hint.is_err() => idle.saturating_add(1),
                false => idle,
            };
            if idle < LOOKS_TO_REST {
                look(followed.as_ref(), looks.is_multiple_of(LOOKS_PER_TRIM)).await;
                looks = looks.wrapping_add(1);
            }
        }
    });
}

/// Takes in what changed, and tells of it when the store has gone or come back.
async fn look<F: Follow>(followed: &F, trims: bool) {
    let follower = followed.follower();
    let partition = &follower.partition;
    let was_away = follower.away.load(Ordering::Relaxed);
    match followed.catch_up().await {
        Err(cause) if !was_away => {
            tracing::warn!(?partition, %cause, "memory cannot be refreshed");
        }
        Ok(()) if was_away => tracing::warn!(?partition, "memory is fresh again"),
        _ => {}
    }
    if trims && let Err(cause) = follower.trim().await {
        tracing::warn!(?partition, %cause, "the log of changes could not be trimmed");
    }
}
