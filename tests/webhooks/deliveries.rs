//! The requests that receivers get, and the outcome of a delivery for each kind of answer.

use std::time::Duration;

use aws_lc_rs::hmac;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::data::records::Change;
use tillgate_base::identity::TenantId;
use tillgate_store::clock::Timestamp;

use super::shop::{KEY, Shop, TYPE, WEBHOOKS, minutes, settings};
use crate::support::receiver::{Answer, Receiver};
use crate::support::wait::until;

pub(crate) fn hs256(key: &[u8], text: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    format!("HS256={}", hex::encode(hmac::sign(&key, text)))
}

#[tokio::test]
async fn a_receiver_gets_the_envelope_and_proof_of_who_sent_it() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({ "sharedKey": KEY }))
        .await;
    let body = json!({ "type": TYPE, "data": { "order": 7, "price": 1.10 }, "id": "order-7", "time": "2025-12-31T23:59:59.5Z" });
    let sent = shop
        .host
        .request(Method::POST, "/api/v1/events", &shop.token());
    let correlation = "4dbd9ffa-3d5a-4f8f-9f1f-3a0b4c5d6e7f";
    let sent = sent
        .header("correlation-id", correlation)
        .json(&body)
        .send();
    let answer = sent.await.unwrap();
    assert_eq!(answer.status(), 202);
    let answer: serde_json::Value = answer.json().await.unwrap();
    assert_eq!(answer, json!({ "id": "order-7", "deliveries": 1 }));
    shop.run().await;
    let received = receiver.wait_for(1).await.remove(0);
    let expected = concat!(
        r#"{"id":"order-7","time":"2025-12-31T23:59:59.500Z","type":"x.order-updates.v1","#,
        r#""datacontenttype":"application/json","data":"eyJvcmRlciI6NywicHJpY2UiOjEuMX0=","#,
        r#""dataencoding":"base64","meta":{},"source":"dispatcher.tillgate.example","specversion":"1.0"}"#
    );
    assert_eq!(received.body, expected);
    let header = |name: &str| received.headers[name].as_str();
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("correlation-id"), correlation);
    assert!(header("user-agent").starts_with("Tillgate-Webhooks/"));
    assert!(header("authorization").starts_with("Bearer ey"));
    assert_eq!(
        header("x-service-signature"),
        hs256(KEY.as_bytes(), b"eyJvcmRlciI6NywicHJpY2UiOjEuMX0=")
    );
    let signed = format!("order-7.1767225600.{expected}");
    assert_eq!(
        header("x-service-body-signature"),
        format!("t=1767225600,{}", hs256(KEY.as_bytes(), signed.as_bytes()))
    );
    let delivery = shop.delivery().await;
    assert_eq!(delivery["status"], "DELIVERED", "{delivery:#}");
    assert_eq!(delivery["attempts"][0]["status"], 204);
    assert_eq!(delivery["request"]["body"], expected);
    assert_eq!(delivery["request"]["headers"]["authorization"], "Bearer …");
}

#[tokio::test]
async fn signatures_come_under_the_names_that_existing_receivers_read() {
    let shop = Shop::open_with(|config| {
        super::shop::local(config);
        config.webhooks.signature_headers = vec!["X-Service-Signature".into(), "X-Old".into()];
    });
    let (shop, receiver, other) = (shop.await, Receiver::start().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({ "sharedKey": KEY }))
        .await;
    let own = json!({ "sharedKey": KEY, "signatureHeader": "X-Mine" });
    shop.webhook(&other.url, own).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    let (first, second) = (
        receiver.wait_for(1).await.remove(0),
        other.wait_for(1).await.remove(0),
    );
    let signature = hs256(KEY.as_bytes(), b"MQ==");
    for name in ["x-service-signature", "x-old"] {
        assert_eq!(first.headers[name], signature);
        assert!(!second.headers.contains_key(name));
    }
    assert_eq!(second.headers["x-mine"], signature);
}

#[tokio::test]
async fn basic_credentials_are_sent_as_they_were_set() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let basic = json!({ "type": "BASIC", "username": "till", "password": "pässword" });
    shop.webhook(&receiver.url, json!({ "authentication": basic }))
        .await;
    shop.publish(json!({})).await;
    shop.run().await;
    let received = receiver.wait_for(1).await.remove(0);
    assert_eq!(
        received.headers["authorization"],
        "Basic dGlsbDpww6Rzc3dvcmQ="
    );
    assert!(!received.headers.contains_key("x-service-signature"));
}

#[tokio::test]
async fn a_delivery_is_tried_again_on_schedule_with_the_same_event_and_then_given_up() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Status(500, "", "out of paper"));
    let id = shop.publish(json!({})).await;
    shop.run().await;
    let delays = [1, 2, 4, 8, 10, 60, 3 * 60, 6 * 60, 12 * 60];
    for (attempt, delay) in delays.into_iter().enumerate() {
        let delivery = shop.delivery().await;
        assert_eq!(delivery["status"], "RETRYING");
        assert_eq!(delivery["attemptCount"], attempt + 1);
        assert_eq!(delivery["lastError"]["kind"], "STATUS");
        assert_eq!(delivery["attempts"][attempt]["answer"], "out of paper");
        shop.after(minutes(delay).mul_f64(0.89)).await;
        assert_eq!(
            receiver.received().len(),
            attempt + 1,
            "not before its time"
        );
        shop.after(minutes(delay).mul_f64(0.22)).await;
        receiver.wait_for(attempt + 2).await;
    }
    shop.run().await;
    let delivery = shop.delivery().await;
    assert_eq!(delivery["status"], "FAILED", "{delivery:#}");
    let received = receiver.received();
    assert_eq!(received.len(), 10);
    assert!(
        received
            .iter()
            .all(|it| it.id() == id && it.body == received[0].body)
    );
    let correlations = received.iter().map(|it| &it.headers["correlation-id"]);
    assert!(
        correlations
            .clone()
            .all(|it| *it == received[0].headers["correlation-id"])
    );
}

#[tokio::test]
async fn what_waits_is_sent_as_soon_as_its_receiver_answers_again() {
    let shop = Shop::open_with(|config| {
        super::shop::local(config);
        config.webhooks.retry_delays = vec![minutes(12 * 60)];
    });
    let (shop, receiver) = (shop.await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Status(503, "", ""));
    for number in 0..3 {
        shop.publish(json!(number)).await;
    }
    shop.run().await;
    shop.after(minutes(2)).await;
    until("all have failed", async || {
        shop.run().await;
        shop.deliveries("status=RETRYING").await.len() == 3
    })
    .await;
    receiver.answer(Answer::Status(204, "", ""));
    shop.publish(json!("again")).await;
    until("all are delivered", async || {
        shop.run().await;
        shop.deliveries("status=DELIVERED").await.len() == 4
    })
    .await;
    assert_eq!(receiver.received().len(), 7);
}

#[tokio::test]
async fn an_event_that_its_receiver_refuses_keeps_its_schedule_while_others_are_taken() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    for _ in 0..2 {
        receiver.answer(Answer::Status(422, "", ""));
        shop.publish(json!("bad")).await;
        shop.run().await;
        receiver.answer(Answer::Status(204, "", ""));
        shop.publish(json!("good")).await;
        shop.run().await;
        shop.run().await;
    }
    assert_eq!(shop.deliveries("status=DELIVERED").await.len(), 2);
    for refused in shop.deliveries("status=RETRYING").await {
        assert_eq!(refused["attemptCount"], 1, "{refused:#}");
    }
    assert_eq!(receiver.received().len(), 4);
}

#[tokio::test]
async fn an_event_that_fails_again_when_it_is_released_waits_for_its_time_and_loses_no_attempt() {
    let shop = Shop::open_with(|config| {
        super::shop::local(config);
        config.webhooks.retry_delays = vec![minutes(12 * 60)];
    });
    let (shop, receiver) = (shop.await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    let refused = async || shop.deliveries("status=RETRYING").await.remove(0);
    receiver.answer(Answer::Refusing("bad"));
    shop.publish(json!("bad")).await;
    shop.run().await;
    let first = refused().await;
    for number in 0..3 {
        shop.after(minutes(2)).await;
        shop.publish(json!(number)).await;
        until("it was released, and refused again", async || {
            shop.run().await;
            refused().await["attemptCount"] == 2
        })
        .await;
        let wait = |delivery: &Value| delivery["nextAttemptAt"].clone();
        assert_eq!(wait(&refused().await), wait(&first));
    }
    // Retries are up to a tenth later than their time.
    shop.after(minutes(14 * 60)).await;
    until("it has had its attempts", async || {
        shop.run().await;
        !shop.deliveries("status=FAILED").await.is_empty()
    })
    .await;
    assert_eq!(shop.deliveries("status=FAILED").await[0]["attemptCount"], 3);
}

#[tokio::test]
async fn retry_after_is_followed_within_bounds_and_nonsense_is_not() {
    let rows = [
        (429, "Retry-After: 300\r\n", 300),
        (503, "Retry-After: 99999999999999999999\r\n", 600),
        (503, "Retry-After: 5\r\n", 54),
        (503, "Retry-After: inf\r\n", 54),
        (503, "Retry-After: 1e30\r\n", 54),
        (503, "Retry-After: -7\r\n", 54),
        (503, "Retry-After: Wed, 21 Oct 2099 07:28:00 GMT\r\n", 54),
        (500, "Retry-After: 300\r\n", 54),
    ];
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    for (status, header, least) in rows {
        receiver.answer(Answer::Status(status, header, ""));
        shop.publish(json!({})).await;
        shop.run().await;
        let delivery = shop.deliveries("limit=1").await.remove(0);
        let at = |name: &str| {
            let at: jiff::Timestamp = delivery[name].as_str().unwrap().parse().unwrap();
            at.as_second()
        };
        let wait = at("nextAttemptAt") - at("updatedAt");
        let most = if least < 60 { 66 } else { least };
        assert!((least..=most).contains(&wait), "{header}: {wait}");
        // The next row must not start with an open breaker or release waiting deliveries.
        receiver.answer(Answer::Status(204, "", ""));
        shop.after(minutes(15)).await;
        shop.run().await;
    }
}

#[tokio::test]
async fn a_receiver_that_misbehaves_is_bounded_and_its_delivery_says_why() {
    let bomb = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![0; 50 << 20]).unwrap();
        let body = encoder.finish().unwrap();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        [head.into_bytes(), body].concat()
    };
    let redirect = Answer::Status(307, "Location: http://169.254.169.254/latest\r\n", "");
    let rows = [
        (redirect, "RETRYING", "REDIRECT"),
        (Answer::Status(302, "", ""), "RETRYING", "REDIRECT"),
        (Answer::Status(404, "", ""), "RETRYING", "STATUS"),
        (Answer::Status(203, "", ""), "RETRYING", "STATUS"),
        (Answer::Close, "RETRYING", "BROKEN"),
        (
            Answer::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
            "RETRYING",
            "BROKEN",
        ),
        (Answer::EndlessHeaders, "RETRYING", "BROKEN"),
        (Answer::Hang, "RETRYING", "DEADLINE"),
        (Answer::Dripping, "RETRYING", "DEADLINE"),
        (Answer::Endless, "DELIVERED", ""),
        (Answer::Raw(bomb), "DELIVERED", ""),
        (Answer::Status(200, "", "ok"), "DELIVERED", ""),
        (Answer::Status(201, "", ""), "DELIVERED", ""),
        (Answer::Status(202, "", ""), "DELIVERED", ""),
    ];
    let shop = Shop::open_with(|config| {
        super::shop::local(config);
        config.webhooks.deadline = Duration::from_millis(700);
    });
    let shop = shop.await;
    for (answer, status, kind) in rows {
        let receiver = Receiver::start().await;
        let id = shop.webhook(&receiver.url, json!({})).await;
        let what = format!("{answer:.60?}");
        receiver.answer(answer);
        shop.publish(json!({})).await;
        shop.run().await;
        let all = shop.deliveries(&format!("webhookId={id}")).await;
        let delivery = &all[0];
        assert_eq!(delivery["status"], status, "{what}: {delivery:#}");
        let found = delivery["lastError"]["kind"].as_str().unwrap_or_default();
        assert_eq!(found, kind, "{what}: {delivery:#}");
        let path = format!("{WEBHOOKS}/{id}");
        let deleted = shop.host.request(Method::DELETE, &path, &shop.token());
        assert_eq!(deleted.send().await.unwrap().status(), 204);
        shop.after(minutes(15)).await;
    }
}

#[tokio::test]
async fn a_receiver_that_is_gone_has_its_webhook_disabled_and_what_follows_is_held() {
    let (shop, receiver, other) = (
        Shop::open().await,
        Receiver::start().await,
        Receiver::start().await,
    );
    let id = shop.webhook(&receiver.url, json!({})).await;
    shop.webhook(&other.url, json!({ "eventTypes": ["webhooks.events.v1"] }))
        .await;
    receiver.answer(Answer::Status(410, "", ""));
    shop.publish(json!(1)).await;
    shop.run().await;
    let webhook = shop.get(&format!("{WEBHOOKS}/{id}")).await;
    assert_eq!(webhook["enabled"], false, "{webhook:#}");
    assert_eq!(webhook["disabledReason"], "GONE");
    let told = other.wait_for(1).await.remove(0).data();
    assert_eq!(
        told,
        json!({ "action": "DISABLED", "id": id, "reason": "GONE" })
    );
    let failed = shop.deliveries(&format!("webhookId={id}")).await.remove(0);
    assert_eq!(failed["status"], "FAILED");
    assert_eq!(failed["lastError"]["kind"], "GONE");

    receiver.answer(Answer::Status(204, "", ""));
    let held = shop.publish(json!(2)).await;
    shop.run().await;
    let delivery = shop.deliveries("status=HELD").await.remove(0);
    assert_eq!(delivery["eventId"], held);
    assert_eq!(receiver.received().len(), 1);

    let path = format!("{WEBHOOKS}/{id}");
    let (status, webhook) = shop
        .send(Method::PUT, &path, &settings(&receiver.url, json!({})))
        .await;
    assert_eq!(
        (status, &webhook["enabled"]),
        (200, &json!(true)),
        "{webhook:#}"
    );
    assert_eq!(webhook["disabledReason"], json!(null));
    shop.run().await;
    assert_eq!(receiver.wait_for(2).await[1].id(), held);
    shop.run().await;
    assert_eq!(shop.deliveries("status=HELD").await.len(), 0);
}

#[tokio::test]
async fn what_is_held_for_too_long_fails_and_says_so() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Status(410, "", ""));
    shop.publish(json!(1)).await;
    shop.run().await;
    let held = shop.publish(json!(2)).await;
    shop.run().await;
    shop.after(minutes(7 * 24 * 60)).await;
    let all = shop.deliveries(&format!("webhookId={id}")).await;
    let held = all
        .iter()
        .find(|it| it["eventId"] == held.as_str())
        .unwrap();
    assert_eq!(held["status"], "FAILED", "{held:#}");
    assert_eq!(held["lastError"]["kind"], "HELD_TOO_LONG");
}

#[tokio::test]
async fn a_webhook_that_fails_for_five_days_is_disabled() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Status(500, "", ""));
    for _ in 0..6 {
        shop.publish(json!(1)).await;
        shop.run().await;
        shop.after(minutes(24 * 60)).await;
    }
    let webhook = shop.get(&format!("{WEBHOOKS}/{id}")).await;
    assert_eq!(webhook["disabledReason"], "FAILING", "{webhook:#}");
}

#[tokio::test]
async fn the_same_id_is_delivered_once_in_a_day() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    let event = json!({ "type": TYPE, "data": 1, "id": "once" });
    for _ in 0..3 {
        let answer = shop.send(Method::POST, "/api/v1/events", &event).await;
        assert_eq!(answer, (202, json!({ "id": "once", "deliveries": 1 })));
    }
    let other = json!({ "type": TYPE, "data": 2, "id": "once" });
    let (status, problem) = shop.send(Method::POST, "/api/v1/events", &other).await;
    assert_eq!(status, 409, "{problem}");
    shop.run().await;
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_change_of_a_condition_is_told_to_those_who_want_it() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let types = json!({ "eventTypes": ["entity-conditions.events.v1"] });
    shop.webhook(&receiver.url, types).await;
    let rule = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let path = "/api/v1/entity-conditions/fireworks";
    assert_eq!(shop.send(Method::PUT, path, &rule).await.0, 201);
    let deleted = shop
        .host
        .request(Method::DELETE, path, &shop.token())
        .send();
    assert_eq!(deleted.await.unwrap().status(), 204);
    shop.run().await;
    let mut received = receiver.wait_for(2).await;
    received.sort_by_key(|it| it.data()["action"].to_string());
    let created = received[0].data();
    assert_eq!(created["action"], "CREATED");
    assert_eq!(created["id"], "fireworks");
    assert_eq!(
        created["document"]["condition_value"],
        json!({ "minimum_age": 18 })
    );
    assert_eq!(
        received[1].data(),
        json!({ "action": "DELETED", "id": "fireworks" })
    );
}

#[tokio::test]
async fn connections_and_tokens_are_used_again() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    for _ in 0..20 {
        shop.publish(json!(1)).await;
        shop.run().await;
    }
    let received = receiver.wait_for(20).await;
    assert_eq!(receiver.connections(), 1);
    let tokens = received.iter().map(|it| &it.headers["authorization"]);
    assert!(
        tokens
            .clone()
            .all(|it| *it == received[0].headers["authorization"])
    );
}

#[tokio::test]
async fn a_stored_password_is_not_sent_to_another_receiver() {
    let (shop, receiver, other) = (
        Shop::open().await,
        Receiver::start().await,
        Receiver::start().await,
    );
    let basic = json!({ "authentication": { "type": "BASIC", "username": "till", "password": "secret-password" } });
    let id = shop.webhook(&receiver.url, basic).await;
    let without = json!({ "id": id, "authentication": { "type": "BASIC", "username": "till" } });
    let path = format!("{WEBHOOKS}/{id}");
    for (method, path) in [
        (Method::PUT, path),
        (Method::POST, format!("{WEBHOOKS}/ping")),
    ] {
        let elsewhere = settings(&other.url, without.clone());
        let (status, problem) = shop.send(method.clone(), &path, &elsewhere).await;
        assert_eq!(status, 400, "{problem}");
        let same = settings(&format!("{}/v2", receiver.url), without.clone());
        assert_eq!(shop.send(method, &path, &same).await.0, 200);
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_receiver_that_answers_with_what_it_was_sent_puts_no_secret_into_the_journal() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let authentication =
        json!({ "type": "BASIC", "username": "till", "password": "secret-password" });
    let id = shop.webhook(
        &receiver.url,
        json!({ "authentication": authentication, "sharedKey": KEY }),
    );
    let id = id.await;
    let echo = concat!(
        "Authorization: Basic dGlsbDpzZWNyZXQtcGFzc3dvcmQ= secret-password ",
        "correct horse battery staple"
    );
    let location = "Location: /?secret-password\r\n";
    receiver.answer(Answer::Status(302, location, echo));
    shop.publish(json!(1)).await;
    shop.run().await;
    let delivery = shop.delivery().await;
    let attempt = &delivery["attempts"][0];
    assert_eq!(
        (&attempt["answer"], &attempt["error"]["message"]),
        (
            &json!(format!(
                "an answer of {} bytes that repeats a credential",
                echo.len()
            )),
            &json!("the receiver answered 302 Found: redirects are not followed"),
        )
    );
    let (text, _) = (delivery.to_string(), id);
    for secret in ["dGlsbDpz", "secret-password", KEY] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

#[tokio::test]
async fn what_is_published_while_a_webhook_is_switched_off_is_held_and_not_lost() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop
        .webhook(&receiver.url, json!({ "enabled": false }))
        .await;
    let event = shop.publish(json!(1)).await;
    shop.run().await;
    assert_eq!(shop.delivery().await["status"], "HELD");
    assert_eq!(receiver.connections(), 0);
    let path = format!("{WEBHOOKS}/{id}");
    let enabled = settings(&receiver.url, json!({}));
    assert_eq!(shop.send(Method::PUT, &path, &enabled).await.0, 200);
    shop.run().await;
    assert_eq!(receiver.wait_for(1).await[0].id(), event);
    shop.run().await;
    assert_eq!(shop.delivery().await["status"], "DELIVERED");
}

#[tokio::test]
async fn what_is_held_is_sent_by_a_host_that_has_not_heard_yet_that_the_webhook_is_enabled() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop
        .webhook(&receiver.url, json!({ "enabled": false }))
        .await;
    shop.publish(json!(1)).await;
    shop.run().await;
    assert_eq!(shop.delivery().await["status"], "HELD");
    // Another host stores this without a notification.
    let records = shop
        .host
        .app
        .records(TenantId::new("acme").unwrap().partition());
    let key = format!("webhook/{id}");
    let mut webhook = records.get::<Value>(&key).await.unwrap().unwrap();
    webhook.record["enabled"] = json!(true);
    let mut change = Change::default();
    change.put(&key, &webhook.record).unwrap();
    change.enqueue("webhook-releases", &id, Timestamp(0), Default::default());
    records.commit(change).await.unwrap();
    shop.run().await;
    assert_ne!(shop.delivery().await["status"], "HELD");
}

#[tokio::test]
async fn a_malformed_job_holds_up_no_other() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    let partition = TenantId::new("acme").unwrap().partition();
    let mut change = Change::default();
    for (job, body) in [
        ("nonsense", "{}"),
        ("0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90", "{"),
    ] {
        for queue in ["webhook-deliveries", "webhook-retries"] {
            change.enqueue(queue, job, Timestamp(0), body.into());
        }
    }
    shop.host
        .app
        .records(partition)
        .commit(change)
        .await
        .unwrap();
    shop.publish(json!(1)).await;
    shop.run().await;
    receiver.wait_for(1).await;
    assert_eq!(shop.delivery().await["status"], "DELIVERED");
}
