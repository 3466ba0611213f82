//! What the API's documents say of deliveries and replays.

use serde_json::{Value, json};

use super::super::schema::{deliveries as schema, event_id, event_type};
use super::{DELIVERY, WEBHOOK};
use crate::http::schema::{limit, time, uuid};
use crate::http::{Operation, Tag};

const REPLAY: &str = "0196f0c9-1c44-7d0e-8a31-5b7c9e2f4a10";
const NO_DELIVERY: &str = "The tenant has no such delivery.";

fn with_delivery(operation: Operation) -> Operation {
    operation.path("deliveryId", "The id of the delivery.", uuid)
}

pub(super) fn delivery(status: &str) -> Value {
    json!({
        "id": DELIVERY, "webhookId": WEBHOOK, "eventId": "order-4711", "eventType": "x.order-updates.v1", "status": status,
        "createdAt": "2026-11-20T17:40:00.000Z", "updatedAt": "2026-11-20T17:40:00.120Z", "attemptCount": 1,
    })
}

fn retrying() -> Value {
    let mut delivery = delivery("RETRYING");
    if let Some(delivery) = delivery.as_object_mut() {
        let error =
            json!({ "kind": "STATUS", "message": "the receiver answered 503 Service Unavailable" });
        let last = json!({ "at": "2026-11-20T17:40:00.012Z", "durationMs": 108, "status": 503 });
        delivery.insert(
            "nextAttemptAt".to_owned(),
            json!("2026-11-20T17:41:03.400Z"),
        );
        delivery.insert("lastAttempt".to_owned(), last);
        delivery.insert("lastError".to_owned(), error);
    }
    delivery
}

fn details() -> Value {
    let mut details = retrying();
    if let Some(details) = details.as_object_mut() {
        let attempts = json!([{
            "at": "2026-11-20T17:40:00.012Z", "durationMs": 108, "status": 503, "answer": "maintenance",
            "error": { "kind": "STATUS", "message": "the receiver answered 503 Service Unavailable" },
        }]);
        let request = json!({
            "method": "POST", "url": "https://erp.example/hook",
            "headers": { "authorization": "Bearer …", "content-type": "application/json" },
            "body": "{\"id\":\"order-4711\"}",
        });
        details.insert("attempts".to_owned(), attempts);
        details.insert("request".to_owned(), request);
    }
    details
}

pub(in crate::webhooks::http) fn list() -> Operation {
    Operation::new("listDeliveries", Tag::Deliveries, "List deliveries")
        .says("The newest first. They are kept for as long as is configured, 30 days by default.")
        .query("webhookId", "Only those of this webhook.", uuid)
        .query("status", "Only those with this status.", schema::status)
        .query(
            "eventType",
            "Only those of events of this type.",
            event_type,
        )
        .query("eventId", "Only those of this event.", event_id)
        .query(
            "since",
            "Only those accepted at that time or later, not before 1970.",
            time,
        )
        .query("until", "Only those accepted before that time.", time)
        .query("cursor", "`next` of the page before.", uuid)
        .query("limit", "How many deliveries the page has at most.", limit)
        .answers(
            200,
            "A page of deliveries",
            schema::deliveries,
            json!({ "items": [retrying()], "next": DELIVERY }),
        )
}

pub(in crate::webhooks::http) fn get() -> Operation {
    with_delivery(Operation::new(
        "getDelivery",
        Tag::Deliveries,
        "Get a delivery with its attempts",
    ))
    .answers(200, "The delivery", schema::details, details())
    .refuses(404, NO_DELIVERY)
}

pub(in crate::webhooks::http) fn replay() -> Operation {
    with_delivery(Operation::new("replayDelivery", Tag::Deliveries, "Send a delivery again"))
        .says("The same event is sent, with the same id. One that waits for its next attempt is sent at once.")
        .answers(202, "It is sent again", schema::delivery, delivery("PENDING"))
        .refuses(404, NO_DELIVERY)
        .refuses(409, "Its webhook is deleted or disabled.")
        .refuses(429, "Too many deliveries of the tenant wait. Try again after `Retry-After` seconds.")
}

pub(in crate::webhooks::http) fn replay_all() -> Operation {
    Operation::new("replayDeliveries", Tag::Deliveries, "Send the deliveries that a filter names again")
        .says("It goes on in the background; `getReplay` says how far it has come. Of those that the filter names, the ones that are `DELIVERED` or `FAILED` are sent again, unless their webhook is deleted or disabled.")
        .takes(
            schema::replay_filter,
            json!({ "webhookId": WEBHOOK, "status": "FAILED", "since": "2026-11-20T00:00:00Z" }),
        )
        .or_takes("of an event", json!({ "eventType": "x.order-updates.v1", "eventId": "order-4711" }))
        .answers(202, "It has begun", schema::replay_id, json!({ "id": REPLAY }))
}

pub(in crate::webhooks::http) fn replay_state() -> Operation {
    Operation::new(
        "getReplay",
        Tag::Deliveries,
        "Get how far a replay of many deliveries has come",
    )
    .path("replayId", "The id of the replay.", uuid)
    .answers(
        200,
        "The replay",
        schema::replay,
        json!({
            "id": REPLAY, "state": "RUNNING", "examined": 1200, "replayed": 17, "createdAt": "2026-11-20T18:00:00.000Z",
        }),
    )
    .refuses(404, "The tenant has no such replay.")
}
