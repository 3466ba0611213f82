//! The schemas of projects and their restrictions.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::conditions::tests;
use super::decisions::{described_item, listed_value};
use super::project_id;
use crate::schema::{NO_CONTROLS, component, managed_by, one_of};

/// Returns the schema of a restriction of a project.
pub(super) fn restriction(generator: &mut SchemaGenerator) -> Schema {
    let value = listed_value(generator);
    let name =
        || json_schema!({ "type": "string", "minLength": 1, "description": "At most 256 bytes." });
    let values = || json_schema!({ "type": "array", "items": value });
    let yes_or_no = json_schema!({ "type": "boolean" });
    let ids = json_schema!({
        "type": "array",
        "items": { "type": "string", "minLength": 1, "description": "At most 256 bytes." },
    });
    let mut kind = |component_name, types: &[&str], named: bool, member: &str, schema: Schema| {
        component(generator, component_name, |_| {
            let exclusive = json_schema!({ "type": "boolean", "default": false, "description": "`true` if the restriction is a separate check, not joined with the others of its type and property. Default: `false`." });
            let mut properties = json_schema!({ "type": { "type": "string", "enum": types }, "exclusive": exclusive });
            properties.insert(member.to_owned(), schema.to_value());
            let mut required = vec!["type", member];
            if named {
                properties.insert("propertyName".to_owned(), name().to_value());
                required.push("propertyName");
            }
            json_schema!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
        })
    };
    let allowed = kind("Whitelist", &["WHITELIST"], true, "allowedValues", values());
    let denied = kind("Blacklist", &["BLACKLIST"], true, "deniedValues", values());
    let boolean = kind("BooleanRestriction", &["BOOLEAN"], true, "value", yes_or_no);
    let types = ["WHITELISTEDITEMS", "BLACKLISTEDITEMS"];
    let items = kind("ItemRestriction", &types, false, "itemIds", ids);
    component(generator, "Restriction", |_| {
        one_of(
            "type",
            &[
                ("WHITELIST", allowed),
                ("BLACKLIST", denied),
                ("BOOLEAN", boolean),
                ("WHITELISTEDITEMS", items.clone()),
                ("BLACKLISTEDITEMS", items),
            ],
        )
    })
}

fn restrictions_list(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": 1000, "items": restriction(generator),
        "description": "At most 100,000 values in all restrictions together.",
    })
}

/// Returns the schema of the body of a PUT of a project.
pub fn project_put(generator: &mut SchemaGenerator) -> Schema {
    let (restrictions, request) = (
        restrictions_list(generator),
        project_test_request(generator),
    );
    let tests = tests(generator, request, "ProjectTest");
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

/// Returns the schema of the request of a project's test, which may leave out the project.
fn project_test_request(generator: &mut SchemaGenerator) -> Schema {
    let item = described_item(generator);
    component(generator, "ProjectTestRequest", |_| {
        json_schema!({
            "type": "object",
            "required": ["item"],
            "description": "`projectId`, if present, must be the project's id.",
            "properties": { "item": item },
        })
    })
}

/// Returns the schema of a project.
pub fn project(generator: &mut SchemaGenerator) -> Schema {
    let (id, restrictions) = (project_id(generator), restrictions_list(generator));
    let request = project_test_request(generator);
    let tests = tests(generator, request, "ProjectTest");
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

/// A project, for answers that have one among other members.
#[derive(Debug)]
pub enum Project {}

impl JsonSchema for Project {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Project".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        project(generator)
    }
}

/// Returns the schema of a list of projects.
pub fn projects(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": project(generator) })
}

/// Returns the schema of the restrictions of a project.
pub fn restrictions(generator: &mut SchemaGenerator) -> Schema {
    let restrictions = restrictions_list(generator);
    json_schema!({ "type": "object", "required": ["restrictions"], "properties": { "restrictions": restrictions } })
}
