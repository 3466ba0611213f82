//! Administration: templates, tenants, clients, roles. The domain says who may act on which tenant.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use serde_json::json;

use super::{secret, tagged, with_tag};
use crate::error::{Error, Result};
use crate::http::reply::status_of;
use crate::http::{Access, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::{NAME_RULE, NO_TENANT, Permission as P, TENANT_RULE, TenantId, is_name};
use crate::tokens::client::{Client, Status, StatusChange};
use crate::tokens::client_id::Software;
use crate::tokens::{Tokens, body};

const TENANT: &str = "/v1/tenants/{tenantId}";
const TEMPLATES: &str = "/v1/tenants/{tenantId}/templates";
const TEMPLATE: &str = "/v1/tenants/{tenantId}/templates/{softwareId}/{softwareVersion}";
const CLIENT: &str = "/v1/tenants/{tenantId}/clients/{clientId}";
const ROLE: &str = "/v1/roles/{roleId}";

/// How many entries a page has.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read_clients = Access::With(P::ClientsRead);
    let update_clients = Access::With(P::ClientsUpdate);
    let write_roles = Access::With(P::RolesWrite);
    let tenants = Access::With(P::TenantsWrite);
    let read_roles = Access::Either(&[P::RolesWrite, P::ClientsRead, P::TemplatesRead]);
    vec![
        Route::new(Method::GET, "/v1/tenants", tenants, none, list_tenants),
        Route::new(Method::GET, TENANT, tenants, none, get_tenant),
        Route::new(Method::PUT, TENANT, tenants, json, put_tenant),
        Route::new(
            Method::GET,
            TEMPLATES,
            Access::With(P::TemplatesRead),
            none,
            list_templates,
        ),
        Route::new(
            Method::POST,
            TEMPLATES,
            Access::With(P::TemplatesCreate),
            json,
            post_template,
        ),
        Route::new(
            Method::GET,
            TEMPLATE,
            Access::With(P::TemplatesRead),
            none,
            get_template,
        ),
        Route::new(
            Method::DELETE,
            TEMPLATE,
            Access::With(P::TemplatesDelete),
            none,
            delete_template,
        ),
        Route::new(
            Method::GET,
            "/v1/tenants/{tenantId}/clients",
            read_clients,
            none,
            list_clients,
        ),
        Route::new(Method::GET, CLIENT, read_clients, none, get_client),
        Route::new(
            Method::DELETE,
            CLIENT,
            Access::With(P::ClientsDelete),
            none,
            delete_client,
        ),
        Route::new(
            Method::PUT,
            "/v1/tenants/{tenantId}/clients/{clientId}/authorize",
            update_clients,
            none,
            authorize,
        ),
        Route::new(
            Method::PUT,
            "/v1/tenants/{tenantId}/clients/{clientId}/revoke",
            update_clients,
            none,
            revoke,
        ),
        Route::new(
            Method::POST,
            "/v1/tenants/{tenantId}/clients/{clientId}/secret",
            update_clients,
            none,
            renew_secret,
        ),
        Route::new(
            Method::PUT,
            "/v1/tenants/{tenantId}/clients/{clientId}/roles",
            update_clients,
            json,
            put_roles,
        ),
        Route::new(Method::GET, "/v1/roles", read_roles, none, list_roles),
        Route::new(Method::GET, ROLE, read_roles, none, get_role),
        Route::new(Method::PUT, ROLE, write_roles, json, put_role),
        Route::new(Method::DELETE, ROLE, write_roles, none, delete_role),
    ]
}

/// The tenant of the path.
pub(super) fn tenant_of(request: &Request) -> Result<TenantId> {
    TenantId::new(request.param(0)?).ok_or_else(|| Error::invalid("$.tenantId", TENANT_RULE))
}

/// The tenant of the path, or `None` for `_`: everyone's.
fn owner_of(request: &Request) -> Result<Option<TenantId>> {
    if request.param(0)? == NO_TENANT {
        return Ok(None);
    }
    tenant_of(request).map(Some)
}

fn software_of(request: &Request) -> Result<Software> {
    let software = Software::new(request.param(1)?, request.param(2)?);
    software.ok_or_else(|| Error::NotFound("no template exists for this software".to_owned()))
}

fn role_of(request: &Request) -> Result<&str> {
    let role = request.param(0)?;
    if is_name(role) {
        return Ok(role);
    }
    Err(Error::invalid("$.roleId", NAME_RULE))
}

/// How many entries a request asks for, and after which (`platform.md`, "HTTP conventions").
pub(super) fn page_of(request: &Request) -> Result<(usize, Option<String>)> {
    let parameter = |name| request.query_param(name);
    let limit = parameter("limit").map_or(Ok(LIMIT), |limit| {
        let limit = limit.parse().ok();
        let limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(|| Error::invalid("$.limit", "must be 1 to 1000"))
    });
    Ok((limit?, parameter("cursor")))
}

pub(super) fn no_content() -> Reply {
    Reply::empty(StatusCode::NO_CONTENT)
}

fn client(client: &Client) -> Result<Reply> {
    with_tag(StatusCode::OK, &client.to_json()?)
}

async fn list_tenants(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    tagged(&request, &tokens.tenants().await?)
}

async fn get_tenant(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let tenant = tenant_of(&request)?;
    tagged(&request, &tokens.tenant(&tenant).await?)
}

async fn put_tenant(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let name = body::tenant(&request.body)?;
    let (caller, id) = (request.caller()?, tenant_of(&request)?);
    let preconditions = request.preconditions();
    let (written, tenant) = tokens
        .put_tenant(caller, &id, name.as_deref(), &preconditions)
        .await?;
    with_tag(status_of(written), &tenant)
}

async fn list_templates(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let owner = owner_of(&request)?;
    let templates = tokens.templates(request.caller()?, owner.as_ref()).await?;
    tagged(&request, &templates)
}

async fn post_template(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let new = body::template(&request.body)?;
    let template = tokens.create_template(caller, owner.as_ref(), new).await?;
    with_tag(StatusCode::CREATED, &template)
}

async fn get_template(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let software = software_of(&request)?;
    let template = tokens.template(caller, owner.as_ref(), &software).await?;
    tagged(&request, &template)
}

async fn delete_template(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let software = software_of(&request)?;
    tokens
        .delete_template(caller, owner.as_ref(), &software, &request.preconditions())
        .await?;
    Ok(no_content())
}

async fn list_clients(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let status = request.query_param("status").map(|name| {
        let rule = "must be Pending, Authorized or Revoked";
        Status::from_name(&name).ok_or_else(|| Error::invalid("$.status", rule))
    });
    let (limit, cursor) = page_of(&request)?;
    let clients = tokens.clients(
        caller,
        &tenant,
        status.transpose()?,
        limit,
        cursor.as_deref(),
    );
    tagged(&request, &clients.await?)
}

async fn get_client(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let client = tokens.client(caller, &tenant, request.param(1)?);
    tagged(&request, &client.await?.to_json()?)
}

async fn delete_client(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    tokens
        .delete_client(caller, &tenant, request.param(1)?, &request.preconditions())
        .await?;
    Ok(no_content())
}

async fn authorize(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    change_status(&tokens, &request, StatusChange::Authorize).await
}

async fn revoke(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    change_status(&tokens, &request, StatusChange::Revoke).await
}

async fn change_status(tokens: &Tokens, request: &Request, change: StatusChange) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(request)?);
    client(
        &tokens
            .change_status(caller, &tenant, request.param(1)?, change)
            .await?,
    )
}

async fn renew_secret(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let overlap = request
        .query_param("overlap")
        .map(|span| body::overlap(&span));
    let (id, overlap) = (request.param(1)?, overlap.transpose()?);
    let new = tokens.renew_secret(caller, &tenant, id, overlap).await?;
    let body = json!({ "clientId": new.client_id, "clientSecret": new.client_secret });
    secret(Reply::of(StatusCode::OK, &body)?)
}

async fn put_roles(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let roles = body::roles(&request.body)?;
    let (id, preconditions) = (request.param(1)?, request.preconditions());
    let changed = tokens.set_roles(caller, &tenant, id, &roles, &preconditions);
    client(&changed.await?)
}

async fn list_roles(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    tagged(&request, &tokens.roles())
}

async fn get_role(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    tagged(&request, &tokens.role(role_of(&request)?)?)
}

async fn put_role(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, role) = (request.caller()?, role_of(&request)?);
    let permissions = body::role(&request.body)?;
    let (written, role) = tokens
        .put_role(caller, role, permissions, &request.preconditions())
        .await?;
    with_tag(status_of(written), &role)
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
