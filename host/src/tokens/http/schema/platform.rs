//! The schemas of tenants, roles and signing keys.

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::{component, made_by, managed_by, tenant_id, time, title};

use super::name;

fn permissions() -> Schema {
    json_schema!({
        "type": "array", "maxItems": 1000,
        "description": "Names of permissions. One that no route here asks for has no effect.",
        "items": { "type": "string", "maxLength": 128, "pattern": r"^[a-z0-9_-]+\.[a-z0-9_-]+\.[a-z0-9_-]+$" },
    })
}

/// A role.
pub(in crate::tokens::http) fn role(generator: &mut SchemaGenerator) -> Schema {
    let name = name(generator);
    component(generator, "Role", |generator| {
        json_schema!({
            "type": "object",
            "required": ["roleId", "permissions", "builtIn"],
            "properties": {
                "roleId": name, "permissions": permissions(),
                "builtIn": { "type": "boolean", "description": "Whether it comes with the service, and cannot be changed." },
                "managedBy": managed_by(), "lastModifiedBy": made_by(generator),
            },
        })
    })
}

/// Roles.
pub(in crate::tokens::http) fn roles(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": role(generator) })
}

fn tolerance() -> Schema {
    json_schema!({
        "type": "number", "minimum": 0, "exclusiveMaximum": 100,
        "description": "By how many percent a new rate may deviate from the one before; a change that deviates by more is refused, unless it says that it may. 0: by any. At most four decimals, and no exponent.",
    })
}

/// A tenant.
pub(in crate::tokens::http) fn tenant(generator: &mut SchemaGenerator) -> Schema {
    let (id, created) = (tenant_id(generator), time(generator));
    component(generator, "Tenant", |_| {
        json_schema!({
            "type": "object",
            "required": ["tenantId", "createdAt"],
            "properties": { "tenantId": id, "name": title(100), "rateTolerancePercent": tolerance(), "createdAt": created },
        })
    })
}

/// Tenants.
pub(in crate::tokens::http) fn tenants(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": tenant(generator) })
}
