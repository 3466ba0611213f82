//! The schemas of requests to decide, and of decisions.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{body_condition_id, project_id};
use crate::schema::{component, scalar};

/// Returns the schema of a decision.
pub(super) fn decision(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Decision", |_| {
        json_schema!({
            "type": "string", "enum": ["ALLOW", "SOFT_DENY", "HARD_DENY"],
            "description": "`SOFT_DENY`: something has not been asked yet, and asking may change the decision. `HARD_DENY`: the known facts deny the item.",
        })
    })
}

fn item_id() -> Schema {
    json_schema!({ "type": "string", "minLength": 1, "maxLength": 256 })
}

/// Returns the schema of an item of which only the id counts.
fn item(generator: &mut SchemaGenerator) -> Schema {
    component(
        generator,
        "Item",
        |_| json_schema!({ "type": "object", "additionalProperties": false, "required": ["id"], "properties": { "id": item_id() } }),
    )
}

/// Returns the schema of an item with attributes.
pub(super) fn described_item(generator: &mut SchemaGenerator) -> Schema {
    let properties = properties(generator);
    component(generator, "DescribedItem", |_| {
        json_schema!({
            "type": "object", "additionalProperties": false, "required": ["id"],
            "properties": { "id": item_id(), "additionalProperties": properties },
        })
    })
}

fn properties(generator: &mut SchemaGenerator) -> Schema {
    let about = "A number is accepted, but matches nothing.";
    let value = scalar(
        generator,
        "Attribute",
        &["string", "boolean", "number"],
        about,
    );
    json_schema!({
        "type": "object", "description": "The properties of the item, by name.", "additionalProperties": value,
    })
}

/// Returns the schema of a property's value that a restriction lists.
pub(super) fn listed_value(generator: &mut SchemaGenerator) -> Schema {
    let about = "At most 256 bytes. `true` and `\"true\"` are different values.";
    scalar(generator, "ListedValue", &["string", "boolean"], about)
}

fn context(generator: &mut SchemaGenerator) -> Schema {
    let license = component(
        generator,
        "License",
        |_| json_schema!({ "type": "object", "required": ["id"], "properties": { "id": { "type": "string" } } }),
    );
    let held = component(
        generator,
        "HeldLicense",
        |_| json_schema!({ "description": "A license or its id.", "oneOf": [{ "type": "string" }, license] }),
    );
    let customer = component(generator, "Customer", |_| {
        json_schema!({
            "type": "object", "additionalProperties": false,
            "description": "The known facts about the customer. Leave out unknown facts, or set them to null.",
            "properties": {
                "customer_age": { "type": ["integer", "null"], "minimum": 0, "maximum": 150 },
                "licenses": { "type": ["array", "null"], "items": held },
            },
        })
    });
    component(generator, "Context", |_| {
        json_schema!({
            "type": "object", "additionalProperties": false,
            "description": "Facts about the customer. Send `{}` if there are none.",
            "properties": { "customer": customer },
        })
    })
}

/// Returns the schema of a request to decide by a condition.
pub fn condition_request(generator: &mut SchemaGenerator) -> Schema {
    let (item, context) = (item(generator), context(generator));
    component(generator, "ConditionRequest", |_| {
        json_schema!({
            "type": "object", "additionalProperties": false,
            "required": ["item", "context"],
            "properties": { "item": item, "context": context },
        })
    })
}

/// Returns the schema of a request to decide by the restrictions of a project.
pub fn project_request(generator: &mut SchemaGenerator) -> Schema {
    let (project_id, item) = (project_id(generator), described_item(generator));
    component(generator, "ProjectRequest", |_| {
        json_schema!({
            "type": "object", "additionalProperties": false,
            "required": ["projectId", "item"],
            "properties": { "projectId": project_id, "item": item },
        })
    })
}

/// Returns the schema of a request to decide about a basket.
pub fn basket_request(generator: &mut SchemaGenerator) -> Schema {
    let (context, condition_id) = (context(generator), body_condition_id(generator));
    let (project_id, properties) = (project_id(generator), properties(generator));
    let item = component(generator, "BasketItem", |_| {
        json_schema!({
            "type": "object", "additionalProperties": false, "required": ["id"],
            "properties": {
                "id": item_id(),
                "conditionIds": { "type": "array", "maxItems": 64, "items": condition_id },
                "additionalProperties": properties,
            },
        })
    });
    component(generator, "BasketRequest", |_| {
        json_schema!({
            "type": "object", "additionalProperties": false,
            "required": ["items", "context"],
            "properties": {
                "items": { "type": "array", "minItems": 1, "maxItems": 1000, "items": item },
                "projectId": project_id,
                "context": context,
            },
        })
    })
}

fn explanation(generator: &mut SchemaGenerator) -> Schema {
    let (value, wanted) = (
        scalar(
            generator,
            "ComparedValue",
            &["string", "boolean", "number", "null"],
            "The value of the item's property; null if the item does not have it.",
        ),
        listed_value(generator),
    );
    component(generator, "Explanation", |_| {
        json_schema!({
            "description": "The values that were compared, if the request has `explain=true`; null for a project that the tenant does not have.",
            "type": ["object", "null"],
            "properties": {
                "minimumAge": { "type": "integer" },
                "customerAge": { "type": ["integer", "null"] },
                "licenseId": { "type": "string" },
                "licenses": { "type": ["array", "null"], "items": { "type": "string" }, "maxItems": 10 },
                "licensesCount": { "type": ["integer", "null"] },
                "restrictionIndex": { "type": "integer", "minimum": 0, "description": "The position of the restriction in the project." },
                "propertyName": { "type": "string" },
                "value": value,
                "wants": { "type": "array", "items": wanted, "maxItems": 10, "description": "The first ten of the listed values." },
                "wantsCount": { "type": "integer" },
            },
        })
    })
}

fn result(generator: &mut SchemaGenerator) -> Schema {
    let (decision, explanation) = (decision(generator), explanation(generator));
    component(generator, "Result", |_| {
        json_schema!({
            "type": "object",
            "description": "The result of one check.",
            "required": ["allow", "decision", "reason", "rule"],
            "properties": {
                "id": { "type": "string", "description": "The id of the condition. It is absent from results of a project's restrictions." },
                "allow": { "type": "boolean" },
                "decision": decision,
                "reason": {
                    "type": ["string", "null"],
                    "description": "The reason why the item is not allowed; null for `ALLOW`. New reasons may be added.",
                    "examples": ["age_restriction.underage"],
                },
                "rule": { "type": "string", "enum": ["AGE_RESTRICTION", "LICENSE_REQUIREMENT", "PROJECT_RESTRICTION"] },
                "source": { "type": "string", "const": "PROJECT_RESTRICTION", "description": "Present only in results of a project's restrictions." },
                "restriction": { "type": ["string", "null"], "description": "The property that was checked, or `itemId`. Present only in results of a project's restrictions." },
                "explanation": explanation,
            },
        })
    })
}

/// Returns the schema of the decision about an item.
pub fn item_decision(generator: &mut SchemaGenerator) -> Schema {
    let result = result(generator);
    component(generator, "ItemDecision", |_| {
        json_schema!({
            "type": "object",
            "required": ["id", "allow", "results"],
            "properties": {
                "id": { "type": "string", "description": "The id of the item." },
                "allow": { "type": "boolean", "description": "`true` if every result allows the item." },
                "results": { "type": "array", "items": result },
            },
        })
    })
}

/// Returns the schema of the decision about a basket.
pub fn basket_decision(generator: &mut SchemaGenerator) -> Schema {
    let (decision, result) = (decision(generator), result(generator));
    let error = component(generator, "BasketItemError", |_| {
        json_schema!({
            "type": "object", "required": ["conditionId", "status"],
            "properties": { "conditionId": { "type": "string" }, "status": { "type": "integer", "minimum": 404, "maximum": 404 } },
        })
    });
    let item = component(generator, "BasketItemDecision", |_| {
        json_schema!({
            "type": "object",
            "required": ["id", "allow", "results"],
            "properties": {
                "id": { "type": "string" },
                "allow": { "type": "boolean" },
                "results": { "type": "array", "items": result },
                "errors": { "type": "array", "items": error, "description": "Conditions that are not in force." },
            },
        })
    });
    component(generator, "BasketDecision", |_| {
        json_schema!({
            "type": "object",
            "required": ["allow", "decision", "items"],
            "properties": {
                "allow": { "type": "boolean" },
                "decision": decision,
                "items": { "type": "array", "items": item },
            },
        })
    })
}
