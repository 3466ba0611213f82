//! The schemas of listeners.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{event_types, shared_key, url};
use crate::http::schema::{NO_CONTROLS, component};

/// The body that creates a listener.
pub(in crate::webhooks::http) fn new_listener(generator: &mut SchemaGenerator) -> Schema {
    let types = event_types(generator);
    component(generator, "NewListener", |_| {
        json_schema!({
            "type": "object",
            "required": ["eventTypes", "forwardTo"],
            "properties": {
                "eventTypes": types,
                "forwardTo": url("Where the listener forwards deliveries to: a URL of its own machine, or of an address in a private network that this service does not reach. It is the audience of the tokens of these deliveries."),
                "name": {
                    "type": ["string", "null"], "minLength": 1, "maxLength": 256, "pattern": NO_CONTROLS, "default": "tillgate listen",
                },
                "sharedKey": { "allOf": [shared_key()], "description": "The key of the signatures; one is made when there is none." },
            },
        })
    })
}

/// The report of a listener.
pub(in crate::webhooks::http) fn outcome(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "DeliveryOutcome", |_| {
        let header =
            || json_schema!({ "type": "string", "pattern": r"^[^\x00-\x08\x0a-\x1f\x7f]*$" });
        json_schema!({
            "type": "object",
            "required": ["receipt", "durationMs"],
            "anyOf": [{ "required": ["answer"] }, { "required": ["error"] }],
            "properties": {
                "receipt": { "type": "string", "pattern": "^[0-9]{1,20}-[0-9]{1,20}$", "description": "What came with the delivery." },
                "durationMs": { "type": "integer", "minimum": 0, "maximum": 600_000 },
                "answer": {
                    "type": "object",
                    "description": "What the receiver has answered. It does not count beside an `error`.",
                    "required": ["status"],
                    "properties": {
                        "status": { "type": "integer", "minimum": 100, "maximum": 999 },
                        "headers": {
                            "type": ["object", "null"],
                            "description": "Those that matter.",
                            "properties": { "location": header(), "retry-after": header() },
                        },
                        "body": { "type": ["string", "null"], "description": "Its beginning is looked at." },
                    },
                },
                "error": {
                    "type": "object",
                    "description": "Why there was no answer.",
                    "required": ["kind", "message"],
                    "properties": {
                        "kind": { "type": "string", "enum": ["DEADLINE", "UNREACHABLE", "REFUSED_ADDRESS", "BROKEN"] },
                        "message": { "type": "string", "description": "The first 1,000 characters are kept." },
                    },
                },
            },
        })
    })
}
