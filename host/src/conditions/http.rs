//! The routes of conditions, projects, decisions and the catalog (`conditions.md`, `given.md` 4.2).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderName, HeaderValue, Method, StatusCode};
use futures_util::stream;
use tillgate_engine::condition::ConditionId;
use tillgate_engine::restriction::ProjectId;
use tokio::sync::watch;
use uuid::Uuid;
use warp::Reply as _;
use warp::sse::Event;

use super::{Owner, Sight, StoredProject, Tenant};
use crate::app::App;
use crate::engine::MODULE_SHA256;
use crate::error::{Error, Result};
use crate::etag::{Etag, Written};
use crate::http::reply::status_of;
use crate::http::{Access, MAX_BODY, Reply, Request, Route, Takes};
use crate::tokens::permission::Permission as P;

/// `Tillgate-Engine`: the SHA-256 of the module that decided.
const ENGINE: HeaderName = HeaderName::from_static("tillgate-engine");

/// The largest body of a project: room for as many values of as many bytes as it may have.
const MAX_PROJECT: usize = 32 << 20;

/// Requests larger than this are decided off the threads that serve.
const INLINE: usize = 64 << 10;

/// And so are those whose bytes times the bytes of the largest project are more than this: what takes long there is
/// preparing the project, and in a basket each item by each restriction.
const INLINE_PROJECT: usize = 1 << 29;
const INLINE_BASKET: usize = 1 << 22;

/// How often an event stream asks whether its caller still may listen, and after how many times it says that it is there.
const LOOK: Duration = Duration::from_millis(500);
const LOOKS_PER_HEARTBEAT: u32 = 30;

const CONDITION: &str = "/api/v1/entity-conditions/{id}";
const GLOBAL_CONDITION: &str = "/api/v1/global-entity-conditions/{id}";
const PROJECT: &str = "/api/v1/projects/{projectId}";

/// The routes.
pub fn routes() -> Vec<Route> {
    let json = Takes::Json(MAX_BODY);
    let none = Takes::Nothing;
    vec![
        Route::new(
            Method::POST,
            "/api/v1/conditions/{conditionId}/evaluate",
            Access::With(P::ConditionEvaluate),
            json,
            evaluate_condition,
        ),
        Route::new(
            Method::POST,
            "/api/v1/project-restrictions/evaluate",
            Access::Either(&[P::ConditionEvaluate, P::ProjectRestrictionEvaluate]),
            json,
            evaluate_project,
        ),
        Route::new(
            Method::POST,
            "/api/v1/evaluations",
            Access::With(P::ConditionEvaluate),
            json,
            evaluate_basket,
        ),
        Route::new(
            Method::GET,
            "/api/v1/entity-conditions",
            Access::With(P::ConditionRead),
            none,
            list_conditions,
        ),
        Route::new(
            Method::GET,
            CONDITION,
            Access::With(P::ConditionRead),
            none,
            get_condition,
        ),
        Route::new(
            Method::PUT,
            CONDITION,
            Access::With(P::ConditionWrite),
            json,
            put_own,
        ),
        Route::new(
            Method::DELETE,
            CONDITION,
            Access::With(P::ConditionDelete),
            none,
            delete_own,
        ),
        Route::new(
            Method::PUT,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            json,
            put_global,
        ),
        Route::new(
            Method::DELETE,
            GLOBAL_CONDITION,
            Access::With(P::GlobalConditionWrite),
            none,
            delete_global,
        ),
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
        Route::new(
            Method::PUT,
            PROJECT,
            Access::With(P::ProjectWrite),
            Takes::Json(MAX_PROJECT),
            put_project,
        ),
        Route::new(
            Method::DELETE,
            PROJECT,
            Access::With(P::ProjectWrite),
            none,
            delete_project,
        ),
        Route::new(
            Method::GET,
            "/api/v1/catalog",
            Access::All(&[P::ConditionRead, P::ProjectRead]),
            none,
            get_catalog,
        ),
        Route::new(
            Method::GET,
            "/api/v1/catalog/changes",
            Access::All(&[P::ConditionRead, P::ProjectRead]),
            none,
            follow_catalog,
        )
        .giving("text/event-stream"),
    ]
}

async fn sight(app: &App, request: &Request) -> Result<Arc<Sight>> {
    let tenant = app.conditions.tenant(&request.caller()?.tenant).await?;
    Ok(tenant.sight())
}

fn condition_id(request: &Request) -> Result<ConditionId> {
    ConditionId::new(request.param(0)?)
        .ok_or_else(|| Error::invalid("$.conditionId", ConditionId::RULE))
}

fn project_id(request: &Request) -> Result<ProjectId> {
    ProjectId::new(request.param(0)?).ok_or_else(|| Error::invalid("$.projectId", ProjectId::RULE))
}

/// The answer to a GET: the body, or that the caller has it already.
fn tagged(request: &Request, etag: &Etag, body: &bytes::Bytes) -> Reply {
    let reply = if request.has(etag) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        Reply::json(StatusCode::OK, body.clone())
    };
    reply.tagged(etag.clone())
}

/// The answer to a PUT.
fn written(written: Written, etag: &Etag, body: &bytes::Bytes) -> Reply {
    Reply::json(status_of(written), body.clone()).tagged(etag.clone())
}

async fn evaluate_condition(app: Arc<App>, request: Request) -> Result<Reply> {
    let id = request.param(0)?;
    if !ConditionId::is_id(id) {
        return Err(Error::invalid("$.conditionId", ConditionId::RULE));
    }
    let sight = sight(&app, &request).await?;
    let decided = super::evaluate_condition(&app.decider, &sight, id, &request.body);
    Ok(decision(decided, request.correlation))
}

async fn evaluate_project(app: Arc<App>, request: Request) -> Result<Reply> {
    evaluate(app, request, super::evaluate_project, INLINE_PROJECT).await
}

async fn evaluate_basket(app: Arc<App>, request: Request) -> Result<Reply> {
    evaluate(app, request, super::evaluate_basket, INLINE_BASKET).await
}

type Evaluate = fn(&crate::engine::Decider, &Sight, &[u8]) -> Result<bytes::Bytes>;

/// Decides here and now, unless that would keep others waiting.
async fn evaluate(
    app: Arc<App>,
    request: Request,
    evaluate: Evaluate,
    inline: usize,
) -> Result<Reply> {
    let sight = sight(&app, &request).await?;
    let size = request.body.len();
    let long = size > INLINE || size.saturating_mul(sight.largest_project()) > inline;
    let correlation = request.correlation;
    let decided = if long {
        app.aside(move |app| evaluate(&app.decider, &sight, &request.body))
            .await?
    } else {
        evaluate(&app.decider, &sight, &request.body)
    };
    Ok(decision(decided, correlation))
}

/// What the module answered, and which module it was; a refusal is its answer too.
fn decision(decided: Result<bytes::Bytes>, correlation: Uuid) -> Reply {
    let reply = match decided {
        Ok(decided) => Reply::json(StatusCode::OK, decided),
        Err(error) => Reply::error(&error, correlation),
    };
    reply.with(ENGINE, HeaderValue::from_static(MODULE_SHA256))
}

async fn list_conditions(app: Arc<App>, request: Request) -> Result<Reply> {
    let sight = sight(&app, &request).await?;
    Ok(tagged(&request, &sight.etag, sight.list()))
}

async fn get_condition(app: Arc<App>, request: Request) -> Result<Reply> {
    let id = condition_id(&request)?;
    let sight = sight(&app, &request).await?;
    let found = sight.condition(&id);
    let found = found.ok_or_else(|| Error::NotFound("no condition has this id".to_owned()))?;
    Ok(tagged(&request, &found.etag, &found.json))
}

async fn put_own(app: Arc<App>, request: Request) -> Result<Reply> {
    let tenant = &request.caller()?.tenant;
    put_condition(&app, &request, Owner::Tenant(tenant)).await
}

async fn put_global(app: Arc<App>, request: Request) -> Result<Reply> {
    put_condition(&app, &request, Owner::Platform).await
}

async fn put_condition(app: &App, request: &Request, owner: Owner<'_>) -> Result<Reply> {
    let id = condition_id(request)?;
    let preconditions = request.preconditions();
    let put = app
        .conditions
        .put_condition(owner, id, &request.body, &preconditions);
    let (outcome, stored) = put.await?;
    Ok(written(outcome, &stored.etag, &stored.json))
}

async fn delete_own(app: Arc<App>, request: Request) -> Result<Reply> {
    let tenant = &request.caller()?.tenant;
    delete_condition(&app, &request, Owner::Tenant(tenant)).await
}

async fn delete_global(app: Arc<App>, request: Request) -> Result<Reply> {
    delete_condition(&app, &request, Owner::Platform).await
}

async fn delete_condition(app: &App, request: &Request, owner: Owner<'_>) -> Result<Reply> {
    let id = condition_id(request)?;
    app.conditions
        .delete_condition(owner, &id, &request.preconditions())
        .await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn list_projects(app: Arc<App>, request: Request) -> Result<Reply> {
    let sight = sight(&app, &request).await?;
    Ok(tagged(&request, &sight.etag, sight.projects()))
}

async fn get_project(app: Arc<App>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let sight = sight(&app, &request).await?;
    let found = sight.project(id).ok_or_else(no_project)?;
    Ok(tagged(&request, &found.etag, found.json()))
}

async fn get_restrictions(app: Arc<App>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let sight = sight(&app, &request).await?;
    let found = sight.project(id).ok_or_else(no_project)?;
    Ok(tagged(&request, &found.etag, &found.restrictions()?))
}

fn no_project() -> Error {
    Error::NotFound("no project has this id".to_owned())
}

async fn put_project(app: Arc<App>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let body = request.body.clone();
    let read = move |_: &App| StoredProject::from_put(id, &body);
    let project = if request.body.len() > INLINE {
        app.aside(read).await??
    } else {
        read(&app)?
    };
    let put = app.conditions.put_project(tenant, &project, &preconditions);
    let outcome = put.await?;
    Ok(written(outcome, &project.etag, project.json()))
}

async fn delete_project(app: Arc<App>, request: Request) -> Result<Reply> {
    let id = project_id(&request)?;
    let tenant = &request.caller()?.tenant;
    app.conditions
        .delete_project(tenant, id, &request.preconditions())
        .await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn get_catalog(app: Arc<App>, request: Request) -> Result<Reply> {
    let sight = sight(&app, &request).await?;
    Ok(tagged(&request, &sight.etag, sight.catalog()))
}

/// A stream that says the digest now and whenever it changes, for as long as the caller may listen.
async fn follow_catalog(app: Arc<App>, request: Request) -> Result<Reply> {
    let tenant = app.conditions.tenant(&request.caller()?.tenant).await?;
    let listener = Listener {
        watches: tenant.watches(),
        ending: app.ending(),
        told: String::new(),
        headers: request.headers,
        tenant,
        app,
    };
    let events = stream::unfold(listener, |mut listener| async {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>(event), listener))
    });
    Ok(Reply::stream(warp::sse::reply(events).into_response()))
}

struct Listener {
    app: Arc<App>,
    tenant: Arc<Tenant>,
    watches: [watch::Receiver<()>; 2],
    ending: watch::Receiver<bool>,
    headers: ::http::HeaderMap,
    told: String,
}

impl Listener {
    async fn next(&mut self) -> Option<Event> {
        let mut looks = 0;
        loop {
            self.may_listen().await.ok()?;
            let sight = self.tenant.sight();
            if sight.digest != self.told {
                self.told.clone_from(&sight.digest);
                let data = format!("{{\"digest\":\"{}\"}}", sight.digest);
                return Some(Event::default().id(sight.digest.clone()).data(data));
            }
            let [global, own] = &mut self.watches;
            tokio::select! {
                changed = global.changed() => changed.ok()?,
                changed = own.changed() => changed.ok()?,
                _ = self.ending.wait_for(|ending| *ending) => return None,
                () = tokio::time::sleep(LOOK) => looks += 1,
            }
            if looks == LOOKS_PER_HEARTBEAT {
                return Some(Event::default().comment("still here"));
            }
        }
    }

    /// Asks again who is asking. As a task of its own, since a stream must be shareable between threads.
    async fn may_listen(&self) -> Result<()> {
        let (app, headers) = (Arc::clone(&self.app), self.headers.clone());
        let asked = tokio::spawn(async move {
            let caller = crate::http::caller::of(&app, &headers).await?;
            caller.may(P::ConditionRead)?;
            caller.may(P::ProjectRead)
        });
        asked.await.map_err(|cause| Error::Bug(cause.to_string()))?
    }
}
