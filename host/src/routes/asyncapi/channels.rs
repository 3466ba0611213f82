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
        summary: "Subscribers of the topic receive these messages",
        description: "Server-sent events of `GET /api/v1/topics/cer.public.event.rates-changed.v1`: the `data` of an event is the message, and its `id` is the cursor after which a subscription resumes. A message may arrive more than once, and messages may arrive in any order: for each shop, keep the newest by `publishTime`, and treat created and updated rates as the shop's current rates. An event named `reset` is not a message of a shop. Ignore unknown members. Consumers that read Redis directly find the messages of shops in its streams.",
        parameters: Value::Null,
        messages: vec![
            Message {
                name: "RatesChanged",
                title: "The rates of a shop have changed",
                summary: "One message for each shop whose used rates have changed or are sent again",
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
                summary: "An event named `reset`: messages after the cursor are no longer kept. Read the rates again; messages continue with the next event",
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
        summary: "Subscribers of the catalog's changes receive these messages",
        description: "Server-sent events of `GET /api/v1/catalog/changes`: the digest of the present catalog, and the new digest after each change. Fetch the catalog when the digest has changed.",
        parameters: Value::Null,
        messages: vec![Message {
            name: "CatalogChanged",
            title: "The catalog has changed",
            summary: "The digest of the tenant's catalog",
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
        summary: "The receivers of webhooks get these requests",
        description: "A POST to the receiver of each webhook that wants the type of an event. 200, 201, 202 and 204 confirm that it has arrived; after any other answer, or none within the deadline, it is sent again. The same event may arrive more than once: handle each `id` once. The content of an event is its `data`, which is described for each of the service's own event types.",
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
                "A delivery to another webhook of the tenant has failed for good; at most one event per minute and webhook",
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
            ("A test event", "Someone is trying out the webhook"),
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
                "Correlation-Id": text("A UUID, the same for all attempts."),
                "User-Agent": text("The name of the sending service."),
                "X-Service-Signature": text("With a shared key: `HS256=` and the hexadecimal HMAC-SHA-256 of `data` as it is sent. The setting `webhooks.signature_headers` may give it another name."),
                "X-Service-Body-Signature": text("With a shared key: `t=SECONDS,HS256=` and the HMAC of `ID.SECONDS.BODY`."),
                "webhook-id": {
                    "type": "string", "pattern": "^[A-Za-z0-9_-]{1,255}$",
                    "description": "With a shared key, as in Standard Webhooks: the id of the event, or, if that has other characters or is longer, `evt_` and the first 22 characters of the base64url of its SHA-256. The same for all attempts.",
                },
                "webhook-timestamp": text("With a shared key: the time of the attempt, in seconds since the epoch."),
                "webhook-signature": text("With a shared key: `v1,` and the base64 of the HMAC of `webhook-id.webhook-timestamp.body`; two of these, separated by a space, while a key is being replaced."),
            },
        })
    })
}
