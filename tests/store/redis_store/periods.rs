//! The outcomes of commits are remembered in periods of 16 minutes, by publish time.

use std::sync::Arc;
use std::time::Duration;

use tillgate_store::clock::{StoppedClock, Timestamp};
use tillgate_store::{Commit, CommitId, Partition, REMEMBER, RedisStore, RedisUrl, Store};

use crate::support::redis::{Server, shared};

const MINUTE: Duration = Duration::from_secs(60);
const PERIOD: Duration = Duration::from_secs(16 * 60);

/// The start of a period.
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

    /// Repeats a commit; returns whether it had taken effect before.
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

    /// Returns the number of remembered commits.
    fn remembered(&self, server: &Server) -> usize {
        let counts = (0..3).map(|place| {
            let key = format!("{{{}:shop}}:ids:{place}", self.prefix);
            server.cli(&["hlen", &key]).parse::<usize>().unwrap()
        });
        counts.sum()
    }
}

#[tokio::test]
async fn every_commit_is_remembered_for_a_quarter_of_an_hour_and_not_forever() {
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
    assert!(
        !on.repeats(done[0].1).await,
        "its id is forgotten eventually"
    );
}

#[tokio::test]
async fn a_commit_at_the_end_of_a_period_is_remembered_during_the_next_and_not_beyond() {
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
    assert_eq!(
        on.remembered(shared()),
        3,
        "the one of the first period is forgotten"
    );
    assert!(!on.repeats(last).await);
}

#[tokio::test]
async fn a_clock_that_is_set_back_by_periods_forgets_nothing() {
    let on = Remembering::on(shared(), "periods-back");
    on.clock.set(START.plus(PERIOD * 9));
    let ahead = on.commit().await;
    on.clock.set(START);
    let back = on.commit().await;
    on.clock.set(START.plus(REMEMBER));
    on.commit().await;
    assert!(on.repeats(ahead).await && on.repeats(back).await);
}
