//! The journal, the health of webhooks, and sending again.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_store::clock::Clock;

use super::shop::{DELIVERIES, KEY, Shop, WEBHOOKS, minutes, settings};
use crate::support::receiver::{Answer, Receiver};
use crate::support::stores::{embedded, redis, run};
use crate::support::wait::until;

#[tokio::test]
async fn the_journal_is_read_in_pages_and_by_filters() {
    let (shop, good, bad) = (
        Shop::open().await,
        Receiver::start().await,
        Receiver::start().await,
    );
    shop.webhook(&good.url, json!({})).await;
    let failing = shop.webhook(&bad.url, json!({})).await;
    bad.answer(Answer::Status(500, "", ""));
    let mut ids = Vec::new();
    for number in 0..4 {
        ids.push(shop.publish(json!(number)).await);
        shop.run().await;
        shop.clock
            .advance(minutes(0) + std::time::Duration::from_secs(1));
    }
    let mut found = Vec::new();
    let mut query = "limit=3".to_owned();
    loop {
        let page = shop.get(&format!("{DELIVERIES}?{query}")).await;
        found.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else {
            break;
        };
        query = format!("limit=3&cursor={next}");
    }
    assert_eq!(found.len(), 8);
    let events: Vec<_> = found
        .iter()
        .map(|it| it["eventId"].as_str().unwrap())
        .collect();
    let mut expected: Vec<_> = ids
        .iter()
        .flat_map(|id| [id.as_str(), id.as_str()])
        .collect();
    expected.reverse();
    assert_eq!(events, expected, "the newest first");
    let count = async |query: &str| shop.deliveries(query).await.len();
    assert_eq!(count("status=DELIVERED").await, 4);
    assert_eq!(
        count(&format!("webhookId={failing}&status=RETRYING")).await,
        4
    );
    assert_eq!(count("eventType=x.other.v1").await, 0);
    assert_eq!(count("since=2026-01-01T00:00:02Z").await, 4);
    assert_eq!(count("until=2026-01-01T00:00:02Z").await, 4);
    let (status, problem) = shop
        .host
        .get(
            &format!("{DELIVERIES}?status=x&limit=0&webhookId=1&since=y&cursor=z"),
            &shop.token(),
        )
        .await;
    assert_eq!(status, 400);
    assert_eq!(problem["message"].as_array().unwrap().len(), 5, "{problem}");
}

#[tokio::test]
async fn a_delivery_that_failed_is_sent_again_when_somebody_wants_it() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Status(500, "", ""));
    let event = shop.publish(json!({})).await;
    shop.run().await;
    let id = shop.delivery().await["id"].as_str().unwrap().to_owned();
    receiver.answer(Answer::Status(204, "", ""));
    let path = format!("{DELIVERIES}/{id}/replay");
    for count in [2, 3] {
        let (status, answer) = shop.send(Method::POST, &path, &json!({})).await;
        assert_eq!(
            (status, &answer["status"]),
            (202, &json!("PENDING")),
            "{answer}"
        );
        shop.run().await;
        let received = receiver.wait_for(count).await;
        assert!(received.iter().all(|it| it.id() == event));
        let delivery = shop.delivery().await;
        assert_eq!(delivery["status"], "DELIVERED");
        assert_eq!(delivery["attemptCount"], count);
    }
}

#[tokio::test]
async fn all_that_a_filter_names_is_sent_again_once() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    for number in 0..450 {
        shop.publish(json!(number)).await;
    }
    shop.pass(40).await;
    receiver.wait_for(450).await;
    shop.clock.advance(minutes(1));
    let (status, answer) = shop
        .send(
            Method::POST,
            &format!("{DELIVERIES}/replay"),
            &json!({ "status": "DELIVERED" }),
        )
        .await;
    assert_eq!(status, 202, "{answer}");
    let path = format!("{DELIVERIES}/replays/{}", answer["id"].as_str().unwrap());
    assert_eq!(shop.get(&path).await["state"], "RUNNING");
    shop.pass(40).await;
    let state = shop.get(&path).await;
    assert_eq!(state["state"], "DONE", "{state}");
    assert_eq!(
        (&state["examined"], &state["replayed"]),
        (&json!(450), &json!(450))
    );
    let mut received: Vec<_> = receiver
        .wait_for(900)
        .await
        .iter()
        .map(|it| it.id())
        .collect();
    received.sort_unstable();
    let twice = received.as_chunks::<2>().0.iter().all(|[a, b]| a == b);
    assert!(twice && received.len() == 900);
}

#[tokio::test]
async fn health_counts_what_was_delivered_and_what_failed() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, json!({})).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    shop.after(minutes(60)).await;
    receiver.answer(Answer::Status(500, "", ""));
    for _ in 0..5 {
        shop.publish(json!(1)).await;
        shop.run().await;
    }
    let health = shop.get(&format!("{WEBHOOKS}/health")).await;
    let health = &health[0];
    assert_eq!(health["webhookId"], id.as_str());
    assert_eq!(
        (&health["delivered"], &health["failed"]),
        (&json!(1), &json!(5)),
        "{health}"
    );
    assert_eq!(health["breaker"], "OPEN");
    assert_eq!(health["waiting"], 5, "{health}");
    assert_eq!(health["moreWaiting"], Value::Null, "all were counted");
    assert_eq!(health["failingSince"], "2026-01-01T01:00:00.000Z");
    let hours = health["hours"].as_array().unwrap();
    assert_eq!(hours.len(), 24);
    assert_eq!(
        hours[23],
        json!({ "hour": "2026-01-01T01:00:00.000Z", "delivered": 0, "failed": 5 })
    );
    assert_eq!(
        hours[22],
        json!({ "hour": "2026-01-01T00:00:00.000Z", "delivered": 1, "failed": 0 })
    );
}

#[tokio::test]
async fn a_paused_webhook_says_until_when_and_is_sent_to_at_once_when_it_is_resumed() {
    resumed(Shop::open().await).await;
}

#[test]
fn a_paused_webhook_is_resumed_on_the_embedded_store() {
    run(embedded, |on| async move {
        resumed(Shop::open_at(&on).await).await;
    });
}

#[test]
fn a_paused_webhook_is_resumed_on_redis() {
    run(redis, |on| async move {
        resumed(Shop::open_at(&on).await).await;
    });
}

/// Five deliveries fail, another one is postponed, the receiver is repaired, and the webhook is resumed.
async fn resumed(shop: Shop) {
    let receiver = Receiver::start().await;
    let id = shop.webhook(&receiver.url, json!({})).await;
    let resume = format!("{WEBHOOKS}/{id}/resume");
    let health = async || shop.get(&format!("{WEBHOOKS}/health")).await[0].clone();
    receiver.answer(Answer::Status(500, "", ""));
    for number in 0..5 {
        shop.publish(json!(number)).await;
        shop.run().await;
    }
    let paused = health().await;
    let now = shop.clock.now();
    assert_eq!(paused["breaker"], "OPEN", "{paused}");
    assert_eq!(paused["pausedSince"], now.to_millis_text());
    let until = now.plus(Duration::from_secs(30));
    assert_eq!(paused["pausedUntil"], until.to_millis_text());
    shop.publish(json!(6)).await;
    shop.run().await;
    assert_eq!(shop.deliveries("status=PENDING").await.len(), 1);

    receiver.answer(Answer::Status(204, "", ""));
    let (status, answer) = shop.send(Method::POST, &resume, &Value::Null).await;
    assert_eq!(status, 204, "{answer}");
    // Far less than a pause.
    shop.pass(4).await;
    assert_eq!(shop.deliveries("status=DELIVERED").await.len(), 5);
    // The delivery that was never tried keeps the time to which it was postponed.
    shop.clock.advance(minutes(5));
    shop.run().await;
    assert_eq!(shop.deliveries("status=DELIVERED").await.len(), 6);
    let health = health().await;
    assert_eq!(health["breaker"], "CLOSED", "{health}");
    assert_eq!(health["pausedSince"], Value::Null, "{health}");

    let unknown = format!("{WEBHOOKS}/00000000-0000-4000-8000-000000000000/resume");
    let off = settings(&receiver.url, json!({ "enabled": false }));
    let (status, answer) = shop
        .send(Method::PUT, &format!("{WEBHOOKS}/{id}"), &off)
        .await;
    assert_eq!(status, 200, "{answer}");
    for (path, refused) in [(unknown, 404), (resume, 409)] {
        let (status, answer) = shop.send(Method::POST, &path, &Value::Null).await;
        assert_eq!(status, refused, "{answer}");
    }
}

#[tokio::test]
async fn health_counts_what_is_held_and_nothing_for_a_webhook_that_works() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let works = shop.webhook(&receiver.url, json!({})).await;
    let off = shop.webhook(&receiver.url, json!({ "enabled": false }));
    let off = off.await;
    for number in 0..3 {
        shop.publish(json!(number)).await;
    }
    shop.run().await;
    receiver.wait_for(3).await;
    let health = shop.get(&format!("{WEBHOOKS}/health")).await;
    let waiting = |id: &str| {
        let mut all = health.as_array().unwrap().iter();
        let found = all.find(|it| it["webhookId"] == id);
        found.unwrap()["waiting"].clone()
    };
    assert_eq!(waiting(&off), 3, "{health:#}");
    assert_eq!(waiting(&works), Value::Null, "{health:#}");
}

#[tokio::test]
async fn the_deliveries_of_an_event_are_found_by_its_id_with_the_last_answer_and_are_sent_again() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    let event = shop.publish(json!(1)).await;
    shop.publish(json!(2)).await;
    shop.run().await;
    receiver.wait_for(2).await;
    let found = shop.deliveries(&format!("eventId={event}")).await;
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0]["eventId"], event.as_str());
    let last = &found[0]["lastAttempt"];
    assert_eq!(last["status"], 204, "{last}");
    assert_eq!(last["at"], "2026-01-01T00:00:00.000Z");
    assert!(last["durationMs"].is_u64(), "{last}");
    assert_eq!(shop.deliveries("eventId=another").await.len(), 0);

    shop.clock.advance(minutes(1));
    let path = format!("{DELIVERIES}/replay");
    let (status, answer) = shop
        .send(Method::POST, &path, &json!({ "eventId": "" }))
        .await;
    assert_eq!(status, 400, "{answer}");
    let (status, answer) = shop
        .send(Method::POST, &path, &json!({ "eventId": event }))
        .await;
    assert_eq!(status, 202, "{answer}");
    shop.pass(4).await;
    let received = receiver.wait_for(3).await;
    assert_eq!((received.len(), received[2].id()), (3, event));
}

#[tokio::test]
async fn an_event_for_a_webhook_that_is_down_waits_for_the_probe_and_says_so() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Status(500, "", ""));
    for _ in 0..5 {
        shop.publish(json!(1)).await;
        shop.run().await;
    }
    shop.clock.advance(Duration::from_secs(1));
    shop.publish(json!(2)).await;
    let delivery = shop.deliveries("limit=1").await.remove(0);
    assert_eq!(delivery["status"], "PENDING");
    assert_eq!(delivery["createdAt"], "2026-01-01T00:00:01.000Z");
    assert_eq!(delivery["nextAttemptAt"], "2026-01-01T00:00:30.000Z");
    shop.run().await;
    receiver.wait_for(5).await;

    receiver.answer(Answer::Status(204, "", ""));
    shop.after(Duration::from_secs(31)).await;
    let delivery = shop.deliveries("limit=1").await.remove(0);
    assert_eq!(delivery["status"], "DELIVERED", "{delivery}");
    receiver.wait_for(6).await;
}

#[tokio::test]
async fn a_ping_is_a_delivery_and_a_trial_leaves_nothing_behind() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let trial = settings(&receiver.url, json!({}));
    let (status, answer) = shop
        .send(Method::POST, &format!("{WEBHOOKS}/ping"), &trial)
        .await;
    assert_eq!(
        (status, &answer["delivered"]),
        (200, &json!(true)),
        "{answer}"
    );
    receiver.answer(Answer::Status(401, "", "who are you?"));
    let (_, answer) = shop
        .send(Method::POST, &format!("{WEBHOOKS}/ping"), &trial)
        .await;
    assert_eq!(answer["delivered"], false);
    assert_eq!(
        (&answer["status"], &answer["answer"]),
        (&json!(401), &json!("who are you?"))
    );
    assert_eq!(shop.get(WEBHOOKS).await, json!([]));

    let id = shop.webhook(&receiver.url, json!({})).await;
    let (status, answer) = shop
        .send(Method::POST, &format!("{WEBHOOKS}/{id}/ping"), &Value::Null)
        .await;
    assert_eq!(status, 202, "{answer}");
    shop.run().await;
    let received = receiver.wait_for(3).await.remove(2);
    assert_eq!(received.envelope()["type"], "exe.events.v1");
    assert_eq!(received.data()["action"], "PING");
    assert_eq!(received.id(), answer["id"]);
    assert_eq!(shop.delivery().await["id"], answer["deliveryId"]);
}

/// Returns the signatures of a receiver's only delivery, as a client sees them that may only read the journal.
async fn signatures(shop: &Shop, webhook: &str) -> Vec<(String, String)> {
    let viewer = shop.host.token("acme", &["exe.viewer"]).await;
    let all = shop.deliveries(&format!("webhookId={webhook}")).await;
    assert_eq!(all.len(), 1, "{all:#?}");
    let path = format!("{DELIVERIES}/{}", all[0]["id"].as_str().unwrap());
    let (status, delivery) = shop.host.get(&path, &viewer).await;
    assert_eq!(status, 200, "{delivery}");
    let headers = delivery["request"]["headers"].as_object().unwrap();
    assert_eq!(headers["authorization"], "Bearer …");
    let texts = headers.iter().map(|(name, value)| {
        let value = value.as_str().unwrap().to_owned();
        (name.clone(), value)
    });
    texts
        .filter(|(_, value)| value.contains("HS256="))
        .collect()
}

#[tokio::test]
async fn a_delivery_has_no_signature_before_its_receiver_has_answered_it() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let switched = |enabled: bool| json!({ "sharedKey": KEY, "enabled": enabled });
    let id = shop.webhook(&receiver.url, switched(false)).await;
    shop.publish(json!(1)).await;
    assert_eq!(signatures(&shop, &id).await, [], "it is pending");
    shop.run().await;
    assert_eq!(shop.delivery().await["status"], "HELD");
    assert_eq!(signatures(&shop, &id).await, [], "it is held");

    receiver.answer(Answer::Close);
    let path = format!("{WEBHOOKS}/{id}");
    let enabled = settings(&receiver.url, switched(true));
    assert_eq!(shop.send(Method::PUT, &path, &enabled).await.0, 200);
    until("an attempt has failed", async || {
        shop.run().await;
        shop.delivery().await["lastError"]["kind"] == "BROKEN"
    })
    .await;
    assert_eq!(signatures(&shop, &id).await, [], "no receiver has it");

    receiver.answer(Answer::Status(204, "", ""));
    shop.after(minutes(2)).await;
    until("it is delivered", async || {
        shop.run().await;
        shop.delivery().await["status"] == "DELIVERED"
    })
    .await;
    let received = receiver.received().pop().unwrap();
    let sent = ["x-service-body-signature", "x-service-signature"]
        .map(|name| (name.to_owned(), received.headers[name].clone()));
    assert_eq!(signatures(&shop, &id).await, sent);
}

#[tokio::test]
async fn a_delivery_that_was_given_up_unsent_has_no_signature() {
    let shop = Shop::open().await;
    let dead = "http://127.0.0.1:1/hook";
    let id = shop.webhook(dead, json!({ "sharedKey": KEY, "enabled": false }));
    let id = id.await;
    shop.publish(json!(1)).await;
    shop.run().await;
    shop.after(minutes(7 * 24 * 60)).await;
    let delivery = shop.delivery().await;
    assert_eq!(
        delivery["lastError"]["kind"], "HELD_TOO_LONG",
        "{delivery:#}"
    );
    assert_eq!(signatures(&shop, &id).await, []);
}

#[tokio::test]
async fn what_was_delivered_is_not_signed_again_with_a_newer_key() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop
        .webhook(&receiver.url, json!({ "sharedKey": KEY }))
        .await;
    shop.publish(json!(1)).await;
    shop.run().await;
    receiver.wait_for(1).await;
    assert_eq!(signatures(&shop, &id).await.len(), 2);
    shop.clock.advance(Duration::from_secs(1));
    let path = format!("{WEBHOOKS}/{id}");
    let renamed = settings(&receiver.url, json!({ "name": "Till" }));
    assert_eq!(shop.send(Method::PUT, &path, &renamed).await.0, 200);
    assert_eq!(signatures(&shop, &id).await.len(), 2, "its key is the same");
    let rotated = shop
        .send(Method::POST, &format!("{path}/shared-key"), &Value::Null)
        .await;
    assert_eq!(rotated.0, 200);
    assert_eq!(signatures(&shop, &id).await, []);
}
