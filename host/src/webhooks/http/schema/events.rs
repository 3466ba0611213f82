//! The schemas of events, and of the consumers that ask for them.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::event_type;
use crate::http::schema::{NO_CONTROLS, component, time};

/// The body that publishes an event.
pub(in crate::webhooks::http) fn new_event(generator: &mut SchemaGenerator) -> Schema {
    let event_type = event_type(generator);
    component(generator, "NewEvent", |_| {
        json_schema!({
            "type": "object",
            "required": ["type", "data"],
            "properties": {
                "type": { "allOf": [event_type], "not": { "const": "cer.public.event.rates-changed.v1" } },
                "data": { "description": "Any JSON, which reaches receivers as it is written; a string where `datacontenttype` is not JSON. At most 256 KiB." },
                "id": {
                    "type": ["string", "null"], "minLength": 1, "maxLength": 256, "pattern": NO_CONTROLS,
                    "description": "At most 256 bytes of UTF-8. An event with an id that was accepted in the last 24 hours is not delivered again. Without one it gets a UUID.",
                },
                "time": { "type": ["string", "null"], "format": "date-time", "description": "When it happened, not before 1970. Without one, now." },
                "tenantId": {
                    "type": ["string", "null"], "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "const": "_" },
                    "description": "The tenant that it is for: the caller's own, or any where the caller is the platform's.",
                },
                "datacontenttype": {
                    "type": ["string", "null"], "maxLength": 255, "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+(;.*)?$",
                    "default": "application/json",
                    "description": "The media type of the data.",
                },
            },
        })
    })
}

/// An event that was accepted.
pub(in crate::webhooks::http) fn published(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "PublishedEvent", |_| {
        json_schema!({
            "type": "object",
            "required": ["id", "deliveries"],
            "properties": {
                "id": { "type": "string" },
                "deliveries": { "type": "integer", "minimum": 0, "description": "How many webhooks want it." },
            },
        })
    })
}

/// An event as receivers get it.
pub(crate) fn envelope(generator: &mut SchemaGenerator) -> Schema {
    let (event_type, time) = (event_type(generator), time(generator));
    component(generator, "EventEnvelope", |_| {
        json_schema!({
            "type": "object",
            "required": ["id", "time", "type", "datacontenttype", "data", "dataencoding", "meta", "source", "specversion"],
            "properties": {
                "id": { "type": "string" },
                "time": time,
                "type": event_type,
                "datacontenttype": { "type": "string" },
                "data": { "type": "string", "description": "The base64 of the data." },
                "dataencoding": { "type": "string", "const": "base64" },
                "meta": {
                    "type": "object",
                    "properties": {
                        "deprecationNotice": {
                            "type": "object", "required": ["removedAfter"],
                            "properties": { "removedAfter": { "type": "string", "description": "Until when events of the type are published." } },
                        },
                    },
                },
                "source": { "type": "string" },
                "specversion": { "type": "string", "const": "1.0" },
            },
        })
    })
}

/// A page of events.
pub(in crate::webhooks::http) fn page(generator: &mut SchemaGenerator) -> Schema {
    let envelope = envelope(generator);
    component(generator, "EventPage", |_| {
        json_schema!({
            "type": "object",
            "required": ["items", "next"],
            "properties": {
                "items": { "type": "array", "items": envelope, "maxItems": 1000 },
                "next": { "type": "string", "description": "The `after` that acknowledges this page and all before it." },
                "reset": { "type": "boolean", "const": true, "description": "Events before the first of the page are gone unread." },
            },
        })
    })
}

/// The name of a consumer.
pub(in crate::webhooks::http) fn consumer_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "enum": [".", ".."] }, "examples": ["erp"],
    })
}

/// What acknowledges a page.
pub(in crate::webhooks::http) fn cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$" })
}

/// Consumers.
pub(in crate::webhooks::http) fn consumers(generator: &mut SchemaGenerator) -> Schema {
    let (name, time) = (consumer_name(generator), time(generator));
    let consumer = component(generator, "EventConsumer", |_| {
        json_schema!({
            "type": "object",
            "required": ["name", "createdAt", "lastSeenAt"],
            "properties": {
                "name": name,
                "createdAt": time.clone(),
                "lastSeenAt": { "allOf": [time.clone()], "description": "When it asked last, to the minute." },
                "waitingSince": { "allOf": [time], "description": "When the oldest event was accepted that it has not acknowledged; absent when it has acknowledged all." },
                "reset": { "type": "boolean", "const": true, "description": "Events are gone that it has not acknowledged." },
            },
        })
    });
    json_schema!({ "type": "array", "items": consumer })
}
