//! The routes of exchange rates (`rates.md`, `given.md` 4.3): business units are in `units.rs`, the rates that are set
//! at them in `set_rates.rs`, the topic in `topic.rs`, reference rates in `import.rs`, and reading and converting here.
//! `query.rs` reads paths and queries, `rates/body.rs` reads bodies.

mod import;
mod query;
mod set_rates;
mod topic;
mod units;

use std::sync::Arc;

use ::http::{Method, StatusCode};
use bytes::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use tillgate_api::problem::{
    BUSINESS_UNIT_NOT_FOUND, CHANGE_NOT_FOUND, QUOTA_EXCEEDED, RATE_DEVIATES, RATE_NOT_FOUND,
    TOO_MANY_RATES, TOO_MUCH_WAITING, UNIT_MISPLACED,
};
use tillgate_api::schema::{schema_of, uuid};
use tillgate_api::{describe, read};
use tillgate_base::data::etag;
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_http::{
    Access, Audited, LIMIT, MAX_BODY, Operation, QueryParameter, Reply, Request, Route, Tag, Takes,
};
use uuid::Uuid;

use self::query::{
    BUSINESS_UNIT, CURSOR, FROM, RATE_TYPE, SINCE, TO, history_query, unit_of_query,
};
use super::change::progress;
use super::shop::{history_page, used};
use super::units::rate_answers::UsedRateAnswer;
use super::units::unit::unit_id_schema;
use super::{DryRun, Edited, Editor, Rates, body};

/// Examples of request bodies, by operation id.
pub const EXAMPLES: &str = include_str!("examples.json");

/// The longest name of who set a rate, in characters.
const MAX_NAME: usize = 256;

/// Returns the routes.
pub fn routes() -> Vec<Route<Arc<Rates>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read = Access::With(P::RateRead);
    let mut routes = vec![
        Route::new(Method::GET, "/api/v1/exchange-rates", read, none, used)
            .described(describe_used),
        Route::new(
            Method::GET,
            "/api/v1/exchange-rates/history",
            read,
            none,
            history,
        )
        .described(describe_history),
        Route::new(
            Method::POST,
            "/api/v1/exchange-rates/convert",
            read,
            json,
            convert,
        )
        .described(describe_convert)
        .unaudited("a conversion changes nothing"),
        Route::new(
            Method::GET,
            "/api/v1/exchange-rates/changes/{correlationId}",
            read,
            none,
            change,
        )
        .described(describe_change),
    ];
    routes.extend(units::routes());
    routes.extend(set_rates::routes());
    routes.extend(topic::routes());
    routes.extend(import::routes());
    routes
}

async fn used(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let id = unit_of_query(&request)?;
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

/// Returns who makes a change, whether it is a dry run, and whether rates may move by more than their tolerance.
fn editor(request: &Request) -> Result<Editor<'_>> {
    let caller = request.caller()?;
    Ok(Editor {
        tenant: &caller.tenant,
        by: name_of(&caller.subject),
        name: caller.name.as_ref(),
        note: request.note()?,
        correlation: request.correlation,
        dry_run: request.flag(&DRY_RUN)?,
        accept_deviation: request.flag(&ACCEPT_DEVIATION)?,
    })
}

/// Shortens the name of who set a rate: a user's name may be longer than a rate can store.
fn name_of(subject: &str) -> &str {
    let end = subject.char_indices().nth(MAX_NAME).map(|(at, _)| at);
    end.and_then(|end| subject.get(..end)).unwrap_or(subject)
}

/// Returns the answer to an edit: its result, or what a dry run would publish.
fn edited<T>(edited: Edited<T>, made: impl FnOnce(T) -> Result<Reply>) -> Result<Audited> {
    match edited {
        Edited::Made(done, line) => Ok(made(done)?.audited_if(line)),
        Edited::Dry(dry, _) => Ok(Reply::of(StatusCode::OK, &dry)?.unchanged()),
    }
}

/// Returns the answer to a GET of JSON that has no entity tag yet.
fn tagged(request: &Request, json: Bytes) -> Reply {
    let etag = etag::of_text(&json);
    request.answer(etag, || Reply::json(StatusCode::OK, json))
}

const DRY_RUN: QueryParameter<bool> = QueryParameter::flag(
    "dryRun",
    "`true` to change nothing and answer 200 with what the change would publish.",
);
const ACCEPT_DEVIATION: QueryParameter<bool> = QueryParameter::flag(
    "acceptDeviation",
    "`true` to let rates move by more than their tolerance.",
);

fn with_unit_id(operation: Operation) -> Operation {
    operation.path(
        "businessUnitId",
        "The id of the business unit.",
        unit_id_schema,
    )
}

/// Adds what all changes have in common.
fn changing(operation: Operation) -> Operation {
    operation
        .query(&DRY_RUN)
        .query(&ACCEPT_DEVIATION)
        .with_note()
        .refuses(&[
            UNIT_MISPLACED,
            TOO_MANY_RATES,
            QUOTA_EXCEEDED,
            RATE_DEVIATES,
            TOO_MUCH_WAITING,
        ])
}

fn describe_used() -> Operation {
    Operation::new("listUsedRates", Tag::Rates, "List the rates that a business unit uses")
        .says("Returns both directions, sorted by type and currencies. For a company or group, it returns the rates that a shop directly below it would use.")
        .required_query(&BUSINESS_UNIT)
        .answers(200, "The rates", schema_of::<Vec<UsedRateAnswer<'_>>>)
        .with_entity_tag()
        .refuses(&[BUSINESS_UNIT_NOT_FOUND])
}

fn describe_history() -> Operation {
    Operation::new("getRateHistory", Tag::Rates, "Get the values of a rate that a business unit used over time")
        .says("A page may have fewer values than its `limit`, even none, and still have a `next`. `by` and `note` say who made the change that led to a value, and why. Values that a source of reference rates published have neither.")
        .required_query(&BUSINESS_UNIT)
        .required_query(&RATE_TYPE)
        .required_query(&FROM)
        .required_query(&TO)
        .reads_earlier_names(&["type", "from", "to"])
        .query(&SINCE)
        .query(&LIMIT)
        .query(&CURSOR)
        .answers(
            200,
            "The values, oldest first",
            schema_of::<history_page::HistoryPage>)
        .refuses(&[BUSINESS_UNIT_NOT_FOUND])
}

fn describe_convert() -> Operation {
    Operation::new("convertAmount", Tag::Rates, "Convert an amount")
        .changes_nothing()
        .says("Uses the rate of the business unit. The amount times the rate is rounded to the currency's minor unit, half away from zero.")
        .takes(
            |generator| describe(generator, body::conversion))
        .answers(200, "The converted amount and the rate that was applied", schema_of::<used::Converted<'_>>)
        .refuses(&[BUSINESS_UNIT_NOT_FOUND, RATE_NOT_FOUND])
}

fn describe_change() -> Operation {
    Operation::new(
        "getRateChange",
        Tag::Rates,
        "Get the progress of a change of rates",
    )
    .says("The progress is kept as long as the messages of the topic.")
    .path("correlationId", "The `Correlation-Id` of the change.", uuid)
    .answers(
        200,
        "The progress of the change",
        schema_of::<progress::ChangeAnswer>,
    )
    .refuses(&[CHANGE_NOT_FOUND])
}

/// Returns the schema of a change's answer or a dry run's, which have the same status.
fn or_dry_run<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let answer = schema_of::<T>(generator);
    let dry_run = schema_of::<DryRun>(generator);
    json_schema!({ "oneOf": [answer, dry_run] })
}
