//! The routes of conditions, projects, decisions and the catalog (`conditions.md`, `given.md` 4.2).

use std::sync::Arc;

use ::http::{HeaderName, HeaderValue, Method, StatusCode};
use bytes::Bytes;
use futures_util::StreamExt;
use tillgate_engine::condition::ConditionId;
use tillgate_engine::restriction::ProjectId;
use uuid::Uuid;

use super::{Conditions, MayPrepare, Owner, Part, Question, StoredProject, TenantCatalog};
use crate::app::App;
use crate::data::encoded::{Encoded, MAX_WHOLE};
use crate::data::etag::{Etag, Written};
use crate::data::feed::Staleness;
use crate::engine::MODULE_SHA256;
use crate::error::{Error, Result};
use crate::http::reply::status_of;
use crate::http::{Access, Event, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

/// `Tillgate-Engine`: the SHA-256 of the module that decided.
const ENGINE: HeaderName = HeaderName::from_static("tillgate-engine");
const MODULE: HeaderValue = HeaderValue::from_static(MODULE_SHA256);

/// The largest body of a project: room for as many values of as many bytes as it may have.
const MAX_PROJECT: usize = 32 << 20;

/// Larger requests, and what makes more than this of the store, are dealt with off the threads that serve.
const INLINE: usize = 16 << 10;

const CONDITION: &str = "/api/v1/entity-conditions/{id}";
const GLOBAL_CONDITION: &str = "/api/v1/global-entity-conditions/{id}";
const PROJECT: &str = "/api/v1/projects/{projectId}";

/// The routes.
pub fn routes() -> Vec<Route<Arc<Conditions>>> {
    let json = Takes::Json(MAX_BODY);
    let none = Takes::Nothing;
    vec![
        Route::new(
            Method::POST,
            "/api/v1/conditions/{conditionId}/evaluate",
            Access::With(P::ConditionEvaluate),
            json,
            evaluate_condition,
        ),
        Route::new(
            Method::POST,
            "/api/v1/project-restrictions/evaluate",
            Access::Either(&[P::ConditionEvaluate, P::ProjectRestrictionEvaluate]),
            json,
            evaluate_project,
        ),
        Route::new(
            Method::POST,
            "/api/v1/evaluations",
            Access::With(P::ConditionEvaluate),
            json,
            evaluate_basket,
        ),
        Route::new(
            Method::GET,
            "/api/v1/entity-conditions",
            Access::With(P::ConditionRead),
            none,
            list_conditions,
        ),
        Route::new(
            Method::GET,
            CONDITION,
            Access::With(P::ConditionRead),
            none,
            get_condition,
        ),
        Route::new(
            Method::PUT,
            CONDITION,
            Access::With(P::ConditionWrite),
            json,
            put_own,
        ),
        Route::new(
            Method::DELETE,
            CONDITION,
            Access::With(P::ConditionDelete),
            none,
            delete_own,
        ),
        Route::new(
            Method::PUT,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            json,
            put_global,
        ),
        Route::new(
            Method::DELETE,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            none,
            delete_global,
        ),
        Route::new(
            Method::GET,
            "/api/v1/projects",
            Access::With(P::ProjectRead),
            none,
            list_projects,
        ),
        Route::new(
            Method::GET,
            PROJECT,
            Access::With(P::ProjectRead),
            none,
            get_project,
        ),
        Route::new(
            Method::GET,
            "/api/v1/projects/{projectId}/restrictions",
            Access::With(P::ProjectRead),
            none,
            get_restrictions,
        ),
        Route::new(
            Method::PUT,
            PROJECT,
            Access::With(P::ProjectWrite),
            Takes::Json(MAX_PROJECT),
            put_project,
        ),
        Route::new(
            Method::DELETE,
            PROJECT,
            Access::With(P::ProjectWrite),
            none,
            delete_project,
        ),
        Route::new(
            Method::GET,
            "/api/v1/catalog",
            Access::All(&[P::ConditionRead, P::ProjectRead]),
            none,
            get_catalog,
        ),
        Route::new(
            Method::GET,
            "/api/v1/catalog/changes",
            Access::All(&[P::ConditionRead, P::ProjectRead]),
            none,
            catalog_changes,
        )
        .giving("text/event-stream"),
    ]
}

/// What the caller's tenant sees, and how old that is.
async fn catalog(
    conditions: &Conditions,
    request: &Request,
) -> Result<(Arc<TenantCatalog>, Staleness)> {
    let (tenant, staleness) = conditions.tenant(&request.caller()?.tenant).await?;
    Ok((tenant.catalog(), staleness))
}

fn condition_id(request: &Request) -> Result<ConditionId> {
    ConditionId::new(request.param(0)?)
        .ok_or_else(|| Error::invalid("$.conditionId", ConditionId::RULE))
}

fn project_id(request: &Request) -> Result<ProjectId> {
    ProjectId::new(request.param(0)?).ok_or_else(|| Error::invalid("$.projectId", ProjectId::RULE))
}

/// A part of the catalog, or that the caller has it already.
async fn part(
    conditions: &Conditions,
    request: &Request,
    catalog: Arc<TenantCatalog>,
    part: Part,
) -> Result<Reply> {
    let etag = catalog.etag().clone();
    if request.has(&etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).tagged(etag));
    }
    let encoded = match catalog.encoded(part) {
        Some(encoded) => encoded,
        None if catalog.size_of(part) <= INLINE => catalog.encode(part),
        None => {
            let encode = move |_: &App| catalog.encode(part);
            conditions.app.run_blocking(encode).await?
        }
    };
    Ok(Reply::encoded(encoded).tagged(etag))
}

/// The answer to a GET: what `reply` makes, or that the caller has it already.
fn tagged(request: &Request, etag: &Etag, reply: impl FnOnce() -> Reply) -> Reply {
    let reply = match request.has(etag) {
        true => Reply::empty(StatusCode::NOT_MODIFIED),
        false => reply(),
    };
    reply.tagged(etag.clone())
}

/// The answer that is a stored document. One that is too long to be compressed is in memory anyway.
fn document(json: &Bytes) -> Reply {
    match json.len() > MAX_WHOLE {
        true => Reply::encoded(Encoded::from(json.clone())),
        false => Reply::json(StatusCode::OK, json.clone()),
    }
}

/// A line in the audit log about a write.
fn audit(
    request: &Request,
    action: &'static str,
    owner: Owner<'_>,
    id: &dyn std::fmt::Display,
    before: Option<&Etag>,
    after: Option<&Etag>,
) {
    let tenant = match owner {
        Owner::Platform => None,
        Owner::Tenant(tenant) => Some(tenant.as_str()),
    };
    request.audit(action, tenant, id, before, after);
}

/// The answer to a PUT.
fn written(written: Written, etag: &Etag, body: &Bytes) -> Reply {
    Reply::json(status_of(written), body.clone()).tagged(etag.clone())
}

async fn evaluate_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = request.param(0)?;
    if !ConditionId::is_id(id) {
        return Err(Error::invalid("$.conditionId", ConditionId::RULE));
    }
    let question = Question::Condition(id.to_owned());
    evaluate(conditions, request, question).await
}

async fn evaluate_project(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    evaluate(conditions, request, Question::Project).await
}

async fn evaluate_basket(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    evaluate(conditions, request, Question::Basket).await
}

/// Decides here and now, unless that would keep others waiting.
async fn evaluate(
    conditions: Arc<Conditions>,
    request: Request,
    question: Question,
) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let correlation = request.correlation;
    let here = match request.body.len() > INLINE {
        true => None,
        false => conditions.decide(&catalog, &question, &request.body, MayPrepare::Short),
    };
    let decided = match here {
        Some(decided) => decided,
        None => {
            let app = Arc::clone(&conditions.app);
            let decide = move |_: &App| {
                conditions.decide(&catalog, &question, &request.body, MayPrepare::Anything)
            };
            let decided = Box::pin(app.run_blocking(decide)).await?;
            decided.unwrap_or_else(|| Err(Error::Bug("nothing was decided".to_owned())))
        }
    };
    Ok(decision(decided, correlation).stale(staleness))
}

/// What the module answered, and which module it was. A refusal is the module's answer too.
fn decision(decided: Result<Bytes>, correlation: Uuid) -> Reply {
    let reply = match decided {
        Ok(decided) => Reply::json(StatusCode::OK, decided),
        Err(error) => Reply::error(&error, correlation),
    };
    reply.with(ENGINE, MODULE)
}

async fn list_conditions(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let reply = part(&conditions, &request, catalog, Part::Conditions).await?;
    Ok(reply.stale(staleness))
}

async fn get_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = condition_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.condition(&id);
    let found = found.ok_or_else(|| Error::NotFound("no condition has this id".to_owned()))?;
    Ok(tagged(&request, &found.etag, || document(&found.json)).stale(staleness))
}

async fn put_own(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let tenant = &request.caller()?.tenant;
    put_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

async fn put_global(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    put_condition(&conditions, &request, Owner::Platform).await
}

async fn put_condition(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
) -> Result<Reply> {
    let id = condition_id(request)?;
    let preconditions = request.preconditions();
    let put = conditions.put_condition(owner, id, &request.body, &preconditions);
    let (put, stored) = put.await?;
    let id = &stored.condition.id;
    audit(
        request,
        "condition.put",
        owner,
        id,
        put.before.as_ref(),
        Some(&stored.etag),
    );
    Ok(written(put.written, &stored.etag, &stored.json))
}

async fn delete_own(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let tenant = &request.caller()?.tenant;
    delete_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

async fn delete_global(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    delete_condition(&conditions, &request, Owner::Platform).await
}

async fn delete_condition(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
) -> Result<Reply> {
    let id = condition_id(request)?;
    let preconditions = request.preconditions();
    let deleted = conditions.delete_condition(owner, &id, &preconditions);
    let before = deleted.await?;
    audit(
        request,
        "condition.deleted",
        owner,
        &id,
        Some(&before),
        None,
    );
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn list_projects(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let reply = part(&conditions, &request, catalog, Part::Projects).await?;
    Ok(reply.stale(staleness))
}

async fn get_project(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.project(id).ok_or_else(no_project)?;
    Ok(tagged(&request, &found.etag, || document(found.json())).stale(staleness))
}

async fn get_restrictions(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.project(id).ok_or_else(no_project)?;
    let project = Arc::clone(found);
    let restrictions = match project.json().len() > INLINE {
        true => {
            let read = move |_: &App| project.restrictions();
            conditions.app.run_blocking(read).await??
        }
        false => project.restrictions()?,
    };
    let reply = || Reply::json(StatusCode::OK, restrictions);
    Ok(tagged(&request, &found.etag, reply).stale(staleness))
}

fn no_project() -> Error {
    Error::NotFound("no project has this id".to_owned())
}

async fn put_project(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let body = request.body.clone();
    let read = move || StoredProject::from_put(id, &body);
    let project = if request.body.len() > INLINE {
        conditions.app.run_blocking(move |_| read()).await??
    } else {
        read()?
    };
    let put = conditions.put_project(tenant, &project, &preconditions);
    let put = put.await?;
    let (owner, before) = (Owner::Tenant(tenant), put.before.as_ref());
    audit(
        &request,
        "project.put",
        owner,
        &id,
        before,
        Some(&project.etag),
    );
    Ok(written(put.written, &project.etag, project.json()))
}

async fn delete_project(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let deleted = conditions.delete_project(tenant, id, &preconditions);
    let before = deleted.await?;
    let owner = Owner::Tenant(tenant);
    audit(&request, "project.deleted", owner, &id, Some(&before), None);
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn get_catalog(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let reply = part(&conditions, &request, catalog, Part::Whole).await?;
    Ok(reply.stale(staleness))
}

/// The digest of the catalog now and whenever it changes, for as long as the caller may listen.
async fn catalog_changes(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (tenant, staleness) = conditions.tenant(&request.caller()?.tenant).await?;
    let stream = format!("catalog/{}", tenant.id());
    let events = || {
        tenant.catalogs().map(|catalog| Event {
            id: Arc::clone(catalog.digest()),
            data: format!("{{\"digest\":\"{}\"}}", catalog.digest()).into(),
        })
    };
    Ok(request.subscribe(&stream, events)?.stale(staleness))
}
