//! Queues, their jobs, dead letters, and the status of a queue.

use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tillgate_store::clock::Timestamp;
use tillgate_store::{Job, Partition};

use crate::data::records::Change;

/// The most by which a job's due time may be ahead of this host's clock, since hosts and store have clocks of their
/// own.
pub const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// The key prefix of dead letters: `dead-letter/{queue}/{job}`, in the job's own partition.
pub const DEAD_LETTERS: &str = "dead-letter/";

/// A queue, and the bounds within which its jobs run.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Its name in the store.
    pub name: &'static str,
    /// The partitions that may have jobs on it.
    pub scope: Scope,
    /// The most jobs of the queue that run at once on this host.
    pub concurrency: usize,
    /// The most of these that may belong to one partition.
    pub per_partition: usize,
    /// Set if long jobs give their slots to others.
    pub yielding: Option<Yielding>,
    /// The longest that a job may take, including handing it back.
    pub lease: Duration,
    /// The number of attempts after which a job becomes a dead letter.
    pub max_attempts: u32,
}

/// Bounds for jobs that mostly wait, such as for an answer: after a while, a job gives its slot to another and goes on
/// without one.
#[derive(Clone, Copy, Debug)]
pub struct Yielding {
    /// The time for which a job holds its slot.
    pub after: Duration,
    /// The most jobs that may go on without a slot on this host; any others keep theirs.
    pub concurrency: usize,
    /// The most of these that may belong to one partition.
    pub per_partition: usize,
}

/// The partitions that may have jobs on a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One partition.
    Partition(Partition),
    /// All partitions.
    AllPartitions,
}

impl Queue {
    /// Creates a queue with the usual bounds: 8 jobs at once, at most half of them from one partition, slots held until
    /// jobs end, 30 s for a job, 20 attempts.
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

/// A claimed job.
#[derive(Clone, Debug)]
pub struct Work {
    /// The queue.
    pub queue: &'static str,
    /// The partition of the job.
    pub partition: Partition,
    /// The job.
    pub job: Job,
}

impl Work {
    /// Ends the job in the commit of a change.
    pub fn settle(&self, change: &mut Change) {
        change.settle(self.queue, &self.job);
    }

    /// Ends this step of the job in the commit of a change: the job is due again at `next`, with another body. Its
    /// attempts are counted from 0 again.
    pub fn continue_at(&self, change: &mut Change, next: Timestamp, body: Bytes) {
        change.settle(self.queue, &self.job);
        change.enqueue(self.queue, &self.job.id, next, body);
    }

    /// Ends this step of the job in the commit of a change: the job is due again at `next`, with the same body.
    pub fn reschedule(&self, change: &mut Change, next: Timestamp) {
        self.continue_at(change, next, self.job.body.clone());
    }
}

/// A job that failed too often and is no longer tried.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The queue.
    pub queue: String,
    /// The job's id.
    pub job: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The cause of the last failure.
    pub cause: String,
    /// The time when the job became a dead letter: RFC 3339, milliseconds.
    pub at: String,
    /// The job's body, base64.
    pub body: String,
}

/// The status of a queue on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueStatus {
    /// The queue.
    pub queue: &'static str,
    /// The number of partitions whose due jobs wait for a free slot.
    pub waiting_partitions: usize,
    /// The time when the first of them began to wait.
    pub waiting_since: Option<Timestamp>,
    /// The number of running jobs.
    pub running: usize,
    /// The number of failed attempts since the start.
    pub failures: u64,
    /// The number of jobs that became dead letters since the start.
    pub dead_lettered: u64,
    /// The number of dead letters at the host's last count (`dead_letter_count.rs`).
    pub dead_letters: usize,
}
