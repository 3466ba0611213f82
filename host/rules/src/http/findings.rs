//! Findings: what is wrong with a condition or a project.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::{CONDITION_NOT_FOUND, PROJECT_NOT_FOUND};
use tillgate_api::rules;
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_http::{Access, Operation, Reply, Request, Route, Tag, Takes};

use super::catalog;
use super::conditions::{condition_id, no_condition, with_condition_id};
use super::projects::{no_project, project_id, with_project_id};
use crate::Conditions;

pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/entity-conditions/{conditionId}/findings",
            Access::With(P::ConditionRead),
            Takes::Nothing,
            of_condition,
        )
        .described(describe_condition_findings),
        Route::new(
            Method::GET,
            "/api/v1/projects/{projectId}/findings",
            Access::With(P::ProjectRead),
            Takes::Nothing,
            of_project,
        )
        .described(describe_project_findings),
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

fn describe_condition_findings() -> Operation {
    let operation = with_condition_id(Operation::new(
        "getConditionFindings",
        Tag::Conditions,
        "Find mistakes in a condition",
    ))
    .answers(200, "The certain and likely mistakes", rules::findings);
    operation.may_be_stale().refuses(&[CONDITION_NOT_FOUND])
}

fn describe_project_findings() -> Operation {
    let operation = with_project_id(Operation::new(
        "getProjectFindings",
        Tag::Projects,
        "Find mistakes in a project",
    ))
    .answers(200, "The certain and likely mistakes", rules::findings);
    operation.may_be_stale().refuses(&[PROJECT_NOT_FOUND])
}
