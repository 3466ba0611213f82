//! Administration: templates, tenants, clients, roles. Who may act on which tenant is the domain's to say.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use serde_json::json;

use super::{secret, tagged, with_tag};
use crate::app::App;
use crate::error::{Error, Result};
use crate::http::reply::status_of;
use crate::http::{Access, MAX_BODY, Reply, Request, Route, Takes};
use crate::tokens::body;
use crate::tokens::client::{Client, Status, Verdict};
use crate::tokens::client_id::Software;
use crate::tokens::permission::Permission as P;
use crate::tokens::tenant::{self, NO_TENANT, TenantId, is_name};

const TENANT: &str = "/v1/tenants/{tenantId}";
const TEMPLATES: &str = "/v1/tenants/{tenantId}/templates";
const TEMPLATE: &str = "/v1/tenants/{tenantId}/templates/{softwareId}/{softwareVersion}";
const CLIENT: &str = "/v1/tenants/{tenantId}/clients/{clientId}";
const ROLE: &str = "/v1/roles/{roleId}";

/// How many entries a page has.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// The routes.
pub(super) fn routes() -> Vec<Route> {
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
    TenantId::new(request.param(0)?).ok_or_else(|| Error::invalid("$.tenantId", tenant::RULE))
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
    software.ok_or_else(|| Error::NotFound("there is no template of this software".to_owned()))
}

fn role_of(request: &Request) -> Result<&str> {
    let role = request.param(0)?;
    if is_name(role) {
        return Ok(role);
    }
    Err(Error::invalid("$.roleId", body::NAME))
}

/// How many entries are asked for, and after which (`platform.md`, "HTTP conventions").
pub(super) fn page_of(request: &Request) -> Result<(usize, Option<String>)> {
    let parameter = |name| body::query(&request.query, name);
    let limit = parameter("limit").map_or(Ok(LIMIT), |limit| {
        let limit = limit.parse().ok();
        let limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(|| Error::invalid("$.limit", "must be 1 to 1000"))
    });
    Ok((limit?, parameter("cursor")))
}

pub(super) fn gone() -> Reply {
    Reply::empty(StatusCode::NO_CONTENT)
}

fn client(client: &Client) -> Result<Reply> {
    with_tag(StatusCode::OK, &client.to_json())
}

async fn list_tenants(app: Arc<App>, request: Request) -> Result<Reply> {
    tagged(&request, &app.tokens.tenants().await?)
}

async fn get_tenant(app: Arc<App>, request: Request) -> Result<Reply> {
    let tenant = tenant_of(&request)?;
    tagged(&request, &app.tokens.tenant(&tenant).await?)
}

async fn put_tenant(app: Arc<App>, request: Request) -> Result<Reply> {
    let name = body::tenant(&request.body)?;
    let (caller, id) = (request.caller()?, tenant_of(&request)?);
    let preconditions = request.preconditions();
    let (written, tenant) = app
        .tokens
        .put_tenant(caller, &id, name.as_deref(), &preconditions)
        .await?;
    with_tag(status_of(written), &tenant)
}

async fn list_templates(app: Arc<App>, request: Request) -> Result<Reply> {
    let owner = owner_of(&request)?;
    let templates = app
        .tokens
        .templates(request.caller()?, owner.as_ref())
        .await?;
    tagged(&request, &templates)
}

async fn post_template(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let new = body::template(&request.body)?;
    let template = app
        .tokens
        .create_template(caller, owner.as_ref(), new)
        .await?;
    with_tag(StatusCode::CREATED, &template)
}

async fn get_template(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let software = software_of(&request)?;
    let template = app
        .tokens
        .template(caller, owner.as_ref(), &software)
        .await?;
    tagged(&request, &template)
}

async fn delete_template(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let software = software_of(&request)?;
    app.tokens
        .delete_template(caller, owner.as_ref(), &software, &request.preconditions())
        .await?;
    Ok(gone())
}

async fn list_clients(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let status = body::query(&request.query, "status").map(|name| {
        let rule = "must be Pending, Authorized or Revoked";
        Status::from_name(&name).ok_or_else(|| Error::invalid("$.status", rule))
    });
    let (limit, cursor) = page_of(&request)?;
    let clients = app.tokens.clients(
        caller,
        &tenant,
        status.transpose()?,
        limit,
        cursor.as_deref(),
    );
    tagged(&request, &clients.await?)
}

async fn get_client(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let client = app.tokens.client(caller, &tenant, request.param(1)?);
    tagged(&request, &client.await?.to_json())
}

async fn delete_client(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    app.tokens
        .delete_client(caller, &tenant, request.param(1)?, &request.preconditions())
        .await?;
    Ok(gone())
}

async fn authorize(app: Arc<App>, request: Request) -> Result<Reply> {
    judge(&app, &request, Verdict::Authorize).await
}

async fn revoke(app: Arc<App>, request: Request) -> Result<Reply> {
    judge(&app, &request, Verdict::Revoke).await
}

async fn judge(app: &App, request: &Request, verdict: Verdict) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(request)?);
    client(
        &app.tokens
            .judge(caller, &tenant, request.param(1)?, verdict)
            .await?,
    )
}

async fn renew_secret(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let overlap = body::query(&request.query, "overlap").map(|span| body::overlap(&span));
    let (id, overlap) = (request.param(1)?, overlap.transpose()?);
    let new = app
        .tokens
        .renew_secret(caller, &tenant, id, overlap)
        .await?;
    let body = json!({ "clientId": new.client_id, "clientSecret": new.client_secret });
    secret(Reply::of(StatusCode::OK, &body)?)
}

async fn put_roles(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let roles = body::roles(&request.body)?;
    let (id, preconditions) = (request.param(1)?, request.preconditions());
    let changed = app
        .tokens
        .set_roles(caller, &tenant, id, &roles, &preconditions);
    client(&changed.await?)
}

async fn list_roles(app: Arc<App>, request: Request) -> Result<Reply> {
    tagged(&request, &app.tokens.roles())
}

async fn get_role(app: Arc<App>, request: Request) -> Result<Reply> {
    tagged(&request, &app.tokens.role(role_of(&request)?)?)
}

async fn put_role(app: Arc<App>, request: Request) -> Result<Reply> {
    let (caller, role) = (request.caller()?, role_of(&request)?);
    let permissions = body::role(&request.body)?;
    let (written, role) = app
        .tokens
        .put_role(caller, role, permissions, &request.preconditions())
        .await?;
    with_tag(status_of(written), &role)
}

async fn delete_role(app: Arc<App>, request: Request) -> Result<Reply> {
    app.tokens
        .delete_role(
            request.caller()?,
            role_of(&request)?,
            &request.preconditions(),
        )
        .await?;
    Ok(gone())
}
