//! Listeners for changes of partitions: the part of [`Store::hints`](super::contract::Store::hints) that all stores
//! share.
//!
//! A partition takes memory only while it has listeners.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::contract::{Hints, Partition};

/// The listeners of all partitions.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    channels: Mutex<Channels>,
}

#[derive(Debug, Default)]
struct Channels {
    by_partition: HashMap<Partition, watch::Sender<u64>>,
    /// Channels without listeners are dropped once there are this many channels.
    sweep_at: usize,
}

impl Listeners {
    /// A new listener of a partition, which is notified of every change from now on.
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

    /// Notifies the partition's listeners that it changed.
    pub(super) fn notify(&self, partition: &Partition) {
        if let Some(channel) = self.lock().by_partition.get(partition) {
            channel.send_modify(|changes| *changes = changes.wrapping_add(1));
        }
    }

    /// Notifies all listeners that their partitions may have changed.
    pub(super) fn notify_all(&self) {
        for channel in self.lock().by_partition.values() {
            channel.send_modify(|changes| *changes = changes.wrapping_add(1));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
