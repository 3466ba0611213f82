//! The schemas of events, and of the consumers that ask for them.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{component, time};

use crate::registry::body::short_text_schema;
use crate::registry::event_type;

/// Returns the schema of an event as receivers get it.
pub fn envelope(generator: &mut SchemaGenerator) -> Schema {
    let (event_type, time) = (event_type::schema(generator), time(generator));
    component(generator, "EventEnvelope", |_| {
        json_schema!({
            "type": "object",
            "required": ["id", "time", "type", "datacontenttype", "data", "dataencoding", "meta", "source", "specversion"],
            "properties": {
                "id": { "type": "string" },
                "time": time,
                "type": event_type,
                "datacontenttype": { "type": "string" },
                "data": { "type": "string", "description": "The data in base64." },
                "dataencoding": { "type": "string", "const": "base64" },
                "meta": {
                    "type": "object",
                    "properties": {
                        "deprecationNotice": {
                            "type": "object", "required": ["removedAfter"],
                            "properties": { "removedAfter": { "type": "string", "description": "The date after which events of the type are no longer published." } },
                        },
                    },
                },
                "source": { "type": "string" },
                "specversion": { "type": "string", "const": "1.0" },
            },
        })
    })
}

pub(crate) fn consumer_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "enum": [".", ".."] }, "examples": ["erp"],
    })
}

/// Returns the schema of the cursor that acknowledges a page.
pub(crate) fn cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,128}$" })
}

/// Returns the schema of a list of events as receivers get them.
pub(crate) fn envelopes(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": envelope(generator), "maxItems": 1000 })
}

pub(crate) fn event_id(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = short_text_schema(generator);
    schema.insert("examples".to_owned(), ["order-4711"].as_slice().into());
    schema
}
