//! Business units, and the rates that are set at them.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use serde_json::json;
use tillgate_api::read;
use tillgate_engine::rate::RateKey;

use super::query::{UnitQuery, rate_key, unit_id, unit_query};
use super::{described, edited, editor, tagged, with_correlation};
use crate::data::etag;
use crate::error::{Error, Result};
use crate::http::reply::status_of;
use crate::http::{Access, Audited, Faults, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::rates::change::audit::CHANGED;
use crate::rates::units::answers;
use crate::rates::{Editor, Rates, UnitId, body};

const UNITS: &str = "/api/v1/business-units";
const UNIT: &str = "/api/v1/business-units/{businessUnitId}";
const RATES: &str = "/api/v1/business-units/{businessUnitId}/exchange-rates";
const RATE: &str = "/api/v1/business-units/{businessUnitId}/exchange-rates/{exchangeRateType}/{currencyIdFrom}/{currencyIdTo}";

/// The largest list of units that is answered whole, and from how many bytes on a page ends.
const MAX_LIST: usize = 16 << 20;
const MAX_PAGE: usize = 4 << 20;

/// The bytes of the units that a list reads at once.
const MAX_READ: usize = 5 << 20;

/// The bytes that are reserved before the number of rates that an edit reads is known.
const EDIT: usize = 256 << 10;

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Rates>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let (read, write) = (
        Access::With(P::BusinessUnitRead),
        Access::With(P::BusinessUnitWrite),
    );
    let (read_rate, write_rate) = (Access::With(P::RateRead), Access::With(P::RateWrite));
    vec![
        Route::new(Method::GET, UNITS, read, none, list_units)
            .described(described::list_units)
            .reserving(2 * MAX_PAGE + MAX_READ),
        Route::new(Method::GET, UNIT, read, none, get_unit).described(described::get_unit),
        Route::changing(
            Method::PUT,
            UNIT,
            write,
            json,
            "business_unit.put",
            put_unit,
        )
        .described(described::put_unit)
        .heavy()
        .reserving(EDIT),
        Route::changing(
            Method::DELETE,
            UNIT,
            write,
            none,
            "business_unit.deleted",
            delete_unit,
        )
        .described(described::delete_unit)
        .heavy()
        .reserving(EDIT),
        Route::new(Method::GET, RATES, read_rate, none, list_rates)
            .described(described::list_rates),
        Route::changing(Method::POST, RATES, write_rate, json, CHANGED, change_rates)
            .described(described::change_rates)
            .heavy()
            .reserving(EDIT),
        Route::new(Method::GET, RATE, read_rate, none, get_rate).described(described::get_rate),
        Route::changing(Method::PUT, RATE, write_rate, json, CHANGED, put_rate)
            .described(described::put_rate)
            .heavy()
            .reserving(EDIT),
        Route::changing(Method::DELETE, RATE, write_rate, none, CHANGED, delete_rate)
            .described(described::delete_rate)
            .heavy()
            .reserving(EDIT),
    ]
}

/// The unit that the path names.
fn unit_of(request: &Request) -> Result<UnitId> {
    unit_id(request.param(0)?).map_err(|rule| Error::invalid("$.businessUnitId", rule))
}

/// Reserves what an edit reads of these units and those above them, and returns who edits.
async fn editing<'r>(rates: &Rates, request: &'r Request, units: &[&UnitId]) -> Result<Editor<'r>> {
    let editor = editor(request)?;
    let bytes = rates.bytes_of_edit(&editor, units).await?;
    request.reserve(EDIT + bytes).await?;
    Ok(editor)
}

/// The rate that the path names.
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

async fn list_units(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let records = rates.records(&request.caller()?.tenant);
    let Some(UnitQuery { after, limit }) = unit_query(&request)? else {
        request.reserve(2 * MAX_LIST + MAX_READ).await?;
        let read = async move {
            let whole = answers::units(&records, None, usize::MAX, MAX_LIST).await?;
            let etag = etag::of_text(&whole.list);
            Ok::<_, Error>((whole, etag))
        };
        let (whole, etag) = rates.app.workers.run_reading(read).await??;
        if whole.next.is_some() {
            let message = "is required: the list has more than 16 MiB, so it is answered in pages";
            return Err(Error::invalid("$.limit", message));
        }
        let json = || Reply::json(StatusCode::OK, whole.list.into());
        return Ok(request.answer(etag, json));
    };
    let read = async move { answers::units(&records, after.as_ref(), limit, MAX_PAGE).await };
    let page = rates.app.workers.run_reading(read).await??;
    let next = page.next.map(|id| json!(id).to_string());
    let next = next
        .map(|id| format!(r#","next":{id}"#))
        .unwrap_or_default();
    let items = String::from_utf8(page.list).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(tagged(
        &request,
        format!(r#"{{"items":{items}{next}}}"#).into(),
    ))
}

async fn get_unit(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let id = unit_of(&request)?;
    let unit = rates.reading(&request.caller()?.tenant).unit(&id).await?;
    let json = || Reply::json(StatusCode::OK, unit.json.clone());
    Ok(request.answer(unit.etag.clone(), json))
}

async fn put_unit(rates: Arc<Rates>, request: Request) -> Result<Audited> {
    let id = unit_of(&request)?;
    let settings = read(&request.body, body::unit)?;
    let preconditions = request.preconditions();
    let units: Vec<&UnitId> = [&id].into_iter().chain(&settings.parent_id).collect();
    let editor = editing(&rates, &request, &units).await?;
    let put = rates.put_unit(editor, &id, &settings, &preconditions);
    edited(put.await?, |(written, json)| {
        let etag = etag::of_text(&json);
        Ok(Reply::json(status_of(written), json).tagged(etag))
    })
}

async fn delete_unit(rates: Arc<Rates>, request: Request) -> Result<Audited> {
    let id = unit_of(&request)?;
    let preconditions = request.preconditions();
    let rates_version = request.query_param("ifRatesMatch");
    let editor = editing(&rates, &request, &[&id]).await?;
    let delete = rates.delete_unit(editor, &id, &preconditions, rates_version.as_deref());
    edited(delete.await?, |()| Ok(Reply::empty(StatusCode::NO_CONTENT)))
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
        Ok(with_correlation(&request, &counts)?.tagged(etag))
    })
}
