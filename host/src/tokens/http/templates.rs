//! Registration templates, of a tenant or global.

use std::sync::Arc;

use ::http::{Method, StatusCode};

use super::described::templates as described;
use super::parameters::tenant_of;
use super::{no_content, read_reply, write_reply};
use crate::error::Result;
use crate::http::reply::status_of;
use crate::http::{Access, Audited, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::{NO_TENANT, Permission as P, TenantId};
use crate::observe::audit::Line;
use crate::tokens::client_id::Software;
use crate::tokens::templates::{key, unknown_template};
use crate::tokens::{Tokens, body};

const TEMPLATES: &str = "/v1/tenants/{tenantId}/templates";
const TEMPLATE: &str = "/v1/tenants/{tenantId}/templates/{softwareId}/{softwareVersion}";

/// The bytes that are reserved before the size of the templates is known.
const SMALL: usize = 64 << 10;

/// The bytes of memory for each byte of templates in a list: as it is stored, read and answered.
const LIST: usize = 3;

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let create = Access::With(P::TemplatesCreate);
    let read = Access::With(P::TemplatesRead);
    let delete = Access::With(P::TemplatesDelete);
    let replace = Access::All(&[P::TemplatesCreate, P::TemplatesDelete]);
    vec![
        Route::new(Method::GET, TEMPLATES, read, none, list_templates)
            .described(described::list_templates)
            .heavy()
            .reserving(SMALL),
        Route::changing(
            Method::POST,
            TEMPLATES,
            create,
            json,
            "template.created",
            post_template,
        )
        .described(described::create_template),
        Route::new(Method::GET, TEMPLATE, read, none, get_template)
            .described(described::get_template),
        Route::changing(
            Method::PUT,
            TEMPLATE,
            replace,
            json,
            "template.put",
            put_template,
        )
        .described(described::put_template),
        Route::changing(
            Method::DELETE,
            TEMPLATE,
            delete,
            none,
            "template.deleted",
            delete_template,
        )
        .described(described::delete_template),
    ]
}

/// The tenant of the path, or `None` for `_`, which stands for the global templates.
fn owner_of(request: &Request) -> Result<Option<TenantId>> {
    if request.param(0)? == NO_TENANT {
        return Ok(None);
    }
    tenant_of(request).map(Some)
}

fn software_of(request: &Request) -> Result<Software> {
    let (id, version) = (request.param(1)?, request.param(2)?);
    Software::new(id, version).ok_or_else(|| unknown_template(id, version))
}

/// What the audit log says of a template.
fn line(owner: Option<TenantId>, software: &Software) -> Line {
    Line {
        key: Some(key(owner.as_ref(), software)),
        tenant: owner,
        ..Line::default()
    }
}

async fn list_templates(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let owner = owner_of(&request)?;
    let bytes = tokens.template_bytes(owner.as_ref()).await?;
    request.reserve(SMALL + LIST * bytes).await?;
    let templates = tokens.templates(request.caller()?, owner.as_ref()).await?;
    read_reply(&request, &templates)
}

async fn post_template(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let new = body::template(&request.body)?;
    let software = new.software.clone();
    let template = tokens.create_template(caller, owner.as_ref(), new).await?;
    Ok(write_reply(StatusCode::CREATED, &template)?.audited(line(owner, &software)))
}

async fn get_template(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let software = software_of(&request)?;
    let template = tokens.template(caller, owner.as_ref(), &software).await?;
    read_reply(&request, &template)
}

async fn put_template(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let new = body::template_of(&request.body, request.param(1)?, request.param(2)?)?;
    let software = new.software.clone();
    let preconditions = request.preconditions();
    let put = tokens.put_template(caller, owner.as_ref(), new, &preconditions);
    let (written, template) = put.await?;
    let reply = write_reply(status_of(written), &template)?;
    Ok(reply.audited_put(written, line(owner, &software)))
}

async fn delete_template(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, owner) = (request.caller()?, owner_of(&request)?);
    let software = software_of(&request)?;
    tokens
        .delete_template(caller, owner.as_ref(), &software, &request.preconditions())
        .await?;
    Ok(no_content().audited(line(owner, &software)))
}
