//! The routes of conditions, projects, decisions and the catalog (`conditions.md`, `given.md` 4.2). This file has the
//! catalog, and what the routes share.

mod conditions;
mod decision_log;
mod decisions;
mod findings;
mod history;
mod projects;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use futures_util::StreamExt;
use schemars::json_schema;
use tillgate_api::problem::QUOTA_EXCEEDED;
use tillgate_api::rules;
use tillgate_api::schema::text;
use tillgate_base::app::App;
use tillgate_base::data::encoded::{Encoded, MAX_WHOLE};
use tillgate_base::data::etag::{Etag, Written};
use tillgate_base::data::feed::Staleness;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, Permission as P};
use tillgate_base::observe::audit::Line;
use tillgate_http::reply::status_of;
use tillgate_http::{Access, Event, Operation, QueryParameter, Reply, Request, Route, Tag, Takes};

use super::{
    Conditions, Editor, INLINE, OnFailingTests, Owner, Part, Put, RuleJson, TenantCatalog,
};

/// Examples of the bodies of its operations, by the ids of operations.
pub const EXAMPLES: &str = include_str!("examples.json");

/// Returns the routes.
pub fn routes() -> Vec<Route<Arc<Conditions>>> {
    let none = Takes::Nothing;
    let mut routes = vec![
        Route::new(
            Method::GET,
            "/api/v1/catalog",
            Access::All(&[P::ConditionRead, P::ProjectRead]),
            none,
            get_catalog,
        )
        .described(describe_get_catalog),
        Route::new(
            Method::GET,
            "/api/v1/catalog/changes",
            Access::All(&[P::ConditionRead, P::ProjectRead]),
            none,
            catalog_changes,
        )
        .described(describe_catalog_changes)
        .giving("text/event-stream"),
    ];
    routes.extend(decisions::routes());
    routes.extend(conditions::routes());
    routes.extend(projects::routes());
    routes.extend(findings::routes());
    routes.extend(history::routes());
    routes.extend(decision_log::routes());
    routes
}

/// Returns what the caller's tenant sees, and how stale that is.
async fn catalog(
    conditions: &Conditions,
    request: &Request,
) -> Result<(Arc<TenantCatalog>, Staleness)> {
    let (tenant, staleness) = conditions.tenant(&request.caller()?.tenant).await?;
    Ok((tenant.catalog(), staleness))
}

/// Answers a part of the catalog, or 304 if the caller has it already.
async fn part(
    conditions: &Conditions,
    request: &Request,
    catalog: Arc<TenantCatalog>,
    part: Part,
) -> Result<Reply> {
    let etag = catalog.etag(part).clone();
    if request.has(&etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).tagged(etag));
    }
    let encoded = match catalog.encoded(part) {
        Some(encoded) => encoded,
        None if catalog.size_of(part) <= INLINE => catalog.encode(part),
        None => {
            let encode = move |_: &App| catalog.encode(part);
            conditions.app.run_blocking(encode).await?
        }
    };
    Ok(Reply::encoded(encoded).tagged(etag))
}

/// Answers a stored document. One that is too long to be compressed is in memory anyway, so it is sent in pieces.
fn document(text: &RuleJson) -> Reply {
    if text.size() > MAX_WHOLE {
        Reply::encoded(Encoded::of(text.pieces().collect(), text.size()))
    } else {
        Reply::json(StatusCode::OK, text.json())
    }
}

/// Reads who writes and what must hold before, for a write that has no dry run and refuses to be one.
fn editor(request: &Request) -> Result<Editor> {
    if request.flag(&DRY_RUN)? {
        return Err(Error::invalid(
            "$.dryRun",
            "has no effect here: nothing was changed",
        ));
    }
    editor_of_any(request)
}

/// Reads who writes and what must hold before, for a write that may be a dry run.
fn editor_of_any(request: &Request) -> Result<Editor> {
    Ok(Editor {
        by: By::caller(request.caller()?),
        note: request.note()?,
        preconditions: request.preconditions(),
        on_failing_tests: request
            .query(&FAILING_TESTS)?
            .unwrap_or(OnFailingTests::Refuse),
    })
}

/// Returns the line about a write for the audit log.
fn line(
    owner: Owner<'_>,
    id: &dyn std::fmt::Display,
    editor: Editor,
    before: Option<Etag>,
    after: Option<Etag>,
) -> Line {
    let tenant = match owner {
        Owner::Platform => None,
        Owner::Tenant(tenant) => Some(tenant.clone()),
    };
    Line {
        tenant,
        id: Some(id.to_string()),
        note: editor.note,
        before,
        after,
        ..Line::default()
    }
}

/// Returns the answer to a PUT, with a line for the audit log if it changed something.
fn written(
    owner: Owner<'_>,
    id: &dyn std::fmt::Display,
    editor: Editor,
    put: Put,
    text: &RuleJson,
) -> (Reply, Option<Box<Line>>) {
    let etag = text.etag();
    let reply = Reply::json(status_of(put.written), text.json()).tagged(etag.clone());
    if put.written == Written::Unchanged {
        return (reply, None);
    }
    let line = Line {
        failing_tests: Some(put.failing_tests).filter(|failing| *failing > 0),
        ..line(owner, id, editor, put.before, Some(etag.clone()))
    };
    (reply, Some(Box::new(line)))
}

/// The handling of a document whose tests fail.
const FAILING_TESTS: QueryParameter<OnFailingTests> = QueryParameter {
    name: "failingTests",
    about: "`accept` to store the condition or project even if its tests fail.",
    schema: |_| json_schema!({ "type": "string", "const": "accept" }),
    read: |text| match text {
        "accept" => Ok(OnFailingTests::Accept),
        _ => Err("must be accept"),
    },
};

/// The dry run of a change of a global condition.
const DRY_RUN: QueryParameter<bool> = QueryParameter::flag(
    "dryRun",
    "`true` to check without storing anything, and to answer 200 with the tenants and tests that the condition would concern.",
);

const TESTS: QueryParameter<bool> = QueryParameter::flag(
    "tests",
    "`true` to include the tests of conditions and projects. That answer has its own entity tag.",
);

async fn get_catalog(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (catalog, staleness) = catalog(&conditions, &request).await?;
    let of = if request.flag(&TESTS)? {
        Part::WithTests
    } else {
        Part::Whole
    };
    let reply = part(&conditions, &request, catalog, of).await?;
    Ok(reply.stale(staleness))
}

/// Streams the digest of the catalog, now and whenever it changes, for as long as the caller may listen.
async fn catalog_changes(conditions: Arc<Conditions>, request: Request) -> Result<Reply> {
    let (tenant, staleness) = conditions.tenant(&request.caller()?.tenant).await?;
    let stream = format!("catalog/{}", tenant.id());
    let events = || {
        tenant.catalogs().map(|catalog| Event {
            id: Arc::clone(catalog.digest()),
            data: format!("{{\"digest\":\"{}\"}}", catalog.digest()).into(),
        })
    };
    Ok(request.subscribe(&stream, events)?.stale(staleness))
}

fn describe_get_catalog() -> Operation {
    let operation = Operation::new(
        "getCatalog",
        Tag::Catalog,
        "Get the catalog, with everything that is needed to decide elsewhere",
    )
    .query(&TESTS)
    .answers(200, "The catalog", rules::catalog);
    operation.may_be_stale().with_entity_tag()
}

fn describe_catalog_changes() -> Operation {
    let operation = Operation::new("followCatalog", Tag::Catalog, "Follow the changes of the catalog")
        .says("An endless stream of server-sent events with the digest of the catalog, `{\"digest\"}`, now and after each change. A comment is sent every 15 seconds. A client that reads too slowly is disconnected, and gets the newest digest when it reconnects.")
        .answers_as(
            "text/event-stream",
            200,
            "An endless stream of events",
            text);
    operation.may_be_stale().refuses(&[QUOTA_EXCEEDED])
}
