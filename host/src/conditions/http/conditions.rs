//! Conditions: the tenant's, and the platform's.

use std::sync::Arc;

use ::http::{HeaderName, Method, StatusCode};
use tillgate_api::problem::CONDITION_NOT_FOUND;
use tillgate_engine::condition::ConditionId;

use super::described;
use super::{catalog, document, editor, editor_of_any, line, part, written};
use crate::conditions::{Conditions, Owner, Part, StoredCondition};
use crate::error::{Error, Result};
use crate::http::{Access, Audited, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

const CONDITION: &str = "/api/v1/entity-conditions/{conditionId}";
const GLOBAL_CONDITION: &str = "/api/v1/global-entity-conditions/{conditionId}";

/// `Tillgate-Failing-Tests`: how many tests of tenants fail after a change of a global condition.
const FAILING_TESTS: HeaderName = HeaderName::from_static("tillgate-failing-tests");

/// The routes of conditions.
pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    let json = Takes::Json(MAX_BODY);
    let none = Takes::Nothing;
    vec![
        Route::new(
            Method::GET,
            "/api/v1/entity-conditions",
            Access::With(P::ConditionRead),
            none,
            list_conditions,
        )
        .described(described::list_conditions),
        Route::new(
            Method::GET,
            CONDITION,
            Access::With(P::ConditionRead),
            none,
            get_condition,
        )
        .described(described::get_condition),
        Route::changing(
            Method::PUT,
            CONDITION,
            Access::With(P::ConditionWrite),
            json,
            "condition.put",
            put_own,
        )
        .described(described::put_condition),
        Route::changing(
            Method::DELETE,
            CONDITION,
            Access::With(P::ConditionDelete),
            none,
            "condition.deleted",
            delete_own,
        )
        .described(described::delete_condition),
        Route::changing(
            Method::PUT,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            json,
            "condition.put",
            put_global,
        )
        .described(described::put_global_condition),
        Route::changing(
            Method::DELETE,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            none,
            "condition.deleted",
            delete_global,
        )
        .described(described::delete_global_condition),
    ]
}

pub(super) fn condition_id(request: &Request) -> Result<ConditionId> {
    ConditionId::new(request.param(0)?)
        .ok_or_else(|| Error::invalid("$.conditionId", ConditionId::RULE))
}

async fn list_conditions(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let reply = part(&conditions, &request, catalog, Part::Conditions).await?;
    Ok(reply.stale(staleness))
}

async fn get_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = condition_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.condition(&id).ok_or_else(|| no_condition(&id))?;
    let reply = || document(&found.text);
    Ok(request
        .answer(found.text.etag().clone(), reply)
        .stale(staleness))
}

pub(super) fn no_condition(id: &ConditionId) -> Error {
    Error::missing(CONDITION_NOT_FOUND, id)
}

async fn put_own(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let tenant = &request.caller()?.tenant;
    put_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

async fn put_global(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    if request.flag("dryRun")? {
        let id = condition_id(&request)?;
        let editor = editor_of_any(&request)?;
        let concerned = conditions.try_global(id, request.body.clone(), &editor);
        return Ok(Reply::of(StatusCode::OK, &concerned.await?)?.unchanged());
    }
    put_condition(&conditions, &request, Owner::Platform).await
}

async fn put_condition(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
) -> Result<Audited> {
    let id = condition_id(request)?;
    let editor = editor(request)?;
    let put = conditions.put_condition(owner, id, request.body.clone(), &editor);
    let (put, stored) = put.await?;
    let id = &stored.condition.id;
    let (reply, line) = written(owner, id, editor, put, &stored.text);
    let reply = with_failing(conditions, reply, owner, id, Some(Arc::clone(&stored))).await;
    Ok(reply.audited_if(line))
}

/// The answer to a change of a condition. A global one may have failed tests of tenants: it says how many fail now.
async fn with_failing(
    conditions: &Conditions,
    reply: Reply,
    owner: Owner<'_>,
    id: &ConditionId,
    changed: Option<Arc<StoredCondition>>,
) -> Reply {
    let Owner::Platform = owner else {
        return reply;
    };
    match conditions.failing_tests_of_tenants(id, changed).await {
        Some(failing) => reply.with(FAILING_TESTS, failing.into()),
        None => reply,
    }
}

async fn delete_own(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let tenant = &request.caller()?.tenant;
    delete_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

async fn delete_global(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    delete_condition(&conditions, &request, Owner::Platform).await
}

async fn delete_condition(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
) -> Result<Audited> {
    let id = condition_id(request)?;
    let editor = editor(request)?;
    let deleted = conditions.delete_condition(owner, &id, &editor);
    let before = Some(deleted.await?);
    let reply = Reply::empty(StatusCode::NO_CONTENT);
    let reply = with_failing(conditions, reply, owner, &id, None).await;
    Ok(reply.audited(line(owner, &id, editor, before, None)))
}
