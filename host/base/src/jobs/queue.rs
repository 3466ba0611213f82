//! Queues, their jobs, dead letters, and the status of a queue.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tillgate_store::clock::Timestamp;
use tillgate_store::{Job, Partition};

use crate::data::records::Change;

/// How far a job's due time may be ahead of this host's clock: hosts and store have clocks of their own.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The prefix of the records of jobs that failed too often: `dead-letter/{queue}/{job}`, in the job's own partition.
pub const DEAD_LETTERS: &str = "dead-letter/";

/// A queue, and the bounds within which its jobs run.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Its name in the store.
    pub name: &'static str,
    /// The partitions that may have jobs on it.
    pub scope: Scope,
    /// How many of its jobs run at once on this host.
    pub concurrency: usize,
    /// How many of these may be of one partition.
    pub per_partition: usize,
    /// Whether jobs that take long give their slots to others.
    pub yielding: Option<Yielding>,
    /// How long a job may take, together with handing it back.
    pub lease: Duration,
    /// How often a job is tried before it becomes a dead letter.
    pub max_attempts: u32,
}

/// Jobs that mostly wait, such as for an answer: after a while one gives its slot to another job, and goes on without.
#[derive(Clone, Copy, Debug)]
pub struct Yielding {
    /// How long a job holds its slot.
    pub after: Duration,
    /// How many jobs may go on without one on this host; others keep theirs.
    pub concurrency: usize,
    /// How many of these may be of one partition.
    pub per_partition: usize,
}

/// The partitions that may have jobs on a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This one.
    Partition(Partition),
    /// All of them.
    AllPartitions,
}

impl Queue {
    /// A queue with the usual bounds: 8 jobs at once, half of them of one partition, slots until they end, 30 s for a job,
    /// 20 attempts.
    #[must_use]
    pub const fn new(name: &'static str, scope: Scope) -> Self {
        Self {
            name,
            scope,
            concurrency: 8,
            per_partition: 4,
            yielding: None,
            lease: Duration::from_secs(30),
            max_attempts: 20,
        }
    }
}

/// A job that was claimed.
#[derive(Clone, Debug)]
pub struct Work {
    /// The queue.
    pub queue: &'static str,
    /// The partition that the job is in.
    pub partition: Partition,
    /// The job.
    pub job: Job,
}

impl Work {
    /// Ends the job with a change.
    pub fn settle(&self, change: &mut Change) {
        change.settle(self.queue, &self.job);
    }

    /// Ends this step of the job with a change: it is due again at `next`, with another body. Its attempts are counted from 0
    /// again.
    pub fn continue_at(&self, change: &mut Change, next: Timestamp, body: Bytes) {
        change.settle(self.queue, &self.job);
        change.enqueue(self.queue, &self.job.id, next, body);
    }

    /// Ends this step of the job with a change: it is due again at `next`.
    pub fn settle_until(&self, change: &mut Change, next: Timestamp) {
        self.continue_at(change, next, self.job.body.clone());
    }
}

/// A job that failed too often, and is not tried any more.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The queue.
    pub queue: String,
    /// The job's id.
    pub job: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub cause: String,
    /// When the last attempt failed: RFC 3339, milliseconds.
    pub at: String,
    /// Its body, base64.
    pub body: String,
}

/// What a queue does on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// The queue.
    pub queue: &'static str,
    /// How many partitions have due jobs that wait for a free slot.
    pub waiting_partitions: usize,
    /// Since when the longest of them has been waiting.
    pub waiting_since: Option<Timestamp>,
    /// How many jobs run now.
    pub running: usize,
    /// How many attempts have failed since the start.
    pub failures: u64,
    /// How many jobs have become dead letters since the start.
    pub dead_lettered: u64,
    /// How many dead letters the host found at its last look (`dead_letter_count.rs`).
    pub dead_letters: usize,
}
