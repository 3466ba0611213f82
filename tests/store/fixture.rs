//! A fresh store for tests, and short constructors for commits, ops and checks.

use std::time::Duration;

use bytes::Bytes;
use tillgate_store::clock::{Clock, Timestamp};
use tillgate_store::{
    Check, Claimed, Commit, CommitError, CommitId, Committed, Entry, Job, Lease, Op, Page,
    Partition, Position, Revision, Slice,
};

pub use crate::support::stores::*;

pub const SECOND: Duration = Duration::from_secs(1);
pub const MINUTE: Duration = Duration::from_secs(60);
pub const HOUR: Duration = Duration::from_secs(3_600);

impl Opened {
    /// Makes a commit, which must take effect.
    pub async fn commit(&self, ops: impl Into<Vec<Op>>) -> Committed {
        let committed = self.store.commit(commit(ops)).await.unwrap();
        assert!(!committed.repeated);
        committed
    }

    /// Makes a commit that may fail.
    pub async fn attempt(&self, commit: Commit) -> Result<Committed, CommitError> {
        self.store.commit(commit).await
    }

    pub async fn entry(&self, key: &str) -> Option<Entry> {
        self.entry_in(&partition(), key).await
    }

    pub async fn entry_in(&self, partition: &Partition, key: &str) -> Option<Entry> {
        self.store
            .get(partition, &[key.to_owned()])
            .await
            .unwrap()
            .remove(0)
    }

    /// Returns the value of a key, as text.
    pub async fn text(&self, key: &str) -> Option<String> {
        self.entry(key).await.map(|entry| text(&entry.value))
    }

    pub async fn scan(&self, prefix: &str, after: Option<&str>, max: usize) -> Page {
        self.store
            .scan(&partition(), prefix, after, max)
            .await
            .unwrap()
    }

    pub async fn read(&self, log: &str, after: Position, max: usize) -> Slice {
        self.store
            .read(&partition(), log, after, max)
            .await
            .unwrap()
    }

    /// Returns the bodies of a log, as text.
    pub async fn bodies(&self, log: &str) -> Vec<String> {
        let slice = self.read(log, Position::default(), usize::MAX).await;
        slice
            .messages
            .iter()
            .map(|message| text(&message.body))
            .collect()
    }

    pub async fn trim(&self, log: &str, before: Timestamp, max: usize) -> usize {
        self.store
            .trim(&partition(), log, before, max)
            .await
            .unwrap()
    }

    pub async fn claim(&self, queue: &str, lease: Duration, max: usize) -> Claimed {
        self.store
            .claim(&partition(), queue, lease, max)
            .await
            .unwrap()
    }

    pub async fn queued(&self, queue: &str, max: usize) -> usize {
        self.store.queued(&partition(), queue, max).await.unwrap()
    }

    /// Claims one job, which must be due, for a minute.
    pub async fn claim_one(&self, queue: &str) -> Job {
        let mut claimed = self.claim(queue, MINUTE, 1).await;
        assert_eq!(claimed.jobs.len(), 1, "nothing was due");
        claimed.jobs.remove(0)
    }

    /// Asserts that nothing has changed this store yet.
    pub async fn assert_untouched(&self) {
        assert_eq!(self.store.partitions(None, 9).await.unwrap(), []);
        assert_eq!(self.scan("", None, 9).await, Page::default());
        assert_eq!(
            self.read("log", Position::default(), 9).await,
            Slice::default()
        );
        assert_eq!(self.claim("queue", MINUTE, 9).await, Claimed::default());
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Returns the partition of tests that need only one.
pub fn partition() -> Partition {
    named("tenant")
}

pub fn named(name: &str) -> Partition {
    Partition::new(name).unwrap()
}

/// Returns a commit to [`partition`] with a random id.
pub fn commit(ops: impl Into<Vec<Op>>) -> Commit {
    let id = CommitId::random();
    Commit {
        partition: partition(),
        id,
        checks: Vec::new(),
        ops: ops.into(),
    }
}

pub fn commit_if(checks: impl Into<Vec<Check>>, ops: impl Into<Vec<Op>>) -> Commit {
    Commit {
        checks: checks.into(),
        ..commit(ops)
    }
}

pub fn absent(key: &str) -> Check {
    Check::Absent(key.to_owned())
}

pub fn at(key: &str, revision: Revision) -> Check {
    Check::At(key.to_owned(), revision)
}

pub fn put(key: impl Into<String>, value: impl Into<Bytes>) -> Op {
    Op::Put {
        key: key.into(),
        value: value.into(),
    }
}

pub fn delete(key: &str) -> Op {
    Op::Delete {
        key: key.to_owned(),
    }
}

pub fn append(log: &str, body: impl Into<Bytes>) -> Op {
    append_with(log, &[], body)
}

pub fn append_with(log: &str, attributes: &[(&str, &str)], body: impl Into<Bytes>) -> Op {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let attributes = attributes.iter().map(owned).collect();
    Op::Append {
        log: log.to_owned(),
        attributes,
        body: body.into(),
    }
}

/// Enqueues a job whose body is its id.
pub fn enqueue(queue: &str, job: &str, due: Timestamp) -> Op {
    let body = Bytes::from(job.to_owned());
    Op::Enqueue {
        queue: queue.to_owned(),
        job: job.to_owned(),
        due,
        body,
    }
}

pub fn settle(queue: &str, job: &str, lease: Lease, next: Option<Timestamp>) -> Op {
    Op::Settle {
        queue: queue.to_owned(),
        job: job.to_owned(),
        lease,
        next,
    }
}

pub fn lost(queue: &str, job: &str) -> Result<Committed, CommitError> {
    Err(CommitError::LeaseLost {
        queue: queue.to_owned(),
        job: job.to_owned(),
    })
}

pub fn text(bytes: &Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn keys(page: &Page) -> Vec<&str> {
    page.entries.iter().map(|(key, _)| key.as_str()).collect()
}

pub fn ids(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(|job| job.id.as_str()).collect()
}
