//! Shared keys that overlap: which keys sign when, and what answers show of them.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::kept_secrets::stored;
use super::shop::{DELIVERIES, KEY, Shop, WEBHOOKS, minutes, settings};
use super::standard_webhooks::{accepts, assert_signed, basic, key_of, put, sent, signed};
use crate::support::receiver::{Answer, Receiver};
use crate::support::stores::{embedded, redis, run};

/// Rotates the key of a webhook; returns the answer.
async fn rotate(shop: &Shop, id: &str, query: &str) -> Value {
    let path = format!("{WEBHOOKS}/{id}/shared-key{query}");
    let (status, answer) = shop.send(Method::POST, &path, &Value::Null).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

#[tokio::test]
async fn both_keys_sign_until_the_overlap_ends_and_then_the_new_one_only() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, signed(KEY)).await;
    let path = format!("{WEBHOOKS}/{id}");
    receiver.answer(Answer::Status(500, "", ""));
    // Accepted before the rotation, delivered after it.
    let before = sent(&shop, &receiver).await;
    assert_signed(&before, &[KEY], KEY);
    let answer = rotate(&shop, &id, "?overlap=1h").await;
    let new = key_of(&answer);
    let secret = format!("whsec_{}", BASE64_STANDARD.encode(new));
    let ends_at = "2026-01-01T01:00:00.000Z";
    let expected = json!({
        "sharedKey": new, "standardWebhooksSecret": secret, "previousSharedKeyEndsAt": ends_at,
    });
    assert_eq!(answer, expected);
    assert_eq!(shop.get(&path).await["previousSharedKeyEndsAt"], ends_at);

    receiver.answer(Answer::Status(204, "", ""));
    shop.after(minutes(2)).await;
    let retried = receiver.wait_for(2).await.remove(1);
    assert_eq!(retried.id(), before.id());
    assert_signed(&retried, &[new, KEY], KEY);
    for keys in [&[KEY][..], &[new], &[new, KEY], &[KEY, new]] {
        assert!(accepts(&shop, keys, &retried), "{keys:?}");
    }
    // A test event with these settings is signed with the stored keys.
    let kept = json!({ "id": id, "authentication": { "type": "BASIC", "username": "till" } });
    let trial = settings(&receiver.url, kept);
    let ping = format!("{WEBHOOKS}/ping");
    assert_eq!(shop.send(Method::POST, &ping, &trial).await.0, 200);
    assert_signed(&receiver.wait_for(3).await[2], &[new, KEY], KEY);

    // Accepted during the overlap, delivered when it ends.
    receiver.answer(Answer::Status(500, "", ""));
    assert_signed(&sent(&shop, &receiver).await, &[new, KEY], KEY);
    receiver.answer(Answer::Status(204, "", ""));
    shop.after(minutes(58)).await;
    let after = receiver.wait_for(5).await.remove(4);
    assert_signed(&after, &[new], new);
    assert!(accepts(&shop, &[new], &after) && !accepts(&shop, &[KEY], &after));
    let read = shop.get(&path).await;
    assert_eq!(read["previousSharedKeyEndsAt"], Value::Null);
    assert_eq!(shop.get(WEBHOOKS).await, json!([read]));
    let renamed = json!({ "name": "Till", "authentication": basic() });
    put(&shop, &id, &settings(&receiver.url, renamed)).await;
    assert_eq!(stored(&shop, &id).await["previousKey"], Value::Null);
}

#[tokio::test]
async fn what_was_accepted_before_a_rotation_is_delivered_under_both_keys() {
    rotated_between(Shop::open().await).await;
}

#[test]
fn what_was_accepted_before_a_rotation_is_delivered_under_both_keys_on_the_embedded_store() {
    run(embedded, |on| async move {
        rotated_between(Shop::open_at(&on).await).await;
    });
}

#[test]
fn what_was_accepted_before_a_rotation_is_delivered_under_both_keys_on_redis() {
    run(redis, |on| async move {
        rotated_between(Shop::open_at(&on).await).await;
    });
}

/// An event is accepted, its webhook's key is replaced, and only then is the event delivered.
async fn rotated_between(shop: Shop) {
    let receiver = Receiver::start().await;
    let off = json!({ "authentication": basic(), "sharedKey": KEY, "enabled": false });
    let id = shop.webhook(&receiver.url, off).await;
    let before = shop.publish(json!(1)).await;
    let answer = rotate(&shop, &id, "?overlap=1h").await;
    let new = key_of(&answer);
    let on = settings(&receiver.url, json!({ "authentication": basic() }));
    put(&shop, &id, &on).await;
    // An attempt that coincides with a change of its webhook is repeated a second later.
    shop.pass(4).await;
    let delivered = receiver.wait_for(1).await.remove(0);
    assert_eq!(delivered.id(), before);
    let after = sent(&shop, &receiver).await;
    for received in [&*delivered, &after] {
        assert_signed(received, &[new, KEY], KEY);
        for keys in [&[KEY][..], &[new], &[new, KEY]] {
            assert!(accepts(&shop, keys, received), "{keys:?}");
        }
    }
    shop.run().await;
}

#[tokio::test]
async fn without_an_overlap_the_old_key_ends_at_once() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, signed(KEY)).await;
    for (count, query) in [(1, ""), (2, "?overlap=0s")] {
        // Accepted before the rotation, delivered after it: the webhook is disabled meanwhile.
        let off = json!({ "authentication": basic(), "enabled": false });
        put(&shop, &id, &settings(&receiver.url, off)).await;
        shop.publish(json!(query)).await;
        let answer = rotate(&shop, &id, query).await;
        assert_eq!(answer["previousSharedKeyEndsAt"], Value::Null);
        let on = json!({ "authentication": basic() });
        put(&shop, &id, &settings(&receiver.url, on)).await;
        // An attempt that coincides with a change of its webhook is repeated a second later.
        shop.pass(4).await;
        let received = receiver.wait_for(count).await.remove(count - 1);
        assert_signed(&received, &[key_of(&answer)], key_of(&answer));
        assert_eq!(stored(&shop, &id).await["previousKey"], Value::Null);
    }
}

#[tokio::test]
async fn a_webhook_without_a_key_gets_one_and_nothing_overlaps() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, json!({})).await;
    let answer = rotate(&shop, &id, "?overlap=24h").await;
    assert_eq!(answer["previousSharedKeyEndsAt"], Value::Null);
    let received = sent(&shop, &receiver).await;
    assert_signed(&received, &[key_of(&answer)], key_of(&answer));
}

#[tokio::test]
async fn a_second_rotation_ends_the_older_of_the_keys_at_once() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, signed(KEY)).await;
    let second = rotate(&shop, &id, "?overlap=7d").await;
    shop.clock.advance(Duration::from_secs(1));
    let third = rotate(&shop, &id, "?overlap=1h").await;
    assert_eq!(third["previousSharedKeyEndsAt"], "2026-01-01T01:00:01.000Z");
    let (second, third) = (key_of(&second), key_of(&third));
    let received = sent(&shop, &receiver).await;
    assert_signed(&received, &[third, second], second);
    assert!(!accepts(&shop, &[KEY], &received));
    let fourth = rotate(&shop, &id, "").await;
    let received = sent(&shop, &receiver).await;
    assert_signed(&received, &[key_of(&fourth)], key_of(&fourth));
}

#[tokio::test]
async fn another_key_by_a_put_ends_the_overlap_and_other_settings_do_not() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, signed(KEY)).await;
    let new = rotate(&shop, &id, "?overlap=24h").await;
    let new = key_of(&new);
    let renamed = json!({ "name": "Till", "authentication": basic() });
    let ends_at = json!("2026-01-02T00:00:00.000Z");
    for kept in [renamed, signed(new)] {
        let answer = put(&shop, &id, &settings(&receiver.url, kept)).await;
        assert_eq!(answer["previousSharedKeyEndsAt"], ends_at, "{answer}");
        assert_signed(&sent(&shop, &receiver).await, &[new, KEY], KEY);
    }
    let own = "a key that the owner has made";
    let answer = put(&shop, &id, &settings(&receiver.url, signed(own))).await;
    assert_eq!(answer["previousSharedKeyEndsAt"], Value::Null, "{answer}");
    assert_signed(&sent(&shop, &receiver).await, &[own], own);
}

#[tokio::test]
async fn a_webhook_that_is_disabled_after_the_overlap_keeps_no_old_key() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, signed(KEY)).await;
    let new = rotate(&shop, &id, "?overlap=1h").await;
    assert_eq!(stored(&shop, &id).await["previousKey"]["key"], KEY);
    shop.after(minutes(60)).await;
    receiver.answer(Answer::Status(410, "", ""));
    sent(&shop, &receiver).await;
    let stored = stored(&shop, &id).await;
    assert_eq!(stored["sharedKey"], new["sharedKey"]);
    assert_eq!(stored["disabled"]["reason"], "GONE");
    assert_eq!(stored["previousKey"], Value::Null);
}

#[tokio::test]
async fn the_journal_signs_as_was_signed_and_never_with_a_key_that_has_ended() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, signed(KEY)).await;
    rotate(&shop, &id, "?overlap=1h").await;
    shop.clock.advance(Duration::from_secs(1));
    let received = sent(&shop, &receiver).await;
    let delivery = shop.delivery().await;
    let path = format!("{DELIVERIES}/{}", delivery["id"].as_str().unwrap());
    const NAMES: [&str; 5] = [
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "x-service-signature",
        "x-service-body-signature",
    ];
    let shown = async || {
        let delivery = shop.get(&path).await;
        let headers = delivery["request"]["headers"].as_object().unwrap();
        let headers = headers.iter().map(|(name, value)| {
            let value = value.as_str().unwrap().to_owned();
            (name.to_ascii_lowercase(), value)
        });
        let signatures = headers.filter(|(name, _)| NAMES.contains(&name.as_str()));
        signatures.collect::<std::collections::BTreeMap<_, _>>()
    };
    let expected = NAMES.map(|name| (name.to_owned(), received.headers[name].clone()));
    assert_eq!(shown().await, expected.into());
    shop.after(minutes(60)).await;
    assert!(shown().await.is_empty(), "the old key has ended");
    let renamed = json!({ "name": "Till", "authentication": basic() });
    put(&shop, &id, &settings(&receiver.url, renamed)).await;
    assert!(shown().await.is_empty(), "the old key is gone");
}

#[tokio::test]
async fn an_old_key_that_a_receiver_answers_is_not_kept() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, signed(KEY)).await;
    rotate(&shop, &id, "?overlap=24h").await;
    receiver.answer(Answer::Status(500, "", KEY));
    sent(&shop, &receiver).await;
    let kept = format!("an answer of {} bytes that repeats a credential", KEY.len());
    assert_eq!(shop.delivery().await["attempts"][0]["answer"], kept);
}

#[tokio::test]
async fn an_overlap_that_is_none_is_refused_and_the_key_stays() {
    let shop = Shop::open().await;
    let id = shop.webhook("https://erp.example/hook", signed(KEY)).await;
    for overlap in [
        "",
        "1",
        "-1h",
        "forever",
        "7d%201s",
        "8days",
        "P1D",
        "999999999999999999999d",
        // The maximum of a duration, and a second more.
        "18446744073709551615s%201000000000ns",
    ] {
        let path = format!("{WEBHOOKS}/{id}/shared-key?overlap={overlap}");
        let (status, problem) = shop.send(Method::POST, &path, &Value::Null).await;
        let rule = "$.overlap must be a duration such as 0s, 1h, 24h or 7 days, at most 7 days";
        assert_eq!(status, 400, "{overlap}: {problem}");
        assert_eq!(problem["message"], json!([rule]), "{overlap}");
    }
    assert_eq!(stored(&shop, &id).await["sharedKey"], KEY);
}
