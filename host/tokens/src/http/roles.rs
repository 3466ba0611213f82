//! Roles. Administrators of clients and templates read them; the platform defines them.

use std::sync::Arc;

use ::http::Method;
use tillgate_api::problem::{PLATFORM_ONLY, ROLE_BUILT_IN, ROLE_NOT_FOUND};
use tillgate_api::schema::schema_of;
use tillgate_api::{describe, read};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{NAME_RULE, Permission as P, is_name};
use tillgate_base::observe::audit::Line;
use tillgate_http::reply::status_of;
use tillgate_http::{Access, Audited, MAX_BODY, Operation, Reply, Request, Route, Tag, Takes};

use super::parameters::name_such_as;
use super::{no_content, write_reply};
use crate::roles::Role;
use crate::{Tokens, body};

const ROLES: &str = "/v1/roles";
const ROLE: &str = "/v1/roles/{roleId}";

pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read = Access::Either(&[P::RolesWrite, P::ClientsRead, P::TemplatesRead]);
    let write = Access::With(P::RolesWrite);
    vec![
        Route::new(Method::GET, ROLES, read, none, list_roles).described(describe_list),
        Route::new(Method::GET, ROLE, read, none, get_role).described(describe_get),
        Route::changing(Method::PUT, ROLE, write, json, "role.put", put_role)
            .described(describe_put),
        Route::changing(
            Method::DELETE,
            ROLE,
            write,
            none,
            "role.deleted",
            delete_role,
        )
        .described(describe_delete),
    ]
}

fn role_of(request: &Request) -> Result<&str> {
    let role = request.param(0)?;
    if is_name(role) {
        return Ok(role);
    }
    Err(Error::invalid("$.roleId", NAME_RULE))
}

async fn list_roles(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    request.answer_json(&tokens.roles(request.caller()?))
}

async fn get_role(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    request.answer_json(&tokens.role(request.caller()?, role_of(&request)?)?)
}

async fn put_role(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, id) = (request.caller()?, role_of(&request)?);
    let new = read(&request.body, body::role)?;
    let preconditions = request.preconditions();
    let put = tokens.put_role(caller, id, new, &preconditions);
    let (written, role) = put.await?;
    let line = Line {
        role: Some(id.to_owned()),
        held: Some(role.permissions.join(" ")),
        ..Line::default()
    };
    Ok(write_reply(status_of(written), &role)?.audited_put(written, line))
}

async fn delete_role(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, id) = (request.caller()?, role_of(&request)?);
    let preconditions = request.preconditions();
    tokens.delete_role(caller, id, &preconditions).await?;
    let line = Line {
        role: Some(id.to_owned()),
        ..Line::default()
    };
    Ok(no_content().audited(line))
}

fn of_role(id: &'static str, summary: &'static str) -> Operation {
    let operation = Operation::new(id, Tag::Platform, summary);
    operation.path("roleId", "The id of the role.", |generator| {
        name_such_as(generator, "shop-manager")
    })
}

fn describe_list() -> Operation {
    Operation::new("listRoles", Tag::Platform, "List the roles")
        .answers(
            200,
            "The built-in roles, then the others by id",
            schema_of::<Vec<Role>>,
        )
        .may_be_stale()
        .with_entity_tag()
}

fn describe_get() -> Operation {
    of_role("getRole", "Get a role")
        .answers(200, "The role", schema_of::<Role>)
        .may_be_stale()
        .with_entity_tag()
        .refuses(&[ROLE_NOT_FOUND])
}

fn describe_put() -> Operation {
    of_role("putRole", "Create or replace a role")
        .says("The change takes effect for clients with this role at once. Only callers of the platform's tenant may do this, and only with permissions that they can grant themselves.")
        .takes(|generator| describe(generator, body::role))
        .answers(200, "It was replaced", schema_of::<Role>)
        .answers(201, "It was created", schema_of::<Role>)
        .with_preconditions()
        .refuses(&[PLATFORM_ONLY, ROLE_BUILT_IN])
}

fn describe_delete() -> Operation {
    of_role("deleteRole", "Delete a role")
        .says("Clients with this role keep its id but get no permissions from it. Only callers of the platform's tenant may do this.")
        .empty(204, "It was deleted")
        .with_preconditions()
        .refuses(&[PLATFORM_ONLY, ROLE_NOT_FOUND, ROLE_BUILT_IN])
}
