//! The routes of business units.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;
use tillgate_api::problem::{BUSINESS_UNIT_NOT_FOUND, TOO_MUCH_WAITING, UNIT_NOT_EMPTY};
use tillgate_api::schema::{component, schema_of};
use tillgate_api::{describe, read};
use tillgate_base::data::etag;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Permission as P;
use tillgate_http::reply::status_of;
use tillgate_http::{
    Access, Audited, LIMIT, MAX_BODY, Operation, QueryParameter, Reply, Request, Route, Tag, Takes,
};

use super::query::{UNIT_CURSOR, UnitQuery, unit_id, unit_query};
use super::{changing, edited, editor, or_dry_run, tagged, with_unit_id};
use crate::units::answers;
use crate::units::unit::UnitAnswer;
use crate::{Editor, Rates, UnitId, body};

const UNITS: &str = "/api/v1/business-units";
const UNIT: &str = "/api/v1/business-units/{businessUnitId}";
/// The largest list of units that is answered whole, and the size at which a page ends, in bytes.
const MAX_LIST: usize = 16 << 20;
const MAX_PAGE: usize = 4 << 20;

/// The bytes of the units that a list reads at once.
const MAX_READ: usize = 5 << 20;

/// The bytes to reserve before the number of rates that an edit reads is known.
pub(super) const EDIT: usize = 256 << 10;

const IF_RATES_MATCH: QueryParameter<String> = QueryParameter {
    name: "ifRatesMatch",
    about: "The entity tag of the list of rates that are set at the unit, as `listSetRates` returns it. If the list has another entity tag, the answer is 412 and nothing is deleted.",
    schema: |_| json_schema!({ "type": "string", "examples": ["\"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\""] }),
    read: |text| Ok(text.to_owned()),
};

pub(super) fn routes() -> Vec<Route<Arc<Rates>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let (read, write) = (
        Access::With(P::BusinessUnitRead),
        Access::With(P::BusinessUnitWrite),
    );
    vec![
        Route::new(Method::GET, UNITS, read, none, list_units)
            .described(describe_list_units)
            .reserving(2 * MAX_PAGE + MAX_READ),
        Route::new(Method::GET, UNIT, read, none, get_unit).described(describe_get_unit),
        Route::changing(
            Method::PUT,
            UNIT,
            write,
            json,
            "business_unit.put",
            put_unit,
        )
        .described(describe_put_unit)
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
        .described(describe_delete_unit)
        .heavy()
        .reserving(EDIT),
    ]
}

pub(super) fn unit_of(request: &Request) -> Result<UnitId> {
    unit_id(request.param(0)?).map_err(|rule| Error::invalid("$.businessUnitId", rule))
}

/// Reserves the memory for what an edit reads of these units and those above them, and returns the editor.
pub(super) async fn editing<'r>(
    rates: &Rates,
    request: &'r Request,
    units: &[&UnitId],
) -> Result<Editor<'r>> {
    let editor = editor(request)?;
    let bytes = rates.bytes_of_edit(&editor, units).await?;
    request.reserve(EDIT + bytes).await?;
    Ok(editor)
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
            let message = "is required: the list is larger than 16 MiB and must be read in pages";
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
    let rates_version = request.query(&IF_RATES_MATCH)?;
    let editor = editing(&rates, &request, &[&id]).await?;
    let delete = rates.delete_unit(editor, &id, &preconditions, rates_version.as_deref());
    edited(delete.await?, |()| Ok(Reply::empty(StatusCode::NO_CONTENT)))
}

pub(super) const ETAG: (&str, &str) = (
    "ETag",
    "The version of the resource, for `If-Match`. A dry run has none.",
);

fn describe_list_units() -> Operation {
    Operation::new("listBusinessUnits", Tag::BusinessUnits, "List the business units of a tenant")
        .says("Returns all units, sorted by id, or a page of them with `limit` or `cursor`. A list of more than 16 MiB is refused without either, with a 400 that names `limit`.")
        .query(&LIMIT)
        .query(&UNIT_CURSOR)
        .answers(200, "The units", units)
        .with_entity_tag()
}

fn describe_get_unit() -> Operation {
    with_unit_id(Operation::new(
        "getBusinessUnit",
        Tag::BusinessUnits,
        "Get a business unit",
    ))
    .answers(200, "The unit", schema_of::<UnitAnswer<'_>>)
    .with_entity_tag()
    .refuses(&[BUSINESS_UNIT_NOT_FOUND])
}

fn describe_put_unit() -> Operation {
    let operation = with_unit_id(Operation::new("putBusinessUnit", Tag::BusinessUnits, "Create or replace a business unit"))
        .says("Each tree has a COMPANY at the top, GROUPs below it and STOREs as its leaves, on at most 32 levels. A unit keeps its type. A new `parentId` moves the unit, which changes the rates of the shops below it.")
        .takes(|generator| describe(generator, body::unit))
        .answers(200, "The unit was replaced, or this is the result of a dry run", or_dry_run::<UnitAnswer<'_>>)
        .with_header(ETAG.0, ETAG.1)
        .answers(201, "The unit was created", schema_of::<UnitAnswer<'_>>)
        .with_preconditions();
    changing(operation)
}

fn describe_delete_unit() -> Operation {
    let operation = Operation::new(
        "deleteBusinessUnit",
        Tag::BusinessUnits,
        "Delete a business unit",
    );
    with_unit_id(operation)
        .says("This also deletes the rates that are set at the unit, including those that others have set. `If-Match` does not cover them; `ifRatesMatch` does.")
        .query(&IF_RATES_MATCH)
        .with_note()
        .empty(204, "The unit was deleted")
        .with_preconditions()
        .refuses(&[BUSINESS_UNIT_NOT_FOUND, UNIT_NOT_EMPTY, TOO_MUCH_WAITING])
}

/// Returns the schema of the list of units: all of them, or a page.
fn units(generator: &mut SchemaGenerator) -> Schema {
    let unit = schema_of::<UnitAnswer<'_>>(generator);
    let page = component(generator, "BusinessUnitPage", |_| {
        json_schema!({
            "type": "object", "required": ["items"],
            "properties": { "items": { "type": "array", "items": unit }, "next": { "type": "string", "description": "The `cursor` of the next page." } },
        })
    });
    json_schema!({ "oneOf": [{ "type": "array", "items": unit }, page] })
}
