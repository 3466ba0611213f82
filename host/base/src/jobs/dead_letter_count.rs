//! Counts the dead letters of each queue, so that an alert lasts as long as there are any.
//!
//! When it starts, a host reads every partition, as its queues do; after that, it only reads partitions with dead
//! letters, including those where it has added one. Each host counts the dead letters that it adds.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tillgate_store::{Partition, Store};

use super::queue::DEAD_LETTERS;
use crate::data::records::{PAGE, Records};
use crate::error::Result;

/// The pause between two counts: this many times as long as a count takes, within these bounds.
const PAUSES: u32 = 50;
const MIN_PAUSE: Duration = Duration::from_secs(2);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// The number of dead letters of each queue in a partition: at most a page of them.
type Counts = BTreeMap<String, usize>;

#[derive(Debug, Default)]
pub(super) struct DeadLetterCount {
    /// The partitions that have dead letters, or may have.
    partitions: Mutex<BTreeMap<Partition, Counts>>,
    /// The partitions where a job became a dead letter since the last count began.
    added: Mutex<BTreeSet<Partition>>,
    /// Set once all partitions that existed at the start have been added.
    knows_all: AtomicBool,
}

impl DeadLetterCount {
    /// Returns the number of dead letters of a queue at the last count.
    pub(super) fn of(&self, queue: &str) -> usize {
        let partitions = self.partitions.lock();
        partitions
            .values()
            .filter_map(|counts| counts.get(queue))
            .sum()
    }

    /// Adds a partition to the next count, because one of its jobs became a dead letter.
    pub(super) fn add(&self, partition: &Partition) {
        self.added.lock().insert(partition.clone());
    }

    /// Counts the dead letters and returns the pause until the next count.
    pub(super) async fn look(&self, store: &Arc<dyn Store>) -> Duration {
        let begin = Instant::now();
        let mut new = mem::take(&mut *self.added.lock());
        if !self.knows_all.load(Ordering::Relaxed)
            && let Ok(all) = all_partitions(store).await
        {
            new.extend(all);
            self.knows_all.store(true, Ordering::Relaxed);
        }
        let known: Vec<Partition> = {
            let mut partitions = self.partitions.lock();
            for partition in new {
                partitions.entry(partition).or_default();
            }
            partitions.keys().cloned().collect()
        };
        for partition in known {
            // While a partition cannot be read, its last count stays.
            let Ok(counts) = count(store, &partition).await else {
                continue;
            };
            let mut partitions = self.partitions.lock();
            if counts.is_empty() {
                partitions.remove(&partition);
            } else {
                partitions.insert(partition, counts);
            }
        }
        (PAUSES * begin.elapsed()).clamp(MIN_PAUSE, MAX_PAUSE)
    }
}

async fn all_partitions(store: &Arc<dyn Store>) -> Result<Vec<Partition>> {
    let mut all: Vec<Partition> = Vec::new();
    loop {
        let after = all.last().map(Partition::as_str);
        let page = store.partitions(after, PAGE).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

async fn count(store: &Arc<dyn Store>, partition: &Partition) -> Result<Counts> {
    let records = Records::new(Arc::clone(store), partition.clone());
    let page = records.scan(DEAD_LETTERS, None, PAGE).await?;
    let mut counts = Counts::new();
    for (key, _) in &page.entries {
        let name = key.strip_prefix(DEAD_LETTERS).unwrap_or(key);
        let queue = name.split('/').next().unwrap_or(name);
        *counts.entry(queue.to_owned()).or_default() += 1;
    }
    Ok(counts)
}
