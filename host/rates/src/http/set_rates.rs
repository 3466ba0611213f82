//! The routes of the rates that are set at a business unit.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::{BUSINESS_UNIT_NOT_FOUND, RATE_NOT_FOUND};
use tillgate_api::rate::{counted_currency, priced_currency, rate_type};
use tillgate_api::schema::{schema_of, uuid};
use tillgate_api::{describe, read};
use tillgate_base::data::etag;
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_engine::rate::RateKey;
use tillgate_http::reply::status_of;
use tillgate_http::{
    Access, Audited, Faults, MAX_BODY, Operation, Reply, Request, Route, Tag, Takes,
};
use uuid::Uuid;

use super::query::{rate_key, unit_id};
use super::units::{EDIT, ETAG, editing, unit_of};
use super::{changing, edited, or_dry_run, tagged, with_unit_id};
use crate::change::audit::CHANGED;
use crate::change::plan::RateCounts;
use crate::units::rate_answers::SetRateAnswer;
use crate::{DryRun, Rates, UnitId, body};

const RATES: &str = "/api/v1/business-units/{businessUnitId}/exchange-rates";
const RATE: &str = "/api/v1/business-units/{businessUnitId}/exchange-rates/{exchangeRateType}/{currencyIdFrom}/{currencyIdTo}";

/// The result of a change of many rates.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct RatesChanged {
    #[schemars(schema_with = "uuid")]
    correlation_id: Uuid,
    #[serde(flatten)]
    counts: RateCounts,
}

pub(super) fn routes() -> Vec<Route<Arc<Rates>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let (read, write) = (Access::With(P::RateRead), Access::With(P::RateWrite));
    vec![
        Route::new(Method::GET, RATES, read, none, list_rates).described(describe_list_rates),
        Route::changing(Method::POST, RATES, write, json, CHANGED, change_rates)
            .described(describe_change_rates)
            .heavy()
            .reserving(EDIT),
        Route::new(Method::GET, RATE, read, none, get_rate).described(describe_get_rate),
        Route::changing(Method::PUT, RATE, write, json, CHANGED, put_rate)
            .described(describe_put_rate)
            .heavy()
            .reserving(EDIT),
        Route::changing(Method::DELETE, RATE, write, none, CHANGED, delete_rate)
            .described(describe_delete_rate)
            .heavy()
            .reserving(EDIT),
    ]
}

/// Reads the unit and the rate that the path names.
fn rate_of(request: &Request) -> Result<(UnitId, RateKey)> {
    let mut faults = Faults::default();
    let unit = faults.check("businessUnitId", unit_id(request.param(0)?));
    let texts = [
        ("exchangeRateType", request.param(1)?),
        ("currencyIdFrom", request.param(2)?),
        ("currencyIdTo", request.param(3)?),
    ];
    let key = rate_key(texts, &mut faults);
    let (Some(unit), Some(key)) = (unit, key) else {
        return Err(faults.into_error());
    };
    Ok((unit, key))
}

async fn list_rates(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let id = unit_of(&request)?;
    let unit = rates.reading(&request.caller()?.tenant).unit(&id).await?;
    let (json, etag) = (unit.rates.json().clone(), unit.rates.etag().clone());
    Ok(request.answer(etag, || Reply::json(StatusCode::OK, json)))
}

async fn get_rate(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let (id, key) = rate_of(&request)?;
    let unit = rates.reading(&request.caller()?.tenant).unit(&id).await?;
    Ok(tagged(&request, unit.rate(key)?))
}

async fn put_rate(rates: Arc<Rates>, request: Request) -> Result<Audited> {
    let (id, key) = rate_of(&request)?;
    let rate = read(&request.body, |value| body::rate(value, Some(key)))?;
    let preconditions = request.preconditions();
    let editor = editing(&rates, &request, &[&id]).await?;
    let put = rates.put_rate(editor, &id, &rate, &preconditions);
    edited(put.await?, |(written, json)| {
        let etag = etag::of_text(&json);
        Ok(Reply::json(status_of(written), json).tagged(etag))
    })
}

async fn delete_rate(rates: Arc<Rates>, request: Request) -> Result<Audited> {
    let (id, key) = rate_of(&request)?;
    let preconditions = request.preconditions();
    let editor = editing(&rates, &request, &[&id]).await?;
    let delete = rates.delete_rate(editor, &id, key, &preconditions);
    edited(delete.await?, |()| Ok(Reply::empty(StatusCode::NO_CONTENT)))
}

async fn change_rates(rates: Arc<Rates>, request: Request) -> Result<Audited> {
    let id = unit_of(&request)?;
    let bulk = read(&request.body, body::bulk)?;
    let preconditions = request.preconditions();
    let editor = editing(&rates, &request, &[&id]).await?;
    let change = rates.change_rates(editor, &id, &bulk, &preconditions);
    edited(change.await?, |(counts, etag)| {
        let correlation_id = request.correlation;
        let changed = RatesChanged {
            correlation_id,
            counts,
        };
        Ok(Reply::of(StatusCode::OK, &changed)?.tagged(etag))
    })
}

fn with_rate(operation: Operation) -> Operation {
    with_unit_id(operation)
        .path("exchangeRateType", "The type of the rate.", rate_type)
        .path(
            "currencyIdFrom",
            "The currency that the rate is counted in.",
            counted_currency,
        )
        .path(
            "currencyIdTo",
            "The currency that is priced.",
            priced_currency,
        )
}

fn describe_list_rates() -> Operation {
    with_unit_id(Operation::new(
        "listSetRates",
        Tag::Rates,
        "List the rates that are set at a business unit",
    ))
    .answers(200, "The rates", schema_of::<Vec<SetRateAnswer<'_>>>)
    .with_entity_tag()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND])
}

fn describe_change_rates() -> Operation {
    let operation = with_unit_id(Operation::new("changeRates", Tag::Rates, "Set and delete many rates at a business unit"))
        .says("All rates are set and deleted as one change, or none is. `getRateChange` returns the progress of the change.")
        .takes(|generator| describe(generator, body::bulk))
        .answers(
            200,
            "The result of the change or of the dry run",
            or_dry_run::<RatesChanged>)
        .with_header(
            "ETag",
            "The version of the list of rates after the change, for the `If-Match` of the next change. A dry run has none.",
        )
        .with_preconditions()
        .refuses(&[BUSINESS_UNIT_NOT_FOUND]);
    changing(operation)
}

fn describe_get_rate() -> Operation {
    with_rate(Operation::new(
        "getSetRate",
        Tag::Rates,
        "Get a rate that is set at a business unit",
    ))
    .answers(200, "The rate", schema_of::<SetRateAnswer<'_>>)
    .with_entity_tag()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND, RATE_NOT_FOUND])
}

fn describe_put_rate() -> Operation {
    let operation = with_rate(Operation::new(
        "putRate",
        Tag::Rates,
        "Set a rate at a business unit",
    ))
    .says("If the opposite of a rate rounds to 0.000000, the opposite must be set too.")
    .takes(body::rate_schema)
    .answers(
        200,
        "The rate was replaced, or this is the result of a dry run",
        or_dry_run::<SetRateAnswer<'_>>,
    )
    .with_header(ETAG.0, ETAG.1)
    .answers(
        201,
        "The rate was set for the first time",
        schema_of::<SetRateAnswer<'_>>,
    )
    .with_preconditions()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND]);
    changing(operation)
}

fn describe_delete_rate() -> Operation {
    let operation = with_rate(Operation::new(
        "deleteRate",
        Tag::Rates,
        "Delete a rate that is set at a business unit",
    ))
    .answers(200, "The result of a dry run", schema_of::<DryRun>)
    .empty(204, "The rate was deleted")
    .with_preconditions()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND, RATE_NOT_FOUND]);
    changing(operation)
}
