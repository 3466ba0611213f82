//! What the API's documents say of webhooks, of their health, and of the keys that deliveries are verified with.

use serde_json::{Value, json};

use super::super::schema::{deliveries, registry as schema};
use super::{DELIVERY, NO_WEBHOOK, WEBHOOK, with_webhook};
use crate::http::schema::{duration, schema_of};
use crate::http::{Operation, Tag};
use crate::keys::KeyState;

const TOO_MANY: &str = "The tenant has as many webhooks as it may.";
const LOCATION: (&str, &str) = ("Location", "The path of the webhook.");
const SHARED_KEY: &str = "3q2-7wYd0c8mRk5nJt1VxZbLhPsUaQeFgWiXoCyTvNE";
const STANDARD_SECRET: &str = "whsec_M3EyLTd3WWQwYzhtUms1bkp0MVZ4WmJMaFBzVWFRZUZnV2lYb0N5VHZORQ==";

fn example() -> Value {
    json!({
        "id": WEBHOOK, "name": "ERP", "callbackUrl": "https://erp.example/hook", "eventTypes": ["x.order-updates.v1"],
        "filter": [{ "path": "$.data.businessUnitId", "in": ["SE-001"] }], "authentication": { "type": "BEARER" },
        "hasSharedKey": true, "enabled": true, "createdAt": "2026-11-20T17:40:00.000Z", "lastModified": "2026-11-20T17:40:00.000Z",
    })
}

/// The answer to the request that had its key made.
fn with_key(mut webhook: Value) -> Value {
    if let Some(webhook) = webhook.as_object_mut() {
        webhook.insert("sharedKey".to_owned(), json!(SHARED_KEY));
        webhook.insert("standardWebhooksSecret".to_owned(), json!(STANDARD_SECRET));
    }
    webhook
}

fn takes(operation: Operation) -> Operation {
    operation
        .takes(
            schema::webhook_settings,
            json!({
                "name": "ERP", "callbackUrl": "https://erp.example/hook", "eventTypes": ["x.order-updates.v1"],
                "filter": [{ "path": "$.data.businessUnitId", "in": ["SE-001"] }],
                "authentication": { "type": "BEARER" }, "sharedKey": "generate",
            }),
        )
        .or_takes(
            "with a name and a password",
            json!({
                "name": "Loyalty", "callbackUrl": "https://loyalty.example/events", "eventTypes": ["*"],
                "authentication": { "type": "BASIC", "username": "tillgate", "password": "correct horse battery staple" },
                "signatureHeader": "X-Loyalty-Signature", "maxPerSecond": 50, "enabled": false,
            }),
        )
}

pub(in crate::webhooks::http) fn list() -> Operation {
    Operation::new("listWebhooks", Tag::Webhooks, "List the tenant's webhooks")
        .says("Passwords and shared keys are not answered.")
        .answers(
            200,
            "The webhooks, by name",
            schema::webhooks,
            json!([example()]),
        )
        .with_entity_tag()
}

pub(in crate::webhooks::http) fn create() -> Operation {
    let operation = Operation::new("createWebhook", Tag::Webhooks, "Create a webhook");
    takes(operation)
        .says("It gets what is published from then on.")
        .answers(201, "It was created", schema::webhook, with_key(example()))
        .with_header(LOCATION.0, LOCATION.1)
        .with_header(
            "ETag",
            "The version of the webhook without its key, for `If-Match`.",
        )
        .refuses(409, TOO_MANY)
}

pub(in crate::webhooks::http) fn get() -> Operation {
    with_webhook(Operation::new("getWebhook", Tag::Webhooks, "Get a webhook"))
        .answers(200, "The webhook", schema::webhook, example())
        .with_entity_tag()
        .refuses(404, NO_WEBHOOK)
}

pub(in crate::webhooks::http) fn replace() -> Operation {
    let operation = Operation::new("putWebhook", Tag::Webhooks, "Replace a webhook");
    takes(with_webhook(operation))
        .says("A shared key that is left out stays. A password that is left out stays while scheme, host and port of the URL do. Enabling it sends the deliveries that were held. The answer has the shared key if it was made.")
        .answers(200, "It was replaced", schema::webhook, with_key(example()))
        .with_preconditions()
        .refuses(404, NO_WEBHOOK)
        .refuses(409, "The webhook is temporary, and cannot be changed.")
}

pub(in crate::webhooks::http) fn remove() -> Operation {
    with_webhook(Operation::new(
        "deleteWebhook",
        Tag::Webhooks,
        "Delete a webhook",
    ))
    .says("What was not delivered to it fails.")
    .empty(204, "It was deleted")
    .with_preconditions()
    .refuses(404, NO_WEBHOOK)
}

pub(in crate::webhooks::http) fn rotate_key() -> Operation {
    with_webhook(Operation::new("rotateSharedKey", Tag::Webhooks, "Give a webhook a new shared key"))
        .says("With an overlap `webhook-signature` carries a signature under each of both keys, and headers that hold one value are signed with the old one, until the overlap ends. A key before the old one ends at once.")
        .query(
            "overlap",
            "How long the old key goes on signing, at most 7 days; without it, not at all.",
            duration,
        )
        .answers(
            200,
            "The new key",
            schema::made_key,
            json!({
                "sharedKey": SHARED_KEY, "standardWebhooksSecret": STANDARD_SECRET,
                "previousSharedKeyEndsAt": "2026-11-21T17:40:00.000Z",
            }),
        )
        .refuses(404, NO_WEBHOOK)
}

pub(in crate::webhooks::http) fn ping() -> Operation {
    with_webhook(Operation::new("pingWebhook", Tag::Webhooks, "Send a test event to a webhook"))
        .says("It is of the type `exe.events.v1`, and delivered like any other, to this webhook alone.")
        .answers(
            202,
            "It was accepted",
            schema::ping,
            json!({ "id": "0196f0c5-7a3e-7c1d-9b52-4e8f1a6d2c2f", "deliveryId": DELIVERY }),
        )
        .refuses(404, NO_WEBHOOK)
        .refuses(409, "The webhook is disabled.")
        .refuses(429, "The tenant publishes too often, or too many of its deliveries wait. Try again after `Retry-After` seconds.")
}

pub(in crate::webhooks::http) fn resume() -> Operation {
    with_webhook(Operation::new("resumeWebhook", Tag::Webhooks, "Send again to a webhook that is paused"))
        .says("A webhook is paused after five failed attempts in a row: `pausedSince` and `pausedUntil` in its health. Deliveries that were tried before are tried at once, and those that were put off before their first attempt within five minutes. If they fail, it is paused again.")
        .empty(204, "It is sent to again")
        .refuses(404, NO_WEBHOOK)
        .refuses(409, "The webhook is disabled.")
}

pub(in crate::webhooks::http) fn try_out() -> Operation {
    Operation::new("tryOutWebhook", Tag::Webhooks, "Try out a webhook as it would be")
        .says("A test event is sent, once, and the result is waited for. Nothing is stored.")
        .takes(
            schema::webhook_trial,
            json!({
                "name": "ERP", "callbackUrl": "https://erp.example/hook", "eventTypes": ["x.order-updates.v1"],
                "authentication": { "type": "BEARER" },
            }),
        )
        .or_takes(
            "with the secrets of a webhook",
            json!({
                "id": WEBHOOK, "name": "ERP", "callbackUrl": "https://erp.example/other", "eventTypes": ["*"],
                "authentication": { "type": "BASIC", "username": "tillgate" },
            }),
        )
        .answers(
            200,
            "The result, whether the receiver has taken it or not",
            deliveries::trial,
            json!({ "at": "2026-11-20T17:40:00.000Z", "durationMs": 38, "status": 204, "delivered": true }),
        )
        .or_answers(
            "not delivered",
            json!({
                "at": "2026-11-20T17:40:00.000Z", "durationMs": 5, "status": 503, "answer": "maintenance", "delivered": false,
                "error": { "kind": "STATUS", "message": "the receiver answered 503 Service Unavailable" },
            }),
        )
        .refuses(404, "The tenant has no webhook with the `id` of the body.")
        .refuses(429, "Too many webhooks are being tried out. Try again after `Retry-After` seconds.")
}

pub(in crate::webhooks::http) fn health() -> Operation {
    let hours: Vec<_> = (0..24)
        .map(|hour| json!({ "hour": format!("2026-11-20T{hour:02}:00:00.000Z"), "delivered": 2, "failed": 0 }))
        .collect();
    Operation::new(
        "listWebhookHealth",
        Tag::Webhooks,
        "Get what was delivered and what failed in the last 24 hours",
    )
    .answers(
        200,
        "The health of each webhook, by id",
        schema::health,
        json!([{ "webhookId": WEBHOOK, "delivered": 48, "failed": 0, "breaker": "CLOSED", "hours": hours }]),
    )
}

pub(in crate::webhooks::http) fn get_certificates() -> Operation {
    Operation::new(
        "getWebhookCertificates",
        Tag::Tokens,
        "Get the certificates that verify the tokens of deliveries",
    )
    .says("A new one is published for longer than `max-age` before its key signs.")
    .answers(
        200,
        "The certificates, by key id",
        schema::certificates,
        json!({ "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs": "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----\n" }),
    )
    .with_header(
        "Cache-Control",
        "How long it may be cached: `public, max-age=3600`.",
    )
    .with_entity_tag()
    .refuses(500, "No key is published, which is a fault on this side.")
}

fn key_example(status: &str) -> Value {
    json!({ "kid": "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs", "status": status, "signsFrom": "2026-11-20T18:40:10.000Z" })
}

pub(in crate::webhooks::http) fn list_keys() -> Operation {
    Operation::new(
        "listWebhookKeys",
        Tag::Platform,
        "List the keys that sign the tokens of deliveries",
    )
    .answers(
        200,
        "The keys, the newest last",
        schema_of::<Vec<KeyState>>,
        json!([key_example("signing")]),
    )
    .with_entity_tag()
}

pub(in crate::webhooks::http) fn rotate_identity_key() -> Operation {
    Operation::new("rotateWebhookKey", Tag::Platform, "Publish a new key for the tokens of deliveries")
        .says("It signs once every cache of the certificates has it. The key before it is removed when the last token that it signed has expired.")
        .answers(201, "The new key", schema_of::<KeyState>, key_example("published"))
        .refuses(409, "A new key is published already and does not sign yet.")
}
