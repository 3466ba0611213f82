//! Hints about partitions that changed: the part of [`Store::hints`](super::contract::Store::hints) and
//! [`Store::partition_hints`](super::contract::Store::partition_hints) that every store shares.
//!
//! A partition takes memory only while it has listeners.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

use super::partition::Partition;

/// A channel that signals whenever its partition may have changed, and when the store answers again after it did not.
/// Hints may come late or without a change; [`Store::hints_as_of`](super::contract::Store::hints_as_of) says up to when
/// none is missing. The number counts the changes.
pub type Hints = watch::Receiver<u64>;

/// Waits for a hint. A closed store gives no more hints, so the wait then never ends.
pub async fn hinted(hints: &mut Hints) {
    if hints.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The most changed partitions that are remembered individually; beyond that, any may have changed.
const MAX_PARTITIONS: usize = 10_000;

/// Partitions that may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedPartitions {
    /// These partitions.
    These(HashSet<Partition>),
    /// Any partition: hints were lost, or there were too many.
    All,
}

impl Default for ChangedPartitions {
    fn default() -> Self {
        Self::These(HashSet::new())
    }
}

impl ChangedPartitions {
    fn add(&mut self, partition: &Partition) {
        let Self::These(partitions) = self else {
            return;
        };
        if partitions.len() >= MAX_PARTITIONS {
            *self = Self::All;
        } else if !partitions.contains(partition) {
            partitions.insert(partition.clone());
        }
    }
}

/// Hints about every partition, for a reader that serves all of them. Like [`Hints`], they may come late or without a
/// change.
#[derive(Debug, Default)]
pub struct PartitionHints(Arc<Changes>);

/// The changes since they were last taken.
#[derive(Debug, Default)]
struct Changes {
    partitions: Mutex<ChangedPartitions>,
    added: Notify,
}

impl PartitionHints {
    /// Waits until partitions may have changed, and returns them.
    pub async fn changed(&mut self) -> ChangedPartitions {
        loop {
            let changed = std::mem::take(&mut *self.0.lock());
            if changed != ChangedPartitions::default() {
                return changed;
            }
            self.0.added.notified().await;
        }
    }
}

impl Changes {
    fn add(&self, add: impl FnOnce(&mut ChangedPartitions)) {
        add(&mut self.lock());
        self.added.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, ChangedPartitions> {
        self.partitions.lock()
    }
}

/// The listeners of all partitions.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    channels: Mutex<Channels>,
}

#[derive(Debug, Default)]
struct Channels {
    by_partition: HashMap<Partition, watch::Sender<u64>>,
    /// The listeners to every partition.
    of_all: Vec<Weak<Changes>>,
    /// Channels without listeners are dropped once there are this many channels.
    sweep_at: usize,
}

impl Listeners {
    /// Adds a listener to a partition; it is notified of every change from now on.
    pub(super) fn subscribe(&self, partition: &Partition) -> Hints {
        let mut channels = self.lock();
        if channels.by_partition.len() >= channels.sweep_at {
            channels
                .by_partition
                .retain(|_, channel| channel.receiver_count() > 0);
            channels.sweep_at = (channels.by_partition.len() * 2).max(64);
        }
        channels
            .by_partition
            .entry(partition.clone())
            .or_default()
            .subscribe()
    }

    /// Adds a listener to every partition; it hears every change from now on.
    pub(super) fn subscribe_to_all(&self) -> PartitionHints {
        let hints = PartitionHints::default();
        let mut channels = self.lock();
        channels.of_all.retain(|changes| changes.strong_count() > 0);
        channels.of_all.push(Arc::downgrade(&hints.0));
        hints
    }

    /// Notifies the partition's listeners that it changed.
    pub(super) fn notify(&self, partition: &Partition) {
        let channels = self.lock();
        if let Some(channel) = channels.by_partition.get(partition) {
            channel.send_modify(|changes| *changes = changes.wrapping_add(1));
        }
        for changes in channels.of_all.iter().filter_map(Weak::upgrade) {
            changes.add(|changed| changed.add(partition));
        }
    }

    /// Notifies all listeners that any partition may have changed.
    pub(super) fn notify_all(&self) {
        let channels = self.lock();
        for channel in channels.by_partition.values() {
            channel.send_modify(|changes| *changes = changes.wrapping_add(1));
        }
        for changes in channels.of_all.iter().filter_map(Weak::upgrade) {
            changes.add(|changed| *changed = ChangedPartitions::All);
        }
    }

    /// Wakes the listeners of every partition, though none is known to have changed: the store answers again.
    pub(super) fn wake_all(&self) {
        for channel in self.lock().by_partition.values() {
            channel.send_modify(|_| ());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock()
    }
}
