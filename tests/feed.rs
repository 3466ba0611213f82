//! Memory that follows the store: what nobody asks for rests, what somebody listens to does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tillgate::clock::{Clock, StoppedClock, Timestamp};
use tillgate::error::Result;
use tillgate::feed::{Changed, Subscriber, Subscription, change_notice, keep_fresh};
use tillgate::store::{Commit, CommitId, MemoryStore, Partition, Store};

/// Counts what it is told.
struct Memory {
    subscription: Subscription,
    has_listeners: bool,
    applied: AtomicUsize,
}

impl Subscriber for Memory {
    fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    fn has_listeners(&self) -> bool {
        self.has_listeners
    }

    async fn apply(&self, _: Changed) -> Result<()> {
        self.applied.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// A memory, what it follows, and the time.
struct Followed {
    memory: Arc<Memory>,
    store: Arc<MemoryStore>,
    clock: Arc<StoppedClock>,
}

impl Followed {
    fn start(has_listeners: bool) -> Self {
        let clock = Arc::new(StoppedClock::at(Timestamp(1_767_225_600_000_000)));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let partition = Partition::new("shop").unwrap();
        let memory = Arc::new(Memory {
            subscription: Subscription::new(store.clone(), partition, clock.clone()),
            has_listeners,
            applied: AtomicUsize::new(0),
        });
        keep_fresh(&memory);
        Self {
            memory,
            store,
            clock,
        }
    }

    /// Lets time pass, in steps in which everything that waits can go on.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds * 10 {
            self.clock.advance(Duration::from_millis(100));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Another host changes something; answers how often that was taken in two seconds later.
    async fn change(&self) -> usize {
        let before = self.memory.applied.load(Ordering::SeqCst);
        let commit = Commit {
            partition: self.memory.subscription.partition().clone(),
            id: CommitId::random(),
            checks: Vec::new(),
            ops: vec![change_notice("condition/beer")],
        };
        self.store.commit(commit).await.unwrap();
        self.pass(2).await;
        self.memory.applied.load(Ordering::SeqCst) - before
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_asks_for_rests_until_somebody_does() {
    let followed = Followed::start(false);
    followed.pass(1).await;
    assert_eq!(followed.change().await, 1, "all that was there came before");
    followed.pass(61).await;
    assert_eq!(followed.change().await, 0, "it rests");
    let now = followed.clock.now();
    followed.memory.ensure_fresh(now).await.unwrap();
    assert_eq!(followed.memory.applied.load(Ordering::SeqCst), 3);
    followed.pass(6).await;
    assert_eq!(followed.change().await, 1, "it is followed again");
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_or_listened_to_never_rests() {
    let (asked, listened) = (Followed::start(false), Followed::start(true));
    for _ in 0..4 {
        asked.memory.ensure_fresh(asked.clock.now()).await.unwrap();
        asked.pass(30).await;
        listened.pass(30).await;
    }
    assert_eq!(asked.change().await, 1);
    assert_eq!(listened.change().await, 1);
}
