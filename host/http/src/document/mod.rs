//! The OpenAPI document (3.1), built from the table of routes that serves. `route/operation.rs` says what a route is
//! for. This module adds what follows from the route itself: its permission, the size of its body, and the errors of
//! every such route (`errors.rs`).

mod errors;

use ::http::Method;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tillgate_base::identity::{Permission, built_in, built_in_roles};

use self::errors::{refusals_of, responses};
use super::route::access::{Access, Takes};
use super::route::operation::{Answer, Content, Operation, Parameter, Place};
use super::route::tag::Tag;
use super::route::{Described, Describes};

/// The description of the API as a whole.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// The version of the program.
    pub version: &'static str,
    /// The text to read before the first request.
    pub description: &'static str,
    /// Examples of bodies and answers: JSON objects, by the ids of operations.
    pub examples: &'static [&'static str],
}

/// The names by which operations refer to the authentication schemes.
const BEARER: &str = "bearer";
const CLIENT: &str = "client";

/// Creates a schema generator that puts components where the documents have them.
#[must_use]
pub fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    settings.for_serialize().into_generator()
}

/// Returns the OpenAPI document of these routes.
#[must_use]
pub fn openapi(routes: &[Described], info: Info) -> Value {
    let mut generator = generator();
    let examples = examples(info.examples);
    let mut paths = Map::new();
    for route in routes {
        let Describes::With(describe) = route.describes else {
            continue;
        };
        let described = describe();
        let examples = examples.get(described.id).unwrap_or(&Value::Null);
        let operation = operation(route, &described, examples, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Some(path) = path.as_object_mut() {
            path.insert(route.method.as_str().to_ascii_lowercase(), operation);
        }
    }
    let responses = responses(&mut generator);
    let tags = Tag::ALL.iter().map(|tag| {
        let (name, description) = tag.texts();
        json!({ "name": name, "description": description })
    });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Tillgate",
            "version": info.version,
            "description": info.description,
            "license": { "name": "Apache 2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The host that serves this document" }],
        "tags": tags.collect::<Vec<_>>(),
        "x-roles": roles(),
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "responses": responses,
            "headers": headers(),
            "securitySchemes": {
                BEARER: {
                    "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "An access token from `POST /oauth2/token` or from a trusted issuer. Each operation names the permissions that its caller needs.",
                },
                CLIENT: {
                    "type": "http", "scheme": "basic",
                    "description": "A client's id and secret.",
                },
            },
        },
    })
}

/// Returns the examples of all operations, by their ids.
fn examples(files: &[&str]) -> Map<String, Value> {
    let files = files.iter().copied();
    let read = files.filter_map(|file| serde_json::from_str::<Map<_, _>>(file).ok());
    read.flatten().collect()
}

/// Returns the permissions of each built-in role. Within a system, the role that may do least comes first.
fn roles() -> Vec<Value> {
    let all = built_in_roles().map(|role| {
        let permissions = built_in(role).unwrap_or_default();
        let names: Vec<_> = permissions.iter().map(Permission::as_str).collect();
        json!({ "name": role, "permissions": names })
    });
    all.collect()
}

/// Returns the headers that many answers share.
fn headers() -> Value {
    json!({
        "Correlation-Id": {
            "description": "The id of this request, which the log has too. If the caller sent a UUID, it is that one.",
            "required": true,
            "schema": { "type": "string", "format": "uuid" },
        },
        "ETag": {
            "description": "The version of the resource, for `If-Match` and `If-None-Match`.",
            "schema": { "type": "string" },
        },
        "Retry-After": {
            "description": "The number of seconds after which to try again.",
            "required": true,
            "schema": { "type": "integer", "minimum": 0 },
        },
        "WWW-Authenticate": {
            "description": "The scheme to authenticate with (RFC 6750): `Bearer` with `error=\"invalid_token\"` or `error=\"insufficient_scope\"`.",
            "required": true,
            "schema": { "type": "string" },
        },
    })
}

fn operation(
    route: &Described,
    operation: &Operation,
    examples: &Value,
    generator: &mut SchemaGenerator,
) -> Value {
    let mut document = Map::new();
    let mut put = |name: &str, value: Value| document.insert(name.to_owned(), value);
    put("operationId", json!(operation.id));
    put("tags", json!([operation.tag.texts().0]));
    put("summary", json!(operation.summary));
    if let Some(description) = operation.description {
        put("description", json!(description));
    }
    if operation.is_deprecated {
        put("deprecated", json!(true));
    }
    if operation.changes_nothing {
        put("x-changes-nothing", json!(true));
    }
    put("security", security(route.access, operation));
    let parameters = parameters(operation, generator);
    if !parameters.is_empty() {
        put("parameters", Value::Array(parameters));
    }
    if let Some(limit) = limit_of(route.takes) {
        let content = contents(&operation.bodies, examples.get("body"), generator);
        let required = !operation.is_body_optional;
        put(
            "requestBody",
            json!({ "required": required, "content": content }),
        );
        put("x-max-body-bytes", json!(limit));
    }
    put(
        "responses",
        Value::Object(answers(route, operation, examples, generator)),
    );
    Value::Object(document)
}

/// Returns the largest body of a route that takes one.
const fn limit_of(takes: Takes) -> Option<usize> {
    match takes {
        Takes::Nothing => None,
        Takes::Json(limit) | Takes::Anything(limit) => Some(limit),
    }
}

/// Returns what a caller must have: alternatives, each of a scheme and the permissions that it takes.
fn security(access: Access, operation: &Operation) -> Value {
    let bearer = |permissions: &[tillgate_base::identity::Permission]| {
        let names: Vec<_> = permissions.iter().map(|one| one.as_str()).collect();
        json!({ BEARER: names })
    };
    match access {
        Access::Public if operation.takes_client => json!([{ CLIENT: [] }]),
        Access::Public => json!([]),
        Access::AnyCaller => json!([bearer(&[])]),
        Access::With(permission) => json!([bearer(&[permission])]),
        Access::All(permissions) => json!([bearer(permissions)]),
        Access::Either(permissions) => permissions
            .iter()
            .map(|permission| bearer(&[*permission]))
            .collect(),
    }
}

fn parameters(operation: &Operation, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut all: Vec<_> = operation
        .parameters
        .iter()
        .map(|one| parameter(one, generator))
        .collect();
    let mut header = |name: &str, description: &str| {
        all.push(json!({
            "name": name, "in": "header", "required": false, "description": description,
            "schema": { "type": "string" },
        }));
    };
    if operation.has_entity_tag {
        header(
            "If-None-Match",
            "Entity tags of the versions that the caller already has. If one of them is that of the present version, the answer is 304.",
        );
    }
    if operation.has_preconditions {
        header(
            "If-Match",
            "Entity tags, one of which must be that of the present version. Otherwise nothing changes, and the answer is 412.",
        );
        let creates = operation.answers.iter().any(|answer| answer.status == 201);
        if creates {
            header(
                "If-None-Match",
                "`*`: the resource must not exist yet. Otherwise nothing changes, and the answer is 412.",
            );
        }
    }
    all
}

fn parameter(parameter: &Parameter, generator: &mut SchemaGenerator) -> Value {
    let place = match parameter.place {
        Place::Path => "path",
        Place::Query => "query",
        Place::Header => "header",
    };
    let mut schema = (parameter.schema)(generator);
    let example = schema
        .remove("examples")
        .and_then(|all| all.get(0).cloned());
    let mut document = json!({
        "name": parameter.name, "in": place, "required": parameter.is_required,
        "description": parameter.description, "schema": schema,
    });
    if let (Some(document), Some(example)) = (document.as_object_mut(), example) {
        document.insert("example".to_owned(), example);
    }
    document
}

/// Returns bodies by media type, with their `examples`.
fn contents(
    contents: &[Content],
    examples: Option<&Value>,
    generator: &mut SchemaGenerator,
) -> Map<String, Value> {
    let each = contents.iter().map(|content| {
        let schema: Schema = (content.schema)(generator);
        let mut document = json!({ "schema": &schema });
        let named = examples.and_then(|all| all.get(content.media_type)?.as_object());
        if let Some(named) = named {
            let named = named.iter();
            let named = named.map(|(name, value)| (name.clone(), json!({ "value": value })));
            document = json!({ "schema": schema, "examples": named.collect::<Map<_, _>>() });
        }
        (content.media_type.to_owned(), document)
    });
    each.collect()
}

fn answers(
    route: &Described,
    operation: &Operation,
    examples: &Value,
    generator: &mut SchemaGenerator,
) -> Map<String, Value> {
    let mut all = Map::new();
    for answer in &operation.answers {
        let status = answer.status.to_string();
        let examples = examples.get("answers").and_then(|all| all.get(&status));
        let document = success(answer, route, operation, examples, generator);
        all.insert(status, document);
    }
    if operation.has_entity_tag {
        all.insert(
            "304".to_owned(),
            json!({ "$ref": "#/components/responses/NotModified" }),
        );
    }
    for (status, refusal) in refusals_of(route, operation) {
        all.entry(status.to_string()).or_insert(refusal);
    }
    all
}

fn success(
    answer: &Answer,
    route: &Described,
    operation: &Operation,
    examples: Option<&Value>,
    generator: &mut SchemaGenerator,
) -> Value {
    let mut headers = Map::new();
    headers.insert(
        "Correlation-Id".to_owned(),
        json!({ "$ref": "#/components/headers/Correlation-Id" }),
    );
    // A PUT answers with what it wrote; other changes answer with what they did, which has no version.
    let is_written = operation.has_preconditions && route.method == Method::PUT;
    if operation.has_entity_tag || is_written {
        headers.insert(
            "ETag".to_owned(),
            json!({ "$ref": "#/components/headers/ETag" }),
        );
    }
    for (name, description) in &answer.headers {
        let header = json!({ "description": description, "schema": { "type": "string" } });
        headers.insert((*name).to_owned(), header);
    }
    let mut document = json!({ "description": answer.description, "headers": headers });
    if !answer.contents.is_empty()
        && let Some(document) = document.as_object_mut()
    {
        let content = contents(&answer.contents, examples, generator);
        document.insert("content".to_owned(), Value::Object(content));
    }
    document
}
