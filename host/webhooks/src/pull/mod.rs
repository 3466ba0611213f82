//! Pull: events for receivers that cannot be called, a page at a time, in the order in which they were accepted
//! (`webhooks.md`, "Pull").
//!
//! A consumer is a name with a position in the log of its tenant's events (`events/log.rs`), which is independent of
//! deliveries. A request gets the events after that position. With the cursor of a page it first acknowledges that
//! page: the position moves, durably (`progress.rs`). So after any crash, unacknowledged events are returned again, and
//! none is skipped. `waiting.rs` waits for the first event, `consumers.rs` lists and removes consumers.

pub(super) mod consumers;
mod cursor;
mod progress;
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tillgate_base::data::records::{Records, decode_entry};
use tillgate_base::error::Result;
use tillgate_base::identity::TenantId;
use tillgate_base::load::budget::{Budget, Limit};
use tillgate_store::Slice;

pub(super) use self::consumers::no_consumer;
pub(super) use self::cursor::Cursor;
pub(super) use self::progress::CURSOR_RULE;
pub(super) use self::waiting::MAX_WAIT;
use super::Webhooks;
use super::events::event::{Event, event_key};
use super::events::log::Logged;
use super::events::schema::envelopes;
use super::registry::consumer::{Consumer, ConsumerName};

/// The most bytes of a page's events, unless it has only one.
const MAX_BYTES: usize = 1 << 20;

/// A request for events.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) consumer: ConsumerName,
    /// The page that it acknowledges, with all before it.
    pub(super) after: Option<Cursor>,
    /// The most events that it wants.
    pub(super) limit: usize,
    /// The longest that it waits for the first event.
    pub(super) wait: Duration,
}

/// A page of events.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct EventPage {
    #[schemars(schema_with = "envelopes")]
    items: Vec<Box<RawValue>>,
    /// The value of `after` that acknowledges this page and all before it.
    next: String,
    /// `true` if events before this page are gone unread.
    #[serde(skip_serializing_if = "Option::is_none")]
    reset: Option<bool>,
}

/// The requests on this host that wait for events, by tenant.
pub(super) type Waiters = Arc<Budget<TenantId>>;

/// Allows `each` waiting requests per tenant.
pub(super) fn waiters(each: usize) -> Waiters {
    Budget::new(Limit {
        all: usize::MAX,
        each,
    })
}

impl Webhooks {
    /// Returns a page of events for a consumer, and whether the request created the consumer. `gone` is ready when the
    /// client no longer waits for the answer.
    ///
    /// # Errors
    /// [`Error::Invalid`](tillgate_base::error::Error::Invalid) for a cursor that the consumer was not given;
    /// [`Error::Conflict`](tillgate_base::error::Error::Conflict) when the tenant has too many consumers,
    /// [`Error::TooMany`](tillgate_base::error::Error::TooMany) when too many of its requests wait; when the store is unavailable.
    pub(super) async fn pull(
        &self,
        tenant: &TenantId,
        asked: &Asked,
        gone: impl Future<Output = ()>,
    ) -> Result<(EventPage, bool)> {
        let _waiter = self.waiter(tenant, asked.wait)?;
        let records = self.records(tenant);
        let (consumer, is_new) = self.progress(&records, asked).await?;
        if is_new {
            // The consumer starts here, so it has no events yet.
            return Ok((
                EventPage::of(&consumer, Slice::default(), &records).await?,
                true,
            ));
        }
        self.note_seen(&records, asked, &consumer).await;
        let slice = self.first(&records, &consumer, asked, gone).await?;
        Ok((EventPage::of(&consumer, slice, &records).await?, false))
    }
}

impl EventPage {
    /// Builds a consumer's page from a slice of the log, with as many events as fit.
    async fn of(consumer: &Consumer, slice: Slice, records: &Records) -> Result<Self> {
        let mut end = consumer.position().max(slice.trimmed);
        let mut is_reset = consumer.position() < slice.trimmed;
        let (mut keys, mut bytes) = (Vec::new(), 0_usize);
        for message in &slice.messages {
            let logged = Logged::of(message)?;
            bytes = bytes.saturating_add(logged.bytes);
            if bytes > MAX_BYTES && !keys.is_empty() {
                break;
            }
            keys.push(event_key(logged.event));
            end = message.position;
        }
        let mut items = Vec::with_capacity(keys.len());
        if !keys.is_empty() {
            for (key, entry) in keys.iter().zip(records.entries(&keys).await?) {
                match entry {
                    Some(entry) => {
                        let event = decode_entry::<Event>(key, &entry)?.record;
                        items.push(event.into_envelope());
                    }
                    // Retention removes the event just before or after its message.
                    None => is_reset = true,
                }
            }
        }
        let next = Cursor {
            consumer: consumer.id,
            position: end,
        };
        Ok(Self {
            items,
            next: next.to_text(),
            reset: is_reset.then_some(true),
        })
    }
}
