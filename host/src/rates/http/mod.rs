//! The routes of exchange rates (`rates.md`, `given.md` 4.3): those of business units and the rates that are set at them
//! in `units.rs`, the topic in `topic.rs`, reference rates in `import.rs`; reading and converting here.

mod import;
mod topic;
mod units;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use tillgate_engine::rate::{Currency, Invalid, Pair, RateKey, RateType};
use uuid::Uuid;

use super::units::unit::ID_RULE;
use super::{Edited, Editor, Question, Rates, UnitId, body};
use crate::clock::Timestamp;
use crate::data::etag;
use crate::error::{Error, Result};
use crate::http::{Access, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

/// How many values of the history are answered at once, without a limit and at most.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// The most characters of the name of who set a rate.
const MAX_NAME: usize = 256;

/// The routes.
pub fn routes() -> Vec<Route<Arc<Rates>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read = Access::With(P::RateRead);
    let mut routes = vec![
        Route::new(Method::GET, "/api/v1/exchange-rates", read, none, used),
        Route::new(
            Method::GET,
            "/api/v1/exchange-rates/history",
            read,
            none,
            history,
        ),
        Route::new(
            Method::POST,
            "/api/v1/exchange-rates/convert",
            read,
            json,
            convert,
        ),
        Route::new(
            Method::GET,
            "/api/v1/exchange-rates/changes/{correlationId}",
            read,
            none,
            change,
        ),
    ];
    routes.extend(units::routes());
    routes.extend(topic::routes());
    routes.extend(import::routes());
    routes
}

async fn used(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let id = unit_of_query(&request, "businessUnit")?;
    let used = rates.used(&request.caller()?.tenant, &id).await?;
    Ok(tagged(&request, used))
}

async fn convert(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let conversion = body::conversion(&request.body)?;
    let converted = rates.convert(&request.caller()?.tenant, &conversion).await;
    Ok(Reply::json(StatusCode::OK, converted?))
}

async fn change(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let correlation = Uuid::try_parse(request.param(0)?)
        .map_err(|_| Error::NotFound("no change has this correlation id".to_owned()))?;
    let change = rates.change(&request.caller()?.tenant, correlation).await?;
    Reply::of(StatusCode::OK, &change)
}

async fn history(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let question = question(&rates, &request)?;
    let values = rates.history(&request.caller()?.tenant, &question).await?;
    Reply::of(StatusCode::OK, &values)
}

/// What the query asks of the history; every fault of it is named.
fn question(rates: &Rates, request: &Request) -> Result<Question> {
    let mut faults = Faults::default();
    let required = |name| request.query_param(name).unwrap_or_default();
    let unit = faults.check("businessUnit", unit_id(&required("businessUnit")));
    let key = rate_key(
        [
            ("type", &required("type")),
            ("from", &required("from")),
            ("to", &required("to")),
        ],
        &mut faults,
    );
    let (clock, kept) = (&rates.app.clock, rates.app.config.rates.history_retention);
    let earliest = clock.now().minus(kept);
    let since = request.query_param("since").map(|since| time(&since));
    let since = faults.check("since", since.unwrap_or(Ok(earliest)));
    let cursor = request.query_param("cursor").map(|cursor| {
        let at = cursor.parse().map(Timestamp);
        at.map_err(|_| "must be a cursor that was answered")
    });
    let cursor = faults.check("cursor", cursor.transpose());
    let limit = request.query_param("limit").map_or(Ok(LIMIT), |limit| {
        let limit = limit.parse().ok();
        let limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or("must be 1 to 1000")
    });
    let limit = faults.check("limit", limit);
    let (Some(unit), Some(key), Some(since), Some(cursor), Some(limit)) =
        (unit, key, since, cursor, limit)
    else {
        return Err(faults.into_error());
    };
    Ok(Question {
        unit,
        key,
        since: cursor.unwrap_or(since).max(earliest),
        goes_on: cursor.is_some(),
        limit,
    })
}

/// A time, or the beginning of a day in UTC.
fn time(text: &str) -> Result<Timestamp, &'static str> {
    let whole = match text.parse::<jiff::civil::Date>() {
        Ok(date) if text.len() == 10 => format!("{date}T00:00:00Z"),
        _ => text.to_owned(),
    };
    let at: Option<jiff::Timestamp> = whole.parse().ok();
    let micros = at.and_then(|at| u64::try_from(at.as_microsecond()).ok());
    micros
        .map(Timestamp)
        .ok_or("must be a date or a time such as 2026-11-20T17:40:00Z")
}

/// Faults of a path or a query.
#[derive(Debug, Default)]
struct Faults(Vec<tillgate_engine::Fault>);

impl Faults {
    fn check<T>(&mut self, name: &str, read: Result<T, impl ToString>) -> Option<T> {
        read.map_err(|message| {
            self.0.push(tillgate_engine::Fault {
                path: format!("$.{name}"),
                message: message.to_string().into(),
            });
        })
        .ok()
    }

    fn into_error(self) -> Error {
        Error::Invalid(self.0)
    }
}

/// A rate's key in three texts with their names.
fn rate_key(texts: [(&str, &str); 3], faults: &mut Faults) -> Option<RateKey> {
    let [(type_name, rate_type), (from_name, from), (to_name, to)] = texts;
    let rate_type = faults.check(type_name, RateType::parse(rate_type));
    let from = faults.check(from_name, Currency::parse(from));
    let to = faults.check(to_name, Currency::parse(to));
    let pair = Pair::new(from?, to?).map_err(|_: Invalid| format!("must differ from {from_name}"));
    let pair = faults.check(to_name, pair);
    Some(RateKey {
        rate_type: rate_type?,
        pair: pair?,
    })
}

fn unit_id(text: &str) -> Result<UnitId, &'static str> {
    UnitId::new(text).ok_or(ID_RULE)
}

/// The unit that a parameter of the query names.
fn unit_of_query(request: &Request, name: &str) -> Result<UnitId> {
    let text = request.query_param(name);
    let text = text.ok_or_else(|| Error::invalid(format!("$.{name}"), "is required"))?;
    unit_id(&text).map_err(|rule| Error::invalid(format!("$.{name}"), rule))
}

/// Who asks for a change; whether it is dry.
fn editor(request: &Request) -> Result<Editor<'_>> {
    let caller = request.caller()?;
    Ok(Editor {
        tenant: &caller.tenant,
        by: name_of(&caller.subject),
        correlation: request.correlation,
        dry_run: flag(request, "dryRun")?,
    })
}

/// The name of who set a rate: a user's may be longer than a rate carries.
fn name_of(subject: &str) -> &str {
    let end = subject.char_indices().nth(MAX_NAME).map(|(at, _)| at);
    end.and_then(|end| subject.get(..end)).unwrap_or(subject)
}

/// A parameter of the query that is true or false.
fn flag(request: &Request, name: &str) -> Result<bool> {
    match request.query_param(name).as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Error::invalid(format!("$.{name}"), "must be true or false")),
    }
}

/// The answer to an edit: what was made, or what it would publish.
fn edited<T>(edited: Edited<T>, made: impl FnOnce(T) -> Result<Reply>) -> Result<Reply> {
    match edited {
        Edited::Made(done) => made(done),
        Edited::Dry(dry) => Reply::of(StatusCode::OK, &dry),
    }
}

/// The answer to a GET: JSON with its entity tag, or 304 when the caller has it.
fn tagged(request: &Request, json: Bytes) -> Reply {
    let etag = etag::of_text(&json);
    let reply = if request.has(&etag) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        Reply::json(StatusCode::OK, json)
    };
    reply.tagged(etag)
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
