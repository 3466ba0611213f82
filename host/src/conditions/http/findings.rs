//! What is wrong with a condition or a project.

use std::sync::Arc;

use ::http::{Method, StatusCode};

use super::catalog;
use super::conditions::{condition_id, no_condition};
use super::described;
use super::projects::{no_project, project_id};
use crate::conditions::Conditions;
use crate::error::Result;
use crate::http::{Access, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

/// The routes of findings.
pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/entity-conditions/{conditionId}/findings",
            Access::With(P::ConditionRead),
            Takes::Nothing,
            of_condition,
        )
        .described(described::condition_findings),
        Route::new(
            Method::GET,
            "/api/v1/projects/{projectId}/findings",
            Access::With(P::ProjectRead),
            Takes::Nothing,
            of_project,
        )
        .described(described::project_findings),
    ]
}

async fn of_condition(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = condition_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = conditions.findings_of_condition(&catalog, &id).await?;
    let found = found.ok_or_else(|| no_condition(&id))?;
    Ok(Reply::json(StatusCode::OK, found).stale(staleness))
}

async fn of_project(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = conditions.findings_of_project(&catalog, id).await?;
    let found = found.ok_or_else(|| no_project(id))?;
    Ok(Reply::json(StatusCode::OK, found).stale(staleness))
}
