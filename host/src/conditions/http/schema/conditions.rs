//! The schemas of conditions, their tests and findings.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{NO_CONTROLS, component, managed_by};
use tillgate_engine::decision::Reason;

use super::condition_id;
use super::decisions::condition_request;

/// Tests beside a rule.
pub(super) fn tests(
    generator: &mut SchemaGenerator,
    request: Schema,
    name: &'static str,
) -> Schema {
    let reasons = Reason::ALL.map(Reason::as_str);
    component(generator, name, |_| {
        json_schema!({
            "type": "array", "maxItems": 200,
            "description": "Requests, and how they must be decided: at most 64 KiB of JSON, names that differ. They decide nothing. A PUT without them keeps those that are there; an empty list removes them.",
            "items": {
                "type": "object", "required": ["name", "request", "expect"], "additionalProperties": false,
                "properties": {
                    "name": { "type": "string", "minLength": 1, "maxLength": 256, "pattern": NO_CONTROLS },
                    "request": request,
                    "expect": {
                        "type": "object", "required": ["decision"], "additionalProperties": false,
                        "properties": {
                            "decision": { "type": "string", "enum": ["ALLOW", "SOFT_DENY", "HARD_DENY", "NOT_FOUND"] },
                            "reasons": { "type": "array", "items": { "type": "string", "enum": reasons } },
                        },
                    },
                },
            },
        })
    })
}

/// The two kinds of conditions. Each is whole, so that generated types tell them apart by their rule; `members` are those that
/// both have, of which `required` names those that are always there.
fn rules(required: &[&str], members: &Schema) -> Schema {
    let kind = |rule: &str, value: Schema| {
        let mut required = required.to_vec();
        required.extend(["rule", "condition_value"]);
        let mut properties = members.as_object().cloned().unwrap_or_default();
        let rule = json_schema!({ "type": "string", "const": rule });
        properties.insert("rule".to_owned(), rule.to_value());
        properties.insert("condition_value".to_owned(), value.to_value());
        json_schema!({ "type": "object", "required": required, "properties": properties })
    };
    let age = json_schema!({
        "type": "object", "required": ["minimum_age"], "additionalProperties": false,
        "properties": { "minimum_age": { "type": "integer", "minimum": 0, "maximum": 150 } },
    });
    let license = json_schema!({ "type": "object", "additionalProperties": false });
    let kinds = [
        kind("AGE_RESTRICTION", age),
        kind("LICENSE_REQUIREMENT", license),
    ];
    json_schema!({ "oneOf": kinds })
}

/// The body of a PUT of a condition.
pub(in crate::conditions::http) fn condition_put(generator: &mut SchemaGenerator) -> Schema {
    let request = condition_request(generator);
    let tests = tests(generator, request, "ConditionTests");
    component(generator, "ConditionPut", |_| {
        let members = json_schema!({
            "enabled": { "type": "boolean", "default": true, "description": "Whether it is in force." },
            "tests": tests,
            "managedBy": managed_by(),
        });
        rules(&[], &members)
    })
}

/// A condition.
pub(in crate::conditions::http) fn condition(generator: &mut SchemaGenerator) -> Schema {
    let (id, request) = (condition_id(generator), condition_request(generator));
    let tests = tests(generator, request, "ConditionTests");
    component(generator, "EntityCondition", |_| {
        let members = json_schema!({
            "id": id,
            "scope": { "type": "string", "enum": ["GLOBAL", "TENANT"], "description": "GLOBAL: the platform's, for every tenant." },
            "enabled": { "type": "boolean" },
            "tests": tests,
            "managedBy": managed_by(),
        });
        rules(&["id", "scope", "enabled"], &members)
    })
}

/// A global condition, or whom it would concern.
pub(in crate::conditions::http) fn condition_or_dry_run(generator: &mut SchemaGenerator) -> Schema {
    let dry_run = component(generator, "GlobalConditionDryRun", |_| {
        json_schema!({
            "type": "object",
            "required": ["tenants", "failingTests"],
            "properties": {
                "tenants": { "type": "integer", "minimum": 0, "description": "The number of tenants with stored data." },
                "failingTests": { "type": "integer", "minimum": 0, "description": "How many tests would fail of the conditions with this id that tenants have of their own." },
            },
        })
    });
    let condition = condition(generator);
    json_schema!({ "anyOf": [condition, dry_run] })
}

/// Conditions.
pub(in crate::conditions::http) fn conditions(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": condition(generator) })
}

/// What is wrong with a rule.
pub(in crate::conditions::http) fn findings(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Findings", |_| {
        json_schema!({
            "type": "object",
            "required": ["findings"],
            "properties": {
                "findings": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["kind", "message", "places"],
                        "properties": {
                            "kind": { "type": "string", "enum": ["UNSATISFIABLE", "PARTLY_DEAD", "INEFFECTIVE", "SUSPICIOUS", "SHADOWED"] },
                            "message": { "type": "string", "description": "A sentence for the owner of the rule." },
                            "places": { "type": "array", "items": { "type": "string" }, "description": "The JSON paths of the lines that are part of it." },
                            "witness": { "type": "object", "description": "The body of an evaluate call that shows it." },
                        },
                    },
                },
            },
        })
    })
}
