//! The history of conditions and projects: who changed them, when, and what they were before and after.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_engine::condition::ConditionId;

use super::conditions::condition_id;
use super::described;
use super::projects::project_id;
use crate::conditions::{Conditions, Owner, PageQuery, RuleKind, Sequence};
use crate::error::Result;
use crate::http::{Access, MAX_BODY, Query, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

/// The bytes of the rows of a page, each with a note. They say how large its versions are.
const ROWS: usize = 4 << 20;

/// The bytes of a page of what was deleted: its rows as they are read, and as they are answered.
const DELETED: usize = 2 * ROWS;

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    let none = Takes::Nothing;
    vec![
        Route::new(
            Method::GET,
            "/api/v1/entity-conditions/{conditionId}/history",
            Access::With(P::ConditionRead),
            none,
            of_condition,
        )
        .described(described::condition_history)
        .heavy()
        .reserving(ROWS),
        Route::new(
            Method::GET,
            "/api/v1/global-entity-conditions/{conditionId}/history",
            Access::Either(&[P::ConditionRead, P::GlobalConditionWrite]),
            none,
            of_global_condition,
        )
        .described(described::global_condition_history)
        .heavy()
        .reserving(ROWS),
        Route::new(
            Method::GET,
            "/api/v1/projects/{projectId}/history",
            Access::With(P::ProjectRead),
            none,
            of_project,
        )
        .described(described::project_history)
        .heavy()
        .reserving(ROWS),
        Route::new(
            Method::GET,
            "/api/v1/deleted-entity-conditions",
            Access::With(P::ConditionRead),
            none,
            deleted_conditions,
        )
        .described(described::deleted_conditions)
        .reserving(DELETED),
        Route::new(
            Method::GET,
            "/api/v1/deleted-global-entity-conditions",
            Access::Either(&[P::ConditionRead, P::GlobalConditionWrite]),
            none,
            deleted_global_conditions,
        )
        .described(described::deleted_global_conditions)
        .reserving(DELETED),
        Route::new(
            Method::GET,
            "/api/v1/deleted-projects",
            Access::With(P::ProjectRead),
            none,
            deleted_projects,
        )
        .described(described::deleted_projects)
        .reserving(DELETED),
    ]
}

async fn of_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (id, query) = (condition_id(&request)?, page_query(&request)?);
    let tenant = &request.caller()?.tenant;
    let owner = conditions.owner_of_history(tenant, &id).await?;
    condition_history(&conditions, &request, owner, &id, query).await
}

async fn of_global_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (id, query) = (condition_id(&request)?, page_query(&request)?);
    condition_history(&conditions, &request, Owner::Platform, &id, query).await
}

/// A page of the history of a condition. Of a global one, tenants see when it has changed and what, and neither who of the
/// platform has changed it nor why.
async fn condition_history(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
    id: &ConditionId,
    query: PageQuery,
) -> Result<Reply> {
    let bytes = conditions.bytes_of_condition_history(owner, id, query);
    request.reserve(ROWS + 2 * MAX_BODY + bytes.await?).await?;
    let says_who = says_who(request, owner)?;
    let page = conditions.condition_history(owner, id, query, says_who);
    Ok(Reply::json(StatusCode::OK, page.await?))
}

async fn of_project(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (id, query) = (project_id(&request)?, page_query(&request)?);
    let tenant = &request.caller()?.tenant;
    let bytes = conditions
        .bytes_of_project_history(tenant, id, query)
        .await?;
    request.reserve(ROWS + bytes).await?;
    let page = conditions.project_history(tenant, id, query).await?;
    Ok(Reply::json(StatusCode::OK, page))
}

/// Whether the caller is told who has changed what an owner has.
fn says_who(request: &Request, owner: Owner<'_>) -> Result<bool> {
    Ok(match owner {
        Owner::Platform => request
            .caller()?
            .permissions
            .contains(P::GlobalConditionWrite),
        Owner::Tenant(_) => true,
    })
}

async fn deleted_conditions(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let owner = Owner::Tenant(&request.caller()?.tenant);
    deleted(&conditions, &request, owner, RuleKind::Conditions).await
}

async fn deleted_global_conditions(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    deleted(&conditions, &request, Owner::Platform, RuleKind::Conditions).await
}

async fn deleted_projects(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let owner = Owner::Tenant(&request.caller()?.tenant);
    deleted(&conditions, &request, owner, RuleKind::Projects).await
}

/// A page of what an owner has deleted. Of the platform's, tenants do not see who.
async fn deleted(
    conditions: &Conditions,
    request: &Request,
    owner: Owner<'_>,
    kind: RuleKind,
) -> Result<Reply> {
    let (query, says_who) = (page_query(request)?, says_who(request, owner)?);
    let page = conditions.deleted(owner, kind, query, says_who);
    Ok(Reply::json(StatusCode::OK, page.await?))
}

/// Which page is wanted; every fault is named.
fn page_query(request: &Request) -> Result<PageQuery> {
    let mut query = Query::of(request);
    let after = query.cursor(Sequence::parse);
    let limit = query.limit();
    query.faults.none_or_error()?;
    Ok(PageQuery { after, limit })
}
