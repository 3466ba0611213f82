//! The schemas of the catalog and of what has changed.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{component, made_by, note};

use super::conditions::{condition, conditions};
use super::projects::{project, projects};

/// The history of a rule, whose versions are of this schema.
fn history(generator: &mut SchemaGenerator, of: &Schema, name: &'static str) -> Schema {
    component(generator, name, |generator| {
        let version = |description: &str| json_schema!({ "description": description, "oneOf": [of, { "type": "null" }] });
        json_schema!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["at", "by", "action", "before", "after"],
                        "properties": {
                            "at": { "type": "string", "format": "date-time" },
                            "by": made_by(generator),
                            "note": note(generator),
                            "action": { "type": "string", "enum": ["CREATED", "REPLACED", "DELETED"] },
                            "before": version("What it was before; null when there was none, or when it is not kept."),
                            "after": version("What it was afterwards."),
                            "failingTests": { "type": "integer", "description": "How many of its tests failed when the change was made all the same." },
                            "documentsKept": { "type": "boolean", "const": false, "description": "A version that there was is not kept." },
                        },
                    },
                },
                "next": { "type": "string", "description": "The `cursor` of the following page." },
            },
        })
    })
}

/// A page of what was deleted.
pub(in crate::conditions::http) fn deleted(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "DeletedRules", |generator| {
        json_schema!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "items": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["id", "at", "by"],
                        "properties": {
                            "id": { "type": "string" },
                            "name": { "type": "string", "description": "The name that a project had." },
                            "at": { "type": "string", "format": "date-time", "description": "When it was deleted." },
                            "by": made_by(generator),
                        },
                    },
                },
                "next": { "type": "string", "description": "The `cursor` of the following page." },
            },
        })
    })
}

/// The history of a condition.
pub(in crate::conditions::http) fn condition_history(generator: &mut SchemaGenerator) -> Schema {
    let of = condition(generator);
    history(generator, &of, "ConditionHistory")
}

/// The history of a project.
pub(in crate::conditions::http) fn project_history(generator: &mut SchemaGenerator) -> Schema {
    let of = project(generator);
    history(generator, &of, "ProjectHistory")
}

/// The catalog.
pub(in crate::conditions::http) fn catalog(generator: &mut SchemaGenerator) -> Schema {
    let (conditions, projects) = (conditions(generator), projects(generator));
    component(generator, "Catalog", |_| {
        json_schema!({
            "type": "object",
            "description": "Everything that the module needs to decide for a tenant.",
            "required": ["tenantId", "digest", "engine", "global", "tenant", "projects"],
            "properties": {
                "tenantId": { "type": "string" },
                "digest": { "type": "string", "description": "Names what is decided with; the entity tag." },
                "engine": {
                    "type": "object", "required": ["version", "sha256"],
                    "properties": { "version": { "type": "string" }, "sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$" } },
                },
                "global": conditions.clone(), "tenant": conditions, "projects": projects,
            },
        })
    })
}

/// The data of an event that a condition has changed.
pub(crate) fn condition_event(generator: &mut SchemaGenerator) -> Schema {
    let of = condition(generator);
    component(generator, "ConditionEvent", |_| changed(&of))
}

/// The data of an event that a project has changed.
pub(crate) fn project_event(generator: &mut SchemaGenerator) -> Schema {
    let of = project(generator);
    component(generator, "ProjectEvent", |_| changed(&of))
}

fn changed(document: &Schema) -> Schema {
    json_schema!({
        "type": "object", "required": ["action", "id"],
        "properties": {
            "action": { "type": "string", "enum": ["CREATED", "REPLACED", "DELETED"] },
            "id": { "type": "string" },
            "document": { "allOf": [document], "description": "What it is from now on. It is absent once it is deleted, and where it is longer than 128 KiB." },
        },
    })
}

/// An event of the catalog's changes.
pub(crate) fn catalog_event(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "CatalogEvent", |_| {
        json_schema!({
            "type": "object", "required": ["digest"],
            "properties": { "digest": { "type": "string", "description": "The entity tag of the catalog." } },
        })
    })
}
