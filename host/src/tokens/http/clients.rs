//! The clients of a tenant: their status, secrets and roles.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use serde_json::json;
use tillgate_api::read;

use super::described::clients as described;
use super::parameters::{page_of, tenant_of};
use super::{no_content, read_reply, secret, write_reply};
use crate::error::Result;
use crate::http::{Access, Audited, MAX_BODY, Query, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::observe::audit::Line;
use crate::tokens::client::{Client, Status, StatusChange};
use crate::tokens::client_id::is_id;
use crate::tokens::clients::{PAGE_BYTES, line};
use crate::tokens::{Tokens, body};

const CLIENTS: &str = "/v1/tenants/{tenantId}/clients";
const CLIENT: &str = "/v1/tenants/{tenantId}/clients/{clientId}";
const AUTHORIZE: &str = "/v1/tenants/{tenantId}/clients/{clientId}/authorize";
const REVOKE: &str = "/v1/tenants/{tenantId}/clients/{clientId}/revoke";
const SECRET: &str = "/v1/tenants/{tenantId}/clients/{clientId}/secret";
const ROLES: &str = "/v1/tenants/{tenantId}/clients/{clientId}/roles";

const STATUS_RULE: &str = "must be Pending, Authorized or Revoked";

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read = Access::With(P::ClientsRead);
    let update = Access::With(P::ClientsUpdate);
    let delete = Access::With(P::ClientsDelete);
    vec![
        Route::new(Method::GET, CLIENTS, read, none, list_clients)
            .described(described::list_clients)
            .heavy()
            .reserving(PAGE_BYTES),
        Route::new(Method::GET, CLIENT, read, none, get_client).described(described::get_client),
        Route::changing(
            Method::DELETE,
            CLIENT,
            delete,
            none,
            "client.deleted",
            delete_client,
        )
        .described(described::delete_client),
        Route::changing(
            Method::PUT,
            AUTHORIZE,
            update,
            none,
            "client.authorized",
            authorize,
        )
        .described(described::authorize),
        Route::changing(Method::PUT, REVOKE, update, none, "client.revoked", revoke)
            .described(described::revoke),
        Route::changing(
            Method::POST,
            SECRET,
            update,
            none,
            "client.secret_renewed",
            renew_secret,
        )
        .described(described::renew_secret),
        Route::changing(
            Method::PUT,
            ROLES,
            update,
            json,
            "client.roles_set",
            put_roles,
        )
        .described(described::put_roles),
    ]
}

fn client(client: &Client) -> Result<Reply> {
    write_reply(StatusCode::OK, &client.to_json()?)
}

async fn list_clients(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let mut query = Query::of(&request);
    let status = query.optional("status", Status::from_name, STATUS_RULE);
    let (limit, cursor) = page_of(&mut query, is_id);
    query.faults.none_or_error()?;
    let clients = tokens.clients(caller, &tenant, status, limit, cursor.as_deref());
    read_reply(&request, &clients.await?)
}

async fn get_client(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let client = tokens.client(caller, &tenant, request.param(1)?);
    read_reply(&request, &client.await?.to_json()?)
}

async fn delete_client(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let (id, preconditions) = (request.param(1)?, request.preconditions());
    let deleted = tokens.delete_client(caller, &tenant, id, &preconditions);
    deleted.await?;
    Ok(no_content().audited(line(&tenant, id)))
}

async fn authorize(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    change_status(&tokens, &request, StatusChange::Authorize).await
}

async fn revoke(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    change_status(&tokens, &request, StatusChange::Revoke).await
}

async fn change_status(
    tokens: &Tokens,
    request: &Request,
    change: StatusChange,
) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(request)?);
    let id = request.param(1)?;
    let changed = tokens.change_status(caller, &tenant, id, change);
    let (found, has_changed) = changed.await?;
    let reply = client(&found)?;
    Ok(match has_changed {
        true => reply.audited(line(&tenant, id)),
        false => reply.unchanged(),
    })
}

async fn renew_secret(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let overlap = request
        .query_param("overlap")
        .map(|span| body::overlap(&span));
    let (id, overlap) = (request.param(1)?, overlap.transpose()?);
    let new = tokens.renew_secret(caller, &tenant, id, overlap).await?;
    let body = json!({ "clientId": new.client_id, "clientSecret": new.client_secret });
    let reply = secret(Reply::of(StatusCode::OK, &body)?);
    Ok(reply.audited(line(&tenant, id)))
}

async fn put_roles(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let roles = read(&request.body, body::roles)?;
    let (id, preconditions) = (request.param(1)?, request.preconditions());
    let changed = tokens.set_roles(caller, &tenant, id, &roles, &preconditions);
    let (found, has_changed) = changed.await?;
    let reply = client(&found)?;
    if !has_changed {
        return Ok(reply.unchanged());
    }
    let line = Line {
        roles: Some(found.roles.join(" ")),
        ..line(&tenant, id)
    };
    Ok(reply.audited(line))
}
