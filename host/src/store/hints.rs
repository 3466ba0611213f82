//! Who wants to hear that a partition changed: the part of [`Store::hints`](super::Store::hints)
//! that every store shares.
//!
//! A partition costs memory only while somebody listens.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::{Hints, Partition};

/// The listeners of all partitions.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    channels: Mutex<Channels>,
}

#[derive(Debug, Default)]
struct Channels {
    by_partition: HashMap<Partition, watch::Sender<u64>>,
    /// Channels that nobody listens to any more are dropped when there are this many.
    sweep_at: usize,
}

impl Listeners {
    /// A new listener of a partition. Hears every change from now on.
    pub(super) fn listen(&self, partition: &Partition) -> Hints {
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

    /// Tells the partition's listeners that it changed.
    pub(super) fn tell(&self, partition: &Partition) {
        if let Some(channel) = self.lock().by_partition.get(partition) {
            channel.send_modify(|changes| *changes = changes.wrapping_add(1));
        }
    }

    /// Tells everyone that anything may have changed.
    pub(super) fn tell_all(&self) {
        for channel in self.lock().by_partition.values() {
            channel.send_modify(|changes| *changes = changes.wrapping_add(1));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
