//! Secrets that a PUT leaves out keep the values that are stored at the moment of writing, whatever else changes them
//! meanwhile.

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::data::records::{Change, Records};
use tillgate_base::identity::TenantId;

use super::shop::{KEY, Shop, WEBHOOKS, settings};

const URL: &str = "https://erp.example/hook";

fn records(shop: &Shop) -> Records {
    let tenant = TenantId::new("acme").unwrap();
    shop.host.app.records(tenant.partition())
}

/// Returns a webhook as it is stored.
pub(crate) async fn stored(shop: &Shop, id: &str) -> Value {
    let key = format!("webhook/{id}");
    let stored = records(shop).get::<Value>(&key).await.unwrap();
    stored.unwrap().record
}

/// Changes a webhook on another host; this one has not heard of it yet.
async fn store_elsewhere(shop: &Shop, id: &str, edit: impl FnOnce(&mut Value)) {
    let mut webhook = stored(shop, id).await;
    edit(&mut webhook);
    let mut change = Change::default();
    change.put(&format!("webhook/{id}"), &webhook).unwrap();
    records(shop).commit(change).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_key_that_was_rotated_meanwhile_is_the_one_that_is_kept() {
    let shop = Shop::open().await;
    let id = shop.webhook(URL, json!({ "sharedKey": KEY })).await;
    let rotated = "rotated by another host";
    store_elsewhere(&shop, &id, |webhook| webhook["sharedKey"] = json!(rotated)).await;
    let renamed = settings(URL, json!({ "name": "Till" }));
    let path = format!("{WEBHOOKS}/{id}");
    let (status, answer) = shop.send(Method::PUT, &path, &renamed).await;
    assert_eq!((status, &answer["name"]), (200, &json!("Till")), "{answer}");
    assert_eq!(stored(&shop, &id).await["sharedKey"], rotated);
}

#[tokio::test]
async fn a_put_beside_a_rotation_never_brings_the_old_key_back() {
    let shop = Shop::open().await;
    let id = shop.webhook(URL, json!({ "sharedKey": KEY })).await;
    let path = format!("{WEBHOOKS}/{id}");
    let (rotation, token) = (format!("{path}/shared-key"), shop.token());
    for round in 0..60 {
        let renamed = settings(URL, json!({ "name": format!("Till {round}") }));
        let rotate = shop.host.request(Method::POST, &rotation, &token).send();
        let (rotated, (status, answer)) =
            tokio::join!(rotate, shop.send(Method::PUT, &path, &renamed));
        assert_eq!(status, 200, "{answer}");
        let rotated: Value = rotated.unwrap().json().await.unwrap();
        assert_eq!(stored(&shop, &id).await["sharedKey"], rotated["sharedKey"]);
    }
}

#[tokio::test]
async fn a_password_that_was_changed_meanwhile_is_the_one_that_is_kept() {
    let shop = Shop::open().await;
    let basic =
        |password: &str| json!({ "type": "BASIC", "username": "till", "password": password });
    let id = shop
        .webhook(URL, json!({ "authentication": basic("first") }))
        .await;
    store_elsewhere(&shop, &id, |webhook| {
        webhook["authentication"] = basic("second")
    })
    .await;
    let without = json!({ "authentication": { "type": "BASIC", "username": "till" } });
    let path = format!("{WEBHOOKS}/{id}");
    let (status, answer) = shop
        .send(Method::PUT, &path, &settings(URL, without.clone()))
        .await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(stored(&shop, &id).await["authentication"], basic("second"));

    // A password does not go to another receiver than the stored one either, whichever receiver the host has in memory.
    let elsewhere = "https://other.example/hook";
    store_elsewhere(&shop, &id, |webhook| {
        webhook["callbackUrl"] = json!(elsewhere)
    })
    .await;
    let (status, problem) = shop.send(Method::PUT, &path, &settings(URL, without)).await;
    assert_eq!(status, 400, "{problem}");
    assert_eq!(
        problem["message"],
        json!([
            "$.authentication.password is required: a stored password is kept only for the same receiver"
        ])
    );
}
