//! The errors of operations: those that follow from a route's demands on a request, and those of its own.

use std::collections::BTreeMap;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};
use tillgate_api::Code;
use tillgate_api::problem::{
    ALREADY_EXISTS, BODY_TOO_LARGE, BODY_TOO_SLOW, BUSY, INTERNAL, INVALID, NOT_ACCEPTABLE,
    OTHER_TENANT, OVERLOADED, PERMISSION_MISSING, QUOTA_EXCEEDED, STORE_UNAVAILABLE,
    TENANT_UNKNOWN, UNAUTHENTICATED, UNKNOWN_MEMBER, UNSUPPORTED_MEDIA_TYPE, VERSION_OUTDATED,
};
use tillgate_api::rate::Deviation;
use tillgate_api::schema::{component, schema_of};

use crate::problem_document::phrase;
use crate::route::Described;
use crate::route::access::{Access, Takes};
use crate::route::operation::Operation;

/// An answer that many operations share: its name in the document, and its codes.
struct Common {
    name: &'static str,
    codes: &'static [Code],
}

/// Each has one status, and they are in ascending order.
const COMMON: [Common; 10] = [
    Common {
        name: "BadRequest",
        codes: &[INVALID, UNKNOWN_MEMBER],
    },
    Common {
        name: "Unauthorized",
        codes: &[UNAUTHENTICATED],
    },
    Common {
        name: "Forbidden",
        codes: &[PERMISSION_MISSING, OTHER_TENANT, TENANT_UNKNOWN],
    },
    Common {
        name: "NotAcceptable",
        codes: &[NOT_ACCEPTABLE],
    },
    Common {
        name: "RequestTimeout",
        codes: &[BODY_TOO_SLOW],
    },
    Common {
        name: "PreconditionFailed",
        codes: &[VERSION_OUTDATED, ALREADY_EXISTS],
    },
    Common {
        name: "ContentTooLarge",
        codes: &[BODY_TOO_LARGE],
    },
    Common {
        name: "UnsupportedMediaType",
        codes: &[UNSUPPORTED_MEDIA_TYPE],
    },
    Common {
        name: "InternalServerError",
        codes: &[INTERNAL],
    },
    Common {
        name: "ServiceUnavailable",
        codes: &[STORE_UNAVAILABLE, OVERLOADED, BUSY],
    },
];

/// Returns the answers that operations refer to.
pub(super) fn responses(generator: &mut SchemaGenerator) -> Value {
    problem_schema(generator);
    let mut all: Map<String, Value> = COMMON
        .iter()
        .map(|common| (common.name.to_owned(), problem(common.codes)))
        .collect();
    let not_modified = json!({
        "description": "The caller already has this version.",
        "headers": {
            "Correlation-Id": { "$ref": "#/components/headers/Correlation-Id" },
            "ETag": { "$ref": "#/components/headers/ETag" },
        },
    });
    all.insert("NotModified".to_owned(), not_modified);
    Value::Object(all)
}

/// Returns the errors of an operation, by status.
pub(super) fn refusals_of(route: &Described, operation: &Operation) -> BTreeMap<u16, Value> {
    let takes_body = !matches!(route.takes, Takes::Nothing);
    let is_private = !matches!(route.access, Access::Public);
    let names_something = !operation.parameters.is_empty();
    // Serving a file that is part of the program cannot fail.
    let does_something = is_private || takes_body;
    let follows = |status| match status {
        // Each private route refuses a duplicate query parameter.
        400 => is_private || names_something || takes_body,
        401 | 403 => is_private,
        406 => true,
        408 | 413 => takes_body,
        412 => operation.has_preconditions,
        415 => matches!(route.takes, Takes::Json(_)),
        500 | 503 => does_something,
        _ => false,
    };
    let status_of = |codes: &[Code]| codes.first().map_or(0, |code| code.status);
    let mut own: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in &operation.refusals {
        own.entry(code.status).or_default().push(*code);
    }
    let mut all = BTreeMap::new();
    for common in COMMON
        .iter()
        .filter(|common| follows(status_of(common.codes)))
    {
        match own.get_mut(&status_of(common.codes)) {
            Some(codes) => codes.extend_from_slice(common.codes),
            None => {
                let reference = format!("#/components/responses/{}", common.name);
                all.insert(status_of(common.codes), json!({ "$ref": reference }));
            }
        }
    }
    all.extend(
        own.into_iter()
            .map(|(status, codes)| (status, problem(&codes))),
    );
    all
}

/// Returns an answer with problem documents of these codes, which share one status. The schema is a component.
fn problem(codes: &[Code]) -> Value {
    let Some(first) = codes.first() else {
        return Value::Null;
    };
    let mut headers =
        json!({ "Correlation-Id": { "$ref": "#/components/headers/Correlation-Id" } });
    let more = match first.status {
        401 | 403 => Some("WWW-Authenticate"),
        429 | 503 => Some("Retry-After"),
        _ => None,
    };
    if let (Some(name), Some(headers)) = (more, headers.as_object_mut()) {
        let reference = format!("#/components/headers/{name}");
        headers.insert(name.to_owned(), json!({ "$ref": reference }));
    }
    let meanings = codes
        .iter()
        .map(|code| format!("`{}`: {}", code.name, code.meaning));
    json!({
        "description": meanings.collect::<Vec<_>>().join("\n\n"),
        "headers": headers,
        "content": { "application/problem+json": {
            "schema": { "$ref": "#/components/schemas/Problem" },
            "examples": { "Example": { "value": example(*first) } },
        } },
        "x-problem-codes": codes.iter().map(|code| code.name).collect::<Vec<_>>(),
    })
}

fn example(code: Code) -> Value {
    let detail = match code {
        INVALID => "$.item.id must be a string of 1 to 256 characters",
        UNKNOWN_MEMBER => "$.items[0].conditionId is unknown: is conditionIds meant?",
        PERMISSION_MISSING => {
            "the permission ecs.condition.write is needed, which the role ecs.editor has"
        }
        QUOTA_EXCEEDED => "a tenant may have at most 10000 conditions",
        code => code.meaning,
    };
    let (detail, message) = match code.status {
        400 => (format!("the request has faults: {detail}"), json!([detail])),
        _ => (detail.to_owned(), json!(detail)),
    };
    json!({
        "type": "about:blank",
        "title": phrase(code),
        "status": code.status,
        "code": code.name,
        "detail": detail,
        "instance": "urn:uuid:6f1c2d8e-3f0b-4a51-9c1d-2b7e5a90c4d3",
        "statusCode": code.status,
        "error": phrase(code),
        "message": message,
    })
}

/// Returns the schema of a problem document (RFC 9457) with the members that existing clients of such a platform read.
fn problem_schema(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Problem", |generator| {
        json_schema!({
            "type": "object",
            "description": "An error (RFC 9457), with the additional members `code`, `statusCode`, `error` and `message`.",
            "required": ["type", "title", "status", "code", "detail", "instance", "statusCode", "error", "message"],
            "properties": {
                "type": { "type": "string", "const": "about:blank" },
                "title": { "type": "string", "description": "The status in words." },
                "status": { "type": "integer", "minimum": 400, "maximum": 599 },
                "code": {
                    "type": "string", "pattern": "^[a-z][a-z_]*$",
                    "description": "The kind of error, for programs. Each operation lists its codes and their meanings. Later versions may add codes.",
                },
                "detail": { "type": "string", "description": "A sentence that says what is wrong." },
                "instance": { "type": "string", "description": "The correlation id of the request, as a URN." },
                "statusCode": { "type": "integer", "description": "The same as `status`." },
                "error": { "type": "string", "description": "The same as `title`." },
                "message": {
                    "description": "For 400 and for tests that fail: each fault with its place. Otherwise the same as `detail`.",
                    "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
                },
                "deviations": {
                    "type": "array", "items": schema_of::<Deviation>(generator),
                    "description": "Only with `rate_deviates`: the rates that would move by more than the tolerance.",
                },
            },
        })
    })
}
