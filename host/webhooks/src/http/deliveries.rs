//! The routes of the journal and of replays.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::{
    DELIVERY_NOT_FOUND, REPLAY_NOT_FOUND, TOO_MUCH_WAITING, WEBHOOK_DELETED, WEBHOOK_DISABLED,
};
use tillgate_api::read;
use tillgate_api::schema::{schema_of, time, uuid, uuid as uuid_schema};
use tillgate_api::values::TIME_RULE;
use tillgate_base::body::parse_time;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::Permission as P;
use tillgate_base::observe::audit::Line;
use tillgate_http::{
    Access, Audited, CURSOR_RULE, LIMIT, MAX_BODY, Operation, Query, QueryParameter, Reply,
    Request, Route, Tag, Takes,
};
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use crate::Webhooks;
use crate::events::delivery_id::DeliveryId;
use crate::events::delivery_record::{STATUS_RULE, Status};
use crate::events::schema::event_id;
use crate::journal::replay::ReplayAnswer;
use crate::journal::replay_filter::filter_schema;
use crate::journal::{self, Details, Entry, Filter, Page, no_delivery, replay_filter};
use crate::registry::body::{SHORT_TEXT_RULE, is_short_text};
use crate::registry::event_type;
use crate::registry::event_type::{TYPE_RULE, is_event_type};

const DELIVERIES: &str = "/api/v1/deliveries";

/// The bytes of a page: the deliveries that are read at once, with all their attempts, and those that are returned.
const PAGE: usize = 8 << 20;

const WEBHOOK: QueryParameter<Uuid> = QueryParameter {
    name: "webhookId",
    about: "Only deliveries to this webhook.",
    schema: uuid,
    read: |text| Uuid::try_parse(text).map_err(|_| "must be a UUID"),
};
const STATUS: QueryParameter<Status> = QueryParameter {
    name: "status",
    about: "Only deliveries with this status.",
    schema: schema_of::<Status>,
    read: |text| Status::parse(text).ok_or(STATUS_RULE),
};
const EVENT_TYPE: QueryParameter<String> = QueryParameter {
    name: "eventType",
    about: "Only deliveries of events of this type.",
    schema: event_type::schema,
    read: |text| {
        is_event_type(text)
            .then(|| text.to_owned())
            .ok_or(TYPE_RULE)
    },
};
const EVENT_ID: QueryParameter<String> = QueryParameter {
    name: "eventId",
    about: "Only deliveries of this event.",
    schema: event_id,
    read: |text| {
        is_short_text(text)
            .then(|| text.to_owned())
            .ok_or(SHORT_TEXT_RULE)
    },
};
const SINCE: QueryParameter<Timestamp> = QueryParameter {
    name: "since",
    about: "Only deliveries of events that were accepted at this time or later, not before 1970.",
    schema: time,
    read: |text| parse_time(text).ok_or(TIME_RULE),
};
const UNTIL: QueryParameter<Timestamp> = QueryParameter {
    name: "until",
    about: "Only deliveries of events that were accepted before this time.",
    schema: time,
    read: |text| parse_time(text).ok_or(TIME_RULE),
};
const CURSOR: QueryParameter<DeliveryId> = QueryParameter::cursor(uuid, |text| {
    Uuid::try_parse(text)
        .map(DeliveryId)
        .map_err(|_| CURSOR_RULE)
});

/// A replay that has begun.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct ReplayId {
    #[schemars(schema_with = "uuid_schema")]
    id: Uuid,
}

pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let (read, send) = (
        Access::With(P::DeliveryRead),
        Access::With(P::DeliveryReplay),
    );
    let one = "/api/v1/deliveries/{deliveryId}";
    let replay_one = "/api/v1/deliveries/{deliveryId}/replay";
    let replays = "/api/v1/deliveries/replays/{replayId}";
    vec![
        Route::new(Method::GET, DELIVERIES, read, none, list)
            .heavy()
            .reserving(PAGE)
            .described(describe_list),
        Route::changing(
            Method::POST,
            "/api/v1/deliveries/replay",
            send,
            json,
            "deliveries.replayed",
            replay_all,
        )
        .described(describe_replay_all),
        Route::new(Method::GET, replays, read, none, replay_state).described(describe_replay_state),
        Route::new(Method::GET, one, read, none, get).described(describe_get),
        Route::changing(
            Method::POST,
            replay_one,
            send,
            none,
            "delivery.replayed",
            replay,
        )
        .described(describe_replay),
    ]
}

fn delivery_of(request: &Request) -> Result<Uuid> {
    let id = request.param(0)?;
    Uuid::try_parse(id).map_err(|_| no_delivery(id))
}

async fn list(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let (filter, cursor, limit) = query(&request)?;
    let records = webhooks.records(&request.caller()?.tenant);
    let page = journal::page(&records, &filter, cursor, limit).await?;
    Reply::of(StatusCode::OK, &page)
}

async fn get(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = delivery_of(&request)?;
    let found = journal::details(&webhooks, &request.caller()?.tenant, id).await?;
    Reply::of(StatusCode::OK, &found)
}

async fn replay(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let (id, tenant) = (delivery_of(&request)?, &request.caller()?.tenant);
    let replayed = webhooks.replay(tenant, id).await?;
    let line = Line {
        tenant: Some(tenant.clone()),
        id: Some(id.to_string()),
        ..Line::default()
    };
    Ok(Reply::of(StatusCode::ACCEPTED, &replayed)?.audited(line))
}

async fn replay_all(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let (filter, tenant) = (
        read(&request.body, replay_filter::filter)?,
        &request.caller()?.tenant,
    );
    let named = serde_json::to_string(&filter).map_err(|cause| Error::Bug(cause.to_string()))?;
    let id = webhooks.replay_all(tenant, filter).await?;
    let line = Line {
        tenant: Some(tenant.clone()),
        id: Some(id.to_string()),
        filter: Some(named),
        ..Line::default()
    };
    Ok(Reply::of(StatusCode::ACCEPTED, &ReplayId { id })?.audited(line))
}

async fn replay_state(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = request.param(0)?;
    let id = Uuid::try_parse(id).map_err(|_| Error::missing(REPLAY_NOT_FOUND, id))?;
    let state = webhooks.replay_state(&request.caller()?.tenant, id).await?;
    Reply::of(StatusCode::OK, &state)
}

/// Reads the query and reports every fault in it.
fn query(request: &Request) -> Result<(Filter, Option<DeliveryId>, usize)> {
    let mut query = Query::of(request);
    let filter = Filter {
        webhook: query.optional(&WEBHOOK),
        status: query.optional(&STATUS),
        event_type: query.optional(&EVENT_TYPE),
        event_id: query.optional(&EVENT_ID),
        since: query.optional(&SINCE),
        until: query.optional(&UNTIL),
    };
    let cursor = query.optional(&CURSOR);
    let limit = query.limit();
    query.faults.none_or_error()?;
    Ok((filter, cursor, limit))
}

fn with_delivery(operation: Operation) -> Operation {
    operation.path("deliveryId", "The id of the delivery.", uuid)
}

fn describe_list() -> Operation {
    Operation::new("listDeliveries", Tag::Deliveries, "List deliveries")
        .says("Returns the newest first. Deliveries are kept for the configured time, 30 days by default.")
        .query(&WEBHOOK)
        .query(&STATUS)
        .query(&EVENT_TYPE)
        .query(&EVENT_ID)
        .query(&SINCE)
        .query(&UNTIL)
        .query(&CURSOR)
        .query(&LIMIT)
        .answers(200, "A page of deliveries", schema_of::<Page>)
}

fn describe_get() -> Operation {
    with_delivery(Operation::new(
        "getDelivery",
        Tag::Deliveries,
        "Get a delivery with its attempts",
    ))
    .answers(200, "The delivery", schema_of::<Details>)
    .refuses(&[DELIVERY_NOT_FOUND])
}

fn describe_replay() -> Operation {
    with_delivery(Operation::new(
        "replayDelivery",
        Tag::Deliveries,
        "Send a delivery again",
    ))
    .says(
        "The delivery sends the same event with the same id. If it waits for \
            its next attempt, it is sent at once.",
    )
    .answers(202, "The delivery, which is sent again", schema_of::<Entry>)
    .refuses(&[
        DELIVERY_NOT_FOUND,
        WEBHOOK_DELETED,
        WEBHOOK_DISABLED,
        TOO_MUCH_WAITING,
    ])
}

fn describe_replay_all() -> Operation {
    Operation::new(
        "replayDeliveries",
        Tag::Deliveries,
        "Send all deliveries that match a filter again",
    )
    .says(
        "The replay runs in the background; `getReplay` returns its progress. \
            It sends the matching deliveries that are `DELIVERED` or `FAILED`, \
            unless their webhook is deleted or disabled.",
    )
    .takes(filter_schema)
    .answers(202, "The replay has begun", schema_of::<ReplayId>)
}

fn describe_replay_state() -> Operation {
    Operation::new(
        "getReplay",
        Tag::Deliveries,
        "Get the progress of a replay of many deliveries",
    )
    .path("replayId", "The id of the replay.", uuid)
    .answers(200, "The replay", schema_of::<ReplayAnswer>)
    .refuses(&[REPLAY_NOT_FOUND])
}
