//! The schemas of the events that the service itself publishes about webhooks (`webhooks.md`, "Events"), and of the
//! envelope of each of its own event types.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{component, schema_of, uuid};

use super::schema::envelope;
use crate::registry::webhook::DisabledReason;

/// Returns the schema of the envelope of events of a type, with data of a schema.
pub fn envelope_of(generator: &mut SchemaGenerator, event_type: &str, data: &Schema) -> Schema {
    json_schema!({
        "allOf": [envelope(generator)],
        "properties": {
            "type": { "type": "string", "const": event_type },
            "data": { "type": "string", "contentEncoding": "base64", "contentMediaType": "application/json", "contentSchema": data },
        },
    })
}

/// Returns the schema of the data of an event that the service has disabled a webhook.
pub fn webhook_event(generator: &mut SchemaGenerator) -> Schema {
    let (id, reason) = (uuid(generator), schema_of::<DisabledReason>(generator));
    component(generator, "WebhookEvent", |_| {
        json_schema!({
            "type": "object", "required": ["action", "id", "reason"],
            "properties": { "action": { "type": "string", "const": "DISABLED" }, "id": id, "reason": reason },
        })
    })
}

/// Returns the schema of the data of an event that a delivery has failed for good.
pub fn delivery_event(generator: &mut SchemaGenerator) -> Schema {
    let id = uuid(generator);
    component(generator, "DeliveryEvent", |_| {
        json_schema!({
            "type": "object", "required": ["action", "deliveryId", "webhookId", "eventType"],
            "properties": {
                "action": { "type": "string", "const": "FAILED" },
                "deliveryId": id.clone(), "webhookId": id,
                "eventType": { "type": "string", "description": "The type of the event that was not delivered." },
            },
        })
    })
}

/// Returns the schema of the data of a test event.
pub fn ping_event(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "PingEvent", |_| {
        json_schema!({
            "type": "object", "required": ["action", "message"],
            "properties": { "action": { "type": "string", "const": "PING" }, "message": { "type": "string" } },
        })
    })
}
