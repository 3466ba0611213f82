//! Publishes events, and signs them for a receiver that this service cannot reach. Events that callers publish for
//! their own tenant are the traffic of the service; an event that an operator publishes for another tenant gets a line
//! in the audit log.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::{
    EVENT_ID_TAKEN, EVENT_NOT_FOUND, EVENT_TYPE_RESERVED, RATE_LIMITED, TOO_MUCH_WAITING,
};
use tillgate_api::read;
use tillgate_api::schema::schema_of;
use tillgate_base::error::Result;
use tillgate_base::identity::Permission;
use tillgate_base::observe::audit::Line;
use tillgate_http::{Access, Audited, MAX_BODY, Operation, Reply, Request, Route, Tag, Takes};

use crate::Webhooks;
use crate::events::INLINE;
use crate::events::body::{event_schema, publish_request};
use crate::events::publish::Published;
use crate::events::schema::event_id;
use crate::listen_headers::{SignedHeaders, local_receiver, local_receiver_schema};

pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let access = Access::With(Permission::EventPublish);
    let takes = Takes::Json(MAX_BODY);
    vec![
        Route::changing(
            Method::POST,
            "/api/v1/events",
            access,
            takes,
            "event.published",
            publish,
        )
        .described(describe_publish),
        Route::changing(
            Method::POST,
            "/api/v1/events/{eventId}/signed-headers",
            Access::With(Permission::WebhookWrite),
            takes,
            "event.signed",
            sign,
        )
        .described(describe_sign),
    ]
}

async fn publish(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let caller = request.caller()?;
    let (now, correlation) = (webhooks.app.clock.now(), request.correlation);
    let asked = if request.body.len() > INLINE {
        let body = request.body.clone();
        let read = move || publish_request(&body, now, correlation);
        Box::pin(webhooks.app.workers.run(read)).await??
    } else {
        publish_request(&request.body, now, correlation)?
    };
    let tenant = match &asked.tenant {
        Some(tenant) => {
            caller.require_tenant(tenant.as_str())?;
            tenant
        }
        None => &caller.tenant,
    };
    let accepted = match webhooks.publish(tenant, &asked.event).await {
        // The audit log has no lines for a tenant's own events, accepted or not.
        Err(error) if *tenant == caller.tenant => {
            return Ok(Reply::error(&error, request.correlation).unchanged());
        }
        published => published?,
    };
    let reply = Reply::of(StatusCode::ACCEPTED, &accepted)?;
    if *tenant == caller.tenant {
        return Ok(reply.unchanged());
    }
    let line = Line {
        tenant: Some(tenant.clone()),
        event_type: Some(asked.event.event_type.clone()),
        id: Some(accepted.id),
        ..Line::default()
    };
    Ok(reply.audited(line))
}

async fn sign(webhooks: Arc<Webhooks>, request: Request) -> Result<Audited> {
    let reached = &webhooks.app.config.webhooks.allow_private;
    let settings = read(&request.body, |value| local_receiver(value, reached))?;
    let (tenant, event) = (&request.caller()?.tenant, request.param(0)?);
    let (signed, event_type) = webhooks.sign(tenant, event, &settings).await?;
    let line = Line {
        tenant: Some(tenant.clone()),
        id: Some(event.to_owned()),
        event_type: Some(event_type),
        receiver: settings.receiver(),
        ..Line::default()
    };
    Ok(Reply::of(StatusCode::OK, &signed)?.audited(line))
}

fn describe_publish() -> Operation {
    Operation::new("publishEvent", Tag::Events, "Publish an event")
        .says(
            "The event and its deliveries are stored durably before the \
                request is answered. Only the service itself publishes the types \
                `entity-conditions.events.v1`, `projects.events.v1`, \
                `webhooks.events.v1`, `deliveries.events.v1` and `exe.events.v1`.",
        )
        .takes(event_schema)
        .answers(
            202,
            "The event was accepted, now or before",
            schema_of::<Published>,
        )
        .refuses(&[
            EVENT_TYPE_RESERVED,
            EVENT_ID_TAKEN,
            RATE_LIMITED,
            TOO_MUCH_WAITING,
        ])
}

fn describe_sign() -> Operation {
    Operation::new(
        "signEvent",
        Tag::Events,
        "Get the headers for delivering an event to your own machine",
    )
    .says(
        "For a receiver that you are writing and that this service cannot \
            reach: get events as a consumer, and send each envelope, byte for \
            byte, with these headers. `tillgate listen` does this. An id \
            that the publisher chose is found for 24 hours. The journal does not list these attempts.",
    )
    .path("eventId", "The id of the event.", event_id)
    .takes(local_receiver_schema)
    .answers(
        200,
        "The headers, with a token that expires soon",
        schema_of::<SignedHeaders>,
    )
    .refuses(&[EVENT_NOT_FOUND])
}
