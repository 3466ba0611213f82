//! Concurrent tests of webhooks: each tenant has a share of the places, however long its receivers hang.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::shop::{Shop, WEBHOOKS, local, settings};
use crate::support::receiver::{Answer, Receiver};
use crate::support::wait::within;

/// Starts a test of a webhook.
fn begin(shop: &Shop, url: &str) -> JoinHandle<Response> {
    let path = format!("{WEBHOOKS}/ping");
    let request = shop.host.request(Method::POST, &path, &shop.token());
    let request = request.json(&settings(url, json!({})));
    tokio::spawn(async move { request.send().await.unwrap() })
}

#[tokio::test]
async fn a_tenant_whose_receivers_hang_keeps_no_other_from_trying_out_webhooks() {
    let shop = Shop::open_with(|config| {
        local(config);
        config.webhooks.deadline = Duration::from_secs(15);
    });
    let (shop, hanging, good) = (shop.await, Receiver::start().await, Receiver::start().await);
    hanging.answer(Answer::Hang);
    let mut trials: Vec<_> = (0..40).map(|_| begin(&shop, &hanging.url)).collect();
    hanging.wait_for(16).await;

    let other = shop.host.token("other", &["exe.editor"]).await;
    let path = format!("{WEBHOOKS}/ping");
    let webhook = settings(&good.url, json!({}));
    let (status, answer) = shop.host.send(Method::POST, &path, &other, &webhook).await;
    assert_eq!(
        (status, &answer["delivered"]),
        (200, &json!(true)),
        "{answer}"
    );
    assert_eq!(hanging.received().len(), 16, "half of all are the tenant's");

    // Requests that had no turn in time get an error with the reason.
    let (answered, _, _) = within("an answer", futures_util::future::select_all(&mut trials)).await;
    let answered = answered.unwrap();
    assert_eq!(answered.status(), 429);
    assert_eq!(answered.headers()["retry-after"], "1");
    let problem: Value = answered.json().await.unwrap();
    let detail =
        "too many webhooks are being tried out: at most 32 at once, 16 of them of one tenant";
    assert_eq!(problem["detail"], detail);
    trials.iter().for_each(JoinHandle::abort);
}
