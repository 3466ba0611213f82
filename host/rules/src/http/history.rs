//! The history of conditions and projects: who changed them and when, and the versions before and after.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::{CONDITION_NOT_FOUND, PROJECT_NOT_FOUND};
use tillgate_api::rules;
use tillgate_api::schema::{cursor, schema_of};
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_engine::condition::ConditionId;
use tillgate_http::{
    Access, CURSOR_RULE, LIMIT, MAX_BODY, Operation, Query, QueryParameter, Reply, Request, Route,
    Tag, Takes,
};

use super::conditions::{condition_id, with_condition_id};
use super::projects::{project_id, with_project_id};
use crate::{Conditions, DeletedPage, HistoryPage, Owner, PageQuery, RuleKind, Sequence};

/// The bytes of the rows of a page, each with a note. The rows say how large the page's versions are.
const ROWS: usize = 4 << 20;

/// The bytes of a page of deleted rules: its rows as they are read, and as they are answered.
const DELETED: usize = 2 * ROWS;

const CURSOR: QueryParameter<Sequence> =
    QueryParameter::cursor(cursor, |text| Sequence::parse(text).ok_or(CURSOR_RULE));

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
        .described(describe_condition_history)
        .heavy()
        .reserving(ROWS),
        Route::new(
            Method::GET,
            "/api/v1/global-entity-conditions/{conditionId}/history",
            Access::Either(&[P::ConditionRead, P::GlobalConditionWrite]),
            none,
            of_global_condition,
        )
        .described(describe_global_condition_history)
        .heavy()
        .reserving(ROWS),
        Route::new(
            Method::GET,
            "/api/v1/projects/{projectId}/history",
            Access::With(P::ProjectRead),
            none,
            of_project,
        )
        .described(describe_project_history)
        .heavy()
        .reserving(ROWS),
        Route::new(
            Method::GET,
            "/api/v1/deleted-entity-conditions",
            Access::With(P::ConditionRead),
            none,
            deleted_conditions,
        )
        .described(describe_deleted_conditions)
        .reserving(DELETED),
        Route::new(
            Method::GET,
            "/api/v1/deleted-global-entity-conditions",
            Access::Either(&[P::ConditionRead, P::GlobalConditionWrite]),
            none,
            deleted_global_conditions,
        )
        .described(describe_deleted_global_conditions)
        .reserving(DELETED),
        Route::new(
            Method::GET,
            "/api/v1/deleted-projects",
            Access::With(P::ProjectRead),
            none,
            deleted_projects,
        )
        .described(describe_deleted_projects)
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

/// Answers a page of the history of a condition. For a global one, tenants see what changed and when, but neither who
/// on the platform changed it nor why.
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

/// Returns whether the caller may see who changed an owner's rules.
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

/// Answers a page of what an owner has deleted. Tenants do not see who on the platform deleted something.
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

/// Reads which page the caller asks for, and names every fault.
fn page_query(request: &Request) -> Result<PageQuery> {
    let mut query = Query::of(request);
    let after = query.optional(&CURSOR);
    let limit = query.limit();
    query.faults.none_or_error()?;
    Ok(PageQuery { after, limit })
}

fn describe_condition_history() -> Operation {
    let operation = Operation::new(
        "getConditionHistory",
        Tag::Conditions,
        "Get the history of a condition",
    )
    .says("Returns the history of the tenant's own condition if it has or had one with this id, otherwise that of the global one.");
    paged(with_condition_id(operation))
        .answers(
            200,
            "The changes, newest first",
            schema_of::<HistoryPage<'_, rules::Condition>>,
        )
        .refuses(&[CONDITION_NOT_FOUND])
}

fn describe_global_condition_history() -> Operation {
    let operation = Operation::new(
        "getGlobalConditionHistory",
        Tag::Conditions,
        "Get the history of a global condition",
    )
    .says("Only callers with `ecs.global-condition.write` see who made a change and why. For others, `by` is the platform.");
    paged(with_condition_id(operation))
        .answers(
            200,
            "The changes, newest first",
            schema_of::<HistoryPage<'_, rules::Condition>>,
        )
        .refuses(&[CONDITION_NOT_FOUND])
}

fn describe_project_history() -> Operation {
    let operation = Operation::new(
        "getProjectHistory",
        Tag::Projects,
        "Get the history of a project",
    );
    paged(with_project_id(operation))
        .answers(
            200,
            "The changes, newest first",
            schema_of::<HistoryPage<'_, rules::Project>>,
        )
        .refuses(&[PROJECT_NOT_FOUND])
}

fn describe_deleted_conditions() -> Operation {
    let operation = Operation::new(
        "listDeletedConditions",
        Tag::Conditions,
        "List the deleted conditions of the tenant",
    );
    of_deleted(operation)
}

fn describe_deleted_global_conditions() -> Operation {
    let operation = Operation::new(
        "listDeletedGlobalConditions",
        Tag::Conditions,
        "List the deleted global conditions",
    );
    of_deleted(operation)
}

fn describe_deleted_projects() -> Operation {
    let operation = Operation::new(
        "listDeletedProjects",
        Tag::Projects,
        "List the deleted projects of the tenant",
    );
    of_deleted(operation)
}

fn paged(operation: Operation) -> Operation {
    operation.query(&LIMIT).query(&CURSOR)
}

fn of_deleted(operation: Operation) -> Operation {
    paged(operation)
        .says("Lists what was deleted and not created again, for as long as its history is kept. The history has the last version. To restore it, send a PUT of that version with `If-None-Match: *`.")
        .answers(200, "The deletions, latest first", schema_of::<DeletedPage<'_>>)
}
