//! The log of a tenant's events, in the order in which they were accepted; consumers read it (`webhooks.md`, "Pull").
//!
//! A message of the log names the record of an event, which is stored once, for deliveries and consumers. A tenant
//! without consumers has no log. If a host accepts an event as if there were none, its commit checks that: the cache
//! may not know yet of a consumer that another host has just created, and that consumer must miss nothing.

use serde::{Deserialize, Serialize};
use tillgate_base::data::records::{Change, Records};
use tillgate_base::error::{Error, Result};
use tillgate_store::Message;
use uuid::Uuid;

use super::event::Event;
use crate::registry::quota::CONSUMERS;

/// The log of each tenant that has consumers.
pub const EVENT_LOG: &str = "webhook-events";

/// The decision whether an event is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logging {
    /// Logged: the tenant has consumers.
    On,
    /// Not logged: the tenant has none, which the commit checks.
    Off,
    /// Not logged: the event is for one webhook alone, such as a test.
    Never,
}

/// A message of the log.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Logged {
    /// The key of the event's record.
    pub(crate) event: Uuid,
    /// The size of its envelope, in bytes.
    pub(crate) bytes: usize,
}

impl Logging {
    /// Decides by whether the tenant has consumers.
    pub(crate) const fn of(has_consumers: bool) -> Self {
        if has_consumers { Self::On } else { Self::Off }
    }

    /// Reads from the store whether the tenant has consumers.
    ///
    /// # Errors
    /// When the store is unavailable.
    pub(crate) async fn read(records: &Records) -> Result<Self> {
        let count = records.get_bytes(CONSUMERS.count_key).await?;
        Ok(Self::of(count.is_some()))
    }

    /// Adds the event's message to the change that accepts it, or the check that no consumer would read it.
    pub(crate) fn add_to(self, change: &mut Change, key: Uuid, event: &Event) -> Result<()> {
        match self {
            Self::On => {
                let logged = Logged {
                    event: key,
                    bytes: event.envelope().len(),
                };
                let body = serde_json::to_vec(&logged);
                let body = body.map_err(|cause| Error::Bug(cause.to_string()))?;
                change.append(EVENT_LOG, Vec::new(), body.into());
            }
            Self::Off => Self::expect_no_consumer(change),
            Self::Never => {}
        }
        Ok(())
    }

    /// Makes a change take effect only while the tenant has no consumer.
    pub(crate) fn expect_no_consumer(change: &mut Change) {
        change.expect::<usize>(CONSUMERS.count_key, None);
    }
}

impl Logged {
    /// Reads a message.
    ///
    /// # Errors
    /// [`Error::Bug`] when it is damaged.
    pub(crate) fn of(message: &Message) -> Result<Self> {
        let read = serde_json::from_slice(&message.body);
        read.map_err(|cause| Error::Bug(format!("a message of the log is damaged: {cause}")))
    }
}
