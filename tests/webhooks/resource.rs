//! The resource: creating, reading, replacing and removing webhooks, and the secrets that no answer contains.

use reqwest::Method;
use serde_json::{Value, json};

use super::shop::{KEY, Shop, TYPE, WEBHOOKS, settings};
use crate::support::host::take_modifier;

const URL: &str = "https://erp.example/hook";

#[tokio::test]
async fn a_webhook_is_created_read_replaced_and_removed() {
    let shop = Shop::open().await;
    let basic = json!({ "type": "BASIC", "username": "till", "password": "secret-password" });
    let more = json!({ "authentication": basic, "sharedKey": KEY, "maxPerSecond": 5 });
    let (status, mut created) = shop
        .send(Method::POST, WEBHOOKS, &settings(URL, more))
        .await;
    assert_eq!(status, 201, "{created}");
    let id = created["id"].as_str().unwrap().to_owned();
    let expected = json!({
        "id": id,
        "name": "ERP",
        "callbackUrl": URL,
        "eventTypes": [TYPE],
        "authentication": { "type": "BASIC", "username": "till" },
        "hasSharedKey": true,
        "maxPerSecond": 5,
        "enabled": true,
        "createdAt": "2026-01-01T00:00:00.000Z",
        "lastModified": "2026-01-01T00:00:00.000Z",
    });
    let path = format!("{WEBHOOKS}/{id}");
    assert_eq!(shop.get(&path).await, created);
    assert_eq!(shop.get(WEBHOOKS).await, json!([created]));
    assert_eq!(take_modifier(&mut created), "test 1");
    assert_eq!(created, expected);

    // A password and a key that are left out are kept.
    let kept = json!({ "authentication": { "type": "BASIC", "username": "till" }, "name": "Till" });
    let (status, replaced) = shop.send(Method::PUT, &path, &settings(URL, kept)).await;
    assert_eq!(
        (status, &replaced["name"]),
        (200, &json!("Till")),
        "{replaced}"
    );
    assert_eq!(replaced["hasSharedKey"], true);
    let without = json!({ "sharedKey": null });
    let (_, replaced) = shop.send(Method::PUT, &path, &settings(URL, without)).await;
    assert_eq!(replaced["hasSharedKey"], false, "{replaced}");
    let no_password = json!({ "authentication": { "type": "BASIC", "username": "till" } });
    let (status, problem) = shop
        .send(Method::PUT, &path, &settings(URL, no_password))
        .await;
    assert_eq!(status, 400, "{problem}");
    assert_eq!(
        problem["message"],
        json!([
            "$.authentication.password is required: a stored password is kept only for the same receiver"
        ])
    );

    let deleted = shop
        .host
        .request(Method::DELETE, &path, &shop.token())
        .send()
        .await;
    assert_eq!(deleted.unwrap().status(), 204);
    assert_eq!(shop.host.get(&path, &shop.token()).await.0, 404);
}

#[tokio::test]
async fn a_key_that_is_made_here_is_shown_once() {
    let shop = Shop::open().await;
    let made = json!({ "sharedKey": "generate" });
    let (_, created) = shop
        .send(Method::POST, WEBHOOKS, &settings(URL, made))
        .await;
    let key = created["sharedKey"].as_str().unwrap();
    assert_eq!(key.len(), 43);
    let path = format!("{WEBHOOKS}/{}", created["id"].as_str().unwrap());
    assert_eq!(shop.get(&path).await["sharedKey"], Value::Null);
    let rotated = shop
        .host
        .request(Method::POST, &format!("{path}/shared-key"), &shop.token());
    let rotated: Value = rotated.send().await.unwrap().json().await.unwrap();
    let rotated = rotated["sharedKey"].as_str().unwrap();
    assert!(rotated.len() == 43 && rotated != key);
}

#[tokio::test]
async fn tenants_do_not_see_each_other() {
    let shop = Shop::open().await;
    let id = shop.webhook(URL, json!({})).await;
    let other = shop
        .host
        .token("other", &["exe.editor", "exe.publisher"])
        .await;
    assert_eq!(shop.host.get(WEBHOOKS, &other).await, (200, json!([])));
    assert_eq!(
        shop.host.get(&format!("{WEBHOOKS}/{id}"), &other).await.0,
        404
    );
    let event = json!({ "type": TYPE, "data": 1 });
    let (_, answer) = shop
        .host
        .send(Method::POST, "/api/v1/events", &other, &event)
        .await;
    assert_eq!(answer["deliveries"], 0);
    let for_acme = json!({ "type": TYPE, "data": 1, "tenantId": "acme" });
    let (status, _) = shop
        .host
        .send(Method::POST, "/api/v1/events", &other, &for_acme)
        .await;
    assert_eq!(status, 403);
}

#[tokio::test]
async fn an_http_url_is_refused_unless_the_operator_allows_it() {
    let shop = Shop::open_with(|_| ()).await;
    let body = settings("http://erp.example/hook", json!({}));
    let (status, problem) = shop.send(Method::POST, WEBHOOKS, &body).await;
    assert_eq!(status, 400);
    assert_eq!(
        problem["message"],
        json!(["$.callbackUrl must be an https URL"])
    );
}
