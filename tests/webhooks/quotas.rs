//! Quotas of a tenant's deliveries: webhooks, events per second, waiting deliveries, and deliveries in progress to one
//! target.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::{Config, Quotas};

use super::shop::{DELIVERIES, Shop, TYPE, WEBHOOKS, local, settings};
use crate::support::receiver::{Answer, Receiver};

const EVENTS: &str = "/api/v1/events";
const USAGE: &str = "/v1/tenants/acme/usage";

/// Opens a shop with other quotas.
async fn shop(configure: impl FnOnce(&mut Quotas)) -> Shop {
    let configure = |config: &mut Config| {
        local(config);
        configure(&mut config.quotas);
    };
    Shop::open_with(configure).await
}

fn event() -> Value {
    json!({ "type": TYPE, "data": 1 })
}

/// Returns the status of a request, its `Retry-After`, and why it was refused.
async fn answer(shop: &Shop, path: &str, body: &Value) -> (u16, String, Value) {
    let request = shop.host.request(Method::POST, path, &shop.token());
    let answer = request.json(body).send().await.unwrap();
    let status = answer.status().as_u16();
    let again = answer.headers().get("retry-after");
    let again = again.map_or("", |again| again.to_str().unwrap()).to_owned();
    let body: Value = answer.json().await.unwrap();
    (status, again, body["detail"].clone())
}

async fn usage(shop: &Shop, of: &str) -> Value {
    shop.get(USAGE).await[of].clone()
}

async fn switch(shop: &Shop, id: &str, url: &str, more: Value) {
    let path = format!("{WEBHOOKS}/{id}");
    let (status, answer) = shop.send(Method::PUT, &path, &settings(url, more)).await;
    assert_eq!(status, 200, "{answer}");
}

#[tokio::test]
async fn of_many_who_create_webhooks_at_once_as_many_do_as_the_quota_allows() {
    let shop = shop(|quotas| quotas.webhooks = 5).await;
    let body = settings("https://erp.example/hook", json!({}));
    let all = (0..40).map(async |_| answer(&shop, WEBHOOKS, &body).await);
    let answers = join_all(all).await;
    let count = |status| answers.iter().filter(|it| it.0 == status).count();
    assert_eq!((count(201), count(409)), (5, 35));
    let full = json!("a tenant may have at most 5 webhooks");
    let refused = answers.iter().filter(|it| it.0 == 409);
    assert!(refused.clone().all(|it| it.2 == full), "{answers:?}");
    assert_eq!(
        usage(&shop, "webhooks").await,
        json!({ "used": 5, "quota": 5 })
    );

    let listed = shop.get(WEBHOOKS).await;
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 5);
    for webhook in &listed[..2] {
        let path = format!("{WEBHOOKS}/{}", webhook["id"].as_str().unwrap());
        assert_eq!(shop.send(Method::DELETE, &path, &Value::Null).await.0, 204);
    }
    assert_eq!(usage(&shop, "webhooks").await["used"], 3);
    for expected in [201, 201, 409] {
        assert_eq!(answer(&shop, WEBHOOKS, &body).await.0, expected);
    }
    // Listeners that nobody follows make room by themselves.
    shop.after(Duration::from_secs(61)).await;
    let listed = shop.get(WEBHOOKS).await.as_array().unwrap().len();
    assert_eq!(usage(&shop, "webhooks").await["used"], listed);
    shop.after(Duration::from_secs(61)).await;
}

#[tokio::test]
async fn a_tenant_publishes_so_many_events_in_a_second_and_no_more() {
    let shop = shop(|quotas| quotas.events_per_second = 4).await;
    for _ in 0..4 {
        assert_eq!(answer(&shop, EVENTS, &event()).await.0, 202);
    }
    let refused = (
        429,
        "1".to_owned(),
        json!("a tenant may publish at most 4 events a second"),
    );
    assert_eq!(answer(&shop, EVENTS, &event()).await, refused);
    let used = usage(&shop, "eventsPerSecond").await;
    assert_eq!(used, json!({ "used": 4, "quota": 4 }));
    let id = shop.webhook("https://erp.example/hook", json!({})).await;
    let ping = format!("{WEBHOOKS}/{id}/ping");
    assert_eq!(answer(&shop, &ping, &Value::Null).await, refused);
    let other = shop.host.token("other", &["exe.publisher"]).await;
    let (status, _) = shop.host.send(Method::POST, EVENTS, &other, &event()).await;
    assert_eq!(status, 202, "another tenant has its own");

    shop.clock.advance(Duration::from_millis(250));
    let quiet = json!({ "type": "x.quiet.v1", "data": 1 });
    assert_eq!(answer(&shop, EVENTS, &quiet).await.0, 202);
    assert_eq!(answer(&shop, EVENTS, &quiet).await, refused);
    shop.clock.advance(Duration::from_secs(1));
    assert_eq!(usage(&shop, "eventsPerSecond").await["used"], 0);
    for _ in 0..4 {
        assert_eq!(answer(&shop, EVENTS, &quiet).await.0, 202);
    }
}

#[tokio::test]
async fn a_tenant_has_so_many_deliveries_waiting_and_no_more() {
    let (shop, receiver) = (
        shop(|quotas| quotas.waiting_deliveries = 3).await,
        Receiver::start().await,
    );
    let id = shop
        .webhook(&receiver.url, json!({ "enabled": false }))
        .await;
    let once = json!({ "id": "once", "type": TYPE, "data": 1 });
    for event in [&once, &event(), &event()] {
        assert_eq!(answer(&shop, EVENTS, event).await.0, 202);
    }
    let refused = (
        429,
        "5".to_owned(),
        json!("a tenant may have at most 3 deliveries waiting"),
    );
    assert_eq!(answer(&shop, EVENTS, &event()).await, refused);
    shop.run().await;
    shop.clock.advance(Duration::from_secs(1));
    assert_eq!(shop.deliveries("status=HELD").await.len(), 3);
    assert_eq!(answer(&shop, EVENTS, &event()).await, refused);
    let used = usage(&shop, "waitingDeliveries").await;
    assert_eq!(used, json!({ "used": 3, "quota": 3 }));
    // An event without a delivery is not refused, nor is one that was accepted already.
    let unwanted = json!({ "type": "x.unwanted.v1", "data": 1 });
    assert_eq!(answer(&shop, EVENTS, &unwanted).await.0, 202);
    assert_eq!(answer(&shop, EVENTS, &once).await.0, 202);

    switch(&shop, &id, &receiver.url, json!({})).await;
    shop.run().await;
    receiver.wait_for(3).await;
    shop.run().await;
    shop.clock.advance(Duration::from_secs(1));
    assert_eq!(usage(&shop, "waitingDeliveries").await["used"], 0);
    assert_eq!(answer(&shop, EVENTS, &event()).await.0, 202);
    shop.run().await;
    receiver.wait_for(4).await;
}

#[tokio::test]
async fn deliveries_of_the_services_own_events_wait_until_there_is_room() {
    let (shop, receiver) = (
        shop(|quotas| quotas.waiting_deliveries = 2).await,
        Receiver::start().await,
    );
    let types = json!([TYPE, "entity-conditions.events.v1"]);
    let off = json!({ "eventTypes": types, "enabled": false });
    let id = shop.webhook(&receiver.url, off).await;
    for _ in 0..2 {
        assert_eq!(answer(&shop, EVENTS, &event()).await.0, 202);
    }
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let path = "/api/v1/entity-conditions/beer";
    assert_eq!(shop.send(Method::PUT, path, &condition).await.0, 201);
    shop.run().await;
    assert_eq!(shop.deliveries("").await.len(), 2);

    switch(&shop, &id, &receiver.url, json!({ "eventTypes": types })).await;
    shop.run().await;
    receiver.wait_for(2).await;
    shop.run().await;
    shop.after(Duration::from_secs(5)).await;
    let received = receiver.wait_for(3).await;
    assert_eq!(
        received[2].envelope()["type"],
        "entity-conditions.events.v1"
    );
}

#[tokio::test]
async fn what_is_to_be_sent_again_waits_until_there_is_room() {
    let (shop, receiver) = (
        shop(|quotas| quotas.waiting_deliveries = 1).await,
        Receiver::start().await,
    );
    shop.webhook(&receiver.url, json!({})).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    receiver.wait_for(1).await;
    let sent = shop.delivery().await["id"].as_str().unwrap().to_owned();
    shop.clock.advance(Duration::from_secs(1));
    let held = json!({ "eventTypes": ["x.held.v1"], "enabled": false });
    let id = shop.webhook(&receiver.url, held).await;
    let for_it = json!({ "type": "x.held.v1", "data": 1 });
    assert_eq!(answer(&shop, EVENTS, &for_it).await.0, 202);
    shop.run().await;

    let (status, again, detail) =
        answer(&shop, &format!("{DELIVERIES}/{sent}/replay"), &Value::Null).await;
    assert_eq!((status, &*again), (429, "5"));
    assert_eq!(detail, "a tenant may have at most 1 deliveries waiting");
    let all = json!({ "status": "DELIVERED" });
    let (status, replay) = shop
        .send(Method::POST, &format!("{DELIVERIES}/replay"), &all)
        .await;
    assert_eq!(status, 202, "{replay}");
    shop.run().await;
    let path = format!("{DELIVERIES}/replays/{}", replay["id"].as_str().unwrap());
    let state = shop.get(&path).await;
    assert_eq!(
        (&state["state"], &state["replayed"]),
        (&json!("RUNNING"), &json!(0))
    );

    let path_of_held = format!("{WEBHOOKS}/{id}");
    assert_eq!(
        shop.send(Method::DELETE, &path_of_held, &Value::Null)
            .await
            .0,
        204
    );
    shop.after(Duration::from_secs(7 * 24 * 60 * 60)).await;
    shop.after(Duration::from_secs(5)).await;
    assert_eq!(receiver.wait_for(2).await.len(), 2);
    assert_eq!(shop.get(&path).await["state"], "DONE");
}

#[tokio::test]
async fn a_tenant_has_so_many_deliveries_under_way_to_one_target() {
    let (shop, hanging, good) = (
        shop(|quotas| quotas.deliveries_per_target = 4).await,
        Receiver::start().await,
        Receiver::start().await,
    );
    hanging.answer(Answer::Hang);
    for number in 0..3 {
        let url = format!("{}/{number}", hanging.url);
        shop.webhook(&url, json!({})).await;
    }
    shop.webhook(&good.url, json!({})).await;
    for number in 0..3 {
        shop.publish(json!(number)).await;
    }
    // Half of the quota, because no delivery to the target has succeeded yet.
    hanging.wait_for(2).await;
    good.wait_for(3).await;
    let used = usage(&shop, "deliveriesPerTarget").await;
    assert_eq!(used, json!({ "used": 2, "quota": 4 }));
    // Another tenant has as many to the same target.
    let other = shop
        .host
        .token("other", &["exe.editor", "exe.publisher"])
        .await;
    let webhook = settings(&hanging.url, json!({}));
    let (status, _) = shop
        .host
        .send(Method::POST, WEBHOOKS, &other, &webhook)
        .await;
    assert_eq!(status, 201);
    let (status, _) = shop.host.send(Method::POST, EVENTS, &other, &event()).await;
    assert_eq!(status, 202);
    hanging.wait_for(3).await;
    assert_eq!(hanging.received().len(), 3);
}
