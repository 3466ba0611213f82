//! The headers of an event for a receiver on a developer's machine: the same as those of a delivery, and only for such
//! a URL.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};

use super::deliveries::hs256;
use super::shop::{KEY, START, Shop, TYPE, minutes};
use crate::support::log;
use crate::support::receiver::Receiver;

const URL: &str = "http://127.0.0.1:3000/hook";

async fn sign(shop: &Shop, event: &str, body: Value) -> (u16, Value) {
    let path = format!("/api/v1/events/{event}/signed-headers");
    shop.send(Method::POST, &path, &body).await
}

/// From now on, events are stored whether or not a webhook wants them.
async fn consume(shop: &Shop) {
    shop.get("/api/v1/events?consumer=till").await;
}

/// Publishes an event with its own id.
async fn publish_as(shop: &Shop, id: &str) {
    let event = json!({ "type": TYPE, "data": 1, "id": id });
    let (status, answer) = shop.send(Method::POST, "/api/v1/events", &event).await;
    assert_eq!(status, 202, "{answer}");
}

#[tokio::test]
async fn they_are_those_of_a_delivery_with_the_url_as_the_audience() {
    log::keep();
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({ "sharedKey": KEY }))
        .await;
    consume(&shop).await;
    let id = shop.publish(json!({ "order": 7 })).await;
    let (status, signed) = sign(&shop, &id, json!({ "url": URL, "sharedKey": KEY })).await;
    assert_eq!(status, 200, "{signed}");
    shop.run().await;
    let received = receiver.wait_for(1).await;
    let delivered = &received[0];
    for (name, value) in signed["headers"].as_object().unwrap() {
        let value = value.as_str().unwrap();
        match name.as_str() {
            "authorization" => {
                let claims = value.split('.').nth(1).unwrap();
                let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap();
                let claims: Value = serde_json::from_slice(&claims).unwrap();
                assert_eq!(claims["aud"], URL);
            }
            _ => assert_eq!(delivered.headers[name], value, "{name}"),
        }
    }
    let of_connection = ["accept", "content-length", "host"];
    let names = delivered.headers.keys().map(String::as_str);
    let missing: Vec<_> = names
        .filter(|name| !of_connection.contains(name) && signed["headers"].get(name).is_none())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    // A consumer gets the envelope byte for byte as it is signed.
    let path = "/api/v1/events?consumer=till";
    let pulled = shop.host.request(Method::GET, path, &shop.token()).send();
    let pulled = pulled.await.unwrap().text().await.unwrap();
    assert!(pulled.contains(&delivered.body), "{pulled}");
    let envelope = delivered.envelope();
    let data = envelope["data"].as_str().unwrap().as_bytes();
    let signature = signed["headers"]["x-service-signature"].as_str();
    assert_eq!(signature, Some(hs256(KEY.as_bytes(), data).as_str()));
    let signed_at = format!("{id}.{}.{}", START.seconds(), delivered.body);
    let expected = format!(
        "t={},{}",
        START.seconds(),
        hs256(KEY.as_bytes(), signed_at.as_bytes())
    );
    assert_eq!(signed["headers"]["x-service-body-signature"], expected);

    let lines = log::audited(|line| line["action"] == "event.signed" && line["id"] == id.as_str());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["receiver"], "http://127.0.0.1:3000");
    assert_eq!(lines[0]["event_type"], TYPE);
}

#[tokio::test]
async fn an_event_is_found_by_its_own_id_and_by_that_of_its_publisher_for_a_day() {
    let shop = Shop::open().await;
    consume(&shop).await;
    let url = json!({ "url": URL });
    let made = shop.publish(json!(1)).await;
    let given = "1f6e3b57-5c55-4f0a-9a3e-0d4a7c1b2e90";
    for (id, path) in [
        ("order/4711 ä", "order%2F4711%20%C3%A4"),
        (given, given),
        ("order-1", "order-1"),
    ] {
        publish_as(&shop, id).await;
        let (status, signed) = sign(&shop, path, url.clone()).await;
        assert_eq!(status, 200, "{signed}");
    }
    assert_eq!(sign(&shop, &made, url.clone()).await.0, 200);
    let too_long = "x".repeat(257);
    for unknown in ["order-2", "00000000-0000-4000-8000-000000000000", &too_long] {
        let (status, problem) = sign(&shop, unknown, url.clone()).await;
        assert_eq!((status, &problem["code"]), (404, &json!("event_not_found")));
    }
    let (host, path) = (&shop.host, format!("/api/v1/events/{made}/signed-headers"));
    for (tenant, role, expected) in [("other", "exe.editor", 404), ("acme", "exe.viewer", 403)] {
        let token = host.token(tenant, &[role]).await;
        let (status, _) = host.send(Method::POST, &path, &token, &url).await;
        assert_eq!(status, expected, "{tenant}");
    }
    shop.after(minutes(25 * 60)).await;
    assert_eq!(sign(&shop, &made, url).await.0, 200);
}

#[tokio::test]
async fn without_a_key_there_are_no_signatures() {
    let shop = Shop::open().await;
    consume(&shop).await;
    let id = shop.publish(json!(1)).await;
    let (_, signed) = sign(&shop, &id, json!({ "url": URL })).await;
    let names: Vec<_> = signed["headers"].as_object().unwrap().keys().collect();
    let expected = [
        "authorization",
        "content-type",
        "correlation-id",
        "user-agent",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn only_a_url_that_no_receiver_has_gets_a_token() {
    let shop = Shop::open_with(|config| {
        config.webhooks.allow_private = vec!["10.1.0.0/16".parse().unwrap()];
    });
    let shop = shop.await;
    consume(&shop).await;
    let id = shop.publish(json!(1)).await;
    for url in [
        "https://erp.example/hook",
        "http://8.8.8.8/",
        "http://169.254.169.254/",
        "http://10.1.2.3/hook",
        "ftp://127.0.0.1/",
        "http://user@127.0.0.1/",
        "here",
    ] {
        let (status, problem) = sign(&shop, &id, json!({ "url": url })).await;
        assert_eq!(status, 400, "{url}: {problem}");
        let told = problem["message"][0].as_str().unwrap();
        assert!(told.starts_with("$.url must"), "{told}");
    }
    let private = json!({ "url": "http://10.2.0.1:3000/hook" });
    assert_eq!(sign(&shop, &id, private).await.0, 200);
    let (status, problem) = sign(&shop, &id, json!({ "sharedKey": "short", "eventId": 1 })).await;
    assert_eq!(status, 400);
    let faults = problem["message"].as_array().unwrap();
    let paths: Vec<_> = faults
        .iter()
        .map(|fault| fault.as_str().unwrap().split(' ').next().unwrap())
        .collect();
    assert_eq!(paths, ["$.url", "$.sharedKey", "$.eventId"]);
}
