//! What the API's documents say of events, and of the consumers that ask for them.

use serde_json::{Value, json};

use super::super::schema::events as schema;
use crate::http::schema::{duration, limit};
use crate::http::{Operation, Tag};

const NEXT: &str = "MTcgNmYxYzJkOGUtM2YwYi00YTUxLTljMWQtMmI3ZTVhOTBjNGQz";

fn envelope() -> Value {
    json!({
        "id": "order-4711", "time": "2026-11-20T17:40:00.000Z", "type": "x.order-updates.v1", "datacontenttype": "application/json",
        "data": "eyJvcmRlciI6NDcxMX0=", "dataencoding": "base64", "meta": {}, "source": "dispatcher.tillgate.example",
        "specversion": "1.0",
    })
}

pub(in crate::webhooks::http) fn publish() -> Operation {
    Operation::new("publishEvent", Tag::Events, "Publish an event")
        .says("It is stored durably, with its deliveries, when it is answered. The types `entity-conditions.events.v1`, `projects.events.v1`, `webhooks.events.v1`, `deliveries.events.v1` and `exe.events.v1` are published by the service alone.")
        .takes(schema::new_event, json!({ "type": "x.order-updates.v1", "id": "order-4711", "data": { "order": 4711 } }))
        .or_takes("text", json!({ "type": "x.receipts.v1", "datacontenttype": "text/csv", "data": "item;price\nbeer-0.5l;1.20", "time": "2026-11-20T17:40:00Z" }))
        .answers(
            202,
            "It was accepted, now or before",
            schema::published,
            json!({ "id": "order-4711", "deliveries": 1 }),
        )
        .refuses(403, "The caller lacks the permission, may not act for that tenant, or the type is published by the service alone.")
        .refuses(409, "Another event was published with this id in the last 24 hours.")
        .refuses(429, "The tenant publishes too often, or too many of its deliveries wait. Try again after `Retry-After` seconds.")
}

pub(in crate::webhooks::http) fn pull() -> Operation {
    Operation::new("pullEvents", Tag::Events, "Get events as a consumer")
        .says("For receivers that cannot be called: the tenant's events in the order in which they were accepted. The first request makes the consumer, which gets what comes from then on. A page is answered again until it is acknowledged; events of a page have 1 MiB together at most, where there are several.")
        .required_query("consumer", "The name of the consumer.", schema::consumer_name)
        .query("after", "`next` of a page that this consumer was given, which acknowledges that page and all before it, durably.", schema::cursor)
        .query("limit", "How many events the page has at most.", limit)
        .query("wait", "How long to wait for the first event, such as `20s`: at most 60s, and not at all without it.", duration)
        .answers(200, "A page of events, which may be empty", schema::page, json!({ "items": [envelope()], "next": NEXT }))
        .or_answers("events are gone unread", json!({ "items": [], "next": NEXT, "reset": true }))
        .refuses(409, "The tenant has as many consumers as it may.")
        .refuses(429, "Too many requests of the tenant wait for events. Try again after `Retry-After` seconds.")
}

pub(in crate::webhooks::http) fn list_consumers() -> Operation {
    Operation::new("listEventConsumers", Tag::Events, "List the tenant's consumers of events")
        .answers(
            200,
            "The consumers, by name",
            schema::consumers,
            json!([{
                "name": "erp", "createdAt": "2026-11-20T17:40:00.000Z", "lastSeenAt": "2026-11-20T18:02:00.000Z",
                "waitingSince": "2026-11-20T18:01:12.345Z",
            }]),
        )
}

pub(in crate::webhooks::http) fn remove_consumer() -> Operation {
    Operation::new(
        "deleteEventConsumer",
        Tag::Events,
        "Delete a consumer of events",
    )
    .says("A later one of the same name begins anew.")
    .path("name", "The name of the consumer.", schema::consumer_name)
    .empty(204, "It was deleted")
    .refuses(404, "The tenant has no such consumer.")
}
