//! The ids of conditions and projects.

use schemars::{Schema, SchemaGenerator, json_schema};

/// The pattern of condition ids. In a path, `.` and `..` are not ids.
pub const CONDITION_ID: &str = "^[A-Za-z0-9_.:-]{1,64}$";

/// Returns the schema of the id of a condition in a path.
pub fn condition_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": CONDITION_ID, "not": { "enum": [".", ".."] },
        "examples": ["alcohol"],
    })
}

/// Returns the schema of the id of a condition in a body, where `.` and `..` are ids as well.
pub fn body_condition_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": CONDITION_ID })
}

/// Returns the schema of the id of a project.
pub fn project_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "format": "uuid",
        "pattern": "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
        "examples": ["0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90"],
    })
}
