//! The AsyncAPI document (3.0): what this service sends by itself. The topic of rates and the changes of the catalog are
//! server-sent events that a client subscribes to; deliveries are requests to the receivers of webhooks.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::http::document::{Info, generator};
use crate::http::schema::SchemaOf;
use crate::{conditions, rates, webhooks};

/// A message of a channel.
struct Message {
    name: &'static str,
    title: &'static str,
    summary: &'static str,
    content_type: &'static str,
    headers: Option<Value>,
    payload: SchemaOf,
    example: Value,
}

/// Where messages come from.
struct Channel {
    name: &'static str,
    address: &'static str,
    title: &'static str,
    description: &'static str,
    parameters: Value,
    message: Message,
}

/// The document.
pub(super) fn asyncapi(info: Info) -> Value {
    let mut generator = generator();
    let (mut channels, mut operations, mut messages) = (Map::new(), Map::new(), Map::new());
    for channel in all() {
        let message = &channel.message;
        let reference = json!({ "$ref": format!("#/components/messages/{}", message.name) });
        let mut document = json!({
            "address": channel.address,
            "title": channel.title,
            "description": channel.description,
            "messages": { message.name: reference },
        });
        if let (Some(document), true) = (document.as_object_mut(), channel.parameters.is_object()) {
            document.insert("parameters".to_owned(), channel.parameters);
        }
        channels.insert(channel.name.to_owned(), document);
        let operation = json!({
            "action": "send",
            "channel": { "$ref": format!("#/channels/{}", channel.name) },
            "title": channel.title,
            "summary": message.summary,
            "messages": [{ "$ref": format!("#/channels/{}/messages/{}", channel.name, message.name) }],
        });
        operations.insert(format!("send{}", message.name), operation);
        messages.insert(message.name.to_owned(), message.document(&mut generator));
    }
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tillgate",
            "version": info.version,
            "description": "What Tillgate sends by itself: changes of rates and of the catalog to those who subscribe, and events to the receivers of webhooks. `/openapi.json` has the requests.",
            "license": { "name": "Apache 2.0" },
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": { "messages": messages, "schemas": generator.take_definitions(true) },
    })
}

impl Message {
    fn document(&self, generator: &mut SchemaGenerator) -> Value {
        let payload = (self.payload)(generator);
        let mut document = json!({
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "contentType": self.content_type,
            "payload": payload,
            "examples": [{ "payload": self.example }],
        });
        if let (Some(document), Some(headers)) = (document.as_object_mut(), &self.headers) {
            document.insert("headers".to_owned(), headers.clone());
        }
        document
    }
}

fn all() -> [Channel; 3] {
    [rates_changed(), catalog_changed(), delivery()]
}

fn rates_changed() -> Channel {
    Channel {
        name: "ratesChanged",
        address: "cer.public.event.rates-changed.v1",
        title: "Changes of the rates that shops use",
        description: "Server-sent events of `GET /api/v1/topics/cer.public.event.rates-changed.v1`: `data` of an event is the message, `id` the cursor that the subscription resumes after. A message may come more than once, and in any order: keep the newest of a shop by `publishTime`, and treat created and updated rates as what the shop has. Unknown members are to be ignored. Consumers that read Redis themselves find the same in its streams.",
        parameters: Value::Null,
        message: Message {
            name: "RatesChanged",
            title: "The rates of a shop have changed",
            summary: "One message for each shop whose used rates a change has changed, or that is sent again",
            content_type: "application/json",
            headers: None,
            payload: rates::http::topic_event,
            example: json!({
                "messageId": "9b2f6c1e-7a54-4a0e-8f17-2c8d1e5b3a90",
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
    }
}

fn catalog_changed() -> Channel {
    Channel {
        name: "catalogChanged",
        address: "/api/v1/catalog/changes",
        title: "Changes of the catalog",
        description: "Server-sent events of `GET /api/v1/catalog/changes`: the digest of the catalog now, and after each change. Fetch the catalog when it is another one.",
        parameters: Value::Null,
        message: Message {
            name: "CatalogChanged",
            title: "The catalog is another one",
            summary: "The digest of what decisions of a tenant are made with",
            content_type: "application/json",
            headers: None,
            payload: conditions::http::catalog_event,
            example: json!({ "digest": "gA5pPtUZFA5sF3ZQbZ0z2w" }),
        },
    }
}

fn delivery() -> Channel {
    Channel {
        name: "deliveries",
        address: "{callbackUrl}",
        title: "Deliveries to webhooks",
        description: "A POST to the receiver of each webhook that wants the type of an event. 200, 201, 202 and 204 say that it has arrived; anything else, or no answer within the deadline, is tried again. The same event may come more than once: handle each `id` once. The types of the service's own are `entity-conditions.events.v1`, `projects.events.v1`, `webhooks.events.v1`, `deliveries.events.v1` and `exe.events.v1`.",
        parameters: json!({ "callbackUrl": { "description": "The webhook's `callbackUrl`." } }),
        message: Message {
            name: "Delivery",
            title: "An event",
            summary: "The envelope of an event, whose data is base64",
            content_type: "application/json",
            headers: Some(delivery_headers()),
            payload: webhooks::http::envelope,
            example: json!({
                "id": "order-4715", "time": "2026-11-20T17:40:00.000Z", "type": "x.order-updates.v1",
                "datacontenttype": "application/json", "data": "eyJvcmRlciI6NDcxNX0=", "dataencoding": "base64", "meta": {},
                "source": "dispatcher.tillgate.example", "specversion": "1.0",
            }),
        },
    }
}

/// The headers of a delivery (`webhooks.md`, "A delivery").
fn delivery_headers() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "required": ["Authorization", "Correlation-Id", "User-Agent"],
        "properties": {
            "Authorization": text("`Bearer` and a JWT (RS256) whose `aud` is the callbackUrl, or `Basic` with the webhook's user name and password. `GET /oauth2/v1/certs` has the certificates."),
            "Correlation-Id": text("A UUID, the same over all attempts."),
            "User-Agent": text("Which service sends it."),
            "X-Service-Signature": text("With a shared key: `HS256=` and the hexadecimal HMAC-SHA-256 of `data` as it is sent. It may have another name."),
            "X-Service-Body-Signature": text("With a shared key: `t=SECONDS,HS256=` and the HMAC of `ID.SECONDS.BODY`."),
            "webhook-id": text("With a shared key, as Standard Webhooks have it: the id of the event."),
            "webhook-timestamp": text("With a shared key: when the attempt was made, in seconds since the epoch."),
            "webhook-signature": text("With a shared key: `v1,` and the base64 of the HMAC of `webhook-id.webhook-timestamp.body`; two of them, separated by a space, while a key is replaced."),
        },
    })
}
