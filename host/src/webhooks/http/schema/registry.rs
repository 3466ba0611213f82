//! The schemas of webhooks, of their health, and of the keys that deliveries are verified with.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{event_types, shared_key, short_text, url};
use crate::http::schema::{component, managed_by, schema_of, time, title, uuid};
use crate::webhooks::delivery::limiter::BreakerState;
use crate::webhooks::registry::webhook::DisabledReason;

/// The filter of a webhook.
fn filter(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "EventFilter", |_| {
        json_schema!({
            "type": "array", "maxItems": 16,
            "description": "Conditions that must all hold when an event is accepted: at most 16 KiB of JSON.",
            "items": {
                "type": "object",
                "required": ["path", "in"],
                "properties": {
                    "path": {
                        "type": "string", "pattern": r"^\$\.(type|id|data[.\[].+)$", "maxLength": 512,
                        "description": "`$.type`, `$.id`, or a member of JSON data such as `$.data.businessUnitId` or `$.data['a.b']`: at most 512 bytes and 16 names, no wildcards and no elements of arrays. A member that is absent matches nothing.",
                    },
                    "in": {
                        "type": "array", "minItems": 1, "maxItems": 100,
                        "description": "The values that it may have, equal by type and value.",
                        "items": { "type": ["string", "number", "boolean"], "maxLength": 512, "description": "A string of at most 512 bytes, or a number of at most 64 characters, compared by its decimal value." },
                    },
                },
            },
        })
    })
}

/// What is set of a webhook; `id` says what that member is.
fn settings(generator: &mut SchemaGenerator, id: &str) -> Schema {
    let filter = filter(generator);
    json_schema!({
        "type": "object",
        "required": ["name", "callbackUrl", "eventTypes", "authentication"],
        "properties": {
            "id": { "type": ["string", "null"], "format": "uuid", "description": id },
            "name": title(256),
            "callbackUrl": url("Where events are sent: an https URL, or an http one where the configuration allows it, of at most 2,048 bytes, without a user name, a password or a fragment."),
            "eventTypes": event_types(generator),
            "filter": { "anyOf": [filter, { "type": "null" }] },
            "authentication": {
                "description": "How a delivery proves where it comes from: with a token of the service's identity provider, or with a name and a password.",
                "oneOf": [
                    { "type": "object", "required": ["type"], "properties": { "type": { "type": "string", "const": "BEARER" } } },
                    {
                        "type": "object", "required": ["type", "username"],
                        "properties": {
                            "type": { "type": "string", "const": "BASIC" },
                            "username": { "allOf": [short_text()], "not": { "type": "string", "pattern": ":" } },
                            "password": { "allOf": [short_text()], "description": "May be left out where one is stored for the same scheme, host and port." },
                        },
                    },
                ],
            },
            "sharedKey": { "allOf": [shared_key()], "description": "The key of the signatures. Left out, the one that is stored stays; null removes it." },
            "signatureHeader": {
                "type": ["string", "null"], "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$",
                "description": "The header that carries the signature of the data, in place of those that are configured: none that has another meaning in a delivery.",
            },
            "maxPerSecond": { "type": ["integer", "null"], "minimum": 1, "maximum": 10_000, "description": "How many deliveries it takes in a second." },
            "enabled": { "type": ["boolean", "null"], "default": true, "description": "While it is not, its deliveries are held for a week." },
            "managedBy": managed_by(),
        },
    })
}

/// The body that creates or replaces a webhook.
pub(in crate::webhooks::http) fn webhook_settings(generator: &mut SchemaGenerator) -> Schema {
    let schema = settings(generator, "It has no effect.");
    component(generator, "WebhookSettings", |_| schema)
}

/// The body that tries out a webhook.
pub(in crate::webhooks::http) fn webhook_trial(generator: &mut SchemaGenerator) -> Schema {
    let schema = settings(
        generator,
        "The webhook whose stored secrets are used where the body leaves them out.",
    );
    component(generator, "WebhookTrial", |_| schema)
}

/// A webhook.
pub(in crate::webhooks::http) fn webhook(generator: &mut SchemaGenerator) -> Schema {
    let (id, time, filter) = (uuid(generator), time(generator), filter(generator));
    let reason = schema_of::<DisabledReason>(generator);
    component(generator, "Webhook", |generator| {
        json_schema!({
            "type": "object",
            "required": ["id", "name", "callbackUrl", "eventTypes", "authentication", "hasSharedKey", "enabled", "createdAt", "lastModified"],
            "properties": {
                "id": id,
                "name": { "type": "string" },
                "callbackUrl": { "type": "string" },
                "eventTypes": event_types(generator),
                "filter": filter,
                "authentication": {
                    "description": "Without the password.",
                    "oneOf": [
                        { "type": "object", "required": ["type"], "properties": { "type": { "type": "string", "const": "BEARER" } }, "additionalProperties": false },
                        {
                            "type": "object", "required": ["type", "username"], "additionalProperties": false,
                            "properties": { "type": { "type": "string", "const": "BASIC" }, "username": { "type": "string" } },
                        },
                    ],
                },
                "hasSharedKey": { "type": "boolean" },
                "sharedKey": { "type": "string", "description": "Only in the answer to the request that had it made." },
                "standardWebhooksSecret": { "type": "string", "pattern": "^whsec_", "description": "The same key as libraries of Standard Webhooks take it, where it is shown." },
                "previousSharedKeyEndsAt": { "allOf": [time.clone()], "description": "Until when the key before signs as well." },
                "signatureHeader": { "type": "string" },
                "maxPerSecond": { "type": "integer", "minimum": 1 },
                "temporary": { "type": "boolean", "const": true, "description": "It is a listener's." },
                "expiresAt": { "allOf": [time.clone()], "description": "Only in the answer that created a listener: when it is removed unless its deliveries are followed by then." },
                "enabled": { "type": "boolean" },
                "disabledReason": { "allOf": [reason], "description": "Why the service has disabled it." },
                "disabledAt": time.clone(),
                "createdAt": time.clone(),
                "lastModified": time,
                "managedBy": managed_by(),
            },
        })
    })
}

/// Webhooks.
pub(in crate::webhooks::http) fn webhooks(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": webhook(generator) })
}

/// A shared key that was just made.
pub(in crate::webhooks::http) fn made_key(generator: &mut SchemaGenerator) -> Schema {
    let time = time(generator);
    component(generator, "SharedKey", |_| {
        json_schema!({
            "type": "object",
            "required": ["sharedKey", "standardWebhooksSecret"],
            "properties": {
                "sharedKey": { "type": "string", "description": "It is shown here and never again." },
                "standardWebhooksSecret": { "type": "string", "pattern": "^whsec_", "description": "The same key as libraries of Standard Webhooks take it." },
                "previousSharedKeyEndsAt": { "allOf": [time], "description": "Until when the key before signs as well." },
            },
        })
    })
}

/// A test event that was accepted.
pub(in crate::webhooks::http) fn ping(generator: &mut SchemaGenerator) -> Schema {
    let id = uuid(generator);
    component(generator, "Ping", |_| {
        json_schema!({
            "type": "object",
            "required": ["id", "deliveryId"],
            "properties": { "id": { "type": "string", "description": "The id of the event." }, "deliveryId": id },
        })
    })
}

/// The health of webhooks.
pub(in crate::webhooks::http) fn health(generator: &mut SchemaGenerator) -> Schema {
    let (id, time) = (uuid(generator), time(generator));
    let breaker = schema_of::<BreakerState>(generator);
    let count = || json_schema!({ "type": "integer", "minimum": 0 });
    let health = component(generator, "WebhookHealth", |_| {
        json_schema!({
            "type": "object",
            "required": ["webhookId", "delivered", "failed", "breaker", "hours"],
            "properties": {
                "webhookId": id,
                "delivered": { "type": "integer", "minimum": 0, "description": "Deliveries in the last 24 hours." },
                "failed": { "type": "integer", "minimum": 0, "description": "Attempts that failed in the last 24 hours." },
                "breaker": breaker,
                "pausedSince": { "allOf": [time.clone()], "description": "Since when it is paused, or tried with one delivery at a time, after five failed attempts in a row." },
                "pausedUntil": { "allOf": [time.clone()], "description": "Until when nothing is sent to it." },
                "failingSince": { "allOf": [time.clone()], "description": "Since when every attempt has failed." },
                "waiting": { "type": "integer", "minimum": 0, "description": "How many deliveries wait, where it is disabled or fails." },
                "moreWaiting": { "type": "boolean", "const": true, "description": "More may wait than were counted." },
                "hours": {
                    "type": "array", "minItems": 24, "maxItems": 24, "description": "The oldest first.",
                    "items": {
                        "type": "object", "required": ["hour", "delivered", "failed"],
                        "properties": { "hour": time, "delivered": count(), "failed": count() },
                    },
                },
            },
        })
    });
    json_schema!({ "type": "array", "items": health })
}

/// Certificates by key id.
pub(in crate::webhooks::http) fn certificates(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Certificates", |_| {
        json_schema!({
            "type": "object", "minProperties": 1,
            "description": "PEM, by the `kid` in the header of a token.",
            "additionalProperties": { "type": "string", "pattern": "^-----BEGIN CERTIFICATE-----" },
        })
    })
}
