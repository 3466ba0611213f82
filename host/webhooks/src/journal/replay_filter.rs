//! The body of a request that replays deliveries: the filter that selects them (`webhooks.md`, "Journal").

use schemars::{Schema, SchemaGenerator};
use tillgate_api::values::uuid;
use tillgate_api::{Value, describe};
use tillgate_base::body::time;

use super::Filter;
use crate::events::delivery_record::{STATUS_RULE, Status};
use crate::registry::body::{SHORT_TEXT_RULE, short_text};
use crate::registry::event_type;
use crate::registry::event_type::{TYPE_RULE, is_event_type};

/// Reads `{ webhookId?, status?, eventType?, eventId?, since?, until? }`.
pub(crate) fn filter(value: Value<'_, '_, '_>) -> Option<Filter> {
    value.component("ReplayFilter", |value| {
        value.object(|fields| {
            let webhook = fields.optional("webhookId", "Only deliveries to this webhook.", uuid);
            let status = fields.optional("status", "Only deliveries with this status.", |value| {
                value.parsed(
                    tillgate_api::schema::schema_of::<Status>,
                    Status::parse,
                    STATUS_RULE,
                )
            });
            let event_type = fields.optional(
                "eventType",
                "Only deliveries of events of this type.",
                |value| value.text_that(event_type::schema, is_event_type, TYPE_RULE),
            );
            let event_id = fields.optional("eventId", "Only deliveries of this event.", |value| {
                short_text(value, |_| true, SHORT_TEXT_RULE)
            });
            let since = fields.optional(
                "since",
                "Only deliveries of events that were accepted at this time or later.",
                time,
            );
            let until = fields.optional(
                "until",
                "Only deliveries of events that were accepted before this \
                    time. Default: now, which also replaces any later time.",
                time,
            );
            Some(Filter {
                webhook: webhook?,
                status: status?,
                event_type: event_type?,
                event_id: event_id?,
                since: since?,
                until: until?,
            })
        })
    })
}

pub(crate) fn filter_schema(generator: &mut SchemaGenerator) -> Schema {
    describe(generator, filter)
}
