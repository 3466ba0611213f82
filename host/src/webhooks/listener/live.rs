//! The streams of listeners that this host serves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// The newest stream of each webhook that has one here.
#[derive(Clone, Debug, Default)]
pub(in crate::webhooks) struct LiveStreams(Arc<Mutex<HashMap<Uuid, Uuid>>>);

/// A stream that is served, until this is dropped.
#[derive(Debug)]
pub(super) struct LiveStream {
    all: LiveStreams,
    webhook: Uuid,
    pub(super) id: Uuid,
}

impl LiveStreams {
    /// How many there are.
    pub(in crate::webhooks) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Notes a new stream of a webhook.
    pub(super) fn begin(&self, webhook: Uuid) -> LiveStream {
        let id = Uuid::new_v4();
        self.lock().insert(webhook, id);
        LiveStream {
            all: self.clone(),
            webhook,
            id,
        }
    }

    /// Whether a webhook has a stream here.
    pub(super) fn has(&self, webhook: Uuid) -> bool {
        self.lock().contains_key(&webhook)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Uuid>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LiveStream {
    fn drop(&mut self) {
        let mut streams = self.all.lock();
        if streams.get(&self.webhook) == Some(&self.id) {
            streams.remove(&self.webhook);
        }
    }
}
