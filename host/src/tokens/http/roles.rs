//! Roles. Administrators of clients and templates read them; the platform defines them.

use std::sync::Arc;

use ::http::Method;
use tillgate_api::read;

use super::described::platform as described;
use super::{no_content, read_reply, write_reply};
use crate::error::{Error, Result};
use crate::http::reply::status_of;
use crate::http::{Access, Audited, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::{NAME_RULE, Permission as P, is_name};
use crate::observe::audit::Line;
use crate::tokens::{Tokens, body};

const ROLES: &str = "/v1/roles";
const ROLE: &str = "/v1/roles/{roleId}";

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read = Access::Either(&[P::RolesWrite, P::ClientsRead, P::TemplatesRead]);
    let write = Access::With(P::RolesWrite);
    vec![
        Route::new(Method::GET, ROLES, read, none, list_roles).described(described::list_roles),
        Route::new(Method::GET, ROLE, read, none, get_role).described(described::get_role),
        Route::changing(Method::PUT, ROLE, write, json, "role.put", put_role)
            .described(described::put_role),
        Route::changing(
            Method::DELETE,
            ROLE,
            write,
            none,
            "role.deleted",
            delete_role,
        )
        .described(described::delete_role),
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
    read_reply(&request, &tokens.roles(request.caller()?))
}

async fn get_role(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    read_reply(
        &request,
        &tokens.role(request.caller()?, role_of(&request)?)?,
    )
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
