//! The routes to follow the topic, and to have the current state sent again (`given.md`, 4.3 and 6.1).

use std::sync::Arc;

use ::http::{Method, StatusCode};
use futures_util::StreamExt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use tillgate_api::problem::{
    BUSINESS_UNIT_NOT_FOUND, QUOTA_EXCEEDED, TENANT_NOT_FOUND, TOO_MUCH_WAITING,
};
use tillgate_api::schema::{schema_of, tenant_id, text, uuid};
use tillgate_api::{describe, read};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{Permission as P, TENANT_RULE, TenantId};
use tillgate_base::observe::audit::Line;
use tillgate_http::{
    Access, Audited, Followed, MAX_BODY, Operation, QueryParameter, Reply, Request, Route, Tag,
    Takes,
};
use uuid::Uuid;

use crate::change::initial_state;
use crate::topic::{Cursor, Filter, Item};
use crate::units::unit::unit_id_schema;
use crate::units::unit::{ID_RULE, UnitId, UnitType};
use crate::{Rates, body};

const TENANT: QueryParameter<TenantId> = QueryParameter {
    name: "tenantId",
    about: "Only messages of this tenant. A tenant's client always sees only those of its own tenant.",
    schema: tenant_id,
    read: |text| TenantId::new(text).ok_or(TENANT_RULE),
};
const BUSINESS_UNIT: QueryParameter<UnitId> = QueryParameter {
    name: "businessUnitId",
    about: "Only messages of this shop. A company or a group is refused with 400, because no message is about one.",
    schema: unit_id_schema,
    read: |text| UnitId::new(text).ok_or(ID_RULE),
};
/// Read as text, because the subscription decides which cursors are valid.
const AFTER: QueryParameter<String> = QueryParameter {
    name: "after",
    about: "The start: a cursor, `earliest`, or `latest`, which is the default.",
    schema: topic_cursor,
    read: |text| Ok(text.to_owned()),
};

/// The id of a change.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct Correlation {
    #[schemars(schema_with = "uuid")]
    correlation_id: Uuid,
}

pub(super) fn routes() -> Vec<Route<Arc<Rates>>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/topics/cer.public.event.rates-changed.v1",
            Access::With(P::RatesChangedSubscribe),
            Takes::Nothing,
            follow,
        )
        .described(describe_follow)
        .giving("text/event-stream"),
        Route::changing(
            Method::POST,
            "/api/v1/initial-state",
            Access::With(P::InitialStateCreate),
            Takes::Json(MAX_BODY),
            "rates.sent_again",
            send_initial_state,
        )
        .described(describe_send_initial_state),
    ]
}

async fn follow(rates: Arc<Rates>, request: Request) -> Result<Reply> {
    let caller = request.caller()?;
    let tenant = match request.query(&TENANT)? {
        Some(tenant) => {
            caller.require_tenant(tenant.as_str())?;
            Some(tenant)
        }
        None => (!caller.platform).then(|| caller.tenant.clone()),
    };
    let unit = request.query(&BUSINESS_UNIT)?;
    let business_unit = unit.as_ref().map(|unit| unit.as_str().to_owned());
    let after = cursor(&request, tenant.as_ref())?;
    if let (Some(tenant), Some(unit)) = (&tenant, &unit) {
        require_messages(&rates, tenant, unit).await?;
    }
    let items = rates.messages(tenant.as_ref(), Filter { business_unit }, after);
    let items = items.await?;
    request.follow(items.map(|item| match item {
        Item::Message(cursor, data) => Followed::Event {
            id: cursor.to_text(),
            name: None,
            data,
        },
        Item::Reset(cursor) => Followed::Event {
            id: cursor.to_text(),
            name: Some("reset"),
            data: Arc::from("{}"),
        },
        Item::Position(cursor) => Followed::Position(cursor.to_text()),
        Item::CaughtUp(cursor) => Followed::CaughtUp(cursor.to_text()),
    }))
}

/// Refuses a company or a group, because no message is about one. Accepts an unknown unit, because it may become a
/// shop.
async fn require_messages(rates: &Rates, tenant: &TenantId, unit: &UnitId) -> Result<()> {
    let unit = match rates.reading(tenant).unit(unit).await {
        Err(Error::NotFound(..)) => return Ok(()),
        unit => unit?,
    };
    match unit.unit.settings.unit_type {
        UnitType::Store => Ok(()),
        UnitType::Company | UnitType::Group => Err(Error::invalid(
            "$.businessUnitId",
            "must be a shop, because no message is about a company or a group: follow its shops, or the whole tenant",
        )),
    }
}

/// Returns where a subscriber begins: where its last connection ended, or where its query says.
fn cursor(request: &Request, tenant: Option<&TenantId>) -> Result<Cursor> {
    let resumed = request.headers().get("last-event-id");
    let resumed = resumed.and_then(|value| Some(value.to_str().ok()?.to_owned()));
    let (name, text) = match resumed.filter(|text| !text.is_empty()) {
        Some(text) => ("Last-Event-ID", Some(text)),
        None => (AFTER.name, request.query(&AFTER)?),
    };
    let Some(text) = text else {
        return Ok(Cursor::Latest);
    };
    let fits = |cursor: &Cursor| match cursor {
        Cursor::Earliest | Cursor::Latest => true,
        Cursor::Tenant(of, _) => Some(of) == tenant,
        Cursor::All(_) => tenant.is_none(),
    };
    let cursor = Cursor::parse(&text).filter(fits);
    cursor.ok_or_else(|| {
        let rule = "must be earliest, latest, or the id of an event of the same subscription";
        Error::invalid(format!("$.{name}"), rule)
    })
}

async fn send_initial_state(rates: Arc<Rates>, request: Request) -> Result<Audited> {
    let caller = request.caller()?;
    let (tenant, unit) = read(&request.body, body::initial_state)?;
    caller.require_tenant(tenant.as_str())?;
    let (records, correlation) = (rates.records(&tenant), request.correlation);
    let is_own = caller.tenant == tenant;
    let (app, passes, unit_id) = (&rates.app, &rates.passes, unit.as_ref());
    initial_state::send(app, passes, &records, unit_id, correlation, is_own).await?;
    let correlation_id = correlation;
    let answer = Correlation { correlation_id };
    let line = Line {
        tenant: Some(tenant),
        unit: unit.map(|unit| unit.as_str().to_owned()),
        ..Line::default()
    };
    Ok(Reply::of(StatusCode::OK, &answer)?.audited(line))
}

fn describe_follow() -> Operation {
    Operation::new("followRates", Tag::Rates, "Follow the changes of the rates that shops use")
        .says("An endless stream of server-sent events of the topic `cer.public.event.rates-changed.v1`. `id` is a cursor, and `data` is `{ messageId, publishTime, attributes, data }`. An event named `reset` means that messages after the cursor are gone: read the rates again. A comment is sent every 15 seconds. `/asyncapi.json` describes the messages.")
        .query(&TENANT)
        .query(&BUSINESS_UNIT)
        .query(&AFTER)
        .header("Last-Event-ID", "The cursor that a browser sends when it reconnects. It takes precedence over `after`.", topic_cursor)
        .answers_as(
            "text/event-stream",
            200,
            "An endless stream of events",
            text)
        .refuses(&[QUOTA_EXCEEDED])
}

fn describe_send_initial_state() -> Operation {
    Operation::new("sendInitialState", Tag::Rates, "Send all rates of shops again")
        .says("Publishes one message for each shop, with all its rates in `updatedRates`. Without `businessUnitId`, these are all shops of the tenant; with a company or group, the shops below it.")
        .takes(|generator| describe(generator, body::initial_state))
        .answers(200, "The messages will be sent", schema_of::<Correlation>)
        .refuses(&[TENANT_NOT_FOUND, BUSINESS_UNIT_NOT_FOUND, TOO_MUCH_WAITING])
}

fn topic_cursor(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "examples": ["latest"] })
}
