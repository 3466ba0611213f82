//! The routes of those who operate a host: whether it lives, whether it can decide, and its metrics. None needs a token, so
//! none says anything of tenants, servers or addresses. Metrics may be on an address of their own (`[metrics]`).

use std::sync::Arc;

use ::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use ::http::{HeaderValue, Method, StatusCode};
use bytes::Bytes;

use super::described;
use super::ready::Ready;
use crate::app::App;
use crate::error::Result;
use crate::http::{Access, Reply, Request, Route, Takes};
use crate::observe::metrics::{CONTENT_TYPE as OPEN_METRICS, MEDIA_TYPE};
use crate::observe::readiness::Status;

/// The routes of the address that everything is served on.
pub(super) fn routes(app: &App) -> Vec<Route<Arc<App>>> {
    match app.config.metrics.listen.is_empty() {
        true => own_routes(),
        false => probes(),
    }
}

/// The routes of the address that is for operators alone.
#[must_use]
pub(super) fn own_routes() -> Vec<Route<Arc<App>>> {
    let metrics = Route::new(
        Method::GET,
        "/metrics",
        Access::Public,
        Takes::Nothing,
        metrics,
    );
    let mut routes = probes();
    routes.push(metrics.giving(MEDIA_TYPE).described(described::metrics));
    routes
}

fn probes() -> Vec<Route<Arc<App>>> {
    let (access, takes) = (Access::Public, Takes::Nothing);
    vec![
        Route::new(Method::GET, "/healthz", access, takes, healthz).described(described::healthz),
        Route::new(Method::GET, "/readyz", access, takes, readyz).described(described::readyz),
    ]
}

/// The process answers. An orchestrator that restarts a host over this must not do so because a store is unavailable.
async fn healthz(_: Arc<App>, _: Request) -> Result<Reply> {
    let up = Bytes::from_static(br#"{"status":"up"}"#);
    Ok(uncached(Reply::json(StatusCode::OK, up)))
}

async fn readyz(app: Arc<App>, _: Request) -> Result<Reply> {
    let report = app.readiness.report();
    let status = match report.status {
        Status::Ready | Status::Degraded => StatusCode::OK,
        Status::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let ready = Ready {
        report: &report,
        store: &app.store_identity,
        roles: &app.config.roles,
    };
    Ok(uncached(Reply::of(status, &ready)?))
}

async fn metrics(app: Arc<App>, _: Request) -> Result<Reply> {
    let encode = async { app.run_blocking(|app| app.metrics.encode()).await? };
    let text = app.metrics.scrape(encode).await?;
    let reply = Reply::json(StatusCode::OK, text);
    Ok(uncached(reply.with(
        CONTENT_TYPE,
        HeaderValue::from_static(OPEN_METRICS),
    )))
}

fn uncached(reply: Reply) -> Reply {
    reply.with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}
