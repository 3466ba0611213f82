//! The service's own events: nobody else can publish them, and a delivery that failed for good is reported to the
//! tenant's other webhooks.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::data::records::{Change, Records};
use tillgate_base::identity::TenantId;
use tillgate_store::MemoryStore;
use tillgate_store::clock::StoppedClock;

use super::shop::{START, Shop, TYPE, WEBHOOKS, local, minutes, settings};
use crate::support::receiver::{Answer, Receiver};
use crate::support::wait::until;

const EVENTS: &str = "/api/v1/events";
const FAILURES: &str = "deliveries.events.v1";
const TOPIC: &str = "cer.public.event.rates-changed.v1";
const TOPIC_RULE: &str = "must not be the topic of rate changes, which are no events: follow GET /api/v1/topics/cer.public.event.rates-changed.v1";

/// Opens a shop whose deliveries are given up after the first failed attempt.
async fn impatient() -> Shop {
    Shop::open_with(|config| {
        local(config);
        config.webhooks.retry_delays = Vec::new();
    })
    .await
}

/// Starts a receiver that accepts nothing.
async fn dead() -> Receiver {
    let receiver = Receiver::start().await;
    receiver.answer(Answer::Status(500, "", ""));
    receiver
}

fn records(shop: &Shop) -> Records {
    let tenant = TenantId::new("acme").unwrap();
    shop.host.app.records(tenant.partition())
}

/// Returns the number of deliveries that report others.
async fn told(shop: &Shop) -> usize {
    let all = shop.deliveries(&format!("eventType={FAILURES}")).await;
    all.len()
}

#[tokio::test]
async fn nobody_but_the_service_publishes_its_own_events() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({ "eventTypes": ["*"] }))
        .await;
    let roles = ["platform.operator", "exe.publisher"];
    let operator = shop.host.token("platform", &roles).await;
    for reserved in [
        "entity-conditions.events.v1",
        "projects.events.v1",
        "webhooks.events.v1",
        FAILURES,
        "exe.events.v1",
    ] {
        let event = json!({ "type": reserved, "data": 1 });
        let (status, problem) = shop.send(Method::POST, EVENTS, &event).await;
        let why = format!("only the service itself publishes events of the type {reserved}");
        assert_eq!((status, &problem["detail"]), (403, &json!(why)));
        let for_acme = json!({ "type": reserved, "data": 1, "tenantId": "acme" });
        let sent = shop.host.send(Method::POST, EVENTS, &operator, &for_acme);
        let (status, problem) = sent.await;
        assert_eq!((status, &problem["detail"]), (403, &json!(why)));
    }
    shop.run().await;
    assert_eq!(shop.deliveries("").await, Vec::<Value>::new());

    // A ping is the service's own event, whoever requests it.
    let id = shop.webhook(&receiver.url, json!({})).await;
    let ping = format!("{WEBHOOKS}/{id}/ping");
    assert_eq!(shop.send(Method::POST, &ping, &Value::Null).await.0, 202);
    shop.run().await;
    let received = receiver.wait_for(1).await.remove(0);
    assert_eq!(received.envelope()["type"], "exe.events.v1");
}

#[tokio::test]
async fn the_topic_of_rate_changes_is_no_event_type() {
    let shop = Shop::open().await;
    let event = json!({ "type": TOPIC, "data": 1 });
    let wanted = json!([TYPE, TOPIC]);
    let webhook = settings("https://erp.example/hook", json!({ "eventTypes": wanted }));
    for (path, body, member) in [
        (EVENTS.to_owned(), &event, "$.type"),
        (WEBHOOKS.to_owned(), &webhook, "$.eventTypes[1]"),
        (format!("{WEBHOOKS}/ping"), &webhook, "$.eventTypes[1]"),
    ] {
        let (status, problem) = shop.send(Method::POST, &path, body).await;
        let expected = json!([format!("{member} {TOPIC_RULE}")]);
        assert_eq!((status, &problem["message"]), (400, &expected), "{path}");
    }
    assert_eq!(shop.get(WEBHOOKS).await, json!([]));
}

#[tokio::test]
async fn a_webhook_that_an_earlier_version_stored_with_the_topic_is_read_and_can_be_changed() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let before = Shop::open_on(store.clone(), clock.clone(), local).await;
    let receiver = Receiver::start().await;
    let id = before.webhook(&receiver.url, json!({})).await;
    let key = format!("webhook/{id}");
    let read = records(&before).get::<Value>(&key).await;
    let mut webhook = read.unwrap().unwrap().record;
    webhook["eventTypes"] = json!([TYPE, TOPIC]);
    let mut change = Change::default();
    change.put(&key, &webhook).unwrap();
    records(&before).commit(change).await.unwrap();

    let shop = Shop::open_on(store, clock, local).await;
    let path = format!("{WEBHOOKS}/{id}");
    let webhook = shop.get(&path).await;
    assert_eq!(webhook["eventTypes"], json!([TYPE, TOPIC]));
    shop.publish(json!(1)).await;
    shop.run().await;
    receiver.wait_for(1).await;
    let kept = settings(&receiver.url, json!({ "eventTypes": [TYPE, TOPIC] }));
    assert_eq!(shop.send(Method::PUT, &path, &kept).await.0, 400);
    let without = settings(&receiver.url, json!({}));
    let (status, webhook) = shop.send(Method::PUT, &path, &without).await;
    assert_eq!((status, &webhook["eventTypes"]), (200, &json!([TYPE])));
}

#[tokio::test]
async fn a_delivery_that_has_failed_for_good_is_told_to_the_other_webhooks_once_a_minute() {
    let (shop, dead, other) = (impatient().await, dead().await, Receiver::start().await);
    let types = json!({ "eventTypes": [TYPE, FAILURES] });
    let failing = shop.webhook(&dead.url, types).await;
    let told_to = json!({ "eventTypes": [FAILURES] });
    shop.webhook(&other.url, told_to).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    let failed = shop.deliveries(&format!("webhookId={failing}")).await;
    assert_eq!(failed.len(), 1, "it is not told of itself: {failed:#?}");
    assert_eq!(failed[0]["status"], "FAILED");
    let received = other.wait_for(1).await.remove(0);
    assert_eq!(received.envelope()["type"], FAILURES);
    let expected = json!({
        "action": "FAILED",
        "deliveryId": failed[0]["id"],
        "webhookId": failing,
        "eventType": TYPE,
    });
    assert_eq!(received.data(), expected);

    // Its result is stored before its lease ends.
    shop.run().await;
    shop.clock.advance(Duration::from_secs(59));
    shop.publish(json!(2)).await;
    shop.run().await;
    shop.run().await;
    assert_eq!(shop.deliveries("status=FAILED").await.len(), 2);
    assert_eq!(told(&shop).await, 1, "a minute has not passed");
    shop.clock.advance(Duration::from_secs(1));
    shop.publish(json!(3)).await;
    shop.run().await;
    other.wait_for(2).await;
    shop.run().await;
    assert_eq!(told(&shop).await, 2);

    let kept = async || records(&shop).scan("webhook-failure-told/", None, 10).await;
    assert_eq!(kept().await.unwrap().entries.len(), 1);
    shop.after(minutes(24 * 60)).await;
    assert_eq!(kept().await.unwrap().entries.len(), 0, "nothing is left");
}

#[tokio::test]
async fn two_webhooks_that_are_dead_do_not_tell_each_other_for_ever() {
    let (shop, one, two) = (impatient().await, dead().await, dead().await);
    for receiver in [&one, &two] {
        let all = json!({ "eventTypes": ["*"] });
        shop.webhook(&receiver.url, all).await;
    }
    shop.publish(json!(1)).await;
    until("each was told of the other", async || {
        shop.run().await;
        shop.deliveries("status=FAILED").await.len() == 4
    })
    .await;
    for _ in 0..3 {
        shop.after(minutes(2)).await;
        shop.run().await;
        assert_eq!(shop.deliveries("").await.len(), 4);
        assert_eq!(told(&shop).await, 2);
    }
}

#[tokio::test]
async fn several_hosts_tell_of_a_webhook_once_a_minute_together() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let impatient = |config: &mut tillgate_base::config::Config| {
        local(config);
        config.webhooks.retry_delays = Vec::new();
    };
    let one = Shop::open_on(store.clone(), clock.clone(), impatient).await;
    let other = Shop::open_on(store, clock, impatient).await;
    let (dead, receiver) = (dead().await, Receiver::start().await);
    one.webhook(&dead.url, json!({})).await;
    one.webhook(&receiver.url, json!({ "eventTypes": [FAILURES] }))
        .await;
    other.get(WEBHOOKS).await;
    for number in 0..4 {
        one.publish(json!(number)).await;
    }
    tokio::join!(one.run(), other.run());
    receiver.wait_for(1).await;
    tokio::join!(one.run(), other.run());
    assert_eq!(one.deliveries("status=FAILED").await.len(), 4);
    assert_eq!(told(&other).await, 1);
}

#[tokio::test]
async fn what_was_held_for_too_long_or_whose_webhook_was_deleted_is_told_too() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({ "eventTypes": [FAILURES] }))
        .await;
    let off = json!({ "enabled": false });
    let held = shop.webhook("http://127.0.0.1:1/held", off.clone()).await;
    let deleted = shop.webhook("http://127.0.0.1:1/deleted", off).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    assert_eq!(shop.deliveries("status=HELD").await.len(), 2);
    let path = format!("{WEBHOOKS}/{deleted}");
    assert_eq!(shop.send(Method::DELETE, &path, &Value::Null).await.0, 204);
    shop.after(minutes(7 * 24 * 60)).await;
    let received = receiver.wait_for(2).await;
    let mut told: Vec<_> = received
        .iter()
        .map(|it| it.data()["webhookId"].as_str().unwrap().to_owned())
        .collect();
    let mut expected = [held, deleted];
    told.sort_unstable();
    expected.sort_unstable();
    assert_eq!(told, expected);
}
