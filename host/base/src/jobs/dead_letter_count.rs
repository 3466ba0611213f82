//! How many dead letters there are, by queue, so that an alert stays while there are any.
//!
//! At its start a host looks into every partition, as its queues do; from then on only into those that have such jobs, among
//! them those where it has set one aside. What another host sets aside meanwhile is counted there.

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

/// How long it is from one look to the next: so many times as long as a look takes, within these bounds.
const PAUSES: u32 = 50;
const MIN_PAUSE: Duration = Duration::from_secs(2);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// How many dead letters of each queue are in a partition: at most a page of them.
type Counts = BTreeMap<String, usize>;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct DeadLetterCount {
    /// The partitions that have such jobs, or may have.
    partitions: Mutex<BTreeMap<Partition, Counts>>,
    /// Those where a job became a dead letter since the last look began.
    added: Mutex<BTreeSet<Partition>>,
    /// Whether all partitions that there were at the start are or were among these.
    knows_all: AtomicBool,
}

impl DeadLetterCount {
    /// How many jobs of a queue there were at the last look.
    pub(super) fn of(&self, queue: &str) -> usize {
        let partitions = self.partitions.lock();
        partitions
            .values()
            .filter_map(|counts| counts.get(queue))
            .sum()
    }

    /// Has a partition looked into, because a job of it became a dead letter.
    pub(super) fn add(&self, partition: &Partition) {
        self.added.lock().insert(partition.clone());
    }

    /// Looks, and answers how long it is until the next look.
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
            // While one cannot be read, what is known of it stays.
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
