//! Dead letters, for operators; `tillgate jobs` uses these routes. The body of a job is never answered.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::JOB_NOT_FOUND;
use tillgate_api::schema::schema_of;
use tillgate_base::app::App;
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_base::jobs::dead_letters::{
    DeadLetterAnswer, DeadLetterId, DeadLetterPage, discard, job_id, list, no_job, retry,
};
use tillgate_base::observe::audit::Line;
use tillgate_http::{
    Access, Audited, CURSOR_RULE, LIMIT, Operation, Query, QueryParameter, Reply, Request, Route,
    Tag, Takes,
};

const ALL: &str = "/v1/jobs/dead-letters";
const ONE: &str = "/v1/jobs/dead-letters/{jobId}";
const RETRY: &str = "/v1/jobs/dead-letters/{jobId}/retry";

const CURSOR: QueryParameter<DeadLetterId> =
    QueryParameter::cursor(job_id, |text| text.parse().map_err(|()| CURSOR_RULE));

pub(super) fn routes() -> Vec<Route<Arc<App>>> {
    let none = Takes::Nothing;
    let (read, write) = (Access::With(P::JobsRead), Access::With(P::JobsWrite));
    vec![
        // The list reads one partition after another.
        Route::new(Method::GET, ALL, read, none, list_jobs)
            .heavy()
            .described(describe_list),
        Route::changing(Method::POST, RETRY, write, none, "job.retried", retry_job)
            .described(describe_retry),
        Route::changing(Method::DELETE, ONE, write, none, "job.dropped", drop_job)
            .described(describe_drop),
    ]
}

async fn list_jobs(app: Arc<App>, request: Request) -> Result<Reply> {
    let mut query = Query::of(&request);
    let after = query.optional(&CURSOR);
    let limit = query.limit();
    query.faults.none_or_error()?;
    let page = list(&app.store, after, limit).await?;
    Reply::of(StatusCode::OK, &page)
}

/// Answers that the job is accepted but not yet done, because another host may take it.
async fn retry_job(app: Arc<App>, request: Request) -> Result<Audited> {
    let job = retry(&app.store, &id_of(&request)?, app.clock.now()).await?;
    Ok(Reply::of(StatusCode::ACCEPTED, &job)?.audited(line(job)))
}

async fn drop_job(app: Arc<App>, request: Request) -> Result<Audited> {
    let job = discard(&app.store, &id_of(&request)?).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line(job)))
}

fn id_of(request: &Request) -> Result<DeadLetterId> {
    let id = request.param(0)?;
    id.parse().map_err(|()| no_job(id))
}

fn line(job: DeadLetterAnswer) -> Line {
    Line {
        tenant: job.tenant_id,
        queue: Some(job.queue),
        id: Some(job.job),
        ..Line::default()
    }
}

fn describe_list() -> Operation {
    Operation::new(
        "listDeadLetters",
        Tag::Platform,
        "List the jobs that failed too often",
    )
    .says("The list contains the dead letters of all tenants and of the platform. A page may be empty and still have a `next`. The content of a job is not shown.")
    .query(&CURSOR)
    .query(&LIMIT)
    .answers(200, "A page of jobs", schema_of::<DeadLetterPage>)
}

fn describe_retry() -> Operation {
    with_job(Operation::new(
        "retryDeadLetter",
        Tag::Platform,
        "Retry a job that failed too often",
    ))
    .says("The job returns to its queue, where it replaces a job with the same id.")
    .answers(
        202,
        "The dead letter, whose job is tried again",
        schema_of::<DeadLetterAnswer>,
    )
}

fn describe_drop() -> Operation {
    with_job(Operation::new(
        "dropDeadLetter",
        Tag::Platform,
        "Drop a job that failed too often",
    ))
    .empty(204, "The job was dropped, and its work is not done")
}

fn with_job(operation: Operation) -> Operation {
    operation
        .path(
            "jobId",
            "The `id` of the dead letter, from the list.",
            job_id,
        )
        .refuses(&[JOB_NOT_FOUND])
}
