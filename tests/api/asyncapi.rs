//! The AsyncAPI document describes what the host sends, down to the data of the service's own events.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::receiver::{Answer, Receiver};
use crate::support::wait::until;
use crate::webhooks::shop::{KEY, Shop, TYPE, WEBHOOKS, local};

/// The types of the service's own events.
const OWN: [&str; 5] = [
    "entity-conditions.events.v1",
    "projects.events.v1",
    "webhooks.events.v1",
    "deliveries.events.v1",
    "exe.events.v1",
];

async fn document(shop: &Shop) -> Value {
    shop.get("/asyncapi.json").await
}

/// Returns where a value does not fit a schema of the document.
fn faults(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let schema = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let faults = validator.iter_errors(value);
    faults
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect()
}

/// Returns where an envelope and its data do not fit the message of its type.
fn faults_of_event(document: &Value, envelope: &Value) -> Vec<String> {
    let messages = document["components"]["messages"].as_object().unwrap();
    let mut payloads = messages.values().map(|message| &message["payload"]);
    let of_type = |payload: &&Value| payload["properties"]["type"]["const"] == envelope["type"];
    let payload = payloads
        .find(of_type)
        .unwrap_or_else(|| panic!("{envelope}"));
    let data = envelope["data"].as_str().unwrap();
    let data = BASE64_STANDARD.decode(data).unwrap();
    let data = serde_json::from_slice(&data).unwrap();
    let schema = &payload["properties"]["data"]["contentSchema"];
    assert!(schema.is_object(), "{envelope}");
    let mut all = faults(document, payload, envelope);
    all.extend(faults(document, schema, &data));
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_fits_its_schema() {
    let document = document(&Shop::open().await).await;
    for (name, message) in document["components"]["messages"].as_object().unwrap() {
        let example = &message["examples"][0]["payload"];
        let found = faults(&document, &message["payload"], example);
        assert_eq!(found, [""; 0], "{name}");
        if OWN.contains(&example["type"].as_str().unwrap_or_default()) {
            assert_eq!(faults_of_event(&document, example), [""; 0], "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_messages_are_as_they_are_sent() {
    let (shop, receiver) = (Shop::open().await, Receiver::start().await);
    shop.webhook(&receiver.url, json!({ "sharedKey": KEY }))
        .await;
    for id in ["order-4715", "order 4715/ä"] {
        let event = json!({ "type": TYPE, "data": 1, "id": id });
        let (status, answer) = shop.send(Method::POST, "/api/v1/events", &event).await;
        assert_eq!(status, 202, "{answer}");
    }
    shop.run().await;
    let document = document(&shop).await;
    let headers = &document["components"]["schemas"]["DeliveryHeaders"]["properties"];
    let said = &headers["webhook-id"];
    assert!(said["pattern"].is_string(), "{said}");
    for received in receiver.wait_for(2).await {
        let id = json!(received.headers["webhook-id"]);
        assert_eq!(faults(&document, said, &id), [""; 0]);
        let is_another = id.as_str().unwrap().starts_with("evt_");
        assert_eq!(is_another, received.id() != "order-4715");
    }
    let example = &document["components"]["messages"]["RatesChanged"]["examples"][0]["payload"];
    let (tenant, number) = example["messageId"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    assert_eq!((tenant, number.parse::<u64>().is_ok()), ("acme", true));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_events_of_the_service_are_as_their_messages_say() {
    let shop = Shop::open_with(|config| {
        local(config);
        config.webhooks.retry_delays = Vec::new();
    })
    .await;
    let (all, gone, dead) = (
        Receiver::start().await,
        Receiver::start().await,
        Receiver::start().await,
    );
    gone.answer(Answer::Status(410, "", ""));
    dead.answer(Answer::Status(500, "", ""));
    let listening = shop.webhook(&all.url, json!({ "eventTypes": ["*"] })).await;
    for receiver in [&gone, &dead] {
        shop.webhook(&receiver.url, json!({ "eventTypes": [TYPE] }))
            .await;
    }
    let license =
        json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {}, "managedBy": "tests" });
    let restrictions = json!({ "name": "School", "restrictions": [{ "type": "BLACKLISTEDITEMS", "itemIds": ["a"] }] });
    let project = "/api/v1/projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
    let condition = "/api/v1/entity-conditions/beer";
    let ping = format!("{WEBHOOKS}/{listening}/ping");
    for (method, path, body, status) in [
        (Method::PUT, condition, &license, 201),
        (Method::PUT, condition, &license, 200),
        (Method::DELETE, condition, &Value::Null, 204),
        (Method::PUT, project, &restrictions, 201),
        (Method::POST, &*ping, &Value::Null, 202),
    ] {
        let (found, answer) = shop.send(method, path, body).await;
        assert_eq!(found, status, "{path}: {answer}");
    }
    shop.publish(json!(1)).await;

    let types = || -> BTreeSet<String> {
        let received = all.received();
        let types = received.iter().map(|one| one.envelope()["type"].clone());
        types.map(|one| one.as_str().unwrap().to_owned()).collect()
    };
    until("an event of each type", async || {
        shop.run().await;
        OWN.iter().all(|own| types().contains(*own))
    })
    .await;
    let document = document(&shop).await;
    for received in all.received() {
        let envelope = received.envelope();
        if OWN.contains(&envelope["type"].as_str().unwrap()) {
            let found = faults_of_event(&document, &envelope);
            assert_eq!(found, [""; 0], "{envelope} {}", received.data());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_topic_says_what_an_event_named_reset_has() {
    let document = document(&Shop::open().await).await;
    let messages = &document["channels"]["ratesChanged"]["messages"];
    let reset = &messages["RatesReset"]["$ref"];
    let reset = reset.as_str().unwrap().trim_start_matches('#');
    let payload = &document.pointer(reset).unwrap()["payload"];
    assert_eq!(faults(&document, payload, &json!({})), [""; 0]);
    assert_ne!(faults(&document, payload, &json!({ "a": 1 })), [""; 0]);
}
