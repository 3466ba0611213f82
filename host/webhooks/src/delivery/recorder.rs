//! Writes the results of delivery jobs in batches: results of a tenant that arrive at about the same time share a
//! commit, together with the counts of their webhooks.
//!
//! Each result settles the job of its delivery, so that it takes effect once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tillgate_api::problem::CHANGED_MEANWHILE;
use tillgate_base::data::records::{Change, Records};
use tillgate_base::error::{Error, Result};
use tillgate_store::Partition;
use tokio::sync::oneshot;

use super::counts::{Counted, HostCounts};

/// The most results that share a commit, and the most bytes of that commit.
const MAX_BATCH: usize = 100;
const MAX_BYTES: usize = 4 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Recorder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The waiting results, by partition. A partition is here while a task writes its results.
    waiting: Mutex<HashMap<Partition, Vec<Waiting>>>,
    counts: Mutex<HostCounts>,
}

#[derive(Debug)]
struct Waiting {
    change: Change,
    counted: Option<Counted>,
    written: oneshot::Sender<Result<()>>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Shared {
            waiting: Mutex::default(),
            counts: Mutex::new(HostCounts::new()),
        }))
    }

    /// Returns the number of counts in memory.
    pub(crate) fn counted(&self) -> usize {
        self.0.counts().size()
    }

    /// Writes a result, and counts the attempt if one was made.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the job's lease was lost; when the store is unavailable.
    pub(crate) async fn write(
        &self,
        records: &Records,
        change: Change,
        counted: Option<Counted>,
    ) -> Result<()> {
        let (written, done) = oneshot::channel();
        let result = Waiting {
            change,
            counted,
            written,
        };
        if self.0.add(records.partition(), result) {
            // In a task of its own: this job may be stopped while other results wait.
            let (shared, records) = (Arc::clone(&self.0), records.clone());
            tokio::spawn(async move { shared.write_all(&records).await });
        }
        let done = done.await;
        done.map_err(|_| Error::Bug("a result was not written".to_owned()))?
    }
}

impl Shared {
    /// Adds a result; returns whether its partition needs a task that writes its results.
    fn add(&self, partition: &Partition, result: Waiting) -> bool {
        let mut waiting = self.waiting();
        match waiting.get_mut(partition) {
            Some(results) => {
                results.push(result);
                false
            }
            None => {
                waiting.insert(partition.clone(), vec![result]);
                true
            }
        }
    }

    /// Writes until nothing waits.
    async fn write_all(&self, records: &Records) {
        while let Some(batch) = self.next_batch(records.partition()) {
            let (mut changes, mut replies) = (Vec::new(), Vec::new());
            for result in batch {
                changes.push((result.change, result.counted));
                replies.push(result.written);
            }
            for (reply, written) in replies.into_iter().zip(self.write(records, changes).await) {
                // The job that waits for it may have been stopped.
                let _ = reply.send(written);
            }
        }
    }

    /// Takes the next batch; returns `None` when nothing waits.
    fn next_batch(&self, partition: &Partition) -> Option<Vec<Waiting>> {
        let mut waiting = self.waiting();
        let results = waiting.get_mut(partition)?;
        if results.is_empty() {
            waiting.remove(partition);
            return None;
        }
        let mut bytes = 0;
        let fits = |result: &&Waiting| {
            bytes += result.change.bytes();
            bytes <= MAX_BYTES
        };
        let count = results.iter().take(MAX_BATCH).take_while(fits).count();
        Some(results.drain(..count.max(1)).collect())
    }

    /// Writes results in one commit, or one by one if a lease was lost. Returns the outcomes in their order.
    async fn write(
        &self,
        records: &Records,
        changes: Vec<(Change, Option<Counted>)>,
    ) -> Vec<Result<()>> {
        let mut all = Change::default();
        for (change, _) in &changes {
            all.add(change.clone());
        }
        if self.count(&mut all, &changes).is_ok() {
            match records.commit(all).await {
                Ok(Some(_)) => return changes.iter().map(|_| Ok(())).collect(),
                // Each alone would wait for the store just as long.
                Err(Error::Unavailable(cause)) => {
                    let unavailable = |_| Err(Error::Unavailable(cause.clone()));
                    return changes.iter().map(unavailable).collect();
                }
                _ => {}
            }
        }
        let mut written = Vec::new();
        for (change, _) in changes {
            let lost = || {
                let detail = "another host has taken over the delivery";
                Error::Conflict(CHANGED_MEANWHILE, detail.to_owned())
            };
            let committed = records.commit(change).await;
            written.push(committed.and_then(|committed| committed.map(drop).ok_or_else(lost)));
        }
        written
    }

    /// Counts attempts, and adds the counts to a change.
    fn count(&self, change: &mut Change, attempts: &[(Change, Option<Counted>)]) -> Result<()> {
        let mut counts = self.counts();
        let counted = counts.add(attempts.iter().filter_map(|(_, counted)| *counted));
        counted
            .iter()
            .try_for_each(|(key, counts)| change.put(key, counts))
    }

    fn counts(&self) -> MutexGuard<'_, HostCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Partition, Vec<Waiting>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tillgate_store::MemoryStore;
    use tillgate_store::clock::{StoppedClock, Timestamp};

    #[tokio::test]
    async fn a_partition_is_in_memory_only_while_its_results_are_written() {
        let store = MemoryStore::new(Arc::new(StoppedClock::at(Timestamp(0))));
        let records = Records::new(Arc::new(store), Partition::named("a"));
        let recorder = Recorder::new();
        let change = |number: usize| {
            let mut change = Change::default();
            change.put_bytes(
                &format!("key-{number:03}"),
                bytes::Bytes::from_static(b"{}"),
            );
            change
        };
        let all = (0..250).map(|number| recorder.write(&records, change(number), None));
        let written = futures_util::future::join_all(all).await;
        assert!(written.iter().all(Result::is_ok));
        while !recorder.0.waiting().is_empty() {
            tokio::task::yield_now().await;
        }
        let found = records.scan("key-", None, 1_000).await;
        assert!(found.is_ok_and(|page| page.entries.len() == 250));
    }
}
