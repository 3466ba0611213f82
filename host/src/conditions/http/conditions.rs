//! Conditions: the tenant's, and the platform's.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_engine::condition::ConditionId;

use super::{catalog, document, line, part, tagged, written};
use crate::conditions::{Conditions, Owner, Part};
use crate::error::{Error, Result};
use crate::http::{Access, Audited, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

const CONDITION: &str = "/api/v1/entity-conditions/{conditionId}";
const GLOBAL_CONDITION: &str = "/api/v1/global-entity-conditions/{conditionId}";

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
        ),
        Route::new(
            Method::GET,
            CONDITION,
            Access::With(P::ConditionRead),
            none,
            get_condition,
        ),
        Route::changing(
            Method::PUT,
            CONDITION,
            Access::With(P::ConditionWrite),
            json,
            "condition.put",
            put_own,
        ),
        Route::changing(
            Method::DELETE,
            CONDITION,
            Access::With(P::ConditionDelete),
            none,
            "condition.deleted",
            delete_own,
        ),
        Route::changing(
            Method::PUT,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            json,
            "condition.put",
            put_global,
        ),
        Route::changing(
            Method::DELETE,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            none,
            "condition.deleted",
            delete_global,
        ),
    ]
}

fn condition_id(request: &Request) -> Result<ConditionId> {
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
    let found = catalog.condition(&id);
    let found = found.ok_or_else(|| Error::NotFound("no condition has this id".to_owned()))?;
    Ok(tagged(&request, &found.etag, || document(&found.json)).stale(staleness))
}

async fn put_own(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let tenant = &request.caller()?.tenant;
    put_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

async fn put_global(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    put_condition(&conditions, &request, Owner::Platform).await
}

async fn put_condition(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
) -> Result<Audited> {
    let id = condition_id(request)?;
    let preconditions = request.preconditions();
    let put = conditions.put_condition(owner, id, &request.body, &preconditions);
    let (put, stored) = put.await?;
    let (id, after) = (&stored.condition.id, Some(stored.etag.clone()));
    let reply = written(put.written, &stored.etag, &stored.json);
    Ok(reply.audited(line(owner, id, put.before, after)))
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
    let preconditions = request.preconditions();
    let deleted = conditions.delete_condition(owner, &id, &preconditions);
    let before = Some(deleted.await?);
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line(owner, &id, before, None)))
}
