//! Projects and their restrictions.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_engine::restriction::ProjectId;

use super::{catalog, document, line, part, tagged, written};
use crate::app::App;
use crate::conditions::{Conditions, INLINE, Owner, Part, StoredProject};
use crate::error::{Error, Result};
use crate::http::{Access, Audited, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

/// The largest body of a project: room for as many values of as many bytes as it may have.
const MAX_PROJECT: usize = 32 << 20;

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
        ),
        Route::new(
            Method::GET,
            PROJECT,
            Access::With(P::ProjectRead),
            none,
            get_project,
        ),
        Route::new(
            Method::GET,
            "/api/v1/projects/{projectId}/restrictions",
            Access::With(P::ProjectRead),
            none,
            get_restrictions,
        ),
        Route::changing(
            Method::PUT,
            PROJECT,
            Access::With(P::ProjectWrite),
            Takes::Json(MAX_PROJECT),
            "project.put",
            put_project,
        ),
        Route::changing(
            Method::DELETE,
            PROJECT,
            Access::With(P::ProjectWrite),
            none,
            "project.deleted",
            delete_project,
        ),
    ]
}

fn project_id(request: &Request) -> Result<ProjectId> {
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
    let found = catalog.project(id).ok_or_else(no_project)?;
    Ok(tagged(&request, &found.etag, || document(found.json())).stale(staleness))
}

async fn get_restrictions(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let found = catalog.project(id).ok_or_else(no_project)?;
    let project = Arc::clone(found);
    let restrictions = match project.json().len() > INLINE {
        true => {
            let read = move |_: &App| project.restrictions();
            conditions.app.run_blocking(read).await??
        }
        false => project.restrictions()?,
    };
    let reply = || Reply::json(StatusCode::OK, restrictions);
    Ok(tagged(&request, &found.etag, reply).stale(staleness))
}

fn no_project() -> Error {
    Error::NotFound("no project has this id".to_owned())
}

async fn put_project(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let id = project_id(&request)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let body = request.body.clone();
    let read = move || StoredProject::from_put(id, &body);
    let project = if request.body.len() > INLINE {
        conditions.app.run_blocking(move |_| read()).await??
    } else {
        read()?
    };
    let put = conditions.put_project(tenant, &project, &preconditions);
    let put = put.await?;
    let (owner, after) = (Owner::Tenant(tenant), Some(project.etag.clone()));
    let reply = written(put.written, &project.etag, project.json());
    Ok(reply.audited(line(owner, &id, put.before, after)))
}

async fn delete_project(conditions: Arc<Conditions>, request: Request) -> Result<Audited> {
    let id = project_id(&request)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let deleted = conditions.delete_project(tenant, id, &preconditions);
    let (owner, before) = (Owner::Tenant(tenant), Some(deleted.await?));
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line(owner, &id, before, None)))
}
