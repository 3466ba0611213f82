//! Conditions: the tenant's, and the platform's.

use std::sync::Arc;

use ::http::StatusCode;
use tillgate_engine::condition::ConditionId;

use super::{audit, catalog, document, part, tagged, written};
use crate::conditions::{Conditions, Owner, Part};
use crate::error::{Error, Result};
use crate::http::{Reply, Request};

fn condition_id(request: &Request) -> Result<ConditionId> {
    ConditionId::new(request.param(0)?)
        .ok_or_else(|| Error::invalid("$.conditionId", ConditionId::RULE))
}

pub(super) async fn list_conditions(
    conditions: Arc<Conditions>,
    request: Request,
) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let reply = part(&conditions, &request, catalog, Part::Conditions).await?;
    Ok(reply.stale(staleness))
}

pub(super) async fn get_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = condition_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.condition(&id);
    let found = found.ok_or_else(|| Error::NotFound("no condition has this id".to_owned()))?;
    Ok(tagged(&request, &found.etag, || document(&found.json)).stale(staleness))
}

pub(super) async fn put_own(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let tenant = &request.caller()?.tenant;
    put_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

pub(super) async fn put_global(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
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

pub(super) async fn delete_own(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let tenant = &request.caller()?.tenant;
    delete_condition(&conditions, &request, Owner::Tenant(tenant)).await
}

pub(super) async fn delete_global(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
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
