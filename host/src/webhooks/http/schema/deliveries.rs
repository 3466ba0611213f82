//! The schemas of deliveries and replays.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::short_text;
use crate::http::schema::{component, schema_of, time, uuid};
use crate::webhooks::events::delivery::{FailureKind, Status};

/// The status of a delivery.
pub(in crate::webhooks::http) fn status(generator: &mut SchemaGenerator) -> Schema {
    schema_of::<Status>(generator)
}

fn failure(generator: &mut SchemaGenerator) -> Schema {
    let kind = schema_of::<FailureKind>(generator);
    component(generator, "DeliveryFailure", |_| {
        json_schema!({
            "type": "object",
            "description": "Why an attempt has failed, or a delivery was given up.",
            "required": ["kind", "message"],
            "properties": { "kind": kind, "message": { "type": "string" } },
        })
    })
}

fn duration_ms() -> Schema {
    json_schema!({ "type": "integer", "minimum": 0 })
}

fn http_status() -> Schema {
    json_schema!({ "type": "integer", "minimum": 100, "maximum": 999, "description": "What the receiver has answered, if it has." })
}

/// A delivery.
pub(in crate::webhooks::http) fn delivery(generator: &mut SchemaGenerator) -> Schema {
    let members = delivery_members(generator);
    component(generator, "Delivery", |_| members)
}

fn delivery_members(generator: &mut SchemaGenerator) -> Schema {
    let (id, time) = (uuid(generator), time(generator));
    let (status, failure) = (status(generator), failure(generator));
    json_schema!({
        "type": "object",
        "required": ["id", "webhookId", "eventId", "eventType", "status", "createdAt", "updatedAt", "attemptCount"],
        "properties": {
            "id": id.clone(),
            "webhookId": id,
            "eventId": { "type": "string" },
            "eventType": { "type": "string" },
            "status": status,
            "createdAt": time.clone(),
            "updatedAt": time.clone(),
            "attemptCount": { "type": "integer", "minimum": 0, "maximum": 25, "description": "How many attempts are kept: the newest 25." },
            "nextAttemptAt": { "allOf": [time.clone()], "description": "When it is tried next; while it is `HELD`, when it is given up." },
            "lastAttempt": {
                "type": "object", "required": ["at", "durationMs"],
                "properties": { "at": time, "durationMs": duration_ms(), "status": http_status() },
            },
            "lastError": failure,
        },
    })
}

/// The members of an attempt.
fn attempt_members(generator: &mut SchemaGenerator) -> Schema {
    let (time, failure) = (time(generator), failure(generator));
    json_schema!({
        "type": "object",
        "required": ["at", "durationMs"],
        "properties": {
            "at": time,
            "durationMs": duration_ms(),
            "status": http_status(),
            "error": failure,
            "answer": { "type": "string", "description": "The first KiB of what was answered. Of an answer that repeats a credential, only its length: `an answer of 312 bytes that repeats a credential`." },
        },
    })
}

fn attempt(generator: &mut SchemaGenerator) -> Schema {
    let members = attempt_members(generator);
    component(generator, "DeliveryAttempt", |_| members)
}

/// The result of a trial.
pub(in crate::webhooks::http) fn trial(generator: &mut SchemaGenerator) -> Schema {
    let attempt = attempt(generator);
    component(generator, "TrialResult", |_| {
        json_schema!({
            "allOf": [attempt],
            "type": "object",
            "required": ["delivered"],
            "properties": { "delivered": { "type": "boolean", "description": "Whether the receiver has taken the test event." } },
        })
    })
}

/// A delivery with its attempts.
pub(in crate::webhooks::http) fn details(generator: &mut SchemaGenerator) -> Schema {
    let (delivery, attempt) = (delivery(generator), attempt(generator));
    component(generator, "DeliveryDetails", |_| {
        json_schema!({
            "allOf": [delivery],
            "type": "object",
            "required": ["attempts"],
            "properties": {
                "attempts": { "type": "array", "items": attempt },
                "request": {
                    "type": "object",
                    "description": "What is sent, without secrets, unless the webhook or the event is gone. It has signatures once the receiver has answered.",
                    "required": ["method", "url", "headers", "body"],
                    "properties": {
                        "method": { "type": "string", "const": "POST" },
                        "url": { "type": "string" },
                        "headers": { "type": "object", "additionalProperties": { "type": "string" } },
                        "body": { "type": "string", "description": "The envelope of the event." },
                    },
                },
            },
        })
    })
}

/// A page of deliveries.
pub(in crate::webhooks::http) fn deliveries(generator: &mut SchemaGenerator) -> Schema {
    let delivery = delivery(generator);
    component(generator, "Deliveries", |_| {
        json_schema!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": { "type": "array", "items": delivery, "description": "They may be fewer than asked for, even none, and more may follow all the same." },
                "next": { "type": "string", "format": "uuid", "description": "The `cursor` of the next page; absent on the last one." },
            },
        })
    })
}

/// Which deliveries are to be sent again.
pub(in crate::webhooks::http) fn replay_filter(generator: &mut SchemaGenerator) -> Schema {
    let or_null = |mut schema: Schema| {
        schema.remove("examples");
        json_schema!({ "anyOf": [schema, { "type": "null" }] })
    };
    let (id, time) = (or_null(uuid(generator)), or_null(time(generator)));
    let (status, event_type) = (
        or_null(status(generator)),
        or_null(super::event_type(generator)),
    );
    component(generator, "ReplayFilter", |_| {
        json_schema!({
            "type": "object",
            "description": "All that it names must hold; `{}` means every delivery.",
            "properties": {
                "webhookId": id,
                "status": status,
                "eventType": event_type,
                "eventId": or_null(short_text()),
                "since": described(&time, "Accepted at that time or later."),
                "until": described(&time, "Accepted before that time; at most now, which it is without it."),
            },
        })
    })
}

fn described(schema: &Schema, description: &str) -> Schema {
    let mut schema = schema.clone();
    schema.insert("description".to_owned(), Value::from(description));
    schema
}

/// A replay that has begun.
pub(in crate::webhooks::http) fn replay_id(generator: &mut SchemaGenerator) -> Schema {
    let id = uuid(generator);
    component(
        generator,
        "ReplayId",
        |_| json_schema!({ "type": "object", "required": ["id"], "properties": { "id": id } }),
    )
}

/// How far a replay has come.
pub(in crate::webhooks::http) fn replay(generator: &mut SchemaGenerator) -> Schema {
    let (id, time) = (uuid(generator), time(generator));
    component(generator, "Replay", |_| {
        json_schema!({
            "type": "object",
            "required": ["id", "state", "examined", "replayed", "createdAt"],
            "properties": {
                "id": id,
                "state": { "type": "string", "enum": ["RUNNING", "DONE"] },
                "examined": { "type": "integer", "minimum": 0, "description": "How many deliveries were looked at." },
                "replayed": { "type": "integer", "minimum": 0, "description": "How many of them are sent again." },
                "createdAt": time,
            },
        })
    })
}
