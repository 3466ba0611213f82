//! Projects and their restrictions.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::{PROJECT_NOT_FOUND, QUOTA_EXCEEDED, TESTS_FAILED};
use tillgate_api::rules;
use tillgate_base::app::App;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Permission as P;
use tillgate_engine::restriction::ProjectId;
use tillgate_http::{Access, Audited, Operation, Reply, Request, Route, Tag, Takes};

use super::{FAILING_TESTS, catalog, document, editor, line, part, written};
use crate::{Conditions, INLINE, Owner, Part};

/// The largest body of a project: room for as many and as long values as it may have.
const MAX_PROJECT: usize = 32 << 20;

/// The bytes to reserve before the size of the project is known.
const SMALL: usize = 64 << 10;

const PROJECT: &str = "/api/v1/projects/{projectId}";

pub(super) fn routes() -> Vec<Route<Arc<Conditions>>> {
    let none = Takes::Nothing;
    vec![
        Route::new(
            Method::GET,
            "/api/v1/projects",
            Access::With(P::ProjectRead),
            none,
            list_projects,
        )
        .described(describe_list_projects),
        Route::new(
            Method::GET,
            PROJECT,
            Access::With(P::ProjectRead),
            none,
            get_project,
        )
        .described(describe_get_project),
        Route::new(
            Method::GET,
            "/api/v1/projects/{projectId}/restrictions",
            Access::With(P::ProjectRead),
            none,
            get_restrictions,
        )
        .described(describe_get_restrictions)
        .reserving(SMALL),
        Route::changing(
            Method::PUT,
            PROJECT,
            Access::With(P::ProjectWrite),
            Takes::Json(MAX_PROJECT),
            "project.put",
            put_project,
        )
        .described(describe_put_project)
        .reserving(SMALL),
        Route::changing(
            Method::DELETE,
            PROJECT,
            Access::With(P::ProjectWrite),
            none,
            "project.deleted",
            delete_project,
        )
        .described(describe_delete_project)
        .reserving(SMALL),
    ]
}

pub(super) fn project_id(request: &Request) -> Result<ProjectId> {
    ProjectId::new(request.param(0)?).ok_or_else(|| Error::invalid("$.projectId", ProjectId::RULE))
}

async fn list_projects(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let reply = part(&conditions, &request, catalog, Part::Projects).await?;
    Ok(reply.stale(staleness))
}

async fn get_project(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.project(id).ok_or_else(|| no_project(id))?;
    let reply = || document(&found.text);
    Ok(request
        .answer(found.text.etag().clone(), reply)
        .stale(staleness))
}

async fn get_restrictions(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.project(id).ok_or_else(|| no_project(id))?;
    let project = Arc::clone(found);
    request.reserve(SMALL + project.text.size()).await?;
    let restrictions = if project.text.size() > INLINE {
        let read = move |_: &App| project.restrictions();
        conditions.app.run_blocking(read).await??
    } else {
        project.restrictions()?
    };
    let reply = || Reply::json(StatusCode::OK, restrictions);
    Ok(request
        .answer(found.text.etag().clone(), reply)
        .stale(staleness))
}

pub(super) fn no_project(id: ProjectId) -> Error {
    Error::missing(PROJECT_NOT_FOUND, id)
}

async fn put_project(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let id = project_id(&request)?;
    let tenant = &request.caller()?.tenant;
    let editor = editor(&request)?;
    let replaced = conditions.bytes_of_project(tenant, id).await?;
    request.reserve(SMALL + 2 * replaced).await?;
    let put = conditions.put_project(tenant, id, request.body.clone(), &editor);
    let (put, project) = put.await?;
    let (reply, line) = written(Owner::Tenant(tenant), &id, editor, put, &project.text);
    Ok(reply.audited_if(line))
}

async fn delete_project(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let id = project_id(&request)?;
    let tenant = &request.caller()?.tenant;
    let editor = editor(&request)?;
    let replaced = conditions.bytes_of_project(tenant, id).await?;
    request.reserve(SMALL + 2 * replaced).await?;
    let deleted = conditions.delete_project(tenant, id, &editor);
    let (owner, before) = (Owner::Tenant(tenant), Some(deleted.await?));
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line(owner, &id, editor, before, None)))
}

/// Adds the project of the path to an operation.
pub(super) fn with_project_id(operation: Operation) -> Operation {
    operation.path("projectId", "The id of the project.", rules::project_id)
}

fn describe_list_projects() -> Operation {
    let operation = Operation::new("listProjects", Tag::Projects, "List the tenant's projects")
        .answers(200, "The projects", rules::projects);
    operation.may_be_stale().with_entity_tag()
}

fn describe_get_project() -> Operation {
    let operation = with_project_id(Operation::new("getProject", Tag::Projects, "Get a project"))
        .answers(200, "The project", rules::project);
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(&[PROJECT_NOT_FOUND])
}

fn describe_get_restrictions() -> Operation {
    let operation = with_project_id(Operation::new(
        "getRestrictions",
        Tag::Projects,
        "Get the restrictions of a project",
    ))
    .answers(200, "The restrictions", rules::restrictions);
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(&[PROJECT_NOT_FOUND])
}

fn describe_put_project() -> Operation {
    with_project_id(Operation::new("putProject", Tag::Projects, "Create or replace a project"))
        .says("Restrictions with the same type and property that are not exclusive form one check over all their values. Tests run before anything is stored. Without `tests`, the stored ones are kept and run too; an empty list removes them.")
        .query(&FAILING_TESTS)
        .with_note()
        .takes(rules::project_put)
        .answers(200, "The project was replaced", rules::project)
        .answers(201, "The project was created", rules::project)
        .with_preconditions()
        .refuses(&[TESTS_FAILED, QUOTA_EXCEEDED])
}

fn describe_delete_project() -> Operation {
    with_project_id(Operation::new(
        "deleteProject",
        Tag::Projects,
        "Delete a project",
    ))
    .with_note()
    .empty(204, "The project was deleted")
    .with_preconditions()
    .refuses(&[PROJECT_NOT_FOUND])
}
