//! Work that a test leaves behind fails the test: jobs that are due, and messages in a log that is not kept.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tillgate_base::data::feed::CHANGES;
use tillgate_store::clock::{Clock, StoppedClock, Timestamp};
use tillgate_store::{Commit, CommitId, MemoryStore, Op, Partition, Store};

use crate::support::host::Host;

const QUEUE: &str = "nobodys";
const TOPIC: &str = "topic";
const LEASE: Duration = Duration::from_secs(30);

/// A host on a store in memory with a stopped clock.
struct Stage {
    host: Host,
    store: Arc<MemoryStore>,
    clock: Arc<StoppedClock>,
    partition: Partition,
}

impl Stage {
    async fn set() -> Self {
        let clock = Arc::new(StoppedClock::at(Timestamp(1_767_225_600_000_000)));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let mut host = Host::start_on(store.clone(), clock.clone()).await;
        // No worker does what a test leaves behind, so waiting is useless.
        host.patience = Duration::ZERO;
        Self {
            host,
            store,
            clock,
            partition: Partition::new("shop").unwrap(),
        }
    }

    async fn commit(&self, op: Op) {
        let commit = Commit {
            partition: self.partition.clone(),
            id: CommitId::random(),
            checks: Vec::new(),
            ops: vec![op],
        };
        self.store.commit(commit).await.unwrap();
    }

    /// Puts a job into a queue that no feature has registered, due after `pause`.
    async fn enqueue(&self, pause: Duration) {
        let op = Op::Enqueue {
            queue: QUEUE.to_owned(),
            job: "1".to_owned(),
            due: self.clock.now().plus(pause),
            body: Bytes::new(),
        };
        self.commit(op).await;
    }

    async fn append(&self, log: &str) {
        let op = Op::Append {
            log: log.to_owned(),
            attributes: Vec::new(),
            body: Bytes::new(),
        };
        self.commit(op).await;
    }

    /// Drops the host; returns the failure, if any.
    fn end(self) -> Option<String> {
        let Self { host, .. } = self;
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(host)));
        dropped.err().map(|panic| *panic.downcast().unwrap())
    }
}

#[tokio::test]
async fn a_job_that_is_due_and_that_nobody_does_fails_the_test() {
    let stage = Stage::set().await;
    stage.enqueue(Duration::ZERO).await;
    stage.host.run_due().await;
    let failure = stage.end().expect("the job is left over");
    assert!(failure.contains(QUEUE), "{failure}");
}

#[tokio::test]
async fn a_job_whose_lease_has_ended_fails_the_test() {
    let stage = Stage::set().await;
    stage.enqueue(Duration::ZERO).await;
    let (store, partition) = (stage.store.clone(), stage.partition.clone());
    let claimed = store.claim(&partition, QUEUE, LEASE, 1).await.unwrap();
    assert_eq!(claimed.jobs.len(), 1);
    stage.clock.advance(LEASE);
    let failure = stage.end().expect("the job is left over");
    assert!(failure.contains(QUEUE), "{failure}");
}

#[tokio::test]
async fn a_message_of_a_log_that_is_not_kept_fails_the_test() {
    let stage = Stage::set().await;
    stage.append(TOPIC).await;
    let failure = stage.end().expect("the message is left over");
    assert!(failure.contains(TOPIC), "{failure}");
}

#[tokio::test]
async fn what_is_not_due_yet_or_is_kept_or_gone_fails_no_test() {
    let stage = Stage::set().await;
    let (store, partition) = (stage.store.clone(), stage.partition.clone());
    stage.enqueue(Duration::ZERO).await;
    store.claim(&partition, QUEUE, LEASE, 1).await.unwrap();
    stage.append(CHANGES).await;
    stage.append(TOPIC).await;
    let later = stage.clock.now().plus(LEASE);
    let trimmed = store.trim(&partition, TOPIC, later, 10).await;
    assert_eq!(trimmed, Ok(1));
    assert_eq!(stage.end(), None, "the job is under a lease");
    let stage = Stage::set().await;
    stage.enqueue(Duration::from_micros(1)).await;
    assert_eq!(stage.end(), None, "the job is not due");
}
