//! The catalog, and the events about its changes.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{condition, conditions, project, projects};
use crate::schema::component;

/// Returns the schema of the catalog.
pub fn catalog(generator: &mut SchemaGenerator) -> Schema {
    let (conditions, projects) = (conditions(generator), projects(generator));
    component(generator, "Catalog", |_| {
        json_schema!({
            "type": "object",
            "description": "Everything that the module needs to decide for a tenant.",
            "required": ["tenantId", "digest", "engine", "global", "tenant", "projects"],
            "properties": {
                "tenantId": { "type": "string" },
                "digest": { "type": "string", "description": "A hash that changes with the catalog; also the entity tag." },
                "engine": {
                    "type": "object", "required": ["version", "sha256"],
                    "properties": { "version": { "type": "string" }, "sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$" } },
                },
                "global": conditions.clone(), "tenant": conditions, "projects": projects,
            },
        })
    })
}

/// Returns the schema of the data of a condition's change event.
pub fn condition_event(generator: &mut SchemaGenerator) -> Schema {
    let of = condition(generator);
    component(generator, "ConditionEvent", |_| changed(&of))
}

/// Returns the schema of the data of a project's change event.
pub fn project_event(generator: &mut SchemaGenerator) -> Schema {
    let of = project(generator);
    component(generator, "ProjectEvent", |_| changed(&of))
}

fn changed(document: &Schema) -> Schema {
    json_schema!({
        "type": "object", "required": ["action", "id"],
        "properties": {
            "action": { "type": "string", "enum": ["CREATED", "REPLACED", "DELETED"] },
            "id": { "type": "string" },
            "document": { "allOf": [document], "description": "The document after the change. It is absent after a deletion, or if it is longer than 128 KiB." },
        },
    })
}

/// Returns the schema of the data of the catalog's change event.
pub fn catalog_event(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "CatalogEvent", |_| {
        json_schema!({
            "type": "object", "required": ["digest"],
            "properties": { "digest": { "type": "string", "description": "The entity tag of the catalog." } },
        })
    })
}
