//! Listeners: temporary webhooks whose deliveries are forwarded by a developer's own machine.

use std::sync::Arc;

use ::http::header::LOCATION;
use ::http::{HeaderValue, Method, StatusCode};
use futures_util::StreamExt;
use uuid::Uuid;

use super::described::listener as described;
use super::{WEBHOOKS, answer_of, webhook_of};
use crate::error::{Error, Result};
use crate::http::{Access, Audited, Followed, MAX_BODY, Reply, Request, Route, Takes};
use crate::identity::Permission;
use crate::webhooks::Webhooks;
use crate::webhooks::journal::no_delivery;
use crate::webhooks::listener::{Offered, read_listener, read_report};
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
        .described(described::create),
        Route::new(Method::GET, deliveries, access, none, follow)
            .giving("text/event-stream")
            .described(described::follow),
        Route::new(
            Method::POST,
            outcome,
            access,
            Takes::Json(MAX_REPORT),
            report,
        )
        .described(described::report)
        .unaudited("the result of an attempt is in the journal, like all results"),
    ]
}

async fn create(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let reached = &webhooks.app.config.webhooks.allow_private;
    let new = read_listener(&request.body, reached)?;
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
    let delivery = Uuid::try_parse(request.param(1)?).map_err(|_| no_delivery())?;
    let report = read_report(&request.body)?;
    let tenant = &request.caller()?.tenant;
    let reported = webhooks.report(tenant, webhook, delivery, report).await?;
    Reply::of(StatusCode::OK, &reported)
}
