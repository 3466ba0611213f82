//! Commits that wait for the same partition go together: one request, one script, one fsync.
//!
//! One request a partition is on its way; what comes meanwhile goes with the next one, and so do the next commits of
//! those who were just answered: with an fsync a request, few and large ones are fast. Only when a whole request's worth
//! waits does a second one go beside the first. Only commits that touch no key and no job in common go together, so that
//! each can be judged by the state before all of them; what is in two requests the server does one after the other. A
//! commit that is alone is sent at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::super::{Check, Commit, CommitError, Committed, MAX_OPS, Op, Partition};
use super::Shared;

/// How many commits, and how many bytes, go together at most.
const TOGETHER: usize = 128;
const TOGETHER_BYTES: usize = 256 << 10;

/// How many requests of a partition are on their way at once, at most.
const ON_THE_WAY: usize = 2;

/// A server that took so long to fail stands still: who was not sent yet is not kept waiting, and nothing is asked again.
pub(super) const STANDSTILL: Duration = Duration::from_millis(500);

pub(super) type Outcome = Result<Committed, CommitError>;

/// Commits that wait.
#[derive(Default)]
pub(super) struct Gatherer {
    /// There is a line for a partition while a request of its commits is on its way.
    lines: Mutex<HashMap<Partition, Line>>,
    hasher: RandomState,
}

/// The commits of a partition that wait, and how many requests are on their way.
#[derive(Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    on_the_way: usize,
}

struct Waiting {
    commit: Commit,
    answer: oneshot::Sender<Outcome>,
}

/// Has a commit sent, alone or with others; also when nobody waits for its outcome any more.
pub(super) async fn commit(shared: &Arc<Shared>, commit: Commit) -> Outcome {
    let (answer, answered) = oneshot::channel();
    let partition = commit.partition.clone();
    let waiting = Waiting { commit, answer };
    let sends = {
        let mut lines = shared.gatherer.lock();
        let line = lines.entry(partition.clone()).or_default();
        line.waiting.push_back(waiting);
        let full = line.waiting.len() >= TOGETHER;
        let sends = line.on_the_way == 0 || (full && line.on_the_way < ON_THE_WAY);
        line.on_the_way += usize::from(sends);
        sends
    };
    if sends {
        tokio::spawn(send_all(Arc::clone(shared), partition));
    }
    let gone = |_| Err(CommitError::Unknown("its sender is gone".to_owned()));
    answered.await.unwrap_or_else(gone)
}

/// Sends what waits until nothing does.
async fn send_all(shared: Arc<Shared>, partition: Partition) {
    let mut next = shared.gatherer.next(&partition);
    while !next.is_empty() {
        let (commits, answers): (Vec<_>, Vec<_>) = next
            .into_iter()
            .map(|waiting| (waiting.commit, waiting.answer))
            .unzip();
        let begin = Instant::now();
        let outcomes = shared.commit_together(&commits).await;
        let failure = outcomes.iter().find_map(|outcome| match outcome {
            Err(CommitError::Unknown(why) | CommitError::Unavailable(why)) => Some(why.clone()),
            _ => None,
        });
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            // Who does not wait any more does not want to know.
            let _gone = answer.send(outcome);
        }
        shared.gatherer.wait_for_more(&partition).await;
        next = shared.gatherer.next(&partition);
        if let Some(why) = failure
            && begin.elapsed() >= STANDSTILL
        {
            while !next.is_empty() {
                for waiting in next {
                    let _gone = waiting
                        .answer
                        .send(Err(CommitError::Unavailable(why.clone())));
                }
                next = shared.gatherer.next(&partition);
            }
        }
    }
}

impl Gatherer {
    /// Lets those who were just answered say what they commit next, as long as each turn of theirs brings more: it goes
    /// with what waits, and not alone after it.
    async fn wait_for_more(&self, partition: &Partition) {
        let waiting = || {
            let lines = self.lock();
            lines.get(partition).map_or(0, |line| line.waiting.len())
        };
        let mut before = waiting();
        while before < TOGETHER {
            tokio::task::yield_now().await;
            let now = waiting();
            if now <= before {
                break;
            }
            before = now;
        }
    }

    /// What goes together next, in the order in which it came; when nothing waits, one request fewer is on its way.
    fn next(&self, partition: &Partition) -> Vec<Waiting> {
        let mut lines = self.lock();
        let mut next = Vec::new();
        let Some(line) = lines.get_mut(partition) else {
            return next;
        };
        let waiting = &mut line.waiting;
        let (mut touched, mut bytes, mut ops) = (HashSet::new(), 0, 0);
        while let Some(candidate) = waiting.front() {
            let commit = &candidate.commit;
            let size = commit.ops.len() + commit.checks.len();
            (bytes, ops) = (bytes + commit.bytes(), ops + size);
            let full = next.len() >= TOGETHER || bytes > TOGETHER_BYTES || ops > MAX_OPS;
            let touches = self.touches(commit);
            if !next.is_empty() && (full || touches.iter().any(|hash| touched.contains(hash))) {
                break;
            }
            touched.extend(touches);
            next.extend(waiting.pop_front());
        }
        if next.is_empty() {
            line.on_the_way -= 1;
            if line.on_the_way == 0 {
                lines.remove(partition);
            }
        }
        next
    }

    /// What a commit reads or writes, and its id, as hashes: two that are the same by chance only do not go together.
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

    fn lock(&self) -> MutexGuard<'_, HashMap<Partition, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
