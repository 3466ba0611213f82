//! The errors of operations: those that follow from what a route asks of a request, and those of its own.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use tillgate_api::schema::component;

use crate::http::route::Described;
use crate::http::route::access::{Access, Takes};
use crate::http::route::operation::Operation;

/// An error that many operations have: its status, its name in the document, what it means, and an example of its detail.
struct Common {
    status: u16,
    name: &'static str,
    meaning: &'static str,
    example: &'static str,
}

const BAD_REQUEST: Common = Common {
    status: 400,
    name: "BadRequest",
    meaning: "The request has faults. `message` names each with its place.",
    example: "the request has faults: $.item.id must be a string of 1 to 256 characters",
};
const UNAUTHORIZED: Common = Common {
    status: 401,
    name: "Unauthorized",
    meaning: "There is no valid token.",
    example: "a bearer token is needed",
};
const FORBIDDEN: Common = Common {
    status: 403,
    name: "Forbidden",
    meaning: "The caller lacks a permission, or may not act for that tenant.",
    example: "the permission ecs.condition.write is needed, which the role ecs.editor has",
};
const NOT_FOUND: Common = Common {
    status: 404,
    name: "NotFound",
    meaning: "It does not exist.",
    example: "no condition has this id",
};
const NOT_ACCEPTABLE: Common = Common {
    status: 406,
    name: "NotAcceptable",
    meaning: "`Accept` leaves out the media type that is answered.",
    example: "this answers application/json",
};
const TIMEOUT: Common = Common {
    status: 408,
    name: "RequestTimeout",
    meaning: "The body arrived too slowly.",
    example: "the body arrived too slowly",
};
const CONFLICT: Common = Common {
    status: 409,
    name: "Conflict",
    meaning: "It contradicts what is stored, or a quota is used up.",
    example: "a tenant may have at most 10000 conditions",
};
const OUTDATED: Common = Common {
    status: 412,
    name: "PreconditionFailed",
    meaning: "It has changed since it was read, or exists already. Nothing was changed.",
    example: "it has another version",
};
const TOO_LARGE: Common = Common {
    status: 413,
    name: "ContentTooLarge",
    meaning: "The body is longer than `x-max-body-bytes`.",
    example: "the body must be at most 1048576 bytes",
};
const UNSUPPORTED: Common = Common {
    status: 415,
    name: "UnsupportedMediaType",
    meaning: "The body is of another media type, or is encoded.",
    example: "the body must be application/json, not encoded",
};
const TOO_MANY: Common = Common {
    status: 429,
    name: "TooManyRequests",
    meaning: "There are too many requests, or too much is waiting. Try again after `Retry-After` seconds.",
    example: "too many events in this second",
};
const INTERNAL: Common = Common {
    status: 500,
    name: "InternalServerError",
    meaning: "The fault is on this side. The log has the correlation id.",
    example: "internal error",
};
const UNAVAILABLE: Common = Common {
    status: 503,
    name: "ServiceUnavailable",
    meaning: "The store is unavailable, or the host has no room for the request now. Try again after `Retry-After` seconds.",
    example: "the store is unavailable",
};

const ALL: [Common; 13] = [
    BAD_REQUEST,
    UNAUTHORIZED,
    FORBIDDEN,
    NOT_FOUND,
    NOT_ACCEPTABLE,
    TIMEOUT,
    CONFLICT,
    OUTDATED,
    TOO_LARGE,
    UNSUPPORTED,
    TOO_MANY,
    INTERNAL,
    UNAVAILABLE,
];

/// The answers that operations refer to.
pub(super) fn responses(generator: &mut SchemaGenerator) -> Value {
    let mut all: serde_json::Map<String, Value> = ALL
        .iter()
        .map(|common| {
            let response = problem(common, common.meaning, generator);
            (common.name.to_owned(), response)
        })
        .collect();
    let not_modified = json!({
        "description": "The caller has this version already.",
        "headers": {
            "Correlation-Id": { "$ref": "#/components/headers/Correlation-Id" },
            "ETag": { "$ref": "#/components/headers/ETag" },
        },
    });
    all.insert("NotModified".to_owned(), not_modified);
    Value::Object(all)
}

/// What an operation refuses requests with: by status, in ascending order.
pub(super) fn refusals_of(route: &Described, operation: &Operation) -> Vec<(u16, Value)> {
    let takes_body = !matches!(route.takes, Takes::Nothing);
    let is_private = !matches!(route.access, Access::Public);
    let names_something = !operation.parameters.is_empty();
    // Files that the program has in it cannot fail.
    let does_something = is_private || takes_body;
    let follows = |status| match status {
        // Each private route refuses a query that has a parameter twice.
        400 => is_private || names_something || takes_body,
        401 | 403 => is_private,
        406 => true,
        408 | 413 => takes_body,
        412 => operation.has_preconditions,
        415 => matches!(route.takes, Takes::Json(_)),
        500 | 503 => does_something,
        _ => false,
    };
    let all = ALL.iter().filter_map(|common| {
        let own: Vec<_> = operation
            .refusals
            .iter()
            .filter(|(status, _)| *status == common.status)
            .map(|(_, why)| *why)
            .collect();
        match own.is_empty() {
            false => Some((common.status, own_problem(common, &own.join(" ")))),
            true if follows(common.status) => {
                let reference = format!("#/components/responses/{}", common.name);
                Some((common.status, json!({ "$ref": reference })))
            }
            true => None,
        }
    });
    all.collect()
}

fn problem(common: &Common, description: &str, generator: &mut SchemaGenerator) -> Value {
    let schema = problem_schema(generator);
    document(common, description, &schema.to_value())
}

/// The same with a description of the operation's own. The schema is a component by then, or will be.
fn own_problem(common: &Common, description: &str) -> Value {
    document(
        common,
        description,
        &json!({ "$ref": "#/components/schemas/Problem" }),
    )
}

fn document(common: &Common, description: &str, schema: &Value) -> Value {
    let mut headers =
        json!({ "Correlation-Id": { "$ref": "#/components/headers/Correlation-Id" } });
    let more = match common.status {
        401 | 403 => Some("WWW-Authenticate"),
        429 | 503 => Some("Retry-After"),
        _ => None,
    };
    if let (Some(name), Some(headers)) = (more, headers.as_object_mut()) {
        let reference = format!("#/components/headers/{name}");
        headers.insert(name.to_owned(), json!({ "$ref": reference }));
    }
    json!({
        "description": description,
        "headers": headers,
        "content": { "application/problem+json": { "schema": schema, "examples": { "Example": { "value": example(common) } } } },
    })
}

fn example(common: &Common) -> Value {
    let phrase = http::StatusCode::from_u16(common.status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Error");
    let message = match common.status {
        400 => {
            let faults = common
                .example
                .trim_start_matches("the request has faults: ");
            json!([faults])
        }
        _ => json!(common.example),
    };
    json!({
        "type": "about:blank",
        "title": phrase,
        "status": common.status,
        "detail": common.example,
        "instance": "urn:uuid:6f1c2d8e-3f0b-4a51-9c1d-2b7e5a90c4d3",
        "statusCode": common.status,
        "error": phrase,
        "message": message,
    })
}

/// A problem document (RFC 9457) with the members that existing clients of such a platform read.
fn problem_schema(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Problem", |_| {
        json_schema!({
            "type": "object",
            "description": "An error (RFC 9457), with `statusCode`, `error` and `message` beside its members.",
            "required": ["type", "title", "status", "detail", "instance", "statusCode", "error", "message"],
            "properties": {
                "type": { "type": "string", "const": "about:blank" },
                "title": { "type": "string", "description": "The status in words." },
                "status": { "type": "integer", "minimum": 400, "maximum": 599 },
                "detail": { "type": "string", "description": "What is wrong, as a sentence." },
                "instance": { "type": "string", "description": "The correlation id of the request, as a URN." },
                "statusCode": { "type": "integer", "description": "The same as `status`." },
                "error": { "type": "string", "description": "The same as `title`." },
                "message": {
                    "description": "Each fault with its place, for 400 and for tests that fail; otherwise the same as `detail`.",
                    "oneOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
                },
            },
        })
    })
}
