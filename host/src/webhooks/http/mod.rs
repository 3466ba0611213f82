//! The routes of webhooks (`webhooks.md`): those of the resource here, events in `events.rs`, the journal in
//! `deliveries.rs`, listeners in `listener.rs`, the certificates of the identity provider in `certs.rs`, its keys in
//! `keys.rs`.

mod certs;
mod deliveries;
mod events;
mod keys;
mod listener;

use std::sync::Arc;

use ::http::header::LOCATION;
use ::http::{HeaderValue, Method, StatusCode};
use serde_json::json;
use uuid::Uuid;

use super::Webhooks;
use super::delivery::health;
use super::registry::body;
use super::registry::webhook::{Answer, Webhook, no_webhook};
use super::resource::etag_of;
use crate::data::etag;
use crate::error::{Error, Result};
use crate::http::{Access, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission as P;

const WEBHOOKS: &str = "/api/v1/webhooks";
const WEBHOOK: &str = "/api/v1/webhooks/{webhookId}";

/// The routes.
pub fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let (read, write) = (Access::With(P::WebhookRead), Access::With(P::WebhookWrite));
    let key = "/api/v1/webhooks/{webhookId}/shared-key";
    let ping_one = "/api/v1/webhooks/{webhookId}/ping";
    let mut routes = vec![
        Route::new(Method::GET, WEBHOOKS, read, none, list),
        Route::new(Method::POST, WEBHOOKS, write, json, create),
        Route::new(
            Method::GET,
            "/api/v1/webhooks/health",
            read,
            none,
            health_of_all,
        ),
        Route::new(Method::POST, "/api/v1/webhooks/ping", write, json, try_out),
        Route::new(Method::GET, WEBHOOK, read, none, get),
        Route::new(Method::PUT, WEBHOOK, write, json, replace),
        Route::new(Method::DELETE, WEBHOOK, write, none, delete),
        Route::new(Method::POST, key, write, none, rotate_key),
        Route::new(Method::POST, ping_one, write, none, ping),
    ];
    routes.extend(events::routes());
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

/// A line in the audit log about a webhook.
fn audit(
    request: &Request,
    action: &'static str,
    id: Uuid,
    before: Option<&Webhook>,
    after: Option<&Webhook>,
) -> Result<()> {
    let (before, after) = (before.map(etag_of), after.map(etag_of));
    let (before, after) = (before.transpose()?, after.transpose()?);
    let tenant = &request.caller()?.tenant;
    request.audit(
        action,
        Some(tenant.as_str()),
        &id,
        before.as_ref(),
        after.as_ref(),
    );
    Ok(())
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
    let etag = etag_of(&webhook)?;
    if request.has(&etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).tagged(etag));
    }
    answer(StatusCode::OK, &webhook, false)
}

async fn create(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let new = body::webhook(&request.body, webhooks.app.config.webhooks.allow_http)?;
    let (webhook, shows_key) = webhooks.create(&request.caller()?.tenant, new).await?;
    audit(
        &request,
        "webhook.created",
        webhook.id,
        None,
        Some(&webhook),
    )?;
    let location = format!("{WEBHOOKS}/{}", webhook.id);
    let location =
        HeaderValue::from_str(&location).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(answer(StatusCode::CREATED, &webhook, shows_key)?.with(LOCATION, location))
}

async fn replace(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = webhook_of(&request)?;
    let new = body::webhook(&request.body, webhooks.app.config.webhooks.allow_http)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let replaced = webhooks.replace(tenant, id, new, &preconditions);
    let ([before, webhook], shows_key) = replaced.await?;
    if webhook != before {
        audit(&request, "webhook.put", id, Some(&before), Some(&webhook))?;
    }
    answer(StatusCode::OK, &webhook, shows_key)
}

async fn delete(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = webhook_of(&request)?;
    let tenant = &request.caller()?.tenant;
    let preconditions = request.preconditions();
    let removed = webhooks.delete(tenant, id, &preconditions).await?;
    audit(&request, "webhook.deleted", id, Some(&removed), None)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn rotate_key(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = webhook_of(&request)?;
    let rotated = webhooks.rotate_key(&request.caller()?.tenant, id).await?;
    let [before, webhook] = rotated;
    audit(
        &request,
        "webhook.key_rotated",
        id,
        Some(&before),
        Some(&webhook),
    )?;
    let key = webhook.settings.shared_key.as_ref().map(|key| &key.0);
    Reply::of(StatusCode::OK, &json!({ "sharedKey": key }))
}

async fn ping(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = webhook_of(&request)?;
    let tenant = &request.caller()?.tenant;
    let (id, delivery) = webhooks.ping(tenant, id, request.correlation).await?;
    Reply::of(
        StatusCode::ACCEPTED,
        &json!({ "id": id, "deliveryId": delivery }),
    )
}

async fn try_out(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let new = body::webhook(&request.body, webhooks.app.config.webhooks.allow_http)?;
    let tenant = &request.caller()?.tenant;
    let result = webhooks.try_out(tenant, new, request.correlation).await?;
    let answer = serde_json::to_value(&result.attempt);
    let mut answer = answer.map_err(|cause| Error::Bug(cause.to_string()))?;
    if let Some(answer) = answer.as_object_mut() {
        answer.insert("delivered".to_owned(), result.has_succeeded().into());
    }
    Reply::of(StatusCode::OK, &answer)
}

async fn health_of_all(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let health = health::of_all(&webhooks, &request.caller()?.tenant).await?;
    Reply::of(StatusCode::OK, &health)
}

/// A webhook; with its shared key where that was just made.
fn answer(status: StatusCode, webhook: &Webhook, shows_key: bool) -> Result<Reply> {
    let etag = etag_of(webhook)?;
    Ok(Reply::of(status, &answer_of(webhook, shows_key))?.tagged(etag))
}

fn answer_of(webhook: &Webhook, shows_key: bool) -> Answer<'_> {
    let mut answer = webhook.answer();
    let key = webhook.settings.shared_key.as_ref().filter(|_| shows_key);
    answer.shared_key = key.map(|key| key.0.as_str());
    answer
}
