//! Bounds: the deliveries of a webhook in progress, its deliveries per second, the webhooks of one event, and the
//! retention of everything.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::{Config, Deprecation};
use tillgate_base::identity::TenantId;

use super::shop::{DELIVERIES, Shop, TYPE, WEBHOOKS, local, minutes};
use crate::support::receiver::{Answer, Received, Receiver};

#[tokio::test]
async fn an_event_reaches_more_webhooks_than_fit_into_one_commit() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    for _ in 0..450 {
        shop.webhook(&receiver.url, json!({})).await;
    }
    let event = json!({ "type": TYPE, "data": 1, "id": "many" });
    let answer = shop.send(Method::POST, "/api/v1/events", &event).await;
    assert_eq!(answer, (202, json!({ "id": "many", "deliveries": 450 })));
    shop.pass(10).await;
    assert_eq!(receiver.wait_for(450).await.len(), 450);
    let found = shop.deliveries("status=DELIVERED&limit=1000").await;
    let mut webhooks: Vec<_> = found.iter().map(|it| it["webhookId"].to_string()).collect();
    webhooks.sort_unstable();
    webhooks.dedup();
    assert_eq!((found.len(), webhooks.len()), (450, 450));
}

#[tokio::test]
async fn a_silent_webhook_has_at_most_eight_deliveries_in_progress() {
    let (shop, proven, new, other) = (
        Shop::open().await,
        Receiver::start().await,
        Receiver::start().await,
        Receiver::start().await,
    );
    let send = async |of: &str, count: usize| {
        let event = json!({ "type": of, "data": 1 });
        for _ in 0..count {
            let sent = shop.send(Method::POST, "/api/v1/events", &event).await;
            assert_eq!(sent.0, 202);
        }
    };
    for (receiver, of) in [(&proven, "x.proven.v1"), (&new, "x.new.v1")] {
        shop.webhook(&receiver.url, json!({ "eventTypes": [of] }))
            .await;
    }
    shop.webhook(&other.url, json!({})).await;
    send("x.proven.v1", 1).await;
    shop.run().await;
    for receiver in [&proven, &new] {
        receiver.answer(Answer::Hang);
    }
    send("x.proven.v1", 30).await;
    send("x.new.v1", 30).await;
    proven.wait_for(1 + 8).await;
    new.wait_for(1).await;
    shop.publish(json!(1)).await;
    other.wait_for(1).await;
    assert_eq!((proven.received().len(), new.received().len()), (9, 1));
}

#[tokio::test]
async fn webhooks_that_hang_hold_up_no_others_behind_the_same_host_and_port() {
    let configure = |config: &mut Config| {
        local(config);
        config.quotas.deliveries_per_target = 32;
    };
    let (shop, gateway) = (Shop::open_with(configure).await, Receiver::start().await);
    for _ in 0..4 {
        shop.webhook(&format!("{}/good", gateway.url), json!({}))
            .await;
    }
    shop.publish(json!(0)).await;
    shop.run().await;
    gateway.answer(Answer::HangingAt("/hang"));
    for _ in 0..20 {
        shop.webhook(&format!("{}/hang", gateway.url), json!({}))
            .await;
    }
    for number in 1..=5 {
        shop.publish(json!(number)).await;
        let mut so_far = gateway.wait_for(0).await.len();
        let good = |received: &[Arc<Received>]| {
            let good = received.iter().filter(|it| it.path.ends_with("/good"));
            good.count()
        };
        while good(&gateway.received()) < 4 * (number + 1) {
            so_far = gateway.wait_for(so_far + 1).await.len();
        }
    }
    let hung = gateway.received().len() - 4 * 6;
    assert!((1..=16).contains(&hung), "{hung}");
}

#[tokio::test]
async fn many_webhooks_that_stop_answering_at_once_delay_no_other_behind_the_same_host_and_port() {
    let configure = |config: &mut Config| {
        local(config);
        config.quotas.deliveries_per_target = 4;
    };
    let (shop, gateway) = (Shop::open_with(configure).await, Receiver::start().await);
    for path in ["hang"; 12].iter().chain(&["good"; 3]) {
        let url = format!("{}/{path}", gateway.url);
        shop.webhook(&url, json!({})).await;
    }
    shop.publish(json!(0)).await;
    shop.pass(8).await;
    gateway.wait_for(15).await;
    gateway.answer(Answer::HangingAt("/hang"));
    // The clock stands still, so nobody can know yet that they hang.
    shop.publish(json!(1)).await;
    let is_good = |it: &&Arc<Received>| it.path.ends_with("/good");
    let mut received = gateway.received();
    while received.iter().filter(is_good).count() < 6 {
        received = gateway.wait_for(received.len() + 1).await;
    }
}

#[tokio::test]
async fn a_webhook_gets_no_more_in_a_second_than_it_takes() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({ "maxPerSecond": 2 }))
        .await;
    for number in 0..6 {
        shop.publish(json!(number)).await;
    }
    shop.run().await;
    let mut counts = vec![receiver.received().len()];
    for _ in 0..5 {
        shop.clock.advance(Duration::from_millis(500));
        shop.run().await;
        counts.push(receiver.received().len());
    }
    assert_eq!(counts, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn an_event_type_that_will_be_removed_says_so() {
    let shop = Shop::open_with(|config| {
        local(config);
        let removed_after = "2027-06-30".parse().unwrap();
        let deprecations = &mut config.webhooks.deprecations;
        deprecations.insert(TYPE.to_owned(), Deprecation { removed_after });
    });
    let (shop, receiver) = (shop.await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    shop.publish(json!(1)).await;
    shop.run().await;
    let meta = &receiver.wait_for(1).await[0].envelope()["meta"];
    assert_eq!(
        *meta,
        json!({ "deprecationNotice": { "removedAfter": "2027-06-30" } })
    );
}

#[tokio::test]
async fn what_is_not_json_is_delivered_as_it_is() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({})).await;
    let text = json!({ "type": TYPE, "data": "a;b\n1;2", "datacontenttype": "text/csv" });
    assert_eq!(
        shop.send(Method::POST, "/api/v1/events", &text).await.0,
        202
    );
    shop.run().await;
    let envelope = receiver.wait_for(1).await[0].envelope();
    assert_eq!(envelope["datacontenttype"], "text/csv");
    assert_eq!(envelope["data"], "YTtiCjE7Mg==");
}

#[tokio::test]
async fn nothing_is_left_of_a_webhook_a_month_later() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let id = shop.webhook(&receiver.url, json!({})).await;
    let event = json!({ "type": TYPE, "data": 1, "id": "old" });
    assert_eq!(
        shop.send(Method::POST, "/api/v1/events", &event).await.0,
        202
    );
    shop.run().await;
    receiver.wait_for(1).await;
    let replay = shop
        .send(Method::POST, &format!("{DELIVERIES}/replay"), &json!({}))
        .await;
    assert_eq!(replay.0, 202);
    shop.after(minutes(29 * 24 * 60)).await;
    assert_eq!(shop.deliveries("").await.len(), 1, "it is kept for 30 days");
    let path = format!("{WEBHOOKS}/{id}");
    let deleted = shop
        .host
        .request(Method::DELETE, &path, &shop.token())
        .send()
        .await;
    assert_eq!(deleted.unwrap().status(), 204);
    for _ in 0..4 {
        shop.after(minutes(24 * 60)).await;
    }
    assert_eq!(shop.deliveries("").await, Vec::<Value>::new());
    let partition = TenantId::new("acme").unwrap().partition();
    let left = shop
        .host
        .app
        .store
        .scan(&partition, "webhook", None, 10)
        .await
        .unwrap();
    let keys: Vec<_> = left.entries.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, Vec::<&String>::new());
}
