//! The ids of accepted events: publishing an event again with the same id has no further effect for a day
//! (`webhooks.md`, "Events").

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::event::NewEvent;

/// The key prefix of accepted ids.
pub(crate) const ACCEPTED_ID: &str = "webhook-event-id/";

/// The time for which an id is remembered.
const REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// An accepted id, as it is stored.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AcceptedId {
    at: Timestamp,
    /// The digest of the event's type, media type and data.
    digest: String,
    pub(crate) deliveries: usize,
    /// The key of the event; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<Uuid>,
}

pub(crate) fn accepted_id_key(id: &str) -> String {
    format!("{ACCEPTED_ID}{id}")
}

impl AcceptedId {
    /// Creates the record of an event that is accepted at a time and stored under a key.
    pub(crate) fn new(event: &NewEvent, at: Timestamp, deliveries: usize, key: Uuid) -> Self {
        Self {
            at,
            digest: digest(event),
            deliveries,
            event: Some(key),
        }
    }

    pub(crate) fn is_remembered(&self, now: Timestamp) -> bool {
        now.since(self.at) < REMEMBERED
    }

    /// Returns whether it was accepted for an equal event.
    pub(crate) fn is_of(&self, event: &NewEvent) -> bool {
        self.digest == digest(event)
    }
}

fn digest(event: &NewEvent) -> String {
    let mut hasher = Sha256::new();
    hasher.update(&event.event_type);
    hasher.update([0]);
    hasher.update(&event.datacontenttype);
    hasher.update([0]);
    hasher.update(&event.data);
    hex::encode(hasher.finalize())
}
