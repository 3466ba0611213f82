//! The store in memory: the contract said as plainly as it can be, for tests and for a first try.
//!
//! Maps under one lock; no index beyond what the contract's order needs, no thread, nothing kept
//! when the process ends. What another store does differently from this one is that store's fault.

mod portable;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use super::hints::Listeners;
use super::{
    Check, Claimed, Commit, CommitError, CommitId, Committed, Entry, Hints, Job, Lease, MAX_OPS,
    Message, Op, Page, Partition, Position, REMEMBER, Revision, Slice, Store, Unavailable,
};
use crate::clock::{Clock, Timestamp};

/// A store that forgets everything when it is dropped.
#[derive(Debug)]
pub struct MemoryStore {
    clock: Arc<dyn Clock>,
    partitions: Mutex<BTreeMap<String, Contents>>,
    listeners: Listeners,
}

/// What a partition holds.
#[derive(Debug, Default)]
struct Contents {
    revision: Revision,
    /// The publish time of the newest commit.
    at: Timestamp,
    /// How many leases it gave: the newest lease's number.
    leases: u64,
    entries: BTreeMap<String, Entry>,
    logs: BTreeMap<String, Log>,
    queues: BTreeMap<String, BTreeMap<String, Queued>>,
    /// What the commits of the last while did.
    remembered: HashMap<CommitId, Committed>,
    /// Which of them is when to be forgotten: by publish time, which is a commit's own.
    by_age: BTreeMap<Timestamp, CommitId>,
}

#[derive(Debug, Default)]
struct Log {
    messages: BTreeMap<Position, Message>,
    last: Position,
    trimmed: Position,
}

#[derive(Debug)]
struct Queued {
    /// When it may be claimed: when it is due, or when its lease ends.
    due: Timestamp,
    lease: Option<Lease>,
    attempt: u32,
    body: Bytes,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            partitions: Mutex::default(),
            listeners: Listeners::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Contents>> {
        self.partitions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What `look` sees of a partition; the default of nothing when there is no such partition.
    fn look<T: Default>(&self, partition: &Partition, look: impl FnOnce(&Contents) -> T) -> T {
        self.lock()
            .get(partition.as_str())
            .map(look)
            .unwrap_or_default()
    }

    /// The same for a change that is not a commit.
    fn change<T: Default>(
        &self,
        partition: &Partition,
        change: impl FnOnce(&mut Contents) -> T,
    ) -> T {
        self.lock()
            .get_mut(partition.as_str())
            .map(change)
            .unwrap_or_default()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, commit: Commit) -> Result<Committed, CommitError> {
        if let Some(refusal) = commit.refusal() {
            return Err(refusal);
        }
        let now = self.clock.now();
        let mut partitions = self.lock();
        // A commit without effect must not leave an empty partition behind.
        let nothing = Contents::default();
        let contents = partitions
            .get(commit.partition.as_str())
            .unwrap_or(&nothing);
        if let Some(committed) = contents.remembered.get(&commit.id) {
            return Ok(Committed {
                repeated: true,
                ..committed.clone()
            });
        }
        contents.allow(&commit)?;
        let contents = partitions
            .entry(commit.partition.as_str().to_owned())
            .or_default();
        let committed = contents.apply(&commit, now);
        self.listeners.tell(&commit.partition);
        Ok(committed)
    }

    async fn get(
        &self,
        partition: &Partition,
        keys: &[String],
    ) -> Result<Vec<Option<Entry>>, Unavailable> {
        let partitions = self.lock();
        let contents = partitions.get(partition.as_str());
        Ok(keys
            .iter()
            .map(|key| contents?.entries.get(key).cloned())
            .collect())
    }

    async fn scan(
        &self,
        partition: &Partition,
        prefix: &str,
        after: Option<&str>,
        max: usize,
    ) -> Result<Page, Unavailable> {
        Ok(self.look(partition, |contents| contents.scan(prefix, after, max)))
    }

    async fn read(
        &self,
        partition: &Partition,
        log: &str,
        after: Position,
        max: usize,
    ) -> Result<Slice, Unavailable> {
        Ok(self.look(partition, |contents| {
            contents
                .logs
                .get(log)
                .map(|log| log.read(after, max))
                .unwrap_or_default()
        }))
    }

    async fn trim(
        &self,
        partition: &Partition,
        log: &str,
        before: Timestamp,
        max: usize,
    ) -> Result<usize, Unavailable> {
        Ok(self.change(partition, |contents| {
            contents
                .logs
                .get_mut(log)
                .map(|log| log.trim(before, max))
                .unwrap_or_default()
        }))
    }

    async fn claim(
        &self,
        partition: &Partition,
        queue: &str,
        lease: Duration,
        max: usize,
    ) -> Result<Claimed, Unavailable> {
        let now = self.clock.now();
        Ok(self.change(partition, |contents| contents.claim(queue, lease, max, now)))
    }

    async fn partitions(
        &self,
        after: Option<&str>,
        max: usize,
    ) -> Result<Vec<Partition>, Unavailable> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        let partitions = self.lock();
        let names = partitions
            .range::<str, _>((first, Bound::Unbounded))
            .filter(|(_, contents)| contents.revision > Revision::default())
            .map(|(name, _)| name);
        Ok(names
            .take(max)
            .filter_map(|name| Partition::new(name))
            .collect())
    }

    fn hints(&self, partition: &Partition) -> Hints {
        self.listeners.listen(partition)
    }

    fn partition_hints(&self) -> super::PartitionHints {
        self.listeners.listen_to_all()
    }
}

impl Contents {
    /// Whether a commit may take effect.
    fn allow(&self, commit: &Commit) -> Result<(), CommitError> {
        if let Some(check) = commit.checks.iter().find(|check| !self.holds(check)) {
            return Err(CommitError::Conflict(check.clone()));
        }
        let newest = |queue: &str, job: &str| -> Result<Option<Lease>, CommitError> {
            Ok(self.queues.get(queue).and_then(|jobs| jobs.get(job)?.lease))
        };
        commit.lost_lease(newest)?.map_or(Ok(()), Err)
    }

    fn holds(&self, check: &Check) -> bool {
        match check {
            Check::Absent(key) => !self.entries.contains_key(key),
            Check::At(key, revision) => self
                .entries
                .get(key)
                .is_some_and(|entry| entry.revision == *revision),
        }
    }

    /// Lets a commit that is allowed take effect.
    fn apply(&mut self, commit: &Commit, now: Timestamp) -> Committed {
        self.revision = Revision(self.revision.0.saturating_add(1));
        self.at = now.max(Timestamp(self.at.0.saturating_add(1)));
        let positions = commit.ops.iter().filter_map(|op| self.change(op)).collect();
        let (revision, at) = (self.revision, self.at);
        let committed = Committed {
            revision,
            at,
            positions,
            repeated: false,
        };
        self.forget(now.minus(REMEMBER));
        self.by_age.insert(at, commit.id);
        self.remembered.insert(commit.id, committed.clone());
        committed
    }

    /// Forgets what the commits before `before` did.
    fn forget(&mut self, before: Timestamp) {
        let recent = self.by_age.split_off(&before);
        for id in std::mem::replace(&mut self.by_age, recent).values() {
            self.remembered.remove(id);
        }
    }

    /// Applies an op; where its message stands when it is an append.
    fn change(&mut self, op: &Op) -> Option<Position> {
        match op {
            Op::Put { key, value } => {
                let entry = Entry {
                    revision: self.revision,
                    value: value.clone(),
                };
                self.entries.insert(key.clone(), entry);
            }
            Op::Delete { key } => {
                self.entries.remove(key);
            }
            Op::Append {
                log,
                attributes,
                body,
            } => {
                let log = self.logs.entry(log.clone()).or_default();
                return Some(log.append(attributes.clone(), body.clone(), self.at));
            }
            Op::Enqueue {
                queue,
                job,
                due,
                body,
            } => {
                let queued = Queued {
                    due: *due,
                    lease: None,
                    attempt: 0,
                    body: body.clone(),
                };
                self.queues
                    .entry(queue.clone())
                    .or_default()
                    .insert(job.clone(), queued);
            }
            Op::Settle {
                queue, job, next, ..
            } => {
                let jobs = self.queues.entry(queue.clone()).or_default();
                match (next, jobs.get_mut(job)) {
                    (Some(next), Some(queued)) => (queued.due, queued.lease) = (*next, None),
                    _ => drop(jobs.remove(job)),
                }
            }
        }
        None
    }

    fn scan(&self, prefix: &str, after: Option<&str>, max: usize) -> Page {
        let first = match after {
            Some(after) if after >= prefix => Bound::Excluded(after),
            _ => Bound::Included(prefix),
        };
        let mut found = self
            .entries
            .range::<str, _>((first, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(prefix))
            .map(|(key, entry)| (key.clone(), entry.clone()));
        let entries = found.by_ref().take(max).collect();
        Page {
            entries,
            more: found.next().is_some(),
        }
    }

    fn claim(&mut self, queue: &str, span: Duration, max: usize, now: Timestamp) -> Claimed {
        let Some(jobs) = self.queues.get_mut(queue) else {
            return Claimed::default();
        };
        let mut due: Vec<_> = jobs
            .iter_mut()
            .filter(|(_, queued)| queued.due <= now)
            .collect();
        due.sort_by(|(a, x), (b, y)| (x.due, a).cmp(&(y.due, b)));
        due.truncate(max.min(MAX_OPS));
        let mut claimed = Claimed::default();
        for (id, queued) in due {
            self.leases = self.leases.saturating_add(1);
            let lease = Lease(self.leases);
            queued.lease = Some(lease);
            queued.due = now.plus(span);
            queued.attempt = queued.attempt.saturating_add(1);
            let (id, body) = (id.clone(), queued.body.clone());
            claimed.jobs.push(Job {
                id,
                lease,
                attempt: queued.attempt,
                body,
            });
        }
        claimed.next_due = jobs.values().map(|queued| queued.due).min();
        claimed
    }
}

impl Log {
    fn append(
        &mut self,
        attributes: Vec<(String, String)>,
        body: Bytes,
        publish_time: Timestamp,
    ) -> Position {
        let position = Position(self.last.0.saturating_add(1));
        self.messages.insert(
            position,
            Message {
                position,
                publish_time,
                attributes,
                body,
            },
        );
        self.last = position;
        position
    }

    fn read(&self, after: Position, max: usize) -> Slice {
        let messages = self
            .messages
            .range((Bound::Excluded(after), Bound::Unbounded));
        Slice {
            messages: messages
                .take(max)
                .map(|(_, message)| message.clone())
                .collect(),
            last: self.last,
            trimmed: self.trimmed,
        }
    }

    fn trim(&mut self, before: Timestamp, max: usize) -> usize {
        let mut gone = 0;
        while gone < max
            && let Some(oldest) = self.messages.first_entry()
            && oldest.get().publish_time < before
        {
            self.trimmed = *oldest.key();
            oldest.remove();
            gone += 1;
        }
        gone
    }
}
