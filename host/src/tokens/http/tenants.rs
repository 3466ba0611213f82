//! Tenants, for operators.

use std::sync::Arc;

use ::http::Method;

use super::described::platform as described;
use super::parameters::tenant_of;
use super::{read_reply, write_reply};
use crate::error::Result;
use crate::http::reply::status_of;
use crate::http::{Access, Audited, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::observe::audit::Line;
use crate::tokens::{Tokens, body};

const TENANTS: &str = "/v1/tenants";
const TENANT: &str = "/v1/tenants/{tenantId}";

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let access = Access::With(P::TenantsWrite);
    vec![
        Route::new(Method::GET, TENANTS, access, none, list_tenants)
            .described(described::list_tenants),
        Route::new(Method::GET, TENANT, access, none, get_tenant).described(described::get_tenant),
        Route::changing(Method::PUT, TENANT, access, json, "tenant.put", put_tenant)
            .described(described::put_tenant),
    ]
}

async fn list_tenants(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    read_reply(&request, &tokens.tenants().await?)
}

async fn get_tenant(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let tenant = tenant_of(&request)?;
    read_reply(&request, &tokens.tenant(&tenant).await?)
}

async fn put_tenant(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (settings, id) = (body::tenant(&request.body)?, tenant_of(&request)?);
    let preconditions = request.preconditions();
    let put = tokens.put_tenant(&id, &settings, &preconditions);
    let (written, tenant) = put.await?;
    let line = Line {
        tenant: Some(id),
        ..Line::default()
    };
    Ok(write_reply(status_of(written), &tenant)?.audited_put(written, line))
}
