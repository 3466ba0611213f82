//! Filters: which events of its types a webhook gets.

use std::sync::Arc;

use reqwest::{Method, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tillgate_store::MemoryStore;
use tillgate_store::clock::StoppedClock;

use super::shop::{START, Shop, TYPE, WEBHOOKS, local, settings};
use crate::support::host::read;
use crate::support::receiver::Receiver;
use crate::support::stores::{embedded, redis, run};

const EVENTS: &str = "/api/v1/events";
const URL: &str = "https://erp.example/hook";

fn only(path: &str, values: Value) -> Value {
    json!({ "filter": [{ "path": path, "in": values }] })
}

/// Returns a disabled webhook for all event types, as JSON text.
fn with_filter(filter: &str) -> String {
    format!(
        r#"{{"name":"ERP","callbackUrl":"{URL}","eventTypes":["*"],"authentication":{{"type":"BEARER"}},"enabled":false,"filter":{filter}}}"#
    )
}

/// Posts a body of JSON text.
async fn posted(shop: &Shop, path: &str, body: &str) -> Response {
    let request = shop.host.request(Method::POST, path, &shop.token());
    let request = request.header("content-type", "application/json");
    request.body(body.to_owned()).send().await.unwrap()
}

/// Posts a body of JSON text; returns the status and the JSON of the answer.
async fn send_text(shop: &Shop, path: &str, body: &str) -> (u16, Value) {
    read(posted(shop, path, body).await).await
}

/// Publishes an event; returns the number of webhooks that get it.
async fn publish(shop: &Shop, event: Value) -> Value {
    let (status, answer) = shop.send(Method::POST, EVENTS, &event).await;
    assert_eq!(status, 202, "{answer}");
    answer["deliveries"].clone()
}

#[tokio::test]
async fn a_webhook_gets_only_the_events_that_its_filter_lets_through() {
    filtered(Shop::open().await).await;
}

#[test]
fn a_webhook_gets_only_what_its_filter_lets_through_on_the_embedded_store() {
    run(embedded, |on| async move {
        filtered(Shop::open_at(&on).await).await;
    });
}

#[test]
fn a_webhook_gets_only_what_its_filter_lets_through_on_redis() {
    run(redis, |on| async move {
        filtered(Shop::open_at(&on).await).await;
    });
}

async fn filtered(shop: Shop) {
    let (one, all) = (Receiver::start().await, Receiver::start().await);
    let swedish = only("$.data.businessUnitId", json!(["SE-001", "SE-002"]));
    let id = shop.webhook(&one.url, swedish.clone()).await;
    shop.webhook(&all.url, json!({})).await;
    let path = format!("{WEBHOOKS}/{id}");
    assert_eq!(shop.get(&path).await["filter"], swedish["filter"]);
    let of = |unit: Value| json!({ "type": TYPE, "data": { "businessUnitId": unit } });
    for (event, expected) in [
        (of(json!("SE-002")), 2),
        (of(json!("DE-001")), 1),
        (of(json!(["SE-001"])), 1),
        (of(json!(null)), 1),
        (json!({ "type": TYPE, "data": { "unit": "SE-001" } }), 1),
        (json!({ "type": TYPE, "data": "SE-001" }), 1),
        (
            json!({ "type": TYPE, "data": r#"{"businessUnitId":"SE-001"}"#, "datacontenttype": "text/plain" }),
            1,
        ),
    ] {
        assert_eq!(publish(&shop, event.clone()).await, expected, "{event}");
    }
    shop.run().await;
    all.wait_for(7).await;
    shop.run().await;
    let received = one.wait_for(1).await;
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].data(), json!({ "businessUnitId": "SE-002" }));
    let deliveries = shop.deliveries(&format!("webhookId={id}")).await;
    assert_eq!(deliveries.len(), 1, "{deliveries:#?}");

    // Without a filter it gets all events again.
    for more in [
        json!({}),
        json!({ "filter": [] }),
        json!({ "filter": null }),
    ] {
        let with = settings(&one.url, swedish.clone());
        assert_eq!(shop.send(Method::PUT, &path, &with).await.0, 200);
        assert_eq!(publish(&shop, of(json!("DE-001"))).await, 1);
        let without = settings(&one.url, more);
        let (status, webhook) = shop.send(Method::PUT, &path, &without).await;
        assert_eq!((status, &webhook["filter"]), (200, &Value::Null));
        assert_eq!(publish(&shop, of(json!("DE-001"))).await, 2);
    }
    shop.pass(4).await;
}

#[tokio::test]
async fn a_large_event_reaches_exactly_those_of_many_webhooks_whose_filters_let_it_through() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let members = (0..17_500).map(|number| (format!("m{number}"), json!(number)));
    let mut data = Value::Object(members.collect());
    data["shop"] = json!({ "id": "SE-001", "open": true, "tags": ["SE-001"], "none": null });
    let rows = [
        (json!([{ "path": "$.data.m0", "in": [0] }]), true),
        (
            json!([{ "path": "$.data.m17499", "in": [1, 17_499.0] }]),
            true,
        ),
        (json!([{ "path": "$.data.m9", "in": ["9"] }]), false),
        (json!([{ "path": "$.data.m17500", "in": [17_500] }]), false),
        (
            json!([{ "path": "$.data.shop.id", "in": ["SE-001"] }]),
            true,
        ),
        (
            json!([{ "path": "$.data.shop.id", "in": ["SE-002"] }]),
            false,
        ),
        (json!([{ "path": "$.data.shop", "in": ["SE-001"] }]), false),
        (
            json!([{ "path": "$.data.shop.tags", "in": ["SE-001"] }]),
            false,
        ),
        (
            json!([{ "path": "$.data.shop.none", "in": ["null", false] }]),
            false,
        ),
        (json!([{ "path": "$.data.shop.id.m0", "in": [0] }]), false),
        (
            json!([{ "path": "$.type", "in": [TYPE] }, { "path": "$.data.shop.open", "in": [true] }]),
            true,
        ),
        (
            json!([{ "path": "$.data.m1", "in": [1] }, { "path": "$.data.m2", "in": [1] }]),
            false,
        ),
    ];
    let mut expected = Vec::new();
    for copy in 0..6 {
        for (row, (filter, is_for)) in rows.iter().enumerate() {
            let url = format!("{}/{copy}/{row}", receiver.url);
            shop.webhook(&url, json!({ "filter": filter })).await;
            if *is_for {
                expected.push(format!("/hook/{copy}/{row}"));
            }
        }
    }
    let event = json!({ "type": TYPE, "data": data });
    assert_eq!(publish(&shop, event).await, expected.len());
    shop.pass(4).await;
    let received = receiver.wait_for(expected.len()).await;
    assert!(received[0].data() == data);
    let mut paths: Vec<_> = received
        .iter()
        .map(|request| request.path.clone())
        .collect();
    paths.sort();
    expected.sort();
    assert_eq!(paths, expected);

    // The same number of filters decides about a small event in the same way.
    let small = json!({ "type": TYPE, "data": { "shop": { "id": "SE-001" } } });
    assert_eq!(publish(&shop, small).await, 6);
    shop.pass(4).await;
    receiver.wait_for(expected.len() + 6).await;
    shop.run().await;
}

/// A published event, and whether a webhook with a filter gets it. The page decides the same
/// (`filters.test.mjs`).
#[derive(Deserialize)]
struct Vector {
    name: String,
    filter: Box<RawValue>,
    event: Box<RawValue>,
    matches: bool,
}

#[tokio::test]
async fn every_vector_is_decided_as_it_says() {
    #[derive(Deserialize)]
    struct Vectors {
        vectors: Vec<Vector>,
    }
    let of_file: Vectors = serde_json::from_str(include_str!("filters.json")).unwrap();
    assert!(!of_file.vectors.is_empty());
    let shop = Shop::open().await;
    let mut wrong = Vec::new();
    for vector in &of_file.vectors {
        let (status, webhook) = send_text(&shop, WEBHOOKS, &with_filter(vector.filter.get())).await;
        assert_eq!(status, 201, "{}: {webhook}", vector.name);
        let (status, published) = send_text(&shop, EVENTS, vector.event.get()).await;
        assert_eq!(status, 202, "{}: {published}", vector.name);
        if published["deliveries"] != u8::from(vector.matches) {
            wrong.push(&vector.name);
        }
        let path = format!("{WEBHOOKS}/{}", webhook["id"].as_str().unwrap());
        assert_eq!(shop.send(Method::DELETE, &path, &Value::Null).await.0, 204);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    shop.run().await;
}

#[tokio::test]
async fn numbers_of_a_filter_are_exact_in_requests_answers_and_the_store() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let one = Shop::open_on(store.clone(), clock.clone(), local).await;
    let filter = r#"[{"path":"$.data.n","in":[1.10,12345678901234567890123]}]"#;
    let created = posted(&one, WEBHOOKS, &with_filter(filter)).await;
    assert_eq!(created.status(), 201);
    let created = created.text().await.unwrap();
    assert!(created.contains(filter), "{created}");

    // Another host reads it from the store.
    let other = Shop::open_on(store, clock, local).await;
    let request = other.host.request(Method::GET, WEBHOOKS, &other.token());
    let listed = request.send().await.unwrap().text().await.unwrap();
    assert!(listed.contains(filter), "{listed}");
    for (number, expected) in [
        ("1.1", 1),
        ("11e-1", 1),
        ("1.1000000000000000000001", 0),
        ("12345678901234567890123", 1),
        ("12345678901234567890124", 0),
    ] {
        let event = format!(r#"{{"type":"{TYPE}","data":{{"n":{number}}}}}"#);
        let (_, answer) = send_text(&other, EVENTS, &event).await;
        assert_eq!(answer["deliveries"], expected, "{number}");
    }
    other.run().await;
}

#[tokio::test]
async fn the_services_own_events_are_filtered_too_and_pings_are_not() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    let mut deletions = only("$.data.action", json!(["DELETED"]));
    deletions["eventTypes"] = json!(["entity-conditions.events.v1"]);
    let id = shop.webhook(&receiver.url, deletions.clone()).await;
    let rule = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let path = "/api/v1/entity-conditions/fireworks";
    assert_eq!(shop.send(Method::PUT, path, &rule).await.0, 201);
    assert_eq!(shop.send(Method::DELETE, path, &Value::Null).await.0, 204);
    shop.run().await;
    let received = receiver.wait_for(1).await.remove(0);
    let deleted = json!({ "action": "DELETED", "id": "fireworks" });
    assert_eq!(received.data(), deleted);
    shop.run().await;
    assert_eq!(shop.deliveries("").await.len(), 1);

    let ping = format!("{WEBHOOKS}/{id}/ping");
    assert_eq!(shop.send(Method::POST, &ping, &Value::Null).await.0, 202);
    let trial = settings(&receiver.url, deletions);
    let path = format!("{WEBHOOKS}/ping");
    let (status, tried) = shop.send(Method::POST, &path, &trial).await;
    assert_eq!((status, &tried["delivered"]), (200, &json!(true)));
    shop.run().await;
    receiver.wait_for(3).await;
}

#[tokio::test]
async fn each_fault_of_a_filter_is_named_by_its_path() {
    let shop = Shop::open_with(|_| ()).await;
    let path = |path: &str| json!([{ "path": path, "in": [1] }]);
    let values = |values: Value| json!([{ "path": "$.data.a", "in": values }]);
    let long = "x".repeat(513);
    let many = |count: usize| Value::from(vec![path("$.data.a")[0].clone(); count]);
    let large: Vec<_> = (0..40)
        .map(|number| format!("{number}{}", "é".repeat(250)))
        .collect();
    let path_rule = "must be $.type, $.id or a member of the data such as $.data.businessUnitId or $.data['a.b'], of at most 512 bytes and 16 names";
    let value_rule =
        "must be a string of at most 512 bytes, a number of at most 64 characters, true or false";
    let rows = [
        (json!({}), vec!["$.filter must be an array".to_owned()]),
        (json!([1]), vec!["$.filter[0] must be an object".to_owned()]),
        (
            json!([{}]),
            vec![
                "$.filter[0].path is required".to_owned(),
                "$.filter[0].in is required".to_owned(),
            ],
        ),
        (
            many(17),
            vec!["$.filter must have at most 16 conditions".to_owned()],
        ),
        (
            path("$.data"),
            vec![format!("$.filter[0].path {path_rule}")],
        ),
        (
            path("$.data[0]"),
            vec![format!("$.filter[0].path {path_rule}")],
        ),
        (
            path("$.source"),
            vec![format!("$.filter[0].path {path_rule}")],
        ),
        (
            path(&format!("$.data.{long}")),
            vec![format!("$.filter[0].path {path_rule}")],
        ),
        (
            path(&format!("$.data{}", ".a".repeat(17))),
            vec![format!("$.filter[0].path {path_rule}")],
        ),
        (
            json!([{ "path": 7, "in": [1] }]),
            vec![format!("$.filter[0].path {path_rule}")],
        ),
        (
            values(json!("SE-001")),
            vec!["$.filter[0].in must be an array".to_owned()],
        ),
        (
            values(json!([])),
            vec!["$.filter[0].in must have 1 to 100 values".to_owned()],
        ),
        (
            values(json!(vec![1; 101])),
            vec!["$.filter[0].in must have 1 to 100 values".to_owned()],
        ),
        (
            values(json!([1, null, ["a"], {}, long])),
            (1..5)
                .map(|number| format!("$.filter[0].in[{number}] {value_rule}"))
                .collect(),
        ),
        (
            json!([{ "path": "$.data.a", "in": [1] }, { "path": "$", "in": [null] }]),
            vec![
                format!("$.filter[1].path {path_rule}"),
                format!("$.filter[1].in[0] {value_rule}"),
            ],
        ),
        (
            values(json!(large)),
            vec!["$.filter must have at most 16 KiB".to_owned()],
        ),
    ];
    for (filter, expected) in rows {
        let body = settings(URL, json!({ "filter": filter }));
        for path in [WEBHOOKS.to_owned(), format!("{WEBHOOKS}/ping")] {
            let (status, problem) = shop.send(Method::POST, &path, &body).await;
            assert_eq!((status, &problem["message"]), (400, &json!(expected)));
        }
    }
    assert_eq!(shop.get(WEBHOOKS).await, json!([]));
    let most = json!({ "filter": many(16) });
    assert_eq!(
        shop.send(Method::POST, WEBHOOKS, &settings(URL, most))
            .await
            .0,
        201
    );
}
