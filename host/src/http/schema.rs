//! Schemas (JSON Schema 2020-12) for the documents of the API: how a feature says what its bodies and parameters are.
//!
//! A type that serde writes derives its schema; what is read or written by hand has one by hand.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::data::note;

/// How many items a page has without a limit.
pub const LIMIT: usize = 100;

/// How many it has at most.
pub const MAX_LIMIT: usize = 1_000;

/// Makes the schema of something; what has a name is added to the components of the document.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The schema of a type.
pub fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A schema with a name of its own, for what is read or written by hand. It is made once for each document.
pub fn component(
    generator: &mut SchemaGenerator,
    name: &'static str,
    make: impl FnOnce(&mut SchemaGenerator) -> Schema,
) -> Schema {
    if !generator.definitions().contains_key(name) {
        // Before it is made, so that it may contain itself.
        generator
            .definitions_mut()
            .insert(name.to_owned(), Value::Bool(true));
        let schema = make(generator).to_value();
        generator.definitions_mut().insert(name.to_owned(), schema);
    }
    Schema::new_ref(format!("#/components/schemas/{name}"))
}

/// Yes or no, no by default.
pub fn flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "boolean", "default": false })
}

/// How many items a page has.
pub fn limit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": LIMIT })
}

/// Where a page of what is kept by time begins.
pub fn cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9]{1,19}$" })
}

/// A text.
pub fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

/// A UUID.
pub fn uuid(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "uuid", "examples": ["6f1c2d8e-3f0b-4a51-9c1d-2b7e5a90c4d3"] })
}

/// A time (RFC 3339).
pub fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time", "examples": ["2026-11-20T17:40:00Z"] })
}

/// What a text matches that has no control character.
pub const NO_CONTROLS: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";

/// Who has made a change.
#[must_use]
pub fn made_by() -> Schema {
    json_schema!({
        "type": "object",
        "description": "Who made the change: the id of a client, or the issuer and the subject of a person. Of a change of the platform's that others made, just the name `The platform`.",
        "properties": { "clientId": { "type": "string" }, "name": { "type": "string" } },
    })
}

/// Why a change is made.
pub fn note(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": note::MAX, "pattern": NO_CONTROLS })
}

/// The units of a duration.
const UNITS: &str = "ns|nsec|nanos|us|µs|usec|ms|msec|millis|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?|M|months?|y|yrs?|years?";

/// A text for people, of 1 to so many characters.
#[must_use]
pub fn title(max: usize) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": max, "pattern": NO_CONTROLS })
}

/// Which program manages a resource.
#[must_use]
pub fn managed_by() -> Schema {
    json_schema!({
        "type": ["string", "null"], "pattern": "^[A-Za-z0-9._-]{1,64}$",
        "description": "Which program manages it, such as `tillgate-apply`. It decides nothing. A PUT without it removes it; an answer has it only where it is set.",
    })
}

/// A duration, such as `24h`.
pub fn duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": format!(r"^\s*(0|([0-9]+(\.[0-9]+)?\s*({UNITS})\s*)+)$"),
        "description": "Numbers and units, such as `0s`, `30m`, `24h` or `2 days`: at most 15 digits.",
    })
}

/// The id of a tenant.
pub fn tenant_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "enum": [".", "..", "_"] }, "examples": ["acme"],
    })
}
