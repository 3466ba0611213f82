//! Roles. Administrators of clients and templates read them; the platform defines them.

use std::sync::Arc;

use ::http::Method;

use super::{no_content, read_reply, write_reply};
use crate::error::{Error, Result};
use crate::http::reply::status_of;
use crate::http::{Access, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::{NAME_RULE, Permission as P, is_name};
use crate::tokens::{Tokens, body};

const ROLES: &str = "/v1/roles";
const ROLE: &str = "/v1/roles/{roleId}";

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read = Access::Either(&[P::RolesWrite, P::ClientsRead, P::TemplatesRead]);
    let write = Access::With(P::RolesWrite);
    vec![
        Route::new(Method::GET, ROLES, read, none, list_roles),
        Route::new(Method::GET, ROLE, read, none, get_role),
        Route::new(Method::PUT, ROLE, write, json, put_role),
        Route::new(Method::DELETE, ROLE, write, none, delete_role),
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
    read_reply(&request, &tokens.roles())
}

async fn get_role(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    read_reply(&request, &tokens.role(role_of(&request)?)?)
}

async fn put_role(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, role) = (request.caller()?, role_of(&request)?);
    let permissions = body::role(&request.body)?;
    let (written, role) = tokens
        .put_role(caller, role, permissions, &request.preconditions())
        .await?;
    write_reply(status_of(written), &role)
}

async fn delete_role(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    tokens
        .delete_role(
            request.caller()?,
            role_of(&request)?,
            &request.preconditions(),
        )
        .await?;
    Ok(no_content())
}
