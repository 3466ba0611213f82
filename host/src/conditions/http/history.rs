//! The history of conditions and projects: who changed them, when, and what they were before and after.

use std::sync::Arc;

use ::http::{Method, StatusCode};

use super::conditions::condition_id;
use super::described;
use super::projects::project_id;
use crate::conditions::{Conditions, PageQuery, Sequence};
use crate::error::Result;
use crate::http::{Access, MAX_BODY, Query, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

/// The bytes of the rows of a page. They say how large its versions are.
const ROWS: usize = 1 << 20;

/// The routes. That of global conditions names those who operate the platform, so reading it takes what only they have,
/// though every tenant reads the conditions themselves.
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
            Access::With(P::GlobalConditionWrite),
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
    ]
}

async fn of_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (id, query) = (condition_id(&request)?, page_query(&request)?);
    let tenant = &request.caller()?.tenant;
    let bytes = conditions.bytes_of_condition_history(Some(tenant), &id, query);
    request.reserve(ROWS + 2 * MAX_BODY + bytes.await?).await?;
    let page = conditions.condition_history(tenant, &id, query).await?;
    Ok(Reply::json(StatusCode::OK, page))
}

async fn of_global_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (id, query) = (condition_id(&request)?, page_query(&request)?);
    let bytes = conditions.bytes_of_condition_history(None, &id, query);
    request.reserve(ROWS + 2 * MAX_BODY + bytes.await?).await?;
    let page = conditions.global_condition_history(&id, query).await?;
    Ok(Reply::json(StatusCode::OK, page))
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

/// Which page is wanted; every fault is named.
fn page_query(request: &Request) -> Result<PageQuery> {
    let mut query = Query::of(request);
    let after = query.cursor(Sequence::parse);
    let limit = query.limit();
    query.faults.none_or_error()?;
    Ok(PageQuery { after, limit })
}
