//! Listeners: temporary webhooks whose deliveries are forwarded by a developer's own machine.

use std::sync::Arc;

use ::http::header::LOCATION;
use ::http::{HeaderValue, Method, StatusCode};
use futures_util::StreamExt;
use tillgate_api::problem::{
    DELIVERY_NOT_FOUND, QUOTA_EXCEEDED, WEBHOOK_NOT_FOUND, WEBHOOK_NOT_TEMPORARY,
};
use tillgate_api::read;
use tillgate_api::schema::{schema_of, text, uuid};
use uuid::Uuid;

use super::path::{webhook_of, with_webhook};
use super::webhooks::{WEBHOOKS, answer_of};
use crate::error::{Error, Result};
use crate::http::{
    Access, Audited, Followed, MAX_BODY, Operation, Reply, Request, Route, Tag, Takes,
};
use crate::identity::Permission;
use crate::webhooks::Webhooks;
use crate::webhooks::journal::{Entry, no_delivery};
use crate::webhooks::listener::{
    Offered, listener_schema, read_listener, read_report, report_schema,
};
use crate::webhooks::registry::answer::Answer;
use crate::webhooks::registry::audit::line;

/// The most bytes of a report: the beginning of an answer, and why there is none.
const MAX_REPORT: usize = 64 << 10;

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let access = Access::With(Permission::WebhookWrite);
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let deliveries = "/api/v1/webhooks/{webhookId}/deliveries";
    let outcome = "/api/v1/webhooks/{webhookId}/deliveries/{deliveryId}/outcome";
    let listen = "/api/v1/webhooks/listen";
    vec![
        Route::changing(
            Method::POST,
            listen,
            access,
            json,
            "webhook.created",
            create,
        )
        .described(describe_create),
        Route::new(Method::GET, deliveries, access, none, follow)
            .giving("text/event-stream")
            .described(describe_follow),
        Route::new(
            Method::POST,
            outcome,
            access,
            Takes::Json(MAX_REPORT),
            report,
        )
        .described(describe_report)
        .unaudited("the result of an attempt is in the journal, like all results"),
    ]
}

async fn create(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let reached = &webhooks.app.config.webhooks.allow_private;
    let new = read(&request.body, |value| read_listener(value, reached))?;
    let tenant = &request.caller()?.tenant;
    let created = webhooks.listen(tenant, new).await?;
    let location = format!("{WEBHOOKS}/{}", created.webhook.id);
    let location =
        HeaderValue::from_str(&location).map_err(|cause| Error::Bug(cause.to_string()))?;
    let mut answer = answer_of(&created.webhook, created.key_is_made);
    answer.expires_at = Some(created.expires_at.to_millis_text());
    let reply = Reply::of(StatusCode::CREATED, &answer)?.with(LOCATION, location);
    let webhook = &created.webhook;
    Ok(reply.audited(line(tenant, webhook.id, None, Some(webhook))?))
}

async fn follow(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let id = webhook_of(&request)?;
    let offers = webhooks.offers(&request.caller()?.tenant, id).await?;
    request.follow(offers.map(|offered| match offered {
        Offered::Delivery(id, data) => Followed::Event {
            id: id.to_string(),
            name: Some("delivery"),
            data,
        },
        Offered::Removed => Followed::Event {
            id: String::new(),
            name: Some("removed"),
            data: Arc::from("{}"),
        },
    }))
}

async fn report(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let webhook = webhook_of(&request)?;
    let delivery = request.param(1)?;
    let delivery = Uuid::try_parse(delivery).map_err(|_| no_delivery(delivery))?;
    let report = read(&request.body, read_report)?;
    let tenant = &request.caller()?.tenant;
    let reported = webhooks.report(tenant, webhook, delivery, report).await?;
    Reply::of(StatusCode::OK, &reported)
}

fn describe_create() -> Operation {
    Operation::new(
        "createListener",
        Tag::Webhooks,
        "Create a temporary webhook, whose deliveries a developer's machine forwards",
    )
    .says(
        "`tillgate listen` does this. It is removed when nobody follows its \
            deliveries for a minute.",
    )
    .takes(listener_schema)
    .answers(201, "It was created", schema_of::<Answer<'_>>)
    .with_header("Location", "The path of the webhook.")
    .refuses(&[QUOTA_EXCEEDED])
}

fn describe_follow() -> Operation {
    with_webhook(Operation::new(
        "followListener",
        Tag::Webhooks,
        "Follow the deliveries of a temporary webhook",
    ))
    .says(
        "Server-sent events. `delivery` has, as JSON, `deliveryId`, \
            `eventId`, `eventType`, `attempt`, `at`, `receipt`, `deadlineMs` \
            and the `request` to be made: `method`, `url`, `headers`, \
            `body`. Its outcome is reported with `reportDeliveryOutcome`. \
            `removed` is the last: the webhook is gone. A comment comes \
            every 15 seconds. The newest request that follows a webhook ends those before it.",
    )
    .answers_as("text/event-stream", 200, "Events without end", text)
    .refuses(&[WEBHOOK_NOT_FOUND, WEBHOOK_NOT_TEMPORARY, QUOTA_EXCEEDED])
}

fn describe_report() -> Operation {
    with_webhook(Operation::new(
        "reportDeliveryOutcome",
        Tag::Webhooks,
        "Report what became of a delivery that was forwarded",
    ))
    .says(
        "It counts as if this service had made the attempt. A report that \
            comes twice counts once.",
    )
    .path("deliveryId", "The id of the delivery.", uuid)
    .takes(report_schema)
    .answers(200, "The delivery", schema_of::<Entry>)
    .refuses(&[WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND, WEBHOOK_NOT_TEMPORARY])
}
