//! The journal, and replays.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use serde_json::json;
use uuid::Uuid;

use super::described::deliveries as described;
use crate::body::{TIME_RULE, parse_time};
use crate::error::{Error, Result};
use crate::http::{Access, Audited, MAX_BODY, Query, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::observe::audit::Line;
use crate::webhooks::Webhooks;
use crate::webhooks::events::delivery::{STATUS_RULE, Status};
use crate::webhooks::events::delivery_id::DeliveryId;
use crate::webhooks::journal::{self, Filter, body, no_delivery};
use crate::webhooks::registry::body::{SHORT_TEXT_RULE, is_short_text};
use crate::webhooks::registry::event_type::{TYPE_RULE, is_event_type};

const DELIVERIES: &str = "/api/v1/deliveries";

/// The bytes of a page: of the deliveries that are read at once, with all of their attempts, and of those that are answered.
const PAGE: usize = 8 << 20;

/// The routes.
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
            .described(described::list),
        Route::changing(
            Method::POST,
            "/api/v1/deliveries/replay",
            send,
            json,
            "deliveries.replayed",
            replay_all,
        )
        .described(described::replay_all),
        Route::new(Method::GET, replays, read, none, replay_state)
            .described(described::replay_state),
        Route::new(Method::GET, one, read, none, get).described(described::get),
        Route::changing(
            Method::POST,
            replay_one,
            send,
            none,
            "delivery.replayed",
            replay,
        )
        .described(described::replay),
    ]
}

fn delivery_of(request: &Request) -> Result<Uuid> {
    Uuid::try_parse(request.param(0)?).map_err(|_| no_delivery())
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
    let (filter, tenant) = (body::filter(&request.body)?, &request.caller()?.tenant);
    let named = serde_json::to_string(&filter).map_err(|cause| Error::Bug(cause.to_string()))?;
    let id = webhooks.replay_all(tenant, filter).await?;
    let line = Line {
        tenant: Some(tenant.clone()),
        id: Some(id.to_string()),
        filter: Some(named),
        ..Line::default()
    };
    Ok(Reply::of(StatusCode::ACCEPTED, &json!({ "id": id }))?.audited(line))
}

async fn replay_state(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = Uuid::try_parse(request.param(0)?);
    let id = id.map_err(|_| Error::NotFound("there is no replay with this id".to_owned()))?;
    let state = webhooks.replay_state(&request.caller()?.tenant, id).await?;
    Reply::of(StatusCode::OK, &state)
}

/// The query, with every fault of it.
fn query(request: &Request) -> Result<(Filter, Option<DeliveryId>, usize)> {
    let mut query = Query::of(request);
    let uuid = |text: &str| Uuid::try_parse(text).ok();
    let webhook = query.optional("webhookId", uuid, "must be a UUID");
    let status = query.optional("status", Status::parse, STATUS_RULE);
    let known = |text: &str| is_event_type(text).then(|| text.to_owned());
    let event_type = query.optional("eventType", known, TYPE_RULE);
    let short = |text: &str| is_short_text(text).then(|| text.to_owned());
    let event_id = query.optional("eventId", short, SHORT_TEXT_RULE);
    let since = query.optional("since", parse_time, TIME_RULE);
    let until = query.optional("until", parse_time, TIME_RULE);
    let cursor = query.cursor(uuid).map(DeliveryId);
    let limit = query.limit();
    query.faults.none_or_error()?;
    let filter = Filter {
        webhook,
        status,
        event_type,
        event_id,
        since,
        until,
    };
    Ok((filter, cursor, limit))
}
