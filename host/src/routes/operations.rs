//! The routes for the operators of a host: whether it is alive, whether it can decide, and its metrics. They need no
//! token, so they reveal nothing about tenants, servers or addresses. Metrics may have an address of their own
//! (`[metrics]`).

use std::sync::Arc;

use ::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use ::http::{HeaderValue, Method, StatusCode};
use bytes::Bytes;
use schemars::{SchemaGenerator, json_schema};
use tillgate_api::problem::{INTERNAL, OVERLOADED};
use tillgate_api::schema::{schema_of, text};
use tillgate_base::app::App;
use tillgate_base::error::Result;
use tillgate_base::observe::metrics::{OPEN_METRICS, TEXT};
use tillgate_base::observe::readiness::Status;
use tillgate_http::{Access, Operation, Reply, Request, Route, Tag, Takes};

use super::ready::Ready;

/// The formats of metrics with their versions.
const OPEN_METRICS_1: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const TEXT_0_0_4: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Returns the routes of the main address.
pub(super) fn routes(app: &App) -> Vec<Route<Arc<App>>> {
    if app.config.metrics.listen.is_empty() {
        own_routes()
    } else {
        probes()
    }
}

/// Returns the routes of the address that is only for operators.
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
    let metrics = metrics.giving_what_is_preferred();
    routes.push(metrics.described(describe_metrics));
    routes
}

fn probes() -> Vec<Route<Arc<App>>> {
    let (access, takes) = (Access::Public, Takes::Nothing);
    vec![
        Route::new(Method::GET, "/healthz", access, takes, healthz).described(describe_healthz),
        Route::new(Method::GET, "/readyz", access, takes, readyz).described(describe_readyz),
    ]
}

/// Answers while the process runs. An orchestrator must not restart a host because a store is unavailable.
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

/// Prometheus asks for OpenMetrics, others for text. A client that asks for neither gets OpenMetrics.
async fn metrics(app: Arc<App>, request: Request) -> Result<Reply> {
    let expose = async { app.run_blocking(|app| app.metrics.expose()).await? };
    let exposition = app.metrics.scrape(expose).await?;
    let (body, content_type) = if request.prefers(TEXT, OPEN_METRICS) {
        (exposition.text, TEXT_0_0_4)
    } else {
        (exposition.open_metrics, OPEN_METRICS_1)
    };
    let reply = Reply::json(StatusCode::OK, body);
    Ok(uncached(reply.with(CONTENT_TYPE, content_type)))
}

fn uncached(reply: Reply) -> Reply {
    reply.with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

const UNCACHED: &str = "`no-store`.";

fn describe_healthz() -> Operation {
    let up = |_: &mut SchemaGenerator| {
        json_schema!({
            "type": "object", "required": ["status"], "properties": { "status": { "type": "string", "const": "up" } },
        })
    };
    Operation::new("getHealth", Tag::Operations, "Check that the host is alive")
        .says("An orchestrator may restart a host that does not answer. The answer says nothing about the store.")
        .answers(200, "The host is alive", up)
        .with_header("Cache-Control", UNCACHED)
}

fn describe_readyz() -> Operation {
    Operation::new(
        "getReadiness",
        Tag::Operations,
        "Check that the host can decide",
    )
    .says(
        "While the store is unavailable, the host decides from memory: it is `degraded`, and the answer is 200.",
    )
    .answers(200, "The host can decide", schema_of::<Ready<'_>>)
    .with_header("Cache-Control", UNCACHED)
    .answers(503, "The host cannot decide", schema_of::<Ready<'_>>)
    .with_header("Cache-Control", UNCACHED)
}

fn describe_metrics() -> Operation {
    Operation::new("getMetrics", Tag::Operations, "Get the metrics of the host")
        .says("`Accept` chooses the format. If it prefers neither or is missing, the answer is in OpenMetrics.")
        .answers_as(
            OPEN_METRICS,
            200,
            "The metrics, in OpenMetrics 1.0 or in the text format 0.0.4 of Prometheus",
            text)
        .or_answers_as(
            TEXT)
        .with_header("Cache-Control", UNCACHED)
        .refuses(&[INTERNAL, OVERLOADED])
}
