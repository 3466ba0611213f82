//! Schemas (JSON Schema 2020-12) of the documents. A type that serde writes derives its schema, and the description of
//! a body makes it; this file has the schemas of single values.

use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// The most characters of a note.
pub const MAX_NOTE: usize = 500;

/// The number of items in a page, unless the request names a `limit`.
pub const LIMIT: usize = 100;

/// The greatest `limit`.
pub const MAX_LIMIT: usize = 1_000;

/// Makes the schema of something; a named schema is added to the components of the document.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// Returns the schema of a type that answers are written from. Members that are `None` are left out, so no member is
/// null, not even in the schemas that it refers to.
pub fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let known: BTreeSet<String> = generator.definitions().keys().cloned().collect();
    let mut schema = generator.subschema_for::<T>();
    let new = generator.definitions_mut().iter_mut();
    for (_, definition) in new.filter(|(name, _)| !known.contains(*name)) {
        never_null(definition);
    }
    if let Some(members) = schema.as_object_mut() {
        members.values_mut().for_each(never_null);
    }
    schema
}

/// Returns the schema of a value for which null has a meaning.
pub fn nullable<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let value = generator.subschema_for::<T>();
    json_schema!({ "oneOf": [value, { "type": "null" }] })
}

/// Removes null from the types in a schema.
fn never_null(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(never_null),
        Value::Object(members) => {
            members.values_mut().for_each(never_null);
            // The formats of unsigned integers are those of Rust.
            if members
                .get("format")
                .is_some_and(|format| format.as_str().is_some_and(|it| it.starts_with("uint")))
            {
                members.remove("format");
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    members.insert("type".to_owned(), one);
                }
            }
            if let Some(Value::Array(any)) = members.get_mut("anyOf") {
                any.retain(|schema| schema != &json!({ "type": "null" }));
                if let [Value::Object(one)] = any.as_slice() {
                    let one = one.clone();
                    members.remove("anyOf");
                    members.extend(one);
                }
            }
        }
        _ => {}
    }
}

/// Removes the defaults of members, since type generators assume that a member with a default is always there.
/// Descriptions name the defaults in words.
pub fn without_defaults(document: &mut Value) {
    match document {
        Value::Array(all) => all.iter_mut().for_each(without_defaults),
        Value::Object(members) => {
            let properties = members.get_mut("properties").and_then(Value::as_object_mut);
            for property in properties.into_iter().flat_map(|all| all.values_mut()) {
                if let Some(schema) = property.as_object_mut() {
                    schema.remove("default");
                }
            }
            members.values_mut().for_each(without_defaults);
        }
        _ => {}
    }
}

/// Replaces alternatives with one name each by an `enum`, which client generators understand. The meaning of each name
/// becomes a part of the description.
pub fn plain_enumerations(document: &mut Value) {
    match document {
        Value::Array(all) => all.iter_mut().for_each(plain_enumerations),
        Value::Object(members) => {
            if let Some(plain) = members.get("oneOf").and_then(enumeration) {
                let (names, meanings) = plain;
                members.remove("oneOf");
                members.insert("type".to_owned(), json!("string"));
                members.insert("enum".to_owned(), json!(names));
                let before = members.get("description").and_then(Value::as_str);
                let description = before
                    .into_iter()
                    .chain(meanings.iter().map(String::as_str));
                let description = description.collect::<Vec<_>>().join("\n\n");
                if !description.is_empty() {
                    members.insert("description".to_owned(), json!(description));
                }
            }
            members.values_mut().for_each(plain_enumerations);
        }
        _ => {}
    }
}

/// Returns the names of an enumeration, and the meanings of those that have one.
fn enumeration(alternatives: &Value) -> Option<(Vec<String>, Vec<String>)> {
    let (mut names, mut meanings) = (Vec::new(), Vec::new());
    for alternative in alternatives.as_array()? {
        if let Some(more) = alternative.get("enum") {
            let more = more.as_array()?.iter().filter_map(Value::as_str);
            names.extend(more.map(str::to_owned));
            continue;
        }
        let name = alternative.get("const")?.as_str()?;
        names.push(name.to_owned());
        let meaning = alternative.get("description").and_then(Value::as_str);
        meanings.extend(meaning.map(|meaning| format!("`{name}`: {meaning}")));
    }
    Some((names, meanings))
}

/// Returns a reference to a named schema, for values that are read or written by hand. It is made once for each
/// document.
pub fn component(
    generator: &mut SchemaGenerator,
    name: &'static str,
    make: impl FnOnce(&mut SchemaGenerator) -> Schema,
) -> Schema {
    if !generator.definitions().contains_key(name) {
        // Added before it is made, so that it may contain itself.
        generator
            .definitions_mut()
            .insert(name.to_owned(), Value::Bool(true));
        let schema = make(generator).to_value();
        generator.definitions_mut().insert(name.to_owned(), schema);
    }
    Schema::new_ref(format!("#/components/schemas/{name}"))
}

/// Returns the schema of one of several kinds of objects, which the member `by` tells apart. `kinds` has the values of
/// that member and references to the kinds.
pub fn one_of(by: &str, kinds: &[(&str, Schema)]) -> Schema {
    let mut references: Vec<&Schema> = Vec::new();
    for (_, kind) in kinds {
        if !references.contains(&kind) {
            references.push(kind);
        }
    }
    let target = |kind: &Schema| kind.get("$ref").cloned().unwrap_or_default();
    let mapping = kinds
        .iter()
        .map(|(value, kind)| ((*value).to_owned(), target(kind)));
    let mapping: serde_json::Map<String, Value> = mapping.collect();
    json_schema!({
        "oneOf": references,
        "discriminator": { "propertyName": by, "mapping": mapping },
    })
}

/// Returns the schema of a scalar of any of these types. It has a name, because client generators do not know lists of
/// types.
pub fn scalar(
    generator: &mut SchemaGenerator,
    name: &'static str,
    types: &[&str],
    description: &str,
) -> Schema {
    component(generator, name, |_| {
        let any = types.iter().map(|name| json!({ "type": name }));
        json_schema!({ "description": description, "oneOf": any.collect::<Vec<_>>() })
    })
}

/// Returns the schema of a boolean that is false by default.
pub fn flag(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "boolean", "default": false })
}

/// Returns the schema of the `limit` of a page.
pub fn limit(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": LIMIT })
}

/// Returns the schema of the place where a page of a list kept by time begins.
pub fn cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9]{1,19}$" })
}

/// Returns the schema of a text.
pub fn text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string" })
}

/// Returns the schema of a UUID.
pub fn uuid(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "uuid", "examples": ["6f1c2d8e-3f0b-4a51-9c1d-2b7e5a90c4d3"] })
}

/// Returns the schema of a time (RFC 3339).
pub fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time", "examples": ["2026-11-20T17:40:00Z"] })
}

/// The pattern of texts without control characters.
pub const NO_CONTROLS: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";

/// Returns the schema of the author of a change.
#[must_use]
pub fn made_by(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "description": "The author of the change. `clientId` is the id of a client, or the issuer and subject of a person. If the platform made the change, tenants see only the `name` `The platform`.",
        "properties": { "clientId": { "type": "string" }, "name": { "type": "string" } },
    })
}

/// Returns the schema of the reason for a change.
pub fn note(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": MAX_NOTE, "pattern": NO_CONTROLS })
}

/// The units of a duration.
const UNITS: &str = "ns|nsec|nanos|us|µs|usec|ms|msec|millis|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?|M|months?|y|yrs?|years?";

/// Returns the schema of a text for people, of 1 to `max` characters.
#[must_use]
pub fn title(max: usize) -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": max, "pattern": NO_CONTROLS })
}

/// Returns the schema of the name of the program that manages a resource.
#[must_use]
pub fn managed_by() -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$",
        "description": "The program that manages the resource, such as `tillgate-apply`. The service does not act on it. A PUT without it removes it; an answer has it only if it is set.",
    })
}

/// Returns the schema of a duration, such as `24h`.
pub fn duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": format!(r"^\s*(0|([0-9]+(\.[0-9]+)?\s*({UNITS})\s*)+)$"),
        "description": "Numbers with units, such as `0s`, `30m`, `24h` or `2 days`: at most 15 digits.",
    })
}

/// Returns the schema of the id of a tenant.
pub fn tenant_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "enum": [".", "..", "_"] }, "examples": ["acme"],
    })
}

/// Returns the schema of the id of a tenant in a body, where dot segments are ids as well.
pub fn tenant_id_in_body(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "const": "_" }, "examples": ["acme"],
    })
}
