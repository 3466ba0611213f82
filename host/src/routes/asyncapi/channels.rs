//! The channels and their messages. The topic of rates and the changes of the catalog are server-sent events that a
//! client subscribes to; deliveries are requests to the receivers of webhooks.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use tillgate_api::rules;
use tillgate_api::schema::{SchemaOf, component};
use tillgate_rates as rates;
use tillgate_webhooks as webhooks;

use super::{Channel, Message};

pub(super) fn all(generator: &mut SchemaGenerator) -> [Channel; 3] {
    [
        rates_changed(generator),
        catalog_changed(generator),
        delivery(generator),
    ]
}

fn rates_changed(generator: &mut SchemaGenerator) -> Channel {
    Channel {
        name: "ratesChanged",
        operation: "sendRatesChanged",
        address: "cer.public.event.rates-changed.v1",
        title: "Changes of the rates that shops use",
        summary: "To those who follow the topic",
        description: "Server-sent events of `GET /api/v1/topics/cer.public.event.rates-changed.v1`: `data` of an event is the message, `id` the cursor that the subscription resumes after. A message may come more than once, and in any order: keep the newest of a shop by `publishTime`, and treat created and updated rates as what the shop has. An event named `reset` is no message of a shop. Unknown members are to be ignored. Consumers that read Redis themselves find the messages of shops in its streams.",
        parameters: Value::Null,
        messages: vec![
            Message {
                name: "RatesChanged",
                title: "The rates of a shop have changed",
                summary: "One message for each shop whose used rates a change has changed, or that is sent again",
                headers: None,
                payload: rates::topic::topic_event(generator),
                example: json!({
                    "messageId": "acme/17",
                    "publishTime": "2026-11-20T17:40:00.000000Z",
                    "attributes": {
                        "Tenant-Id": "acme", "Business-Unit-Id": "SE-003", "Correlation-Id": "f8a1c9d2-5c1b-4f0e-8d6a-3b2e7c4d5a60",
                    },
                    "data": {
                        "tenantId": "acme", "businessUnitId": "SE-003",
                        "updatedRates": [{
                            "exchangeRateType": "SALES", "sourceCurrencyCode": "SEK", "targetCurrencyCode": "EUR",
                            "rateValue": 11.05, "rateValueWithMarkup": 10.77375, "createdDate": "2026-11-20T17:40:00.000Z",
                        }],
                    },
                }),
            },
            Message {
                name: "RatesReset",
                title: "Messages are gone",
                summary: "An event named `reset`: messages after the cursor are not kept any more. Read the rates again; messages go on with the next event",
                headers: None,
                payload: rates::topic::topic_reset(generator),
                example: json!({}),
            },
        ],
    }
}

fn catalog_changed(generator: &mut SchemaGenerator) -> Channel {
    Channel {
        name: "catalogChanged",
        operation: "sendCatalogChanged",
        address: "/api/v1/catalog/changes",
        title: "Changes of the catalog",
        summary: "To those who follow the catalog",
        description: "Server-sent events of `GET /api/v1/catalog/changes`: the digest of the catalog now, and after each change. Fetch the catalog when it is another one.",
        parameters: Value::Null,
        messages: vec![Message {
            name: "CatalogChanged",
            title: "The catalog is another one",
            summary: "The digest of what decisions of a tenant are made with",
            headers: None,
            payload: rules::catalog_event(generator),
            example: json!({ "digest": "gA5pPtUZFA5sF3ZQbZ0z2w" }),
        }],
    }
}

fn delivery(generator: &mut SchemaGenerator) -> Channel {
    Channel {
        name: "deliveries",
        operation: "sendDelivery",
        address: "{callbackUrl}",
        title: "Deliveries to webhooks",
        summary: "To the receivers of webhooks",
        description: "A POST to the receiver of each webhook that wants the type of an event. 200, 201, 202 and 204 say that it has arrived; anything else, or no answer within the deadline, is tried again. The same event may come more than once: handle each `id` once. What an event says is in its `data`; the service's own types are listed with what that holds.",
        parameters: json!({ "callbackUrl": { "description": "The webhook's `callbackUrl`." } }),
        messages: deliveries(generator),
    }
}

/// Returns the message for an event of any type, and those for the service's own types.
fn deliveries(generator: &mut SchemaGenerator) -> Vec<Message> {
    let webhook = "6f1c2d8e-3f0b-4a51-9c1d-2b7e5a90c4d3";
    let any = Message {
        name: "Delivery",
        title: "An event",
        summary: "The envelope of an event, whose data is base64",
        headers: Some(delivery_headers(generator)),
        payload: webhooks::http::envelope(generator),
        example: envelope(
            "order-4715",
            "x.order-updates.v1",
            &json!({ "order": 4715 }),
        ),
    };
    let mut event = |name, event_type, (title, summary), data: SchemaOf, example: Value| {
        let data = data(generator);
        Message {
            name,
            title,
            summary,
            headers: Some(delivery_headers(generator)),
            payload: webhooks::http::envelope_of(generator, event_type, &data),
            example: envelope("0196f0c5-7a3e-7c1d-9b52-4e8f1a6d2c2f", event_type, &example),
        }
    };
    vec![
        any,
        event(
            "ConditionChanged",
            "entity-conditions.events.v1",
            (
                "A condition has changed",
                "The tenant has created, replaced or deleted a condition",
            ),
            rules::condition_event,
            json!({ "action": "DELETED", "id": "alcohol" }),
        ),
        event(
            "ProjectChanged",
            "projects.events.v1",
            (
                "A project has changed",
                "The tenant has created, replaced or deleted a project",
            ),
            rules::project_event,
            json!({ "action": "DELETED", "id": "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90" }),
        ),
        event(
            "WebhookDisabled",
            "webhooks.events.v1",
            (
                "A webhook was disabled",
                "The service has disabled another webhook of the tenant",
            ),
            webhooks::http::webhook_event,
            json!({ "action": "DISABLED", "id": webhook, "reason": "GONE" }),
        ),
        event(
            "DeliveryFailed",
            "deliveries.events.v1",
            (
                "A delivery has failed for good",
                "To another webhook of the tenant; at most one a minute and webhook",
            ),
            webhooks::http::delivery_event,
            json!({
                "action": "FAILED", "deliveryId": "0196f0c5-7a3e-7c1d-9b52-4e8f1a6d2c2e", "webhookId": webhook,
                "eventType": "x.order-updates.v1",
            }),
        ),
        event(
            "Ping",
            "exe.events.v1",
            ("A test event", "Someone tries out the webhook"),
            webhooks::http::ping_event,
            json!({ "action": "PING", "message": "This is a test." }),
        ),
    ]
}

/// Returns an event as it is sent.
fn envelope(id: &str, event_type: &str, data: &Value) -> Value {
    json!({
        "id": id, "time": "2026-11-20T17:40:00.000Z", "type": event_type, "datacontenttype": "application/json",
        "data": BASE64_STANDARD.encode(data.to_string()), "dataencoding": "base64", "meta": {},
        "source": "dispatcher.tillgate.example", "specversion": "1.0",
    })
}

/// Returns the schema of the headers of a delivery (`webhooks.md`, "A delivery").
fn delivery_headers(generator: &mut SchemaGenerator) -> Schema {
    let text = |description: &str| json!({ "type": "string", "description": description });
    component(generator, "DeliveryHeaders", |_| {
        json_schema!({
            "type": "object",
            "required": ["Authorization", "Correlation-Id", "User-Agent"],
            "properties": {
                "Authorization": text("`Bearer` and a JWT (RS256) whose `aud` is the callbackUrl, or `Basic` with the webhook's user name and password. `GET /oauth2/v1/certs` has the certificates."),
                "Correlation-Id": text("A UUID, the same over all attempts."),
                "User-Agent": text("Which service sends it."),
                "X-Service-Signature": text("With a shared key: `HS256=` and the hexadecimal HMAC-SHA-256 of `data` as it is sent. It may have another name."),
                "X-Service-Body-Signature": text("With a shared key: `t=SECONDS,HS256=` and the HMAC of `ID.SECONDS.BODY`."),
                "webhook-id": {
                    "type": "string", "pattern": "^[A-Za-z0-9_-]{1,255}$",
                    "description": "With a shared key, as Standard Webhooks have it: the id of the event, or `evt_` and the first 22 characters of the base64url of its SHA-256 where it has other characters or is longer. The same over all attempts.",
                },
                "webhook-timestamp": text("With a shared key: when the attempt was made, in seconds since the epoch."),
                "webhook-signature": text("With a shared key: `v1,` and the base64 of the HMAC of `webhook-id.webhook-timestamp.body`; two of them, separated by a space, while a key is replaced."),
            },
        })
    })
}
