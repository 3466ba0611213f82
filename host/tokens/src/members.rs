//! Members that bodies and answers of the token service share, and their schemas.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tillgate_api::schema::{self, component, scalar};

/// The longest name of a tenant or a template, in characters.
pub(super) const MAX_TITLE: usize = 100;

/// The most roles of a client or a template.
pub(super) const MAX_ROLES: usize = 50;

pub(super) const ABOUT_ROLES: &str = "Existing roles, without duplicates.";

pub(super) const MAX_PERMISSIONS: usize = 1_000;

pub(super) const ABOUT_PERMISSIONS: &str =
    "Names of permissions. A permission that no route here requires has no effect.";

pub(super) const ABOUT_TOLERANCE: &str = "The tolerance: the most, in percent, by which a new rate may deviate from the previous one. A change that deviates by more is refused unless it accepts the deviation. 0: no limit. At most four decimals, and no exponent.";

/// Returns the schema of a software id, a software version or a role id.
pub(super) fn name_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "not": { "enum": [".", ".."] } })
}

pub(super) fn client_id_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9_-]{1,255}$", "examples": ["c2Z3OiB0aWxsQDFAYWNtZQp0aWQ6IGFjbWUK"],
    })
}

pub(super) fn secret_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$", "description": "The new secret. No later answer contains it." })
}

/// Returns the schema of the roles of a client or a template.
pub(super) fn roles_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": MAX_ROLES,
        "description": ABOUT_ROLES,
        "items": { "type": "object", "required": ["roleId"], "properties": { "roleId": name_schema(generator) } },
    })
}

pub(super) fn claims_schema(generator: &mut SchemaGenerator) -> Schema {
    let about = "1 to 64 characters, none of them a control character.";
    let value = scalar(
        generator,
        "ClaimValue",
        &["string", "number", "boolean"],
        about,
    );
    component(generator, "Claims", |_| {
        json_schema!({
            "type": "object",
            "description": "The claims of a client. A number keeps the \
                digits that it is written with.",
            "maxProperties": 100,
            "propertyNames": { "type": "string", "pattern": "^[a-z][a-z0-9_]{0,31}$", "not": { "enum": ["sfw", "tid"] } },
            "additionalProperties": value,
        })
    })
}

/// Returns the schema of a claims schema, which may also be `true` or `false`.
pub(super) fn schema_of_claims(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "ClaimsSchema", |_| {
        json_schema!({
            "oneOf": [{ "type": "object" }, { "type": "boolean" }],
            "description": "JSON Schema, draft-07, of the claims: at most 64 KiB, no references to other documents or to itself, at most 32 patterns, which match in linear time.",
        })
    })
}

pub(super) fn permissions_schema(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": MAX_PERMISSIONS, "uniqueItems": true,
        "description": ABOUT_PERMISSIONS,
        "items": permission_schema(generator),
    })
}

pub(super) fn permission_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "maxLength": 128, "pattern": r"^[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+$" })
}

/// Returns the schema of the name of a tenant or a template.
pub(super) fn title_schema(_: &mut SchemaGenerator) -> Schema {
    schema::title(MAX_TITLE)
}

pub(super) fn tolerance_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = percentage_schema(generator);
    schema.insert("description".to_owned(), ABOUT_TOLERANCE.into());
    schema
}

pub(super) fn percentage_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "number", "minimum": 0, "exclusiveMaximum": 100 })
}

/// A role that a client or a template has.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RoleReference {
    pub(super) role_id: String,
}

impl RoleReference {
    pub(super) const fn new(role_id: String) -> Self {
        Self { role_id }
    }
}
