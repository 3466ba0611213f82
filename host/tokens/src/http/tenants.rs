//! Tenants, for operators.

use std::sync::Arc;

use ::http::Method;
use tillgate_api::problem::TENANT_NOT_FOUND;
use tillgate_api::schema::schema_of;
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_base::observe::audit::Line;
use tillgate_http::reply::status_of;
use tillgate_http::{Access, Audited, MAX_BODY, Operation, Reply, Request, Route, Tag, Takes};

use super::parameters::{tenant_of, with_tenant};
use super::write_reply;
use crate::tenants::Tenant;
use crate::{Tokens, body};

const TENANTS: &str = "/v1/tenants";
const TENANT: &str = "/v1/tenants/{tenantId}";

pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let access = Access::With(P::TenantsWrite);
    vec![
        Route::new(Method::GET, TENANTS, access, none, list_tenants).described(describe_list),
        Route::new(Method::GET, TENANT, access, none, get_tenant).described(describe_get),
        Route::changing(Method::PUT, TENANT, access, json, "tenant.put", put_tenant)
            .described(describe_put),
    ]
}

async fn list_tenants(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    request.answer_json(&tokens.tenants().await?)
}

async fn get_tenant(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let tenant = tenant_of(&request)?;
    request.answer_json(&tokens.tenant(&tenant).await?)
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

fn describe_list() -> Operation {
    Operation::new("listTenants", Tag::Platform, "List the tenants")
        .answers(200, "The tenants, by id", schema_of::<Vec<Tenant>>)
        .with_entity_tag()
}

fn describe_get() -> Operation {
    with_tenant(Operation::new("getTenant", Tag::Platform, "Get a tenant"))
        .answers(200, "The tenant", schema_of::<Tenant>)
        .with_entity_tag()
        .refuses(&[TENANT_NOT_FOUND])
}

fn describe_put() -> Operation {
    with_tenant(Operation::new(
        "putTenant",
        Tag::Platform,
        "Create or replace a tenant",
    ))
    .says("A setting that the body leaves out is removed. Without a body, the tenant has no settings.")
    .takes(body::tenant_schema)
    .or_takes_nothing()
    .answers(200, "It was replaced", schema_of::<Tenant>)
    .answers(201, "It was created", schema_of::<Tenant>)
    .with_preconditions()
}
