//! The schemas of projects and their restrictions.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{NO_CONTROLS, component, managed_by};

use super::conditions::tests;
use super::decisions::{item_id, properties};
use super::project_id;

/// A restriction of a project.
pub(super) fn restriction(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Restriction", |_| {
        let name = || json_schema!({ "type": "string", "minLength": 1, "description": "At most 256 bytes." });
        let exclusive = || json_schema!({ "type": "boolean", "default": false, "description": "Whether it is a check of its own, and not joined with others of its type and property." });
        let value = || json_schema!({ "type": ["string", "boolean"], "description": "At most 256 bytes; `true` is not `\"true\"`." });
        json_schema!({
            "type": "object",
            "oneOf": [
                {
                    "required": ["type", "propertyName", "allowedValues"],
                    "properties": {
                        "type": { "const": "WHITELIST" }, "propertyName": name(),
                        "allowedValues": { "type": "array", "items": value() }, "exclusive": exclusive(),
                    },
                },
                {
                    "required": ["type", "propertyName", "deniedValues"],
                    "properties": {
                        "type": { "const": "BLACKLIST" }, "propertyName": name(),
                        "deniedValues": { "type": "array", "items": value() }, "exclusive": exclusive(),
                    },
                },
                {
                    "required": ["type", "propertyName", "value"],
                    "properties": {
                        "type": { "const": "BOOLEAN" }, "propertyName": name(),
                        "value": { "type": "boolean" }, "exclusive": exclusive(),
                    },
                },
                {
                    "required": ["type", "itemIds"],
                    "properties": {
                        "type": { "enum": ["WHITELISTEDITEMS", "BLACKLISTEDITEMS"] },
                        "itemIds": { "type": "array", "items": { "type": "string", "minLength": 1, "description": "At most 256 bytes." } },
                        "exclusive": exclusive(),
                    },
                },
            ],
        })
    })
}

fn restrictions_list(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": 1000, "items": restriction(generator),
        "description": "At most 100,000 values over all of them.",
    })
}

/// The body of a PUT of a project.
pub(in crate::conditions::http) fn project_put(generator: &mut SchemaGenerator) -> Schema {
    let (restrictions, request) = (
        restrictions_list(generator),
        project_test_request(generator),
    );
    let tests = tests(generator, request, "ProjectTests");
    component(generator, "ProjectPut", |_| {
        json_schema!({
            "type": "object",
            "required": ["restrictions"],
            "properties": {
                "name": { "type": ["string", "null"], "minLength": 1, "maxLength": 256, "pattern": NO_CONTROLS },
                "restrictions": restrictions,
                "tests": tests,
                "managedBy": managed_by(),
            },
        })
    })
}

/// The request of a project's test, in which the project may be left out.
fn project_test_request(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "ProjectTestRequest", |_| {
        json_schema!({
            "type": "object",
            "required": ["item"],
            "description": "`projectId`, where it is there, must be the project's.",
            "properties": {
                "item": {
                    "type": "object", "required": ["id"],
                    "properties": { "id": item_id(), "additionalProperties": properties() },
                },
            },
        })
    })
}

/// A project.
pub(in crate::conditions::http) fn project(generator: &mut SchemaGenerator) -> Schema {
    let (id, restrictions) = (project_id(generator), restrictions_list(generator));
    let request = project_test_request(generator);
    let tests = tests(generator, request, "ProjectTests");
    component(generator, "Project", |_| {
        json_schema!({
            "type": "object",
            "required": ["projectId", "restrictions"],
            "properties": {
                "projectId": id, "name": { "type": "string" }, "restrictions": restrictions, "tests": tests,
                "managedBy": managed_by(),
            },
        })
    })
}

/// Projects.
pub(in crate::conditions::http) fn projects(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": project(generator) })
}

/// The restrictions of a project.
pub(in crate::conditions::http) fn restrictions(generator: &mut SchemaGenerator) -> Schema {
    let restrictions = restrictions_list(generator);
    json_schema!({ "type": "object", "required": ["restrictions"], "properties": { "restrictions": restrictions } })
}
