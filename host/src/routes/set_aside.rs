//! Jobs that were set aside, for operators. `tillgate jobs` asks for them. What a job was to do is never answered.

use std::sync::Arc;

use ::http::{Method, StatusCode};

use super::described;
use crate::app::App;
use crate::error::Result;
use crate::http::{Access, Audited, Query, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::jobs::set_aside::{SetAside, SetAsideId, discard, list, no_job, retry};
use crate::observe::audit::Line;

const ALL: &str = "/v1/jobs/set-aside";
const ONE: &str = "/v1/jobs/set-aside/{jobId}";
const RETRY: &str = "/v1/jobs/set-aside/{jobId}/retry";

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<App>>> {
    let none = Takes::Nothing;
    let (read, write) = (Access::With(P::JobsRead), Access::With(P::JobsWrite));
    vec![
        // It looks at one partition after another.
        Route::new(Method::GET, ALL, read, none, list_jobs)
            .heavy()
            .described(described::list_set_aside),
        Route::changing(Method::POST, RETRY, write, none, "job.retried", retry_job)
            .described(described::retry_set_aside),
        Route::changing(Method::DELETE, ONE, write, none, "job.dropped", drop_job)
            .described(described::drop_set_aside),
    ]
}

async fn list_jobs(app: Arc<App>, request: Request) -> Result<Reply> {
    let mut query = Query::of(&request);
    let after = query.cursor(|cursor| cursor.parse().ok());
    let limit = query.limit();
    query.faults.none_or_error()?;
    let page = list(&app.store, after, limit).await?;
    Reply::of(StatusCode::OK, &page)
}

/// Another host may take it: it is accepted, and not done yet.
async fn retry_job(app: Arc<App>, request: Request) -> Result<Audited> {
    let job = retry(&app.store, &id_of(&request)?, app.clock.now()).await?;
    Ok(Reply::of(StatusCode::ACCEPTED, &job)?.audited(line(job)))
}

async fn drop_job(app: Arc<App>, request: Request) -> Result<Audited> {
    let job = discard(&app.store, &id_of(&request)?).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line(job)))
}

fn id_of(request: &Request) -> Result<SetAsideId> {
    let id = request.param(0)?;
    id.parse().map_err(|()| no_job(id))
}

fn line(job: SetAside) -> Line {
    Line {
        tenant: job.tenant_id,
        queue: Some(job.queue),
        id: Some(job.job),
        ..Line::default()
    }
}
