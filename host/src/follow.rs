//! Following what changes: how memory stays as fresh as the store.
//!
//! Every write of what is read from memory appends the keys it wrote to the log [`CHANGES`] of its partition, in the
//! same commit. A [`Follow`]er reads that log: woken by the store's hints, by itself within half a second, and at once
//! by the host that wrote. So memory is never older than a second, and never older than this host's own writes
//! (`platform.md`, "Store").

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;

use crate::clock::Timestamp;
use crate::error::Result;
use crate::store::{Op, Partition, Position, Store};

/// The log that names the keys that were written.
pub const CHANGES: &str = "changes";

/// How long a follower waits for a hint before it looks by itself.
const LOOK: Duration = Duration::from_millis(500);

/// How long a name stays in the log: far longer than any follower sleeps.
const KEEP: Duration = Duration::from_secs(60 * 60);

/// How many looks lie between two clean-ups of the log.
const LOOKS_PER_TRIM: u32 = 600;

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
    position: Mutex<Option<Position>>,
}

impl Follower {
    /// A follower of a partition that has seen nothing yet.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, partition: Partition) -> Self {
        Self { store, partition, position: Mutex::new(None) }
    }

    /// The partition.
    #[must_use]
    pub const fn partition(&self) -> &Partition {
        &self.partition
    }

    async fn trim(&self, now: Timestamp) -> Result<()> {
        while self.store.trim(&self.partition, CHANGES, now.minus(KEEP), PAGE).await? == PAGE {}
        Ok(())
    }
}

/// Something in memory that follows a partition.
pub trait Follow: Send + Sync + 'static {
    /// Where it stands.
    fn follower(&self) -> &Follower;

    /// Takes in what changed, from the store. Called by one at a time.
    fn take_in(&self, changed: Changed) -> impl Future<Output = Result<()>> + Send;

    /// Takes in all that changed until now.
    fn catch_up(&self) -> impl Future<Output = Result<()>> + Send {
        async {
            let Follower { store, partition, position } = self.follower();
            let mut position = position.lock().await;
            loop {
                let (after, max) = position.map_or((Position::default(), 0), |at| (at, PAGE));
                let slice = store.read(partition, CHANGES, after, max).await?;
                if position.is_none_or(|at| at < slice.trimmed) {
                    self.take_in(Changed::Everything).await?;
                    *position = Some(slice.last);
                    return Ok(());
                }
                let Some(newest) = slice.messages.last().map(|message| message.position) else {
                    return Ok(());
                };
                let keys = slice.messages.iter();
                let keys = keys.map(|message| String::from_utf8_lossy(&message.body).into_owned());
                self.take_in(Changed::Keys(keys.collect())).await?;
                *position = Some(newest);
            }
        }
    }
}

/// Keeps something in memory fresh for as long as anyone holds it.
pub fn keep_fresh<F: Follow>(followed: &Arc<F>, clock: Arc<dyn crate::clock::Clock>) {
    let follower = followed.follower();
    let mut hints = follower.store.hints(&follower.partition);
    let followed = Arc::downgrade(followed);
    tokio::spawn(async move {
        let mut looks = 0_u32;
        loop {
            let hint = tokio::time::timeout(LOOK, hints.changed()).await;
            if let Ok(Err(_)) = hint {
                // The store gives no more hints: it is closed.
                tokio::time::sleep(LOOK).await;
            }
            let Some(followed) = followed.upgrade() else { return };
            if let Err(cause) = followed.catch_up().await {
                let partition = followed.follower().partition();
                tracing::warn!(?partition, %cause, "memory could not be refreshed");
            }
            looks = looks.wrapping_add(1);
            if looks % LOOKS_PER_TRIM == 0
                && let Err(cause) = followed.follower().trim(clock.now()).await
            {
                tracing::warn!(%cause, "the log of changes could not be trimmed");
            }
        }
    });
}
