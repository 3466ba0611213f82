//! The schemas of conditions, their tests and findings.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tillgate_engine::outcome::Reason;

use super::condition_id;
use super::decisions::{condition_request, decision};
use crate::schema::{NO_CONTROLS, component, managed_by, one_of};

/// The kinds of conditions.
const KINDS: [&str; 2] = ["AgeRestriction", "LicenseRequirement"];

/// Returns the schema of the tests beside a rule.
pub(super) fn tests(
    generator: &mut SchemaGenerator,
    request: Schema,
    name: &'static str,
) -> Schema {
    let expect = expectation(generator);
    let test = component(generator, name, |_| {
        json_schema!({
            "type": "object", "required": ["name", "request", "expect"], "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 256, "pattern": NO_CONTROLS },
                "request": request, "expect": expect,
            },
        })
    });
    json_schema!({
        "type": "array", "maxItems": 200, "items": test,
        "description": "Requests with their expected decisions: at most 64 KiB of JSON, each with a different name. Tests do not affect decisions. A PUT without `tests` keeps the stored ones; an empty list removes them.",
    })
}

/// Returns the schema of the decision that a test expects.
fn expectation(generator: &mut SchemaGenerator) -> Schema {
    let (decision, reasons) = (decision(generator), Reason::ALL.map(Reason::as_str));
    component(generator, "Expectation", |_| {
        json_schema!({
            "type": "object", "required": ["decision"], "additionalProperties": false,
            "properties": {
                "decision": decision,
                "reasons": { "type": "array", "items": { "type": "string", "enum": reasons } },
            },
        })
    })
}

/// Returns the schema of the two kinds of conditions, under these names. Each is complete, so that generated types tell
/// them apart by their rule. `members` are those that both have, and `required` names those of them that are always
/// there.
fn rules(
    generator: &mut SchemaGenerator,
    [age, license]: [&'static str; 2],
    required: &[&str],
    members: &Schema,
) -> Schema {
    let minimum_age = component(generator, "MinimumAge", |_| {
        json_schema!({
            "type": "object", "required": ["minimum_age"], "additionalProperties": false,
            "properties": { "minimum_age": { "type": "integer", "minimum": 0, "maximum": 150 } },
        })
    });
    let nothing = component(
        generator,
        "NoValue",
        |_| json_schema!({ "type": "object", "additionalProperties": false }),
    );
    let mut kind = |name: &'static str, rule: &str, value: Schema| {
        component(generator, name, |_| {
            let mut required = required.to_vec();
            required.extend(["rule", "condition_value"]);
            let mut properties = members.as_object().cloned().unwrap_or_default();
            let rule = json_schema!({ "type": "string", "const": rule });
            properties.insert("rule".to_owned(), rule.to_value());
            properties.insert("condition_value".to_owned(), value.to_value());
            json_schema!({ "type": "object", "required": required, "properties": properties })
        })
    };
    let kinds = [
        ("AGE_RESTRICTION", kind(age, "AGE_RESTRICTION", minimum_age)),
        (
            "LICENSE_REQUIREMENT",
            kind(license, "LICENSE_REQUIREMENT", nothing),
        ),
    ];
    one_of("rule", &kinds)
}

/// Returns the schema of the body of a PUT of a condition.
pub fn condition_put(generator: &mut SchemaGenerator) -> Schema {
    let request = condition_request(generator);
    let tests = tests(generator, request, "ConditionTest");
    component(generator, "ConditionPut", |generator| {
        let members = json_schema!({
            "enabled": { "type": "boolean", "default": true, "description": "`true` if the condition is in force. Default: `true`." },
            "tests": tests,
            "managedBy": managed_by(),
        });
        let names = ["AgeRestrictionPut", "LicenseRequirementPut"];
        rules(generator, names, &[], &members)
    })
}

/// Returns the schema of a condition.
pub fn condition(generator: &mut SchemaGenerator) -> Schema {
    let (id, request) = (condition_id(generator), condition_request(generator));
    let tests = tests(generator, request, "ConditionTest");
    component(generator, "EntityCondition", |generator| {
        let members = json_schema!({
            "id": id,
            "scope": { "type": "string", "enum": ["GLOBAL", "TENANT"], "description": "`GLOBAL` for a condition of the platform, which applies to every tenant; `TENANT` for a tenant's own." },
            "enabled": { "type": "boolean" },
            "tests": tests,
            "managedBy": managed_by(),
        });
        rules(generator, KINDS, &["id", "scope", "enabled"], &members)
    })
}

/// Returns the schema of a condition, or another answer of the same route.
pub fn condition_or(generator: &mut SchemaGenerator, other: Schema) -> Schema {
    condition(generator);
    // Each kind of condition on its own, because generators do not understand alternatives of alternatives.
    let [age, license] = KINDS.map(|name| Schema::new_ref(format!("#/components/schemas/{name}")));
    json_schema!({ "oneOf": [age, license, other] })
}

/// A condition, for answers that have one among other members.
#[derive(Debug)]
pub enum Condition {}

impl JsonSchema for Condition {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Condition".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        condition(generator)
    }
}

/// Returns the schema of a list of conditions.
pub fn conditions(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": condition(generator) })
}

/// Returns the schema of the findings about a rule.
pub fn findings(generator: &mut SchemaGenerator) -> Schema {
    let finding = component(generator, "Finding", |_| {
        json_schema!({
            "type": "object",
            "required": ["kind", "message", "places"],
            "properties": {
                "kind": { "type": "string", "enum": ["UNSATISFIABLE", "PARTLY_DEAD", "INEFFECTIVE", "SUSPICIOUS", "SHADOWED"] },
                "message": { "type": "string", "description": "An explanation for the owner of the rule." },
                "places": { "type": "array", "items": { "type": "string" }, "description": "The JSON paths of the parts of the rule that the finding is about." },
                "witness": { "type": "object", "description": "The body of an evaluate call that shows the finding." },
            },
        })
    });
    component(generator, "Findings", |_| {
        json_schema!({
            "type": "object",
            "required": ["findings"],
            "properties": { "findings": { "type": "array", "items": finding } },
        })
    })
}
