//! The schemas of decisions on record, for the documents of the API.

use schemars::{Schema, SchemaGenerator, json_schema};

use crate::conditions::http::schema::{body_condition_id, project_id};
use crate::http::schema::{component, time, uuid};

/// The greatest number of a decision.
const MAX_SEQUENCE: u64 = (1 << 53) - 1;

/// Which decisions go on record.
pub(super) fn choice(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "DecisionLog", |_| {
        json_schema!({
            "type": "object", "required": ["decisionLog"],
            "properties": { "decisionLog": {
                "type": "string", "enum": ["none", "denials", "all"],
                "description": "Which of the tenant's decisions go on record.",
            } },
        })
    })
}

/// The name of a till.
pub(super) fn till(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "enum": [".", ".."] },
        "examples": ["till-7"],
    })
}

/// A till in a page.
pub(super) fn till_cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64},[0-9a-f]{64}$" })
}

fn sequence() -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX_SEQUENCE })
}

fn text() -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 256 })
}

fn digest() -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
}

fn reported(generator: &mut SchemaGenerator) -> Schema {
    let (condition, project) = (body_condition_id(generator), project_id(generator));
    let (time, uuid) = (time(generator), uuid(generator));
    component(generator, "ReportedDecision", |_| {
        json_schema!({
            "type": "object",
            "description": "A decision of a till about one item, by a condition or a project. Nothing about the customer belongs here: other members are refused.",
            "required": ["sequence", "at", "itemId", "decision"],
            "additionalProperties": false,
            "properties": {
                "sequence": sequence(), "at": time, "itemId": text(),
                "conditionId": condition, "projectId": project,
                "decision": { "type": "string", "enum": ["ALLOW", "SOFT_DENY", "HARD_DENY"] },
                "reason": { "type": "string", "maxLength": 64, "pattern": r"^[a-z_]+\.[a-z_]+$" },
                "restriction": text(), "etag": digest(), "engine": digest(), "catalog": digest(),
                "businessUnitId": text(), "correlationId": uuid, "droppedBefore": sequence(),
            },
            "allOf": [
                { "oneOf": [{ "required": ["conditionId"] }, { "required": ["projectId"] }] },
                {
                    "if": { "properties": { "decision": { "const": "ALLOW" } } },
                    "then": { "not": { "required": ["reason"] } },
                    "else": { "required": ["reason"] },
                },
            ],
        })
    })
}

/// What a till hands in.
pub(super) fn report(generator: &mut SchemaGenerator) -> Schema {
    let (till, reported) = (till(generator), reported(generator));
    component(generator, "DecisionReport", |_| {
        json_schema!({
            "type": "object", "required": ["till", "decisions"], "additionalProperties": false,
            "properties": {
                "till": till,
                "decisions": {
                    "type": "array", "minItems": 1, "maxItems": 1000, "items": reported,
                    "description": "By their numbers, ascending.",
                },
            },
        })
    })
}

/// What became of what was handed in.
pub(super) fn receipt(generator: &mut SchemaGenerator) -> Schema {
    let till = till(generator);
    let count = json_schema!({ "type": "integer", "minimum": 0 });
    component(generator, "DecisionReceipt", |_| {
        json_schema!({
            "type": "object",
            "required": ["till", "sequence", "written", "repeated", "leftOut"],
            "properties": {
                "till": till, "sequence": sequence(), "written": count, "repeated": count, "leftOut": count,
            },
        })
    })
}

/// A page of tills.
pub(super) fn tills(generator: &mut SchemaGenerator) -> Schema {
    let (till, time, next) = (till(generator), time(generator), till_cursor(generator));
    component(generator, "Tills", |_| {
        json_schema!({
            "type": "object", "required": ["items"],
            "properties": {
                "items": { "type": "array", "items": {
                    "type": "object", "required": ["till", "clientId", "sequence", "handedInAt"],
                    "properties": {
                        "till": till, "clientId": { "type": "string" }, "sequence": sequence(), "handedInAt": time,
                    },
                } },
                "next": next,
            },
        })
    })
}
