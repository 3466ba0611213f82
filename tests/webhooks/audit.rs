//! The audit lines about webhooks that the service disables by itself.

use reqwest::Method;
use serde_json::{Value, json};

use super::shop::{Shop, WEBHOOKS, minutes};
use crate::support::log;
use crate::support::receiver::{Answer, Receiver};

/// Returns the versions before and after that a line names.
fn versions(line: &mut Value) -> [Value; 2] {
    let fields = line.as_object_mut().unwrap();
    ["before", "after"].map(|name| fields.remove(name).unwrap_or_default())
}

/// Returns the current version of a webhook.
async fn version(shop: &Shop, id: &str) -> String {
    let path = format!("{WEBHOOKS}/{id}");
    let request = shop.host.request(Method::GET, &path, &shop.token());
    let answer = request.send().await.unwrap();
    let etag = answer.headers()["etag"].to_str().unwrap();
    etag.trim_matches('"').to_owned()
}

#[tokio::test]
async fn a_webhook_that_is_gone_is_disabled_by_the_host_with_the_delivery_that_told_it() {
    log::keep();
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, json!({})).await;
    let before = version(&shop, &id).await;
    receiver.answer(Answer::Status(410, "", ""));
    for number in 0..2 {
        shop.publish(json!(number)).await;
    }
    shop.run().await;
    let deliveries = shop.deliveries("").await;
    let mut lines =
        log::audited(|line| line["action"] == "webhook.disabled" && line["id"] == id.as_str());
    assert_eq!(lines.len(), 1, "{lines:?}");
    let line = &mut lines[0];
    assert_eq!(versions(line), [before, version(&shop, &id).await]);
    let delivery = line.as_object_mut().unwrap().remove("delivery").unwrap();
    assert!(
        deliveries.iter().any(|it| it["id"] == delivery),
        "{delivery}"
    );
    let expected = json!({
        "action": "webhook.disabled", "tenant": "acme", "id": id, "reason": "GONE", "by": "the host",
        "result": "done",
    });
    assert_eq!(*line, expected);
}

#[tokio::test]
async fn a_webhook_that_has_failed_for_five_days_is_disabled_by_the_host() {
    log::keep();
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, json!({})).await;
    receiver.answer(Answer::Status(500, "", ""));
    for _ in 0..6 {
        shop.publish(json!(1)).await;
        shop.run().await;
        shop.after(minutes(24 * 60)).await;
    }
    let lines =
        log::audited(|line| line["action"] == "webhook.disabled" && line["id"] == id.as_str());
    let told: Vec<_> = lines
        .iter()
        .map(|line| (&line["reason"], &line["by"]))
        .collect();
    assert_eq!(told, [(&json!("FAILING"), &json!("the host"))]);
}
