//! What the API's documents say of tenants, roles and signing keys.

use serde_json::{Value, json};

use super::super::schema::{platform as schema, role_id};
use super::with_tenant;
use crate::http::schema::schema_of;
use crate::http::{Operation, Tag};
use crate::keys::KeyState;

const NO_ROLE: &str = "There is no such role.";
const BUILT_IN: &str = "The role is built in.";

fn tenant_example() -> Value {
    json!({ "tenantId": "acme", "name": "Acme", "rateTolerancePercent": 20, "createdAt": "2026-11-20T17:40:00.000Z" })
}

pub(in crate::tokens::http) fn list_tenants() -> Operation {
    Operation::new("listTenants", Tag::Platform, "List the tenants")
        .answers(
            200,
            "The tenants, by id",
            schema::tenants,
            json!([tenant_example()]),
        )
        .with_entity_tag()
}

pub(in crate::tokens::http) fn get_tenant() -> Operation {
    with_tenant(Operation::new("getTenant", Tag::Platform, "Get a tenant"))
        .answers(200, "The tenant", schema::tenant, tenant_example())
        .with_entity_tag()
        .refuses(404, "There is no such tenant.")
}

pub(in crate::tokens::http) fn put_tenant() -> Operation {
    with_tenant(Operation::new(
        "putTenant",
        Tag::Platform,
        "Create or replace a tenant",
    ))
    .says("What the body does not name is not set any more. Without a body nothing is set.")
    .takes(
        schema::tenant_put,
        json!({ "name": "Acme", "rateTolerancePercent": 20 }),
    )
    .or_takes_nothing()
    .answers(200, "It was replaced", schema::tenant, tenant_example())
    .answers(201, "It was created", schema::tenant, tenant_example())
    .with_preconditions()
}

fn of_role(id: &'static str, summary: &'static str) -> Operation {
    let operation = Operation::new(id, Tag::Platform, summary);
    operation.path("roleId", "The id of the role.", role_id)
}

fn role_example() -> Value {
    json!({ "roleId": "shop-manager", "permissions": ["ecs.condition.read", "exr.rate.read"], "builtIn": false })
}

pub(in crate::tokens::http) fn list_roles() -> Operation {
    Operation::new("listRoles", Tag::Platform, "List the roles")
        .answers(
            200,
            "Those that are built in, then the others by id",
            schema::roles,
            json!([
                { "roleId": "ecs.viewer", "permissions": ["ecs.condition.read", "crs.project.read"], "builtIn": true },
                role_example(),
            ]),
        )
        .may_be_stale()
        .with_entity_tag()
}

pub(in crate::tokens::http) fn get_role() -> Operation {
    of_role("getRole", "Get a role")
        .answers(200, "The role", schema::role, role_example())
        .may_be_stale()
        .with_entity_tag()
        .refuses(404, NO_ROLE)
}

pub(in crate::tokens::http) fn put_role() -> Operation {
    of_role("putRole", "Create or replace a role")
        .says("Clients that have the role may do what it names at once. Only callers of the platform's tenant may do this, and only with permissions that they can grant themselves.")
        .takes(schema::role_put, json!({ "permissions": ["ecs.condition.read", "exr.rate.read"] }))
        .answers(200, "It was replaced", schema::role, role_example())
        .answers(201, "It was created", schema::role, role_example())
        .with_preconditions()
        .refuses(409, BUILT_IN)
}

pub(in crate::tokens::http) fn delete_role() -> Operation {
    of_role("deleteRole", "Delete a role")
        .says("Clients that have it keep its id and get nothing from it. Only callers of the platform's tenant may do this.")
        .empty(204, "It was deleted")
        .with_preconditions()
        .refuses(404, NO_ROLE)
        .refuses(409, BUILT_IN)
}

fn key_example(status: &str) -> Value {
    json!({ "kid": "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", "status": status, "signsFrom": "2026-11-20T17:45:10.000Z" })
}

pub(in crate::tokens::http) fn list_keys() -> Operation {
    Operation::new("listSigningKeys", Tag::Platform, "List the signing keys")
        .says("They sign access tokens and software statements.")
        .answers(
            200,
            "The keys, the newest last",
            schema_of::<Vec<KeyState>>,
            json!([key_example("signing")]),
        )
        .with_entity_tag()
}

pub(in crate::tokens::http) fn rotate_keys() -> Operation {
    Operation::new("rotateSigningKey", Tag::Platform, "Publish a new signing key")
        .says("It signs once every cache of the JWKS has it. The key before it is removed when the last token that it signed has expired.")
        .answers(201, "The new key", schema_of::<KeyState>, key_example("published"))
        .refuses(409, "A new key is published already and does not sign yet.")
}
