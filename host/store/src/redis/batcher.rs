//! Batching: commits waiting for the same partition share a request, a script and an fsync.
//!
//! Each partition has one request in flight. Commits that arrive meanwhile go with the next one, together with the next
//! commits of the callers just answered: with an fsync for each request, a few large requests are fastest. A second
//! request is sent beside the first only when a full batch waits. Commits share a batch only when they touch no key and
//! no job in common, so that each can be decided on the state before all of them; the server runs two requests one
//! after the other. A commit that is alone is sent at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::super::contract::{Check, Commit, CommitError, MAX_OPS, Op, Partition};
use super::commit::Outcome;
use super::shared::{STALLED_AFTER, Shared};

/// The most commits and the most bytes in a batch.
const MAX_BATCH: usize = 128;
const MAX_BATCH_BYTES: usize = 256 << 10;

/// The most requests of a partition in flight.
const MAX_IN_FLIGHT: usize = 2;

/// The waiting commits, and what is needed to send them.
pub(super) struct Batcher {
    shared: Arc<Shared>,
    /// The queues of the partitions that have a request in flight.
    queues: Mutex<HashMap<Partition, Queue>>,
    hasher: RandomState,
}

/// The waiting commits of a partition, and the number of its requests in flight.
#[derive(Default)]
struct Queue {
    pending: VecDeque<Pending>,
    in_flight: usize,
}

struct Pending {
    commit: Commit,
    answer: oneshot::Sender<Outcome>,
}

impl Batcher {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            queues: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// Sends a commit, alone or in a batch, even if the caller stops waiting for the outcome.
    pub(super) async fn commit(self: &Arc<Self>, commit: Commit) -> Outcome {
        let (answer, answered) = oneshot::channel();
        let partition = commit.partition.clone();
        let pending = Pending { commit, answer };
        let sends = {
            let mut queues = self.lock();
            let queue = queues.entry(partition.clone()).or_default();
            queue.pending.push_back(pending);
            let full = queue.pending.len() >= MAX_BATCH;
            let sends = queue.in_flight == 0 || (full && queue.in_flight < MAX_IN_FLIGHT);
            queue.in_flight += usize::from(sends);
            sends
        };
        if sends {
            let sending = Arc::clone(self).send_batches(partition);
            self.shared.runtime.spawn(sending);
        }
        let aborted = |_| Err(CommitError::Unknown("its sender has ended".to_owned()));
        answered.await.unwrap_or_else(aborted)
    }

    /// Sends batches until no commit of the partition waits.
    async fn send_batches(self: Arc<Self>, partition: Partition) {
        let mut batch = self.next_batch(&partition);
        while !batch.is_empty() {
            let (commits, answers): (Vec<_>, Vec<_>) = batch
                .into_iter()
                .map(|pending| (pending.commit, pending.answer))
                .unzip();
            let begin = Instant::now();
            let outcomes = self.shared.commit(&commits).await;
            let failure = outcomes.iter().find_map(|outcome| match outcome {
                Err(CommitError::Unknown(why) | CommitError::Unavailable(why)) => Some(why.clone()),
                _ => None,
            });
            for (answer, outcome) in answers.into_iter().zip(outcomes) {
                // Sending fails when the caller no longer waits.
                let _received = answer.send(outcome);
            }
            self.wait_for_more(&partition).await;
            batch = self.next_batch(&partition);
            if let Some(why) = failure
                && begin.elapsed() >= STALLED_AFTER
            {
                // The commits that waited in the meantime would wait as long again.
                while !batch.is_empty() {
                    for pending in batch {
                        let unavailable = CommitError::Unavailable(why.clone());
                        let _received = pending.answer.send(Err(unavailable));
                    }
                    batch = self.next_batch(&partition);
                }
            }
        }
    }

    /// Yields to the callers just answered as long as each yield brings more commits, so that these join the waiting
    /// batch.
    async fn wait_for_more(&self, partition: &Partition) {
        let waiting = || {
            let queues = self.lock();
            queues.get(partition).map_or(0, |queue| queue.pending.len())
        };
        let mut before = waiting();
        while before < MAX_BATCH {
            tokio::task::yield_now().await;
            let now = waiting();
            if now <= before {
                break;
            }
            before = now;
        }
    }

    /// Takes the next batch from a queue, in the order of arrival; when no commit waits, one request fewer is in
    /// flight.
    fn next_batch(&self, partition: &Partition) -> Vec<Pending> {
        let mut queues = self.lock();
        let mut batch = Vec::new();
        let Some(queue) = queues.get_mut(partition) else {
            return batch;
        };
        let (mut touched, mut bytes, mut ops) = (HashSet::new(), 0, 0);
        while let Some(candidate) = queue.pending.front() {
            let commit = &candidate.commit;
            let size = commit.ops.len() + commit.checks.len();
            (bytes, ops) = (bytes + commit.bytes(), ops + size);
            let full = batch.len() >= MAX_BATCH || bytes > MAX_BATCH_BYTES || ops > MAX_OPS;
            let touches = self.touches(commit);
            if !batch.is_empty() && (full || touches.iter().any(|hash| touched.contains(hash))) {
                break;
            }
            touched.extend(touches);
            batch.extend(queue.pending.pop_front());
        }
        if batch.is_empty() {
            queue.in_flight -= 1;
            if queue.in_flight == 0 {
                queues.remove(partition);
            }
        }
        batch
    }

    /// Returns hashes of the keys and jobs that a commit reads or writes, and of its id. A collision only keeps two
    /// commits out of the same batch.
    fn touches(&self, commit: &Commit) -> Vec<u64> {
        let keys = commit.checks.iter().map(|check| match check {
            Check::Absent(key) | Check::At(key, _) => (key.as_str(), ""),
        });
        let ops = commit.ops.iter().filter_map(|op| match op {
            Op::Put { key, .. } | Op::Delete { key } => Some((key.as_str(), "")),
            Op::Enqueue { queue, job, .. } | Op::Settle { queue, job, .. } => {
                Some((queue.as_str(), job.as_str()))
            }
            Op::Append { .. } => None,
        });
        let mut hashes: Vec<u64> = keys
            .chain(ops)
            .map(|touched| self.hasher.hash_one(touched))
            .collect();
        hashes.push(self.hasher.hash_one(commit.id));
        hashes
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Partition, Queue>> {
        self.queues.lock()
    }
}
