//! The schemas of the bodies and parameters of webhooks, for the documents of the API, a file for each group of routes. They
//! are by hand, as the readers of bodies are; tests hold them to what is answered.

pub(super) mod deliveries;
pub(super) mod events;
pub(super) mod listener;
pub(super) mod own_events;
pub(super) mod registry;

use schemars::{Schema, SchemaGenerator, json_schema};

use crate::http::schema::NO_CONTROLS;

/// An event type.
pub(super) fn event_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": r"^[a-z0-9-]+(\.[a-z0-9-]+)*\.v[0-9]+$", "maxLength": 256, "examples": ["x.order-updates.v1"],
    })
}

/// The id of an event.
pub(super) fn event_id(_: &mut SchemaGenerator) -> Schema {
    let mut schema = short_text();
    schema.insert("examples".to_owned(), ["order-4711"].as_slice().into());
    schema
}

/// A text that becomes a part of a key in the store, or of a header.
fn short_text() -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": 256, "pattern": NO_CONTROLS, "description": "At most 256 bytes of UTF-8.",
    })
}

/// The event types that a webhook wants.
fn event_types(generator: &mut SchemaGenerator) -> Schema {
    let one = event_type(generator);
    json_schema!({
        "type": "array", "minItems": 1, "maxItems": 100, "uniqueItems": true,
        "description": "`*` stands for all. The topic of rate changes, `cer.public.event.rates-changed.v1`, is none: its messages are no events.",
        "items": {
            "anyOf": [{ "type": "string", "const": "*" }, one],
            "not": { "const": "cer.public.event.rates-changed.v1" },
        },
    })
}

/// A shared key, or that one is to be made.
fn shared_key() -> Schema {
    json_schema!({
        "anyOf": [
            { "type": "string", "const": "generate", "description": "One is made, which the answer shows once." },
            {
                "type": "string", "minLength": 16, "maxLength": 128, "pattern": r"^([^\s\x00-\x1f\x7f-\x9f]| )*$",
                "description": "Printable characters.",
            },
            { "type": "null" },
        ],
    })
}

/// The URL of a receiver.
fn url(description: &str) -> Schema {
    json_schema!({
        "type": "string", "maxLength": 2048, "pattern": r"^[Hh][Tt][Tt][Pp][Ss]?:[^\s#]+$", "description": description,
    })
}
