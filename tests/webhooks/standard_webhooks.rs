//! Signatures by Standard Webhooks: what they cover, how they coexist with the other signatures, and the form of the
//! secret for libraries.

use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::data::records::Change;
use tillgate_base::identity::TenantId;
use tillgate_engine::receiver::{
    Certificates, Credentials, Delivery, Options, Scheme, Signatures, WebhookVerifier,
};
use tillgate_store::MemoryStore;
use tillgate_store::clock::{Clock, StoppedClock};

use super::deliveries::hs256;
use super::kept_secrets::stored;
use super::shop::{KEY, START, Shop, TYPE, WEBHOOKS, local, minutes, settings};
use crate::support::receiver::{Answer, Received, Receiver};

const PASSWORD: &str = "a password";

/// Returns basic credentials with a shared key.
pub(crate) fn signed(key: &str) -> Value {
    json!({ "authentication": basic(), "sharedKey": key })
}

pub(crate) fn basic() -> Value {
    json!({ "type": "BASIC", "username": "till", "password": PASSWORD })
}

/// Returns the signature by Standard Webhooks over a delivery and its headers.
pub(crate) fn standard(key: &str, received: &Received) -> String {
    let sent = |name: &str| &received.headers[name];
    let (id, t) = (sent("webhook-id"), sent("webhook-timestamp"));
    let signed = format!("{id}.{t}.{}", received.body);
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    let code = hmac::sign(&key, signed.as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(code))
}

/// Asserts that a delivery is signed with these keys by Standard Webhooks, in this order, and that headers for a
/// single signature use the key `of_one_value`.
pub(crate) fn assert_signed(received: &Received, keys: &[&str], of_one_value: &str) {
    let headers = &received.headers;
    let expected: Vec<String> = keys.iter().map(|key| standard(key, received)).collect();
    assert_eq!(headers["webhook-signature"], expected.join(" "));
    let (envelope, key) = (received.envelope(), of_one_value.as_bytes());
    let data = envelope["data"].as_str().unwrap();
    assert_eq!(
        headers["x-service-signature"],
        hs256(key, data.as_bytes()),
        "of the data"
    );
    let t = &headers["webhook-timestamp"];
    let of_body = hs256(
        key,
        format!("{}.{t}.{}", received.id(), received.body).as_bytes(),
    );
    assert_eq!(
        headers["x-service-body-signature"],
        format!("t={t},{of_body}")
    );
}

/// Returns whether a receiver with these keys accepts a delivery.
pub(crate) fn accepts(shop: &Shop, keys: &[&str], received: &Received) -> bool {
    let credentials = Credentials {
        username: "till".to_owned(),
        password: PASSWORD.to_owned(),
    };
    let signatures = Signatures {
        shared_keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        require_body: true,
        ..Signatures::with("")
    };
    let options = Options::new(Scheme::Basic(vec![credentials]), Some(signatures));
    let headers = received.headers.iter();
    let headers: Vec<(&str, &[u8])> = headers
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
        .collect();
    let delivery = Delivery {
        headers: &headers,
        body: received.body.as_bytes(),
    };
    let now = shop.clock.now().seconds();
    let verifier = WebhookVerifier::new(options).unwrap();
    verifier
        .verify(&delivery, &Certificates::new(), now)
        .is_ok()
}

pub(crate) fn key_of(answer: &Value) -> &str {
    answer["sharedKey"].as_str().unwrap()
}

pub(crate) async fn put(shop: &Shop, id: &str, settings: &Value) -> Value {
    let path = format!("{WEBHOOKS}/{id}");
    let (status, answer) = shop.send(Method::PUT, &path, settings).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Publishes an event; returns its delivery as received.
pub(crate) async fn sent(shop: &Shop, receiver: &Receiver) -> Received {
    let count = receiver.received().len() + 1;
    shop.publish(json!(count)).await;
    shop.run().await;
    Received::clone(&receiver.wait_for(count).await[count - 1])
}

#[tokio::test]
async fn each_attempt_is_signed_by_standard_webhooks_with_one_id_and_its_own_time() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, signed(KEY)).await;
    receiver.answer(Answer::Status(500, "", ""));
    let event = json!({ "type": TYPE, "data": { "order": 7 }, "id": "order-7_a" });
    let (status, _) = shop.send(Method::POST, "/api/v1/events", &event).await;
    assert_eq!(status, 202);
    shop.run().await;
    receiver.answer(Answer::Status(204, "", ""));
    shop.after(minutes(2)).await;
    let received = receiver.wait_for(2).await;
    for (one, at) in received.iter().zip([0, 120]) {
        assert_eq!(one.headers["webhook-id"], "order-7_a");
        let time = (START.seconds() + at).to_string();
        assert_eq!(one.headers["webhook-timestamp"], time);
        assert_signed(one, &[KEY], KEY);
    }
    assert!(accepts(&shop, &[KEY], &received[1]));
    assert!(!accepts(&shop, &["another shared key"], &received[1]));
}

#[tokio::test]
async fn an_id_that_is_none_of_standard_webhooks_is_sent_as_a_digest() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, signed(KEY)).await;
    // The first 22 characters of the base64url of its SHA-256.
    let event = json!({ "type": TYPE, "data": 1, "id": "order.7" });
    let (status, _) = shop.send(Method::POST, "/api/v1/events", &event).await;
    assert_eq!(status, 202);
    shop.run().await;
    let received = receiver.wait_for(1).await.remove(0);
    assert_eq!(received.id(), "order.7");
    assert_eq!(received.headers["webhook-id"], "evt_3NwZAx-v9a4HCvorz6MK3f");
    assert_signed(&received, &[KEY], KEY);
    assert!(accepts(&shop, &[KEY], &received));
}

#[tokio::test]
async fn test_events_are_signed_like_any_other_and_without_a_key_nothing_is() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let trial = settings(&receiver.url, signed(KEY));
    let ping = format!("{WEBHOOKS}/ping");
    assert_eq!(shop.send(Method::POST, &ping, &trial).await.0, 200);
    let id = shop.webhook(&receiver.url, signed(KEY)).await;
    let ping = format!("{WEBHOOKS}/{id}/ping");
    assert_eq!(shop.send(Method::POST, &ping, &Value::Null).await.0, 202);
    shop.run().await;
    for received in receiver.wait_for(2).await {
        assert_signed(&received, &[KEY], KEY);
        assert_eq!(received.headers["webhook-id"], received.id());
    }
    let unsigned = settings(&receiver.url, json!({ "sharedKey": null }));
    put(&shop, &id, &unsigned).await;
    let received = sent(&shop, &receiver).await;
    let names = received.headers.keys();
    let of_standard = names.filter(|name| name.starts_with("webhook-"));
    assert_eq!(of_standard.count(), 0, "{:?}", received.headers);
}

#[tokio::test]
async fn a_key_that_is_made_with_the_webhook_is_shown_with_its_secret_once() {
    let shop = Shop::open().await;
    let made = settings(
        "https://erp.example/hook",
        json!({ "sharedKey": "generate" }),
    );
    let (_, created) = shop.send(Method::POST, WEBHOOKS, &made).await;
    let secret = |answer: &Value| format!("whsec_{}", BASE64_STANDARD.encode(key_of(answer)));
    assert_eq!(created["standardWebhooksSecret"], secret(&created));
    let id = created["id"].as_str().unwrap();
    let read = shop.get(&format!("{WEBHOOKS}/{id}")).await;
    assert_eq!(read["standardWebhooksSecret"], Value::Null, "{read}");
    let replaced = put(&shop, id, &made).await;
    assert_eq!(replaced["standardWebhooksSecret"], secret(&replaced));
    let own = settings("https://erp.example/hook", signed(KEY));
    let (_, created) = shop.send(Method::POST, WEBHOOKS, &own).await;
    assert_eq!(created["standardWebhooksSecret"], Value::Null, "{created}");
}

#[tokio::test]
async fn the_headers_of_standard_webhooks_hold_nothing_else() {
    let shop = Shop::open().await;
    for name in ["webhook-id", "Webhook-Timestamp", "WEBHOOK-SIGNATURE"] {
        let named = json!({ "sharedKey": KEY, "signatureHeader": name });
        let named = settings("https://erp.example/hook", named);
        let (status, problem) = shop.send(Method::POST, WEBHOOKS, &named).await;
        let rule = "$.signatureHeader must be the name of a header that has no other meaning in a delivery";
        assert_eq!(
            (status, &problem["message"]),
            (400, &json!([rule])),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_header_that_was_named_before_it_was_reserved_keeps_its_meaning() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let receiver = Receiver::start().await;
    let before = Shop::open_on(store.clone(), clock.clone(), local).await;
    let id = before.webhook(&receiver.url, signed(KEY)).await;
    let mut webhook = stored(&before, &id).await;
    webhook["signatureHeader"] = json!("webhook-signature");
    let tenant = TenantId::new("acme").unwrap();
    let mut change = Change::default();
    change.put(&format!("webhook/{id}"), &webhook).unwrap();
    let records = before.host.app.records(tenant.partition());
    records.commit(change).await.unwrap().unwrap();

    // Its memory does not contain that change yet, so it must not be the host that sends.
    before.host.app.runner.stop().await;
    let after = Shop::open_on(store, clock, local).await;
    let received = sent(&after, &receiver).await;
    let data = received.envelope()["data"].as_str().unwrap().to_owned();
    let signature = hs256(KEY.as_bytes(), data.as_bytes());
    assert_eq!(received.headers["webhook-signature"], signature);
}
