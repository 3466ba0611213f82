//! What the API's documents say of listeners.

use serde_json::json;

use super::super::schema::{deliveries, listener as schema, registry};
use super::deliveries::delivery;
use super::{NO_WEBHOOK, WEBHOOK, with_webhook};
use crate::http::schema::{text, uuid};
use crate::http::{Operation, Tag};

pub(in crate::webhooks::http) fn create() -> Operation {
    Operation::new("createListener", Tag::Webhooks, "Create a temporary webhook, whose deliveries a developer's machine forwards")
        .says("`tillgate listen` does this. It is removed when nobody follows its deliveries for a minute.")
        .takes(
            schema::new_listener,
            json!({ "eventTypes": ["x.order-updates.v1"], "forwardTo": "http://127.0.0.1:3000/hook" }),
        )
        .answers(
            201,
            "It was created",
            registry::webhook,
            json!({
                "id": WEBHOOK, "name": "tillgate listen", "callbackUrl": "http://127.0.0.1:3000/hook",
                "eventTypes": ["x.order-updates.v1"], "authentication": { "type": "BEARER" }, "hasSharedKey": true,
                "sharedKey": "3q2-7wYd0c8mRk5nJt1VxZbLhPsUaQeFgWiXoCyTvNE",
                "standardWebhooksSecret": "whsec_M3EyLTd3WWQwYzhtUms1bkp0MVZ4WmJMaFBzVWFRZUZnV2lYb0N5VHZORQ==",
                "temporary": true, "expiresAt": "2026-11-20T17:41:00.000Z", "enabled": true,
                "createdAt": "2026-11-20T17:40:00.000Z", "lastModified": "2026-11-20T17:40:00.000Z",
            }),
        )
        .with_header("Location", "The path of the webhook.")
        .refuses(409, "The tenant has as many webhooks, or temporary ones, as it may.")
}

pub(in crate::webhooks::http) fn follow() -> Operation {
    with_webhook(Operation::new("followListener", Tag::Webhooks, "Follow the deliveries of a temporary webhook"))
        .says("Server-sent events. `delivery` has, as JSON, `deliveryId`, `eventId`, `eventType`, `attempt`, `at`, `receipt`, `deadlineMs` and the `request` to be made: `method`, `url`, `headers`, `body`. Its outcome is reported with `reportDeliveryOutcome`. `removed` is the last: the webhook is gone. A comment comes every 15 seconds. The newest request that follows a webhook ends those before it.")
        .answers_as(
            "text/event-stream",
            200,
            "Events without end",
            text,
            json!("event:delivery\ndata:{\"deliveryId\":\"0196f0c5-7a3e-7c1d-9b52-4e8f1a6d2c30\",\"receipt\":\"4-1795196400000000\"}\nid:0196f0c5-7a3e-7c1d-9b52-4e8f1a6d2c30\n\n"),
        )
        .refuses(404, NO_WEBHOOK)
        .refuses(409, "The webhook is not temporary, or the tenant has as many event streams as it may.")
}

pub(in crate::webhooks::http) fn report() -> Operation {
    with_webhook(Operation::new("reportDeliveryOutcome", Tag::Webhooks, "Report what became of a delivery that was forwarded"))
        .says("It counts as if this service had made the attempt. A report that comes twice counts once.")
        .path("deliveryId", "The id of the delivery.", uuid)
        .takes(
            schema::outcome,
            json!({ "receipt": "4-1795196400000000", "durationMs": 38, "answer": { "status": 204 } }),
        )
        .or_takes(
            "there was no answer",
            json!({ "receipt": "4-1795196400000000", "durationMs": 2, "error": { "kind": "UNREACHABLE", "message": "connection refused" } }),
        )
        .answers(200, "The delivery", deliveries::delivery, delivery("DELIVERED"))
        .refuses(404, "The tenant has no such webhook, or the webhook no such delivery.")
        .refuses(409, "The webhook is not temporary.")
}
