//! Memory that follows the store: data that nobody asks for is not refreshed, and unchanged data is not read again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use tillgate_base::data::feed::{Changed, Subscriber, Subscription, change_notice, keep_fresh};
use tillgate_base::error::Result;
use tillgate_store::clock::{Clock, StoppedClock, Timestamp};
use tillgate_store::{Commit, CommitId, Partition, Store};

use crate::support::switched::Switched;

/// Counts the changes that it hears of.
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

/// A memory, the store that it follows, and the clock.
struct Followed {
    memory: Arc<Memory>,
    store: Arc<Switched>,
    clock: Arc<StoppedClock>,
}

impl Followed {
    fn start(has_listeners: bool) -> Self {
        let clock = Arc::new(StoppedClock::at(Timestamp(1_767_225_600_000_000)));
        let store = Switched::new(clock.clone());
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

    /// The number of times that the store was asked for anything.
    fn store_reads(&self) -> usize {
        self.store.calls.load(Ordering::SeqCst)
    }

    /// Lets time pass in small steps, so that every waiting task can continue.
    async fn pass(&self, seconds: u64) {
        for _ in 0..seconds * 10 {
            self.clock.advance(Duration::from_millis(100));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Makes a change from another host; returns how many times it was applied within two seconds.
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
async fn unused_memory_is_not_refreshed_until_it_is_used() {
    let followed = Followed::start(false);
    followed.memory.catch_up().await.unwrap();
    assert_eq!(followed.change().await, 0, "nobody has asked");
    let ask = async || followed.memory.ensure_fresh(followed.clock.now()).await;
    ask().await.unwrap();
    assert_eq!(followed.memory.applied.load(Ordering::SeqCst), 2);
    assert_eq!(followed.change().await, 1, "it is followed again");
    assert_eq!(followed.change().await, 0, "for one change");
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_for_or_listened_to_follows_each_change() {
    let (asked, listened) = (Followed::start(false), Followed::start(true));
    for followed in [&asked, &listened] {
        followed.memory.catch_up().await.unwrap();
    }
    for _ in 0..4 {
        asked.memory.ensure_fresh(asked.clock.now()).await.unwrap();
        asked.pass(30).await;
        asked.memory.ensure_fresh(asked.clock.now()).await.unwrap();
        assert_eq!(asked.change().await, 1);
        assert_eq!(listened.change().await, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn memory_without_changes_stays_fresh_without_being_read() {
    let followed = Followed::start(false);
    followed.memory.catch_up().await.unwrap();
    let reads = followed.store_reads();
    for _ in 0..100 {
        followed.pass(7).await;
        let now = followed.clock.now();
        let staleness = followed
            .memory
            .ensure_within(now, Duration::MAX)
            .await
            .unwrap();
        assert_eq!(staleness.seconds(), None);
    }
    assert_eq!(followed.store_reads(), reads);
}

#[tokio::test(start_paused = true)]
async fn while_the_store_is_away_memory_is_served_without_asking_it() {
    let followed = Followed::start(false);
    followed.memory.catch_up().await.unwrap();
    followed.store.set_away(true);
    followed.clock.advance(Duration::from_secs(60));
    let (reads, now) = (followed.store_reads(), followed.clock.now());
    for _ in 0..3 {
        let served = followed.memory.ensure_within(now, Duration::MAX);
        let served = served.now_or_never().expect("it waits for nothing");
        assert_eq!(served.unwrap().seconds(), Some(60));
    }
    assert_eq!(followed.store_reads(), reads);
    // A caller that needs fresh data does ask.
    assert!(followed.memory.ensure_fresh(now).await.is_err());

    followed.store.set_away(false);
    assert_eq!(followed.change().await, 1, "it is followed again");
    let served = followed.memory.ensure_within(now, Duration::MAX).await;
    assert_eq!(served.unwrap().seconds(), None);
}

#[tokio::test(start_paused = true)]
async fn the_first_who_asks_after_the_store_was_away_gets_what_is_fresh() {
    let followed = Followed::start(false);
    followed.memory.catch_up().await.unwrap();
    followed.store.set_away(true);
    followed.clock.advance(Duration::from_secs(60));
    let ask = async || {
        let now = followed.clock.now();
        let asked = followed.memory.ensure_within(now, Duration::MAX).await;
        asked.unwrap().seconds()
    };
    assert_eq!(ask().await, Some(60));
    followed.pass(20).await;
    let reads = followed.store_reads();
    followed.pass(60).await;
    assert_eq!(followed.store_reads(), reads, "nobody asks");
    followed.store.set_away(false);
    assert_eq!(followed.change().await, 0, "nobody has asked");
    assert_eq!(ask().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_part_of_the_store_that_still_answers_is_read_in_the_background() {
    let followed = Followed::start(false);
    followed.memory.catch_up().await.unwrap();
    // As while another server of a cluster is away: hints are incomplete, but reads succeed.
    followed.store.unhinted.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        followed.clock.advance(Duration::from_secs(2));
        let now = followed.clock.now();
        let served = followed.memory.ensure_within(now, Duration::MAX);
        let served = served.now_or_never().expect("it waits for nothing");
        assert_eq!(served.unwrap().seconds(), Some(2));
        tokio::time::sleep(Duration::from_millis(100)).await;
        let served = followed.memory.ensure_within(now, Duration::MAX).await;
        assert_eq!(served.unwrap().seconds(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_for_memory_share_a_read() {
    let followed = Followed::start(false);
    let waiting = (0..50).map(|_| followed.memory.catch_up());
    for caught_up in futures_util::future::join_all(waiting).await {
        caught_up.unwrap();
    }
    let reads = followed.store_reads();
    assert!(reads <= 2, "{reads} reads");
}
