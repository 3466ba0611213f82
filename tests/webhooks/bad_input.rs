//! Malformed requests: each fault is reported with its path, all faults of a body at once, and nothing is stored.

use reqwest::Method;
use serde_json::{Value, json};

use super::shop::{DELIVERIES, Shop, TYPE, WEBHOOKS, settings};

const URL: &str = "https://erp.example/hook";
const UUID: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

/// Returns webhooks with other settings, and the messages about them.
fn webhooks() -> Vec<(Value, &'static [&'static str])> {
    let long_url = format!("https://erp.example/{}", "x".repeat(2_040));
    let long = "x".repeat(257);
    let types: Vec<String> = (0..101)
        .map(|number| format!("x.type-{number}.v1"))
        .collect();
    let basic = |username: &str, password: &str| json!({ "authentication": { "type": "BASIC", "username": username, "password": password } });
    vec![
        (json!({ "name": "" }), &["$.name"]),
        (json!({ "name": 7 }), &["$.name"]),
        (json!({ "name": long }), &["$.name"]),
        (json!({ "name": "a\nb" }), &["$.name"]),
        (json!({ "name": "a\u{9b}2Jb" }), &["$.name"]),
        (json!({ "callbackUrl": null }), &["$.callbackUrl"]),
        (
            json!({ "callbackUrl": "erp.example/hook" }),
            &["$.callbackUrl"],
        ),
        (
            json!({ "callbackUrl": "http://erp.example/hook" }),
            &["$.callbackUrl"],
        ),
        (
            json!({ "callbackUrl": "ftp://erp.example/hook" }),
            &["$.callbackUrl"],
        ),
        (
            json!({ "callbackUrl": "file:///etc/passwd" }),
            &["$.callbackUrl"],
        ),
        (
            json!({ "callbackUrl": "https://user@erp.example/" }),
            &["$.callbackUrl"],
        ),
        (
            json!({ "callbackUrl": "https://:secret@erp.example/" }),
            &["$.callbackUrl"],
        ),
        (
            json!({ "callbackUrl": "https://erp.example/#part" }),
            &["$.callbackUrl"],
        ),
        (
            json!({ "callbackUrl": "https://erp.example/a b" }),
            &["$.callbackUrl"],
        ),
        (
            json!({ "callbackUrl": "https://erp.example/\n" }),
            &["$.callbackUrl"],
        ),
        (json!({ "callbackUrl": long_url }), &["$.callbackUrl"]),
        (json!({ "eventTypes": [] }), &["$.eventTypes"]),
        (json!({ "eventTypes": TYPE }), &["$.eventTypes"]),
        (
            json!({ "eventTypes": ["X.Y.v1", "x", "x.v", "*"] }),
            &["$.eventTypes[0]", "$.eventTypes[1]", "$.eventTypes[2]"],
        ),
        (json!({ "eventTypes": [TYPE, TYPE] }), &["$.eventTypes[1]"]),
        (json!({ "eventTypes": types }), &["$.eventTypes"]),
        (json!({ "authentication": null }), &["$.authentication"]),
        (json!({ "authentication": {} }), &["$.authentication.type"]),
        (
            json!({ "authentication": { "type": "NONE" } }),
            &["$.authentication.type"],
        ),
        (
            json!({ "authentication": { "type": "BASIC" } }),
            &["$.authentication.username"],
        ),
        (
            json!({ "authentication": { "type": "BASIC", "username": "u" } }),
            &["$.authentication.password"],
        ),
        (basic("", "password"), &["$.authentication.username"]),
        (basic("a:b", "password"), &["$.authentication.username"]),
        (basic("u", ""), &["$.authentication.password"]),
        (basic("u", "line\nbreak"), &["$.authentication.password"]),
        (
            basic(&"é".repeat(129), &"é".repeat(129)),
            &["$.authentication.username", "$.authentication.password"],
        ),
        (json!({ "sharedKey": "too short" }), &["$.sharedKey"]),
        (json!({ "sharedKey": "x".repeat(129) }), &["$.sharedKey"]),
        (
            json!({ "sharedKey": "sixteen characters\u{7}" }),
            &["$.sharedKey"],
        ),
        (
            json!({ "sharedKey": 1234567890123456_i64 }),
            &["$.sharedKey"],
        ),
        (
            json!({ "signatureHeader": "Not a name" }),
            &["$.signatureHeader"],
        ),
        (
            json!({ "signatureHeader": "Authorization" }),
            &["$.signatureHeader"],
        ),
        (
            json!({ "signatureHeader": "content-LENGTH" }),
            &["$.signatureHeader"],
        ),
        (json!({ "maxPerSecond": 0 }), &["$.maxPerSecond"]),
        (json!({ "maxPerSecond": 10_001 }), &["$.maxPerSecond"]),
        (json!({ "maxPerSecond": 1.5 }), &["$.maxPerSecond"]),
        (json!({ "maxPerSecond": "5" }), &["$.maxPerSecond"]),
        (json!({ "enabled": "yes" }), &["$.enabled"]),
        (
            json!({ "name": "", "callbackUrl": "x", "eventTypes": ["x"], "enabled": 1 }),
            &["$.name", "$.callbackUrl", "$.eventTypes[0]", "$.enabled"],
        ),
    ]
}

/// Returns events, and the messages about them.
fn events() -> Vec<(Value, &'static [&'static str])> {
    vec![
        (json!({}), &["$.type", "$.data"]),
        (json!({ "type": TYPE }), &["$.data"]),
        (json!({ "type": "*", "data": 1 }), &["$.type"]),
        (json!({ "type": "Order", "data": 1 }), &["$.type"]),
        (json!({ "type": TYPE, "data": 1, "id": "" }), &["$.id"]),
        (
            json!({ "type": TYPE, "data": 1, "id": "x".repeat(257) }),
            &["$.id"],
        ),
        (
            json!({ "type": TYPE, "data": 1, "id": "a\u{0}b" }),
            &["$.id"],
        ),
        (
            json!({ "type": TYPE, "data": 1, "time": "yesterday" }),
            &["$.time"],
        ),
        (
            json!({ "type": TYPE, "data": 1, "time": "-000500-01-01T00:00:00Z" }),
            &["$.time"],
        ),
        (
            json!({ "type": TYPE, "data": 1, "tenantId": "no tenant" }),
            &["$.tenantId"],
        ),
        (
            json!({ "type": TYPE, "data": 1, "datacontenttype": "json" }),
            &["$.datacontenttype"],
        ),
        (
            json!({ "type": TYPE, "data": "1", "datacontenttype": format!("text/{}", "x".repeat(251)) }),
            &["$.datacontenttype"],
        ),
        (
            // At the limit of its length: the fault is elsewhere.
            json!({ "type": TYPE, "data": 1, "datacontenttype": format!("text/{}", "x".repeat(250)) }),
            &["$.data"],
        ),
        (
            json!({ "type": TYPE, "data": {}, "datacontenttype": "text/plain" }),
            &["$.data"],
        ),
        (
            json!({ "type": TYPE, "data": "x".repeat(262_144) }),
            &["$.data"],
        ),
    ]
}

fn paths(problem: &Value) -> Vec<String> {
    let messages = problem["message"].as_array().into_iter().flatten();
    let path = |message: &Value| {
        message
            .as_str()
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .to_owned()
    };
    messages.map(path).collect()
}

#[tokio::test]
async fn each_fault_of_a_webhook_and_of_an_event_is_named_by_its_path() {
    let shop = Shop::open_with(|_| ()).await;
    for (more, expected) in webhooks() {
        let body = settings(URL, more.clone());
        for path in [WEBHOOKS.to_owned(), format!("{WEBHOOKS}/ping")] {
            let (status, problem) = shop.send(Method::POST, &path, &body).await;
            assert_eq!(status, 400, "{more}: {problem}");
            assert_eq!(paths(&problem), expected, "{more}: {problem}");
        }
    }
    for (body, expected) in events() {
        let (status, problem) = shop.send(Method::POST, "/api/v1/events", &body).await;
        let body = body.to_string();
        assert_eq!(status, 400, "{body:.100}: {problem}");
        assert_eq!(paths(&problem), expected, "{body:.100}: {problem}");
    }
    assert_eq!(shop.get(WEBHOOKS).await, json!([]));
    assert_eq!(shop.deliveries("").await, Vec::<Value>::new());
}

#[tokio::test]
async fn what_becomes_a_key_or_a_header_is_measured_in_bytes() {
    let shop = Shop::open_with(|_| ()).await;
    let held = json!({ "eventTypes": ["*"], "enabled": false });
    shop.webhook(URL, held).await;
    let event = |id: &str, kind: &str| json!({ "type": kind, "data": 1, "id": id });
    let of_bytes = |count: usize| format!("{}.v1", "x".repeat(count - 3));
    let (id, kind) = ("é".repeat(128), of_bytes(256));
    let (status, accepted) = shop
        .send(Method::POST, "/api/v1/events", &event(&id, &kind))
        .await;
    assert_eq!((status, &accepted["id"]), (202, &json!(id)), "{accepted}");
    shop.run().await;
    assert_eq!(shop.delivery().await["eventId"], json!(id));

    let id_rule = "$.id must be 1 to 256 bytes of UTF-8 without control characters";
    let type_rule = "$.type must be an event type such as x.order-updates.v1, of at most 256 bytes";
    for (body, expected) in [
        (event(&"é".repeat(129), TYPE), id_rule),
        (event(&"é".repeat(256), TYPE), id_rule),
        (event(&"🛒".repeat(256), TYPE), id_rule),
        (event("a", &of_bytes(257)), type_rule),
    ] {
        let (status, problem) = shop.send(Method::POST, "/api/v1/events", &body).await;
        assert_eq!((status, &problem["message"]), (400, &json!([expected])));
    }

    let basic = |username: &str| json!({ "authentication": { "type": "BASIC", "username": username, "password": "p" } });
    let (status, problem) = shop
        .send(
            Method::POST,
            WEBHOOKS,
            &settings(URL, basic(&"é".repeat(129))),
        )
        .await;
    let expected =
        "$.authentication.username must be 1 to 256 bytes of UTF-8 without control characters";
    assert_eq!((status, &problem["message"]), (400, &json!([expected])));
    let longest = settings(URL, basic(&"é".repeat(128)));
    let (status, webhook) = shop.send(Method::POST, WEBHOOKS, &longest).await;
    assert_eq!(status, 201, "{webhook}");
}

#[tokio::test]
async fn each_fault_of_a_replay_and_of_a_path_is_told() {
    let shop = Shop::open().await;
    let filter =
        json!({ "webhookId": "x", "status": "LOST", "eventType": "X", "since": "x", "until": 7 });
    let (status, problem) = shop
        .send(Method::POST, &format!("{DELIVERIES}/replay"), &filter)
        .await;
    assert_eq!(status, 400, "{problem}");
    let expected = [
        "$.webhookId",
        "$.status",
        "$.eventType",
        "$.since",
        "$.until",
    ];
    assert_eq!(paths(&problem), expected);
    for path in [
        format!("{WEBHOOKS}/{UUID}"),
        format!("{WEBHOOKS}/x"),
        format!("{DELIVERIES}/{UUID}"),
        format!("{DELIVERIES}/x"),
        format!("{DELIVERIES}/replays/{UUID}"),
        format!("{DELIVERIES}/replays/x"),
    ] {
        assert_eq!(shop.host.get(&path, &shop.token()).await.0, 404, "{path}");
    }
    for path in [
        format!("{WEBHOOKS}/{UUID}/ping"),
        format!("{WEBHOOKS}/{UUID}/shared-key"),
        format!("{DELIVERIES}/{UUID}/replay"),
    ] {
        assert_eq!(
            shop.send(Method::POST, &path, &Value::Null).await.0,
            404,
            "{path}"
        );
    }
    for body in [
        "",
        "{",
        "[]",
        "null",
        r#"{"name":"a","name":"b"}"#,
        "{\"name\":\"\\ud800\"}",
    ] {
        let sent = shop.host.request(Method::POST, WEBHOOKS, &shop.token());
        let sent = sent.header("content-type", "application/json").body(body);
        assert_eq!(sent.send().await.unwrap().status(), 400, "{body}");
    }
}
