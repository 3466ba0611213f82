//! The routes of exchange rates (`rates.md`, `given.md` 4.3): those of business units and the rates that are set at them
//! in `units.rs`, the topic in `topic.rs`, reference rates in `import.rs`; reading and converting here. Paths and queries
//! are read in `query.rs`, bodies in `rates/body.rs`.

mod described;
mod import;
mod query;
mod schema;
mod topic;
mod units;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use tillgate_api::read;
use uuid::Uuid;

use self::query::{history_query, unit_of_query};
pub(crate) use self::schema::{topic_event, topic_reset};
use super::change::progress;
use super::shop::{history_page, used};
use super::{Edited, Editor, Rates, body};
use crate::data::etag;
use crate::error::{Error, Result};
use crate::http::{Access, Audited, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

/// The most characters of the name of who set a rate.
const MAX_NAME: usize = 256;

/// The routes.
pub fn routes() -> Vec<Route<Arc<Rates>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read = Access::With(P::RateRead);
    let mut routes = vec![
        Route::new(Method::GET, "/api/v1/exchange-rates", read, none, used)
            .described(described::used),
        Route::new(
            Method::GET,
            "/api/v1/exchange-rates/history",
            read,
            none,
            history,
        )
        .described(described::history),
        Route::new(
            Method::POST,
            "/api/v1/exchange-rates/convert",
            read,
            json,
            convert,
        )
        .described(described::convert)
        .unaudited("a conversion changes nothing"),
        Route::new(
            Method::GET,
            "/api/v1/exchange-rates/changes/{correlationId}",
            read,
            none,
            change,
        )
        .described(described::change),
    ];
    routes.extend(units::routes());
    routes.extend(topic::routes());
    routes.extend(import::routes());
    routes
}

async fn used(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let id = unit_of_query(&request, "businessUnit")?;
    let reading = rates.reading(&request.caller()?.tenant);
    let used = used::used_rates(&reading, &id).await?;
    let json = || Reply::json(StatusCode::OK, used.json().clone());
    Ok(request.answer(used.etag().clone(), json))
}

async fn convert(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let conversion = read(&request.body, body::conversion)?;
    let reading = rates.reading(&request.caller()?.tenant);
    let converted = used::convert(&reading, &conversion).await?;
    Ok(Reply::json(StatusCode::OK, converted))
}

async fn change(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let correlation = request.param(0)?;
    let correlation = Uuid::try_parse(correlation).map_err(|_| progress::no_change(correlation))?;
    let records = rates.records(&request.caller()?.tenant);
    Reply::of(
        StatusCode::OK,
        &progress::answer(&records, correlation).await?,
    )
}

async fn history(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let query = history_query(&rates, &request)?;
    let reading = rates.reading(&request.caller()?.tenant);
    let page = history_page::page(&reading, &query).await?;
    Reply::of(StatusCode::OK, &page)
}

/// Who changes something, whether that is a dry run, and whether rates may move by more than their tolerance.
fn editor(request: &Request) -> Result<Editor<'_>> {
    let caller = request.caller()?;
    Ok(Editor {
        tenant: &caller.tenant,
        by: name_of(&caller.subject),
        name: caller.name.as_ref(),
        note: request.note()?,
        correlation: request.correlation,
        dry_run: request.flag("dryRun")?,
        accept_deviation: request.flag("acceptDeviation")?,
    })
}

/// The name of who set a rate: a user's may be longer than a rate carries.
fn name_of(subject: &str) -> &str {
    let end = subject.char_indices().nth(MAX_NAME).map(|(at, _)| at);
    end.and_then(|end| subject.get(..end)).unwrap_or(subject)
}

/// The answer to an edit: what was made, or what it would publish.
fn edited<T>(edited: Edited<T>, made: impl FnOnce(T) -> Result<Reply>) -> Result<Audited> {
    match edited {
        Edited::Made(done, line) => Ok(made(done)?.audited_if(line)),
        Edited::Dry(dry, _) => Ok(Reply::of(StatusCode::OK, &dry)?.unchanged()),
    }
}

/// The answer to a GET of JSON whose entity tag has still to be made.
fn tagged(request: &Request, json: Bytes) -> Reply {
    let etag = etag::of_text(&json);
    request.answer(etag, || Reply::json(StatusCode::OK, json))
}

/// `{ correlationId }` and more.
fn with_correlation(request: &Request, more: &impl Serialize) -> Result<Reply> {
    let mut answer = json!({ "correlationId": request.correlation });
    let more = serde_json::to_value(more).map_err(|cause| Error::Bug(cause.to_string()))?;
    if let (Some(answer), serde_json::Value::Object(more)) = (answer.as_object_mut(), more) {
        answer.extend(more);
    }
    Reply::of(StatusCode::OK, &answer)
}
