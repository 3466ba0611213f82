//! A store that measures its requests by verb: how long they took and how they ended.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tillgate_store::clock::Timestamp;
use tillgate_store::{
    Claimed, Commit, CommitError, Committed, Entry, Health, Hints, Page, Partition, PartitionHints,
    Position, Slice, Store, Unavailable,
};

use super::{Counter, Counters, Histogram, Histograms, Metrics};

/// A store that measures its requests.
#[derive(Debug)]
pub struct MeasuredStore {
    store: Arc<dyn Store>,
    commit: CommitVerb,
    get: Verb,
    scan: Verb,
    read: Verb,
    trim: Verb,
    claim: Verb,
    queued: Verb,
    partitions: Verb,
}

/// The metrics of a verb that reads, or fails in one way only.
#[derive(Debug)]
struct Verb {
    duration: Histogram,
    done: Counter,
    unavailable: Counter,
}

#[derive(Debug)]
struct CommitVerb {
    verb: Verb,
    conflict: Counter,
    lease_lost: Counter,
    refused: Counter,
    unknown: Counter,
}

impl Verb {
    fn new(name: &'static str, requests: &Counters<2>, durations: &Histograms<1>) -> Self {
        Self {
            duration: durations.with([name]),
            done: requests.with([name, "ok"]),
            unavailable: requests.with([name, "unavailable"]),
        }
    }

    async fn measure<T>(
        &self,
        request: impl Future<Output = Result<T, Unavailable>>,
    ) -> Result<T, Unavailable> {
        let begin = Instant::now();
        let answer = request.await;
        self.duration.record(begin.elapsed());
        let count = if answer.is_ok() {
            &self.done
        } else {
            &self.unavailable
        };
        count.inc();
        answer
    }
}

impl CommitVerb {
    fn count(&self, outcome: &Result<Committed, CommitError>) {
        let count = match outcome {
            Ok(_) => &self.verb.done,
            Err(CommitError::Conflict(_)) => &self.conflict,
            Err(CommitError::LeaseLost { .. }) => &self.lease_lost,
            Err(CommitError::Refused(_)) => &self.refused,
            Err(CommitError::Unavailable(_)) => &self.verb.unavailable,
            Err(CommitError::Unknown(_)) => &self.unknown,
        };
        count.inc();
    }
}

impl MeasuredStore {
    /// Wraps a store to measure it.
    pub fn new(store: Arc<dyn Store>, metrics: &Metrics) -> Arc<Self> {
        let requests = metrics.counters(
            "tillgate_store_requests",
            "Requests to the store by verb and outcome; a conflict is planned again, an unknown outcome is repeated",
            ["verb", "outcome"],
        );
        let durations = metrics.histograms(
            "tillgate_store_request_duration",
            "The duration of requests to the store, by verb",
            ["verb"],
            Histogram::long,
        );
        let verb = |name| Verb::new(name, &requests, &durations);
        let outcome = |outcome| requests.with(["commit", outcome]);
        Arc::new(Self {
            store,
            commit: CommitVerb {
                verb: verb("commit"),
                conflict: outcome("conflict"),
                lease_lost: outcome("lease_lost"),
                refused: outcome("refused"),
                unknown: outcome("unknown"),
            },
            get: verb("get"),
            scan: verb("scan"),
            read: verb("read"),
            trim: verb("trim"),
            claim: verb("claim"),
            queued: verb("queued"),
            partitions: verb("partitions"),
        })
    }
}

#[async_trait]
impl Store for MeasuredStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        let begin = Instant::now();
        let outcome = self.store.commit(commit).await;
        self.commit.verb.duration.record(begin.elapsed());
        self.commit.count(&outcome);
        outcome
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        self.get.measure(self.store.get(partition, keys)).await
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        let scan = self.store.scan(partition, prefix, after, max);
        self.scan.measure(scan).await
    }

    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable> {
        let read = self.store.read(partition, log, after, max);
        self.read.measure(read).await
    }

    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable> {
        let trim = self.store.trim(partition, log, before, max);
        self.trim.measure(trim).await
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        let claim = self.store.claim(partition, queue, lease, max);
        self.claim.measure(claim).await
    }

    async fn queued(
        &self,
        partition: &Partition,
        queue: &str,
        max: usize,
    ) -> Result<usize, Unavailable> {
        let queued = self.store.queued(partition, queue, max);
        self.queued.measure(queued).await
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        let partitions = self.store.partitions(after, max);
        self.partitions.measure(partitions).await
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.store.hints(partition)
    }

    fn partition_hints(&self) -> PartitionHints {
        self.store.partition_hints()
    }

    fn hints_as_of(&self) -> Option<Timestamp> {
        self.store.hints_as_of()
    }

    fn snapshot_of(&self) -> Option<Timestamp> {
        self.store.snapshot_of()
    }

    fn health(&self) -> Health {
        self.store.health()
    }
}
