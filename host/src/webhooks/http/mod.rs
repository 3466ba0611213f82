//! The routes of webhooks (`webhooks.md`): those of the resource here, publishing events in `events.rs`, asking for them in
//! `consumers.rs`, the journal in `deliveries.rs`, listeners in `listener.rs`, the certificates of the identity provider in
//! `certs.rs`, its keys in `keys.rs`.

mod certs;
mod consumers;
mod deliveries;
mod described;
mod events;
mod keys;
mod listener;
mod schema;

use std::sync::Arc;

use ::http::header::LOCATION;
use ::http::{HeaderValue, Method, StatusCode};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

pub(crate) use self::schema::events::envelope;
pub(crate) use self::schema::own_events::{delivery_event, envelope_of, ping_event, webhook_event};
use super::Webhooks;
use super::delivery::health;
use super::registry::audit::line;
use super::registry::body;
use super::registry::secrets::standard_webhooks_secret;
use super::registry::shared_keys::overlap;
use super::registry::webhook::{Answer, Webhook, no_webhook};
use crate::data::etag;
use crate::error::{Error, Result};
use crate::http::{Access, Audited, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::observe::audit::Line;

const WEBHOOKS: &str = "/api/v1/webhooks";
const WEBHOOK: &str = "/api/v1/webhooks/{webhookId}";

/// A shared key that was just made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KeyAnswer<'a> {
    shared_key: Option<&'a str>,
    standard_webhooks_secret: Option<String>,
    /// Until when the key before it signs as well.
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_shared_key_ends_at: Option<String>,
}

/// The routes.
pub fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let (read, write) = (Access::With(P::WebhookRead), Access::With(P::WebhookWrite));
    let key = "/api/v1/webhooks/{webhookId}/shared-key";
    let ping_one = "/api/v1/webhooks/{webhookId}/ping";
    let resume_one = "/api/v1/webhooks/{webhookId}/resume";
    let ping_any = "/api/v1/webhooks/ping";
    let (post, put, delete) = (Method::POST, Method::PUT, Method::DELETE);
    let mut routes = vec![
        Route::new(Method::GET, WEBHOOKS, read, none, list).described(described::registry::list),
        Route::changing(
            post.clone(),
            WEBHOOKS,
            write,
            json,
            "webhook.created",
            create,
        )
        .described(described::registry::create),
        Route::new(
            Method::GET,
            "/api/v1/webhooks/health",
            read,
            none,
            health_of_all,
        )
        .heavy()
        .described(described::registry::health),
        Route::changing(
            post.clone(),
            ping_any,
            write,
            json,
            "webhook.tried_out",
            try_out,
        )
        .described(described::registry::try_out),
        Route::new(Method::GET, WEBHOOK, read, none, get).described(described::registry::get),
        Route::changing(put, WEBHOOK, write, json, "webhook.put", replace)
            .described(described::registry::replace),
        Route::changing(delete, WEBHOOK, write, none, "webhook.deleted", remove)
            .described(described::registry::remove),
        Route::changing(
            post.clone(),
            key,
            write,
            none,
            "webhook.key_rotated",
            rotate_key,
        )
        .described(described::registry::rotate_key),
        Route::changing(post.clone(), ping_one, write, none, "webhook.pinged", ping)
            .described(described::registry::ping),
        Route::changing(post, resume_one, write, none, "webhook.resumed", resume)
            .described(described::registry::resume),
    ];
    routes.extend(events::routes());
    routes.extend(consumers::routes());
    routes.extend(deliveries::routes());
    routes.extend(listener::routes());
    routes.extend(certs::routes());
    routes.extend(keys::routes());
    routes
}

/// The webhook that the path names.
fn webhook_of(request: &Request) -> Result<Uuid> {
    Uuid::try_parse(request.param(0)?).map_err(|_| no_webhook())
}

async fn list(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let all = webhooks.list(&request.caller()?.tenant).await?;
    let all: Vec<_> = all.iter().map(|webhook| webhook.answer()).collect();
    let etag = etag::of_json(&all)?;
    if request.has(&etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).tagged(etag));
    }
    Ok(Reply::of(StatusCode::OK, &all)?.tagged(etag))
}

async fn get(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = webhook_of(&request)?;
    let webhook = webhooks.get(&request.caller()?.tenant, id).await?;
    let etag = webhook.etag()?;
    if request.has(&etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).tagged(etag));
    }
    answer(StatusCode::OK, &webhook, false)
}

async fn create(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let new = body::webhook(&request.body, webhooks.app.config.webhooks.allow_http)?;
    let tenant = &request.caller()?.tenant;
    let (webhook, shows_key) = webhooks.create(tenant, new).await?;
    let location = format!("{WEBHOOKS}/{}", webhook.id);
    let location =
        HeaderValue::from_str(&location).map_err(|cause| Error::Bug(cause.to_string()))?;
    let reply = answer(StatusCode::CREATED, &webhook, shows_key)?.with(LOCATION, location);
    Ok(reply.audited(line(tenant, webhook.id, None, Some(&webhook))?))
}

async fn replace(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let id = webhook_of(&request)?;
    let new = body::webhook(&request.body, webhooks.app.config.webhooks.allow_http)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let replaced = webhooks.replace(tenant, id, new, &preconditions);
    let ([before, webhook], shows_key) = replaced.await?;
    let reply = answer(StatusCode::OK, &webhook, shows_key)?;
    if webhook == before {
        return Ok(reply.unchanged());
    }
    Ok(reply.audited(line(tenant, id, Some(&before), Some(&webhook))?))
}

async fn remove(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let id = webhook_of(&request)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let removed = webhooks.delete(tenant, id, &preconditions).await?;
    let line = line(tenant, id, Some(&removed), None)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line))
}

async fn rotate_key(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let id = webhook_of(&request)?;
    let tenant = &request.caller()?.tenant;
    let span = request.query_param("overlap").map(|span| overlap(&span));
    let span = span.transpose()?.unwrap_or_default();
    let [before, webhook] = webhooks.rotate_key(tenant, id, span).await?;
    let answer = answer_of(&webhook, true);
    let key = KeyAnswer {
        shared_key: answer.shared_key,
        standard_webhooks_secret: answer.standard_webhooks_secret,
        previous_shared_key_ends_at: answer.previous_shared_key_ends_at,
    };
    let reply = Reply::of(StatusCode::OK, &key)?;
    Ok(reply.audited(line(tenant, id, Some(&before), Some(&webhook))?))
}

async fn ping(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let webhook = webhook_of(&request)?;
    let tenant = &request.caller()?.tenant;
    let sent = webhooks.ping(tenant, webhook, request.correlation).await?;
    let (event, delivery) = sent;
    let answer = json!({ "id": event, "deliveryId": delivery });
    let line = Line {
        delivery: Some(delivery),
        ..line(tenant, webhook, None, None)?
    };
    Ok(Reply::of(StatusCode::ACCEPTED, &answer)?.audited(line))
}

async fn resume(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let id = webhook_of(&request)?;
    let tenant = &request.caller()?.tenant;
    webhooks.resume(tenant, id).await?;
    let line = line(tenant, id, None, None)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT).audited(line))
}

async fn try_out(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let new = body::webhook(&request.body, webhooks.app.config.webhooks.allow_http)?;
    let tenant = &request.caller()?.tenant;
    let line = Line {
        tenant: Some(tenant.clone()),
        id: new.id.map(|id| id.to_string()),
        receiver: new.settings.receiver(),
        ..Line::default()
    };
    let result = webhooks.try_out(tenant, new, request.correlation).await?;
    let answer = serde_json::to_value(&result.attempt);
    let mut answer = answer.map_err(|cause| Error::Bug(cause.to_string()))?;
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("delivered".to_owned(), result.has_succeeded().into());
    }
    Ok(Reply::of(StatusCode::OK, &answer)?.audited(line))
}

async fn health_of_all(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let health = health::of_all(&webhooks, &request.caller()?.tenant).await?;
    Reply::of(StatusCode::OK, &health)
}

/// A webhook; with its shared key where that was just made.
fn answer(status: StatusCode, webhook: &Webhook, shows_key: bool) -> Result<Reply> {
    let etag = webhook.etag()?;
    Ok(Reply::of(status, &answer_of(webhook, shows_key))?.tagged(etag))
}

fn answer_of(webhook: &Webhook, shows_key: bool) -> Answer<'_> {
    let mut answer = webhook.answer();
    let key = webhook.settings.shared_key.as_ref().filter(|_| shows_key);
    answer.shared_key = key.map(|key| key.0.as_str());
    answer.standard_webhooks_secret = key.map(standard_webhooks_secret);
    answer
}
