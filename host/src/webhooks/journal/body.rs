//! The body of a request that replays deliveries: the filter that names them (`webhooks.md`, "Journal").

use super::Filter;
use crate::body::{Body, parsed, read, text_that, time, uuid};
use crate::error::Result;
use crate::webhooks::events::delivery::{STATUS_RULE, Status};
use crate::webhooks::registry::body::{SHORT_TEXT_RULE, is_short_text};
use crate::webhooks::registry::event_type::{TYPE_RULE, is_event_type};

/// Reads `{ webhookId?, status?, eventType?, eventId?, since?, until? }`.
pub(in crate::webhooks) fn filter(body: &Body) -> Result<Filter> {
    read(body, |fields| {
        let webhook = fields.optional("webhookId", uuid);
        let status = fields.optional("status", |node, faults| {
            parsed(node, faults, Status::parse, STATUS_RULE)
        });
        let event_type = fields.optional("eventType", |node, faults| {
            text_that(node, faults, is_event_type, TYPE_RULE)
        });
        let event_id = fields.optional("eventId", |node, faults| {
            text_that(node, faults, is_short_text, SHORT_TEXT_RULE)
        });
        let since = fields.optional("since", time);
        let until = fields.optional("until", time);
        Some(Filter {
            webhook: webhook?,
            status: status?,
            event_type: event_type?,
            event_id: event_id?,
            since: since?,
            until: until?,
        })
    })
}
