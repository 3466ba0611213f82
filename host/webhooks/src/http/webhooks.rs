//! The routes of webhooks (`webhooks.md`, "Resource"): configuring, trying out and resuming them, and their health.

use std::sync::Arc;
use std::time::Duration;

use ::http::header::LOCATION;
use ::http::{HeaderValue, Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::{
    QUOTA_EXCEEDED, RATE_LIMITED, TOO_MUCH_WAITING, WEBHOOK_DISABLED, WEBHOOK_NOT_FOUND,
};
use tillgate_api::read;
use tillgate_api::schema::{duration, schema_of, time, uuid};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, Permission as P, Secret};
use tillgate_base::observe::audit::Line;
use tillgate_http::{
    Access, Audited, MAX_BODY, Operation, QueryParameter, Reply, Request, Route, Tag, Takes,
};
use uuid::Uuid;

use super::path::{webhook_of, with_webhook};
use crate::Webhooks;
use crate::delivery::health;
use crate::delivery::health::Health;
use crate::events::delivery_record::Attempt;
use crate::registry::answer::Answer;
use crate::registry::audit::line;
use crate::registry::body::{self, NewWebhook, settings_schema, trial_schema};
use crate::registry::secrets::standard_webhooks_secret;
use crate::registry::shared_keys::overlap;
use crate::registry::webhook::Webhook;

pub(super) const WEBHOOKS: &str = "/api/v1/webhooks";
const WEBHOOK: &str = "/api/v1/webhooks/{webhookId}";

/// A new shared key.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SharedKey")]
struct KeyAnswer<'a> {
    /// The key, which is never shown again.
    shared_key: &'a str,
    /// The key in the form that Standard Webhooks libraries take.
    #[schemars(regex(pattern = "^whsec_"))]
    standard_webhooks_secret: String,
    /// The time until which the previous key also signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "time")]
    previous_shared_key_ends_at: Option<String>,
}

/// The result of a trial.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "TrialResult")]
struct TrialAnswer {
    #[serde(flatten)]
    attempt: Attempt,
    /// `true` if the receiver accepted the test event.
    delivered: bool,
}

/// A test event that was accepted.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ping {
    /// The id of the event.
    id: String,
    #[schemars(schema_with = "uuid")]
    delivery_id: Uuid,
}

const OVERLAP: QueryParameter<Duration> = QueryParameter {
    name: "overlap",
    about: "The time for which the old key continues to sign: at most 7 days. Default: none.",
    schema: duration,
    read: overlap,
};

pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let (read, write) = (Access::With(P::WebhookRead), Access::With(P::WebhookWrite));
    let key = "/api/v1/webhooks/{webhookId}/shared-key";
    let ping_one = "/api/v1/webhooks/{webhookId}/ping";
    let resume_one = "/api/v1/webhooks/{webhookId}/resume";
    let ping_any = "/api/v1/webhooks/ping";
    let (post, put, delete) = (Method::POST, Method::PUT, Method::DELETE);
    vec![
        Route::new(Method::GET, WEBHOOKS, read, none, list).described(describe_list),
        Route::changing(
            post.clone(),
            WEBHOOKS,
            write,
            json,
            "webhook.created",
            create,
        )
        .described(describe_create),
        Route::new(
            Method::GET,
            "/api/v1/webhooks/health",
            read,
            none,
            health_of_all,
        )
        .heavy()
        .described(describe_health),
        Route::changing(
            post.clone(),
            ping_any,
            write,
            json,
            "webhook.tried_out",
            try_out,
        )
        .described(describe_try_out),
        Route::new(Method::GET, WEBHOOK, read, none, get).described(describe_get),
        Route::changing(put, WEBHOOK, write, json, "webhook.put", replace)
            .described(describe_replace),
        Route::changing(delete, WEBHOOK, write, none, "webhook.deleted", remove)
            .described(describe_remove),
        Route::changing(
            post.clone(),
            key,
            write,
            none,
            "webhook.key_rotated",
            rotate_key,
        )
        .described(describe_rotate_key),
        Route::changing(post.clone(), ping_one, write, none, "webhook.pinged", ping)
            .described(describe_ping),
        Route::changing(post, resume_one, write, none, "webhook.resumed", resume)
            .described(describe_resume),
    ]
}

/// Reads the webhook in the body.
fn new_webhook(webhooks: &Webhooks, request: &Request) -> Result<NewWebhook> {
    let allows_http = webhooks.app.config.webhooks.allow_http;
    let read = read(&request.body, |value| body::webhook(value, allows_http, ""))?;
    Ok(read)
}

async fn list(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let all = webhooks.list(&request.caller()?.tenant).await?;
    let all: Vec<_> = all.iter().map(|webhook| webhook.answer()).collect();
    request.answer_json(&all)
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
    let new = new_webhook(&webhooks, &request)?;
    let caller = request.caller()?;
    let (tenant, by) = (&caller.tenant, By::caller(caller));
    let (webhook, shows_key) = webhooks.create(tenant, &by, new).await?;
    let location = format!("{WEBHOOKS}/{}", webhook.id);
    let location =
        HeaderValue::from_str(&location).map_err(|cause| Error::Bug(cause.to_string()))?;
    let reply = answer(StatusCode::CREATED, &webhook, shows_key)?.with(LOCATION, location);
    Ok(reply.audited(line(tenant, webhook.id, None, Some(&webhook))?))
}

async fn replace(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let id = webhook_of(&request)?;
    let new = new_webhook(&webhooks, &request)?;
    let caller = request.caller()?;
    let (tenant, by) = (&caller.tenant, By::caller(caller));
    let preconditions = request.preconditions();
    let replaced = webhooks.replace(tenant, &by, id, new, &preconditions);
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
    let caller = request.caller()?;
    let (tenant, by) = (&caller.tenant, By::caller(caller));
    let span = request.query(&OVERLAP)?.unwrap_or_default();
    let [before, webhook] = webhooks.rotate_key(tenant, &by, id, span).await?;
    let answer = answer_of(&webhook, true);
    let no_key = || Error::Bug("a webhook has no key after its rotation".to_owned());
    let key = KeyAnswer {
        shared_key: answer.shared_key.ok_or_else(no_key)?,
        standard_webhooks_secret: answer.standard_webhooks_secret.ok_or_else(no_key)?,
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
    let answer = Ping {
        id: event,
        delivery_id: delivery,
    };
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
    let new = new_webhook(&webhooks, &request)?;
    let tenant = &request.caller()?.tenant;
    let line = Line {
        tenant: Some(tenant.clone()),
        id: new.id.map(|id| id.to_string()),
        receiver: new.settings.receiver(),
        ..Line::default()
    };
    let result = webhooks.try_out(tenant, new, request.correlation).await?;
    let answer = TrialAnswer {
        delivered: result.has_succeeded(),
        attempt: result.attempt,
    };
    Ok(Reply::of(StatusCode::OK, &answer)?.audited(line))
}

async fn health_of_all(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let health = health::of_all(&webhooks, &request.caller()?.tenant).await?;
    Reply::of(StatusCode::OK, &health)
}

/// Answers with a webhook, and with its shared key if that was just generated.
fn answer(status: StatusCode, webhook: &Webhook, shows_key: bool) -> Result<Reply> {
    let etag = webhook.etag()?;
    Ok(Reply::of(status, &answer_of(webhook, shows_key))?.tagged(etag))
}

pub(super) fn answer_of(webhook: &Webhook, shows_key: bool) -> Answer<'_> {
    let mut answer = webhook.answer();
    let key = webhook.settings.shared_key.as_ref().filter(|_| shows_key);
    answer.shared_key = key.map(Secret::reveal);
    answer.standard_webhooks_secret = key.map(standard_webhooks_secret);
    answer
}

fn takes(operation: Operation) -> Operation {
    operation.takes(settings_schema)
}

fn describe_list() -> Operation {
    Operation::new("listWebhooks", Tag::Webhooks, "List the tenant's webhooks")
        .says("Passwords and shared keys are not returned.")
        .answers(
            200,
            "The webhooks, sorted by name",
            schema_of::<Vec<Answer<'_>>>,
        )
        .with_entity_tag()
}

fn describe_create() -> Operation {
    let operation = Operation::new("createWebhook", Tag::Webhooks, "Create a webhook");
    takes(operation)
        .says("The webhook gets the events that are published from then on.")
        .answers(201, "The webhook was created", schema_of::<Answer<'_>>)
        .with_header("Location", "The path of the webhook.")
        .with_header(
            "ETag",
            "The version of the webhook without its key, for `If-Match`.",
        )
        .refuses(&[QUOTA_EXCEEDED])
}

fn describe_get() -> Operation {
    with_webhook(Operation::new("getWebhook", Tag::Webhooks, "Get a webhook"))
        .answers(200, "The webhook", schema_of::<Answer<'_>>)
        .with_entity_tag()
        .refuses(&[WEBHOOK_NOT_FOUND])
}

fn describe_replace() -> Operation {
    let operation = Operation::new("putWebhook", Tag::Webhooks, "Replace a webhook");
    takes(with_webhook(operation))
        .says(
            "If the shared key is left out, the stored one is kept. If the \
                password is left out, the stored one is kept unless the scheme, \
                host or port of the URL changes. Enabling the webhook sends the \
                deliveries that were held. The answer has the shared key if it \
                was generated.",
        )
        .answers(200, "The webhook was replaced", schema_of::<Answer<'_>>)
        .with_preconditions()
        .refuses(&[WEBHOOK_NOT_FOUND])
}

fn describe_remove() -> Operation {
    with_webhook(Operation::new(
        "deleteWebhook",
        Tag::Webhooks,
        "Delete a webhook",
    ))
    .says("Its unfinished deliveries fail.")
    .empty(204, "The webhook was deleted")
    .with_preconditions()
    .refuses(&[WEBHOOK_NOT_FOUND])
}

fn describe_rotate_key() -> Operation {
    with_webhook(Operation::new(
        "rotateSharedKey",
        Tag::Webhooks,
        "Give a webhook a new shared key",
    ))
    .says(
        "Until the overlap ends, `webhook-signature` has a signature with each \
            of the two keys, and headers that hold one value are signed with \
            the old one. A key before the old one is no longer used.",
    )
    .query(&OVERLAP)
    .answers(200, "The new key", schema_of::<KeyAnswer<'_>>)
    .refuses(&[WEBHOOK_NOT_FOUND])
}

fn describe_ping() -> Operation {
    with_webhook(Operation::new(
        "pingWebhook",
        Tag::Webhooks,
        "Send a test event to a webhook",
    ))
    .says("The event has the type `exe.events.v1` and is delivered like any other, but only to this webhook.")
    .answers(202, "The event was accepted", schema_of::<Ping>)
    .refuses(&[
        WEBHOOK_NOT_FOUND,
        WEBHOOK_DISABLED,
        RATE_LIMITED,
        TOO_MUCH_WAITING,
    ])
}

fn describe_resume() -> Operation {
    with_webhook(Operation::new(
        "resumeWebhook",
        Tag::Webhooks,
        "Resume a paused webhook",
    ))
    .says(
        "A webhook is paused after five failed attempts in a row; its health \
            then has `pausedSince` and `pausedUntil`. Once it is resumed, \
            deliveries that were tried before are tried at once, and those that \
            were deferred before their first attempt within five minutes. If \
            they fail, the webhook is paused again.",
    )
    .empty(204, "The webhook is no longer paused")
    .refuses(&[WEBHOOK_NOT_FOUND, WEBHOOK_DISABLED])
}

fn describe_try_out() -> Operation {
    Operation::new(
        "tryOutWebhook",
        Tag::Webhooks,
        "Try out a webhook without storing it",
    )
    .says("Sends a test event once and waits for the result. Nothing is stored.")
    .takes(trial_schema)
    .answers(
        200,
        "The result, whether or not the receiver accepted the event",
        schema_of::<TrialAnswer>,
    )
    .refuses(&[WEBHOOK_NOT_FOUND, TOO_MUCH_WAITING])
}

fn describe_health() -> Operation {
    Operation::new(
        "listWebhookHealth",
        Tag::Webhooks,
        "Get the health of all webhooks in the last 24 hours",
    )
    .answers(
        200,
        "The health of each webhook, by id",
        schema_of::<Vec<Health>>,
    )
}
