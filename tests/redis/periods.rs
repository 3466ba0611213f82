//! How long what commits did is remembered: in hashes of 16 minutes each, by publish times.

use std::sync::Arc;
use std::time::Duration;

use tillgate::clock::{StoppedClock, Timestamp};
use tillgate::store::{Commit, CommitId, Partition, REMEMBER, RedisStore, RedisUrl, Store};

use crate::support::redis::{Server, shared};

const MINUTE: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_secs(16 * 60);

/// When a period begins.
const START: Timestamp = Timestamp(1_767_225_600_000_000);

struct Remembering {
    prefix: &'static str,
    clock: Arc<StoppedClock>,
    store: RedisStore,
}

impl Remembering {
    fn on(server: &Server, prefix: &'static str) -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let url = RedisUrl::parse(&format!("{}?prefix={prefix}", server.url()));
        let store = RedisStore::connect(&url.unwrap().unwrap(), clock.clone()).unwrap();
        Self {
            prefix,
            clock,
            store,
        }
    }

    /// Whether a commit was done before.
    async fn repeats(&self, id: CommitId) -> bool {
        let commit = Commit {
            partition: Partition::new("shop").unwrap(),
            id,
            checks: Vec::new(),
            ops: Vec::new(),
        };
        self.store.commit(commit).await.unwrap().repeated
    }

    async fn commit(&self) -> CommitId {
        let id = CommitId::random();
        assert!(!self.repeats(id).await);
        id
    }

    /// How many commits are remembered.
    fn remembered(&self, server: &Server) -> usize {
        let counts = (0..3).map(|place| {
            let key = format!("{{{}:shop}}:ids:{place}", self.prefix);
            server.cli(&["hlen", &key]).parse::<usize>().unwrap()
        });
        counts.sum()
    }
}

#[tokio::test]
async fn what_is_done_each_minute_is_remembered_for_a_quarter_of_an_hour_and_not_for_good() {
    let on = Remembering::on(shared(), "periods-turn");
    let mut done: Vec<(Timestamp, CommitId)> = Vec::new();
    for minute in 0..100 {
        let now = START.plus(MINUTE * minute);
        on.clock.set(now);
        done.push((now, on.commit().await));
        for (at, id) in &done {
            if now.since(*at) <= REMEMBER {
                assert!(on.repeats(*id).await, "{:?} later", now.since(*at));
            }
        }
        assert!(on.remembered(shared()) <= 32, "two periods of 16 minutes");
    }
    assert!(!on.repeats(done[0].1).await, "it is free in the end");
}

#[tokio::test]
async fn what_was_done_as_a_period_ended_is_remembered_into_the_next_and_not_beyond() {
    let on = Remembering::on(shared(), "periods-end");
    on.clock.set(START.plus(PERIOD - Duration::from_micros(1)));
    let last = on.commit().await;
    on.clock.set(START.plus(PERIOD));
    on.commit().await;
    on.clock
        .set(START.plus(PERIOD * 2 - Duration::from_micros(2)));
    on.commit().await;
    assert!(on.repeats(last).await);
    on.clock.set(START.plus(PERIOD * 2));
    on.commit().await;
    assert_eq!(on.remembered(shared()), 3, "and the last of before is not");
    assert!(!on.repeats(last).await);
}

#[tokio::test]
async fn a_clock_that_goes_back_over_periods_forgets_nothing() {
    let on = Remembering::on(shared(), "periods-back");
    on.clock.set(START.plus(PERIOD * 9));
    let ahead = on.commit().await;
    on.clock.set(START);
    let back = on.commit().await;
    on.clock.set(START.plus(REMEMBER));
    on.commit().await;
    assert!(on.repeats(ahead).await && on.repeats(back).await);
}
