//! Registration templates of a tenant, and the global ones.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::{QUOTA_EXCEEDED, ROLE_RESERVED, TEMPLATE_EXISTS, TEMPLATE_NOT_FOUND};
use tillgate_api::schema::schema_of;
use tillgate_base::error::Result;
use tillgate_base::identity::{NO_TENANT, Permission as P, TenantId};
use tillgate_base::observe::audit::Line;
use tillgate_http::reply::status_of;
use tillgate_http::{Access, Audited, MAX_BODY, Operation, Reply, Request, Route, Tag, Takes};

use super::parameters::{ENTITY_TAG, name_such_as, tenant_of};
use super::{no_content, write_reply};
use crate::client_id::Software;
use crate::templates::{Template, key, unknown_template};
use crate::{Tokens, body};

const TEMPLATES: &str = "/v1/tenants/{tenantId}/templates";
const TEMPLATE: &str = "/v1/tenants/{tenantId}/templates/{softwareId}/{softwareVersion}";

/// The bytes that are reserved before the size of the templates is known.
const SMALL: usize = 64 << 10;

/// The bytes of memory for each byte of templates in a list: stored, read and answered.
const LIST: usize = 3;

pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let create = Access::With(P::TemplatesCreate);
    let read = Access::With(P::TemplatesRead);
    let delete = Access::With(P::TemplatesDelete);
    let replace = Access::All(&[P::TemplatesCreate, P::TemplatesDelete]);
    vec![
        Route::new(Method::GET, TEMPLATES, read, none, list_templates)
            .described(describe_list)
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
        .described(describe_create),
        Route::new(Method::GET, TEMPLATE, read, none, get_template).described(describe_get),
        Route::changing(
            Method::PUT,
            TEMPLATE,
            replace,
            json,
            "template.put",
            put_template,
        )
        .described(describe_put),
        Route::changing(
            Method::DELETE,
            TEMPLATE,
            delete,
            none,
            "template.deleted",
            delete_template,
        )
        .described(describe_delete),
    ]
}

/// Returns the tenant of the path, or `None` for `_`, which stands for the global templates.
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

/// Returns the audit line of a template.
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
    request.answer_json(&templates)
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
    request.answer_json(&template)
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

fn with_owner(operation: Operation) -> Operation {
    let whose = "The id of the tenant, or `_` for the global templates.";
    operation.path("tenantId", whose, |generator| {
        name_such_as(generator, "acme")
    })
}

fn of_template(id: &'static str, summary: &'static str) -> Operation {
    with_owner(Operation::new(id, Tag::Clients, summary))
        .path("softwareId", "The id of the software.", |generator| {
            name_such_as(generator, "till")
        })
        .path(
            "softwareVersion",
            "The version of the software.",
            |generator| name_such_as(generator, "1"),
        )
}

fn describe_list() -> Operation {
    with_owner(Operation::new(
        "listTemplates",
        Tag::Clients,
        "List the registration templates",
    ))
    .answers(
        200,
        "The templates, by software",
        schema_of::<Vec<Template>>,
    )
    .with_entity_tag()
}

fn describe_create() -> Operation {
    with_owner(Operation::new("createTemplate", Tag::Clients, "Create a registration template"))
        .says("Clients of the software register with it: their claims must match its schema, and they get its roles. The caller must be able to grant every permission of these roles. If the tenant does not exist, an administrator of the platform creates it with this request.")
        .takes(body::template_schema)
        .answers(201, "It was created", schema_of::<Template>)
        .with_header(ENTITY_TAG.0, ENTITY_TAG.1)
        .refuses(&[ROLE_RESERVED, TEMPLATE_EXISTS, QUOTA_EXCEEDED])
}

fn describe_get() -> Operation {
    of_template("getTemplate", "Get a registration template")
        .answers(200, "The template", schema_of::<Template>)
        .with_entity_tag()
        .refuses(&[TEMPLATE_NOT_FOUND])
}

fn describe_put() -> Operation {
    of_template("putTemplate", "Create or replace a registration template")
        .says("`softwareId` and `softwareVersion` must be the same as in the path. Clients that have registered with it stay as they are. The caller must be able to grant every permission of its roles.")
        .takes(body::template_schema)
        .answers(200, "It was replaced", schema_of::<Template>)
        .answers(201, "It was created", schema_of::<Template>)
        .with_preconditions()
        .refuses(&[ROLE_RESERVED, QUOTA_EXCEEDED])
}

fn describe_delete() -> Operation {
    of_template("deleteTemplate", "Delete a registration template")
        .says("Clients that have registered with it stay.")
        .empty(204, "It was deleted")
        .with_preconditions()
        .refuses(&[TEMPLATE_NOT_FOUND])
}
