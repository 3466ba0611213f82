//! Projects and their restrictions.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::PROJECT_NOT_FOUND;
use tillgate_engine::restriction::ProjectId;

use super::described;
use super::{catalog, document, editor, line, part, written};
use crate::app::App;
use crate::conditions::{Conditions, INLINE, Owner, Part};
use crate::error::{Error, Result};
use crate::http::{Access, Audited, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

/// The largest body of a project: room for as many values of as many bytes as it may have.
const MAX_PROJECT: usize = 32 << 20;

/// The bytes that are reserved before the size of the project is known.
const SMALL: usize = 64 << 10;

const PROJECT: &str = "/api/v1/projects/{projectId}";

/// The routes of projects.
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
        .described(described::list_projects),
        Route::new(
            Method::GET,
            PROJECT,
            Access::With(P::ProjectRead),
            none,
            get_project,
        )
        .described(described::get_project),
        Route::new(
            Method::GET,
            "/api/v1/projects/{projectId}/restrictions",
            Access::With(P::ProjectRead),
            none,
            get_restrictions,
        )
        .described(described::get_restrictions)
        .reserving(SMALL),
        Route::changing(
            Method::PUT,
            PROJECT,
            Access::With(P::ProjectWrite),
            Takes::Json(MAX_PROJECT),
            "project.put",
            put_project,
        )
        .described(described::put_project)
        .reserving(SMALL),
        Route::changing(
            Method::DELETE,
            PROJECT,
            Access::With(P::ProjectWrite),
            none,
            "project.deleted",
            delete_project,
        )
        .described(described::delete_project)
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
    let restrictions = match project.text.size() > INLINE {
        true => {
            let read = move |_: &App| project.restrictions();
            conditions.app.run_blocking(read).await??
        }
        false => project.restrictions()?,
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
