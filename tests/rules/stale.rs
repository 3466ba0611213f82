//! Decisions survive an outage of the store: they continue from memory, marked with its age.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::Store;
use tillgate_store::clock::{StoppedClock, Timestamp};

use crate::support::host::Host;
use crate::support::switched::Switched;
use crate::support::wait::answered;

const START: Timestamp = Timestamp(1_767_225_600_000_000);
const MINUTE: Duration = Duration::from_secs(60);

const EVALUATE: &str = "/api/v1/conditions/beer/evaluate";
const CONDITION: &str = "/api/v1/entity-conditions/beer";

/// A shop whose store can be away.
struct Shop {
    host: Host,
    store: Arc<Switched>,
    clock: Arc<StoppedClock>,
    token: String,
}

/// An answer: the status, `Tillgate-Stale`, `Age`, `Retry-After`, and the body.
#[derive(Debug, PartialEq)]
struct Answer {
    status: u16,
    stale: Option<String>,
    age: Option<String>,
    retry_after: Option<String>,
    body: Value,
}

impl Shop {
    async fn open(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let store = Switched::new(clock.clone());
        let opened: Arc<dyn Store> = store.clone();
        let host = Host::start_configured(opened, clock.clone(), configure).await;
        let token = host.token("acme", &["ecs.editor", "ecs.evaluator"]).await;
        let shop = Self {
            host,
            store,
            clock,
            token,
        };
        let beer = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
        let put = shop.send(Method::PUT, CONDITION, &beer).await;
        assert_eq!(put.status, 201, "{put:?}");
        shop
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Answer {
        self.send_as(&self.token, method, path, body).await
    }

    async fn send_as(&self, token: &str, method: Method, path: &str, body: &Value) -> Answer {
        let request = self.host.request(method, path, token);
        let request = if body.is_null() {
            request
        } else {
            request.json(body)
        };
        let response = request.send().await.unwrap();
        let header = |name: &str| {
            let value = response.headers().get(name);
            value.map(|value| value.to_str().unwrap().to_owned())
        };
        Answer {
            status: response.status().as_u16(),
            stale: header("tillgate-stale"),
            age: header("age"),
            retry_after: header("retry-after"),
            body: response.json().await.unwrap_or_default(),
        }
    }

    async fn decide(&self) -> Answer {
        let question =
            json!({ "item": { "id": "1" }, "context": { "customer": { "customer_age": 20 } } });
        self.send(Method::POST, EVALUATE, &question).await
    }

    /// Asserts that an answer is fresh, or `seconds` seconds old.
    fn assert_age(answer: &Answer, seconds: Option<u64>) {
        let seconds = seconds.map(|seconds| seconds.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.stale, seconds, "{answer:?}");
        assert_eq!(answer.age, seconds, "{answer:?}");
    }

    fn assert_away(answer: &Answer) {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.retry_after.as_deref(), Some("1"), "{answer:?}");
        assert_eq!(answer.stale, None, "{answer:?}");
    }
}

#[tokio::test]
async fn decisions_and_the_catalog_go_on_from_memory_and_say_how_old_it_is() {
    let shop = Shop::open(|_| ()).await;
    let fresh = shop.decide().await;
    Shop::assert_age(&fresh, None);
    assert_eq!(fresh.body["allow"], true);
    let catalog = shop
        .send(Method::GET, "/api/v1/catalog", &Value::Null)
        .await;
    Shop::assert_age(&catalog, None);

    shop.store.set_away(true);
    shop.clock.advance(Duration::from_secs(1));
    Shop::assert_age(&shop.decide().await, None);
    shop.clock.advance(Duration::from_secs(29));
    for _ in 0..3 {
        let stale = shop.decide().await;
        Shop::assert_age(&stale, Some(30));
        assert_eq!(stale.body, fresh.body, "the decision is the same");
    }
    let project = json!({ "projectId": "1", "item": { "id": "1" }, "context": {} });
    let basket = json!({ "items": [{ "id": "1" }], "context": {} });
    for (path, body, status) in [
        ("/api/v1/evaluations", basket, 200),
        // A project's id has another form.
        ("/api/v1/project-restrictions/evaluate", project, 400),
    ] {
        let stale = shop.send(Method::POST, path, &body).await;
        assert_eq!(stale.stale.as_deref(), Some("30"), "{path}: {stale:?}");
        assert_eq!(stale.status, status, "{path}");
    }
    let stale = shop
        .send(Method::GET, "/api/v1/catalog", &Value::Null)
        .await;
    Shop::assert_age(&stale, Some(30));
    assert_eq!(stale.body, catalog.body);
    for path in ["/api/v1/entity-conditions", CONDITION, "/api/v1/projects"] {
        Shop::assert_age(&shop.send(Method::GET, path, &Value::Null).await, Some(30));
    }

    shop.store.set_away(false);
    shop.clock.advance(Duration::from_secs(10));
    until_fresh(&shop).await;
}

#[tokio::test]
async fn while_the_store_is_away_nothing_is_written_and_nobody_gets_a_token() {
    let shop = Shop::open(|_| ()).await;
    let client = shop.host.client("acme", &["ecs.evaluator"]).await;
    shop.store.set_away(true);
    shop.clock.advance(MINUTE);
    let beer = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 16 } });
    Shop::assert_away(&shop.send(Method::PUT, CONDITION, &beer).await);
    Shop::assert_away(&shop.send(Method::DELETE, CONDITION, &Value::Null).await);
    let form = "grant_type=client_credentials&audience=https%3A%2F%2Fapi.tillgate.example";
    let token = shop
        .host
        .http
        .post(format!("{}/oauth2/token", shop.host.url))
        .basic_auth(&client.client_id, Some(client.client_secret.reveal()))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(form);
    assert_eq!(token.send().await.unwrap().status(), 503);
    Shop::assert_age(&shop.decide().await, Some(60));
}

#[tokio::test]
async fn who_and_what_is_not_in_memory_is_not_served_while_the_store_is_away() {
    let shop = Shop::open(|_| ()).await;
    let of_another = shop.host.token("other", &["ecs.evaluator"]).await;
    let never_seen = shop.host.token("acme", &["ecs.evaluator"]).await;
    let caller = Method::GET;
    let known = shop
        .send_as(&of_another, caller.clone(), "/api/v1/caller", &Value::Null)
        .await;
    assert_eq!(known.status, 200);
    shop.store.set_away(true);
    shop.clock.advance(MINUTE);
    let question = json!({ "item": { "id": "1" }, "context": {} });
    // The caller is known, the tenant's conditions are not.
    let of_another = shop
        .send_as(&of_another, Method::POST, EVALUATE, &question)
        .await;
    Shop::assert_away(&of_another);
    let never_seen = shop
        .send_as(&never_seen, caller, "/api/v1/caller", &Value::Null)
        .await;
    Shop::assert_away(&never_seen);
}

#[tokio::test]
async fn decisions_end_when_memory_is_older_than_max_stale_and_come_back_with_the_store() {
    let shop = Shop::open(|_| ()).await;
    shop.store.set_away(true);
    shop.clock.advance(15 * MINUTE);
    Shop::assert_age(&shop.decide().await, Some(900));
    shop.clock.advance(Duration::from_micros(1));
    Shop::assert_away(&shop.decide().await);
    shop.store.set_away(false);
    until_fresh(&shop).await;
}

#[tokio::test]
async fn rules_and_callers_have_limits_of_their_own() {
    let shop = Shop::open(|config| config.max_stale_callers = MINUTE).await;
    shop.store.set_away(true);
    shop.clock.advance(MINUTE);
    Shop::assert_age(&shop.decide().await, Some(60));
    shop.clock.advance(Duration::from_micros(1));
    Shop::assert_away(&shop.decide().await);

    let shop = Shop::open(|config| config.max_stale = MINUTE).await;
    shop.store.set_away(true);
    shop.clock.advance(2 * MINUTE);
    Shop::assert_away(&shop.decide().await);
    let caller = shop.send(Method::GET, "/api/v1/caller", &Value::Null).await;
    Shop::assert_age(&caller, Some(120));
}

#[tokio::test]
async fn what_another_host_writes_while_the_store_cannot_be_read_is_seen_when_it_can() {
    let shop = Shop::open(|_| ()).await;
    let store: Arc<dyn Store> = shop.store.clone();
    let other = Host::start_on(store, shop.clock.clone()).await;
    let editor = other.token("acme", &["ecs.editor", "ecs.evaluator"]).await;
    Shop::assert_age(&shop.decide().await, None);
    let beer = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 21 } });
    let (status, _) = other.send(Method::PUT, CONDITION, &editor, &beer).await;
    assert_eq!(status, 200);
    shop.store.set_away(true);
    shop.clock.advance(MINUTE);
    shop.store.set_away(false);
    until_fresh(&shop).await;
    let decided = shop.decide().await;
    assert_eq!(decided.body["allow"], false, "{decided:?}");
}

/// Repeats requests until decisions are fresh again.
async fn until_fresh(shop: &Shop) {
    answered("decisions are fresh again", async || {
        let answer = shop.decide().await;
        if answer.status == 200 && answer.stale.is_none() {
            Ok(())
        } else {
            Err(format!("{answer:?}"))
        }
    })
    .await;
}
