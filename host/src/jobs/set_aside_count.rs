//! How many jobs are set aside, by queue, so that an alert stays while there are any.
//!
//! At its start a host looks into every partition, as its queues do; from then on only into those that have such jobs, among
//! them those where it has set one aside. What another host sets aside meanwhile is counted there.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::queue::DEAD_LETTERS;
use crate::data::records::{PAGE, Records};
use crate::error::Result;
use crate::store::{Partition, Store};

/// How long it is from one look to the next: so many times as long as a look takes, within these bounds.
const PAUSES: u32 = 50;
const MIN_PAUSE: Duration = Duration::from_secs(2);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct SetAsideCount {
    by_queue: Mutex<BTreeMap<String, usize>>,
    /// The partitions that may have such jobs.
    partitions: Mutex<BTreeSet<Partition>>,
    /// Whether all partitions that there were at the start are or were among these.
    knows_all: AtomicBool,
}

impl SetAsideCount {
    /// How many jobs of a queue there were at the last look: of one partition at most a page.
    pub(super) fn of(&self, queue: &str) -> usize {
        self.by_queue.lock().get(queue).copied().unwrap_or_default()
    }

    /// Has a partition looked into, because a job of it was set aside.
    pub(super) fn add(&self, partition: &Partition) {
        self.partitions.lock().insert(partition.clone());
    }

    /// Looks, and answers how long it is until the next look.
    pub(super) async fn look(&self, store: &Arc<dyn Store>) -> Duration {
        let begin = Instant::now();
        if !self.knows_all.load(Ordering::Relaxed)
            && let Ok(all) = all_partitions(store).await
        {
            self.partitions.lock().extend(all);
            self.knows_all.store(true, Ordering::Relaxed);
        }
        let partitions = mem::take(&mut *self.partitions.lock());
        match count(store, &partitions).await {
            Ok((by_queue, having)) => {
                *self.by_queue.lock() = by_queue;
                self.partitions.lock().extend(having);
            }
            // While the store is unavailable, what is known stays.
            Err(_) => self.partitions.lock().extend(partitions),
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

/// How many jobs of each queue are set aside in these partitions, and which of these have any.
async fn count(
    store: &Arc<dyn Store>,
    partitions: &BTreeSet<Partition>,
) -> Result<(BTreeMap<String, usize>, Vec<Partition>)> {
    let (mut by_queue, mut having) = (BTreeMap::new(), Vec::new());
    for partition in partitions {
        let records = Records::new(Arc::clone(store), partition.clone());
        let page = records.scan(DEAD_LETTERS, None, PAGE).await?;
        if !page.entries.is_empty() {
            having.push(partition.clone());
        }
        for (key, _) in &page.entries {
            let name = key.strip_prefix(DEAD_LETTERS).unwrap_or(key);
            let queue = name.split('/').next().unwrap_or(name);
            *by_queue.entry(queue.to_owned()).or_default() += 1;
        }
    }
    Ok((by_queue, having))
}
