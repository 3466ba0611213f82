//! Requests that wait for an event: what wakes them, what ends them, who may wait and who may read.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::MemoryStore;
use tillgate_store::clock::StoppedClock;
use tokio::task::JoinHandle;

use super::pull::{CONSUMERS, EVENTS};
use super::shop::{START, Shop, local};
use crate::base::metrics::scrape_until;
use crate::support::host::{self, Host, read};
use crate::support::wait::within;
use crate::support::wire;

const ERP: &str = "/api/v1/events?consumer=erp&wait=60s";

/// Opens a shop with the consumer `erp`.
async fn shop(configure: impl FnOnce(&mut Config)) -> Shop {
    let configure = |config: &mut Config| {
        local(config);
        configure(config);
    };
    let shop = Shop::open_with(configure).await;
    shop.get("/api/v1/events?consumer=erp").await;
    shop
}

/// Starts a request that waits.
fn ask(host: &Host, path: &str, token: &str) -> JoinHandle<(u16, Value)> {
    let request = host.request(Method::GET, path, token);
    tokio::spawn(async move { read(request.send().await.unwrap()).await })
}

/// Waits until `count` requests wait on a host.
async fn waiting(host: &Host, count: f64) {
    let kind = [("kind", "event_waiters")];
    let scrape = scrape_until(&host.url, |it| {
        it.sum("tillgate_memory_objects", &kind) == count
    });
    scrape.await;
}

/// Returns the answer to a request that has waited.
async fn answered(asked: JoinHandle<(u16, Value)>) -> (u16, Value) {
    within("the answer to who waits", asked).await.unwrap()
}

fn ids(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn who_waits_is_answered_when_the_first_event_is_accepted_on_whichever_host() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let one = Shop::open_on(store.clone(), clock.clone(), local).await;
    let other = Shop::open_on(store, clock, local).await;
    one.get("/api/v1/events?consumer=erp").await;
    for publisher in [&one, &other] {
        let asked = ask(&one.host, ERP, &one.token());
        waiting(&one.host, 1.0).await;
        let id = publisher.publish(json!(1)).await;
        let (status, page) = answered(asked).await;
        assert_eq!((status, ids(&page)), (200, vec![&*id]));
        waiting(&one.host, 0.0).await;
        let next = page["next"].as_str().unwrap();
        let end = format!("{EVENTS}?consumer=erp&after={next}");
        assert_eq!(one.get(&end).await["items"], json!([]));
    }
}

#[tokio::test]
async fn a_consumer_made_on_one_host_misses_nothing_that_another_one_accepts() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let one = Shop::open_on(store.clone(), clock.clone(), local).await;
    let other = Shop::open_on(store, clock, local).await;
    other
        .webhook("https://erp.example/hook", json!({ "enabled": false }))
        .await;
    for round in 0..20 {
        // The other host knows that there is no consumer.
        other.publish(json!("before")).await;
        one.get("/api/v1/events?consumer=erp").await;
        let id = other.publish(json!(round)).await;
        let unwanted = json!({ "id": format!("{round}"), "type": "x.unwanted.v1", "data": 1 });
        let (status, _) = other.send(Method::POST, EVENTS, &unwanted).await;
        assert_eq!(status, 202);
        let page = one.get("/api/v1/events?consumer=erp").await;
        assert_eq!(ids(&page), [&*id, &format!("{round}")], "{round}");
        let path = format!("{CONSUMERS}/erp");
        assert_eq!(one.send(Method::DELETE, &path, &Value::Null).await.0, 204);
    }
    other.run().await;
}

#[tokio::test]
async fn who_waits_for_nothing_gets_an_empty_page_in_the_end() {
    let shop = shop(|_| ()).await;
    for wait in ["0s", "1ms"] {
        let path = format!("{EVENTS}?consumer=erp&wait={wait}");
        assert_eq!(shop.get(&path).await["items"], json!([]));
    }
    // The request that creates a consumer does not wait.
    let page = shop.get("/api/v1/events?consumer=bi&wait=60s").await;
    assert_eq!(page["items"], json!([]));
    let asked = ask(&shop.host, ERP, &shop.token());
    waiting(&shop.host, 1.0).await;
    shop.host.app.begin_stop();
    let (status, page) = answered(asked).await;
    assert_eq!((status, &page["items"]), (200, &json!([])));
}

#[tokio::test]
async fn a_client_that_goes_away_lets_go_and_one_that_only_closes_its_side_is_answered() {
    let shop = shop(|_| ()).await;
    let asked = ask(&shop.host, ERP, &shop.token());
    waiting(&shop.host, 1.0).await;
    asked.abort();
    waiting(&shop.host, 0.0).await;
    let authorization = format!("Bearer {}", shop.token());
    let headers = [("authorization", &*authorization)];
    let request = wire::message(&format!("GET {ERP}"), &headers, "");
    let answer = wire::send_one(&shop.host.url, &request).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(
        answer.body.starts_with(r#"{"items":[],"#),
        "{}",
        answer.body
    );
    waiting(&shop.host, 0.0).await;
}

#[tokio::test]
async fn as_many_requests_of_a_tenant_wait_as_it_may_have_consumers() {
    let shop = shop(|config| config.quotas.event_consumers = 2).await;
    let waiters = [(); 2].map(|()| ask(&shop.host, ERP, &shop.token()));
    waiting(&shop.host, 2.0).await;
    let request = shop.host.request(Method::GET, ERP, &shop.token());
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 429);
    assert_eq!(answer.headers()["retry-after"], "1");
    let body: Value = answer.json().await.unwrap();
    let detail = "at most 2 requests of a tenant may wait for events";
    assert_eq!(body["detail"], detail);
    shop.get("/api/v1/events?consumer=erp").await;
    // Another tenant has as many separate places.
    let other = shop.host.token("other", &["exe.viewer"]).await;
    let of_other = "/api/v1/events?consumer=erp&wait=1ms";
    assert_eq!(shop.host.get(of_other, &other).await.0, 200);
    assert_eq!(shop.host.get(of_other, &other).await.0, 200);
    shop.publish(json!(1)).await;
    for waiter in waiters {
        assert_eq!(answered(waiter).await.0, 200);
    }
}

#[tokio::test]
async fn consumers_are_of_their_tenant_and_need_permissions() {
    let shop = shop(|_| ()).await;
    let other = shop
        .host
        .token("other", &["exe.viewer", "exe.publisher"])
        .await;
    let (_, of_other) = shop.host.get("/api/v1/events?consumer=erp", &other).await;
    let id = shop.publish(json!("acme's")).await;
    let get = async |path: &str| shop.host.get(path, &other).await;
    let page = get("/api/v1/events?consumer=erp").await;
    assert_eq!((page.0, &page.1["items"]), (200, &json!([])));
    assert_eq!(get(CONSUMERS).await.1[0]["waitingSince"], Value::Null);
    let foreign = of_other["next"].as_str().unwrap();
    let (status, _) = shop
        .host
        .get(
            &format!("{EVENTS}?consumer=erp&after={foreign}"),
            &shop.token(),
        )
        .await;
    assert_eq!(status, 400, "another tenant's cursor");
    let page = shop.get("/api/v1/events?consumer=erp").await;
    assert_eq!(ids(&page), [&*id]);

    let erp = format!("{CONSUMERS}/erp");
    let publisher = shop.host.token("acme", &["exe.publisher"]).await;
    let (read_deliveries, write) = (
        "the permission exe.delivery.read is needed, which the role exe.viewer has",
        "the permission exe.webhook.write is needed, which the role exe.editor has",
    );
    for (method, path, token, detail) in [
        (Method::GET, ERP, &publisher, read_deliveries),
        (Method::GET, CONSUMERS, &publisher, read_deliveries),
        (Method::DELETE, &*erp, &other, write),
    ] {
        let answer = shop.host.request(method, path, token).send().await;
        let (status, body) = read(answer.unwrap()).await;
        assert_eq!((status, &body["detail"]), (403, &json!(detail)), "{path}");
    }
    // A tenant can remove only its own consumers.
    let editor = shop.host.token("other", &["exe.editor"]).await;
    let delete = shop.host.request(Method::DELETE, &erp, &editor);
    assert_eq!(delete.send().await.unwrap().status(), 204);
    assert_eq!(ids(&shop.get("/api/v1/events?consumer=erp").await), [&*id]);
}

#[tokio::test]
async fn a_waiting_client_that_loses_its_permission_gets_no_events() {
    let shop = shop(|_| ()).await;
    let operator = shop.host.token("platform", &["platform.operator"]).await;
    let client = shop.host.client("acme", &["exe.viewer"]).await;
    let (id, secret) = (&client.client_id, client.client_secret.reveal());
    let token = host::token(&shop.host.http, &shop.host.url, id, secret).await;
    let asked = ask(&shop.host, ERP, &token);
    waiting(&shop.host, 1.0).await;
    let revoke = format!("/v1/tenants/acme/clients/{id}/revoke");
    let revoked = shop.host.request(Method::PUT, &revoke, &operator);
    assert_eq!(revoked.send().await.unwrap().status(), 200);
    shop.publish(json!("secret")).await;
    assert_eq!(answered(asked).await.0, 401);
}
