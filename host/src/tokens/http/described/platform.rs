//! What the API's documents say of tenants, roles and signing keys.

use tillgate_api::describe;
use tillgate_api::problem::{
    KEY_WAITING, PLATFORM_ONLY, ROLE_BUILT_IN, ROLE_NOT_FOUND, TENANT_NOT_FOUND,
};
use tillgate_api::schema::schema_of;

use super::super::schema::{platform as schema, role_id};
use super::with_tenant;
use crate::http::{Operation, Tag};
use crate::keys::KeyState;
use crate::tokens::body;

pub(in crate::tokens::http) fn list_tenants() -> Operation {
    Operation::new("listTenants", Tag::Platform, "List the tenants")
        .answers(200, "The tenants, by id", schema::tenants)
        .with_entity_tag()
}

pub(in crate::tokens::http) fn get_tenant() -> Operation {
    with_tenant(Operation::new("getTenant", Tag::Platform, "Get a tenant"))
        .answers(200, "The tenant", schema::tenant)
        .with_entity_tag()
        .refuses(&[TENANT_NOT_FOUND])
}

pub(in crate::tokens::http) fn put_tenant() -> Operation {
    with_tenant(Operation::new(
        "putTenant",
        Tag::Platform,
        "Create or replace a tenant",
    ))
    .says("What the body does not name is not set any more. Without a body nothing is set.")
    .takes(body::tenant_schema)
    .or_takes_nothing()
    .answers(200, "It was replaced", schema::tenant)
    .answers(201, "It was created", schema::tenant)
    .with_preconditions()
}

fn of_role(id: &'static str, summary: &'static str) -> Operation {
    let operation = Operation::new(id, Tag::Platform, summary);
    operation.path("roleId", "The id of the role.", role_id)
}

pub(in crate::tokens::http) fn list_roles() -> Operation {
    Operation::new("listRoles", Tag::Platform, "List the roles")
        .answers(
            200,
            "Those that are built in, then the others by id",
            schema::roles,
        )
        .may_be_stale()
        .with_entity_tag()
}

pub(in crate::tokens::http) fn get_role() -> Operation {
    of_role("getRole", "Get a role")
        .answers(200, "The role", schema::role)
        .may_be_stale()
        .with_entity_tag()
        .refuses(&[ROLE_NOT_FOUND])
}

pub(in crate::tokens::http) fn put_role() -> Operation {
    of_role("putRole", "Create or replace a role")
        .says("Clients that have the role may do what it names at once. Only callers of the platform's tenant may do this, and only with permissions that they can grant themselves.")
        .takes(|generator| describe(generator, body::role))
        .answers(200, "It was replaced", schema::role)
        .answers(201, "It was created", schema::role)
        .with_preconditions()
        .refuses(&[PLATFORM_ONLY, ROLE_BUILT_IN])
}

pub(in crate::tokens::http) fn delete_role() -> Operation {
    of_role("deleteRole", "Delete a role")
        .says("Clients that have it keep its id and get nothing from it. Only callers of the platform's tenant may do this.")
        .empty(204, "It was deleted")
        .with_preconditions()
        .refuses(&[PLATFORM_ONLY, ROLE_NOT_FOUND, ROLE_BUILT_IN])
}

pub(in crate::tokens::http) fn list_keys() -> Operation {
    Operation::new("listSigningKeys", Tag::Platform, "List the signing keys")
        .says("They sign access tokens and software statements.")
        .answers(200, "The keys, the newest last", schema_of::<Vec<KeyState>>)
        .with_entity_tag()
}

pub(in crate::tokens::http) fn rotate_keys() -> Operation {
    Operation::new("rotateSigningKey", Tag::Platform, "Publish a new signing key")
        .says("It signs once every cache of the JWKS has it. The key before it is removed when the last token that it signed has expired.")
        .answers(201, "The new key", schema_of::<KeyState>)
        .refuses(&[KEY_WAITING])
}
