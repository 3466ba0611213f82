//! What has come of the turns of deliveries, written to the store in groups: turns of a tenant that end at about the same
//! time share a commit, together with the counts of their webhooks.
//!
//! Each outcome settles its job, so that it takes effect once. Counts are of this host alone and of one hour each: nobody
//! else writes them, and they are added up when somebody looks (`health.rs`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::data::records::{Change, Records};
use crate::error::{Error, Result};
use crate::store::Partition;

/// The records of counts: `{hour}/{webhook}/{host}`.
pub(in crate::webhooks) const COUNTS: &str = "webhook-counts/";

/// How many outcomes share a commit, and how large it may become.
const MAX_OUTCOMES: usize = 100;
const MAX_BYTES: usize = 4 << 20;

/// How many deliveries and failed attempts there were.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
pub(in crate::webhooks) struct Counts {
    pub(in crate::webhooks) delivered: u64,
    pub(in crate::webhooks) failed: u64,
}

/// What is to be counted.
#[derive(Clone, Copy, Debug)]
pub(in crate::webhooks) struct Counted {
    pub(in crate::webhooks) webhook: Uuid,
    pub(in crate::webhooks) at: Timestamp,
    pub(in crate::webhooks) has_succeeded: bool,
}

/// The outcomes that wait to be written.
#[derive(Debug)]
pub(in crate::webhooks) struct Outcomes {
    /// Tells the counts of this host from those of others, and of itself before it was restarted.
    host: Uuid,
    partitions: Mutex<HashMap<Partition, Arc<Group>>>,
}

/// Those of a partition.
#[derive(Debug, Default)]
struct Group(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    is_writing: bool,
    counts: HostCounts,
}

#[derive(Debug)]
struct Waiting {
    change: Change,
    counted: Option<Counted>,
    written: oneshot::Sender<Result<()>>,
}

impl Outcomes {
    pub(in crate::webhooks) fn new() -> Self {
        Self {
            host: Uuid::new_v4(),
            partitions: Mutex::default(),
        }
    }

    /// Writes what has come of a turn, and counts the attempt if one was made.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the job's lease was lost; when the store is away.
    pub(in crate::webhooks) async fn write(
        &self,
        records: &Records,
        change: Change,
        counted: Option<Counted>,
    ) -> Result<()> {
        let group = self.group(records.partition());
        let (written, done) = oneshot::channel();
        let is_first = {
            let mut state = group.lock();
            state.waiting.push(Waiting {
                change,
                counted,
                written,
            });
            !std::mem::replace(&mut state.is_writing, true)
        };
        if is_first {
            // In a task of its own: this turn may be stopped while others wait.
            tokio::spawn(write_all(group, records.clone(), self.host));
        }
        let done = done.await;
        done.map_err(|_| Error::Bug("an outcome was not written".to_owned()))?
    }

    fn group(&self, partition: &Partition) -> Arc<Group> {
        let mut partitions = self
            .partitions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(partitions.entry(partition.clone()).or_default())
    }
}

impl Group {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is written next; `None` when nothing waits any more.
    fn next(&self) -> Option<Vec<Waiting>> {
        let mut state = self.lock();
        let mut bytes = 0;
        let fits = |waiting: &&Waiting| {
            bytes += waiting.change.bytes();
            bytes <= MAX_BYTES
        };
        let count = state
            .waiting
            .iter()
            .take(MAX_OUTCOMES)
            .take_while(fits)
            .count();
        let count = count.max(1).min(state.waiting.len());
        if count == 0 {
            state.is_writing = false;
            return None;
        }
        Some(state.waiting.drain(..count).collect())
    }
}

/// Writes until nothing waits.
async fn write_all(group: Arc<Group>, records: Records, host: Uuid) {
    while let Some(waiting) = group.next() {
        let (mut changes, mut replies) = (Vec::new(), Vec::new());
        for one in waiting {
            changes.push((one.change, one.counted));
            replies.push(one.written);
        }
        for (reply, written) in replies
            .into_iter()
            .zip(write(&group, &records, host, changes).await)
        {
            // Whoever waited may have been stopped.
            let _ = reply.send(written);
        }
    }
}

/// Writes some outcomes in one commit; one by one when the lease of one of them was lost. Answers in their order.
async fn write(
    group: &Group,
    records: &Records,
    host: Uuid,
    changes: Vec<(Change, Option<Counted>)>,
) -> Vec<Result<()>> {
    let mut all = Change::default();
    let counts = group
        .lock()
        .counts
        .add(changes.iter().filter_map(|(_, counted)| *counted));
    for (change, _) in &changes {
        all.add(change.clone());
    }
    let counted = counts.iter().try_for_each(|((hour, webhook), counts)| {
        all.put(&format!("{}{webhook}/{host}", hour_prefix(*hour)), counts)
    });
    if counted.is_ok() {
        match records.commit(all).await {
            Ok(Some(_)) => return changes.iter().map(|_| Ok(())).collect(),
            // Each would wait for the store as long as all did.
            Err(Error::Unavailable(cause)) => {
                let away = |_| Err(Error::Unavailable(cause.clone()));
                return changes.iter().map(away).collect();
            }
            _ => {}
        }
    }
    let mut written = Vec::new();
    for (change, _) in changes {
        let lost = || Error::Conflict("the delivery is another host's by now".to_owned());
        let committed = records.commit(change).await;
        written.push(committed.and_then(|committed| committed.map(drop).ok_or_else(lost)));
    }
    written
}

/// The counts of this host since it was started, of the last hours.
#[derive(Debug, Default)]
struct HostCounts(HashMap<(u64, Uuid), Counts>);

impl HostCounts {
    /// Counts, and answers the counts that have changed.
    fn add(&mut self, all: impl Iterator<Item = Counted>) -> HashMap<(u64, Uuid), Counts> {
        let mut changed = HashMap::new();
        for counted in all {
            let key = (hour_of(counted.at), counted.webhook);
            let counts = self.0.entry(key).or_default();
            match counted.has_succeeded {
                true => counts.delivered += 1,
                false => counts.failed += 1,
            }
            changed.insert(key, *counts);
        }
        let newest = changed.keys().map(|(hour, _)| *hour).max().unwrap_or(0);
        self.0.retain(|(hour, _), _| hour + 1 >= newest);
        changed
    }
}

/// The hour of a time, since the epoch.
pub(in crate::webhooks) const fn hour_of(at: Timestamp) -> u64 {
    at.seconds() / 3_600
}

/// The prefix of the counts of an hour.
pub(in crate::webhooks) fn hour_prefix(hour: u64) -> String {
    format!("{COUNTS}{hour:010}/")
}
