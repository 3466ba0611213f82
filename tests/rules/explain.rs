//! Explained decisions over HTTP: only those who ask for them get them, and nothing else changes. The vectors have
//! their content.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::host::Host;

const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const BASKETS: &str = "/api/v1/evaluations";

/// Starts a host with an age condition, a license and a project; returns it with a token that may decide.
async fn shop() -> (Host, String) {
    let host = Host::start().await;
    let token = host.token("shop", &["ecs.editor", "ecs.evaluator"]).await;
    let age = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let license = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
    let paint =
        json!({ "type": "BLACKLIST", "propertyName": "category", "deniedValues": ["paint"] });
    for (path, document) in [
        ("entity-conditions/beer".to_owned(), age),
        ("entity-conditions/cigars".to_owned(), license),
        (
            format!("projects/{PROJECT}"),
            json!({ "restrictions": [paint] }),
        ),
    ] {
        let path = format!("/api/v1/{path}");
        let put = host.send(Method::PUT, &path, &token, &document).await;
        assert_eq!(put.0, 201, "{path}");
    }
    (host, token)
}

/// Returns a request to each of the routes, and the explanation in its first result.
fn questions() -> [(&'static str, Value, Value); 3] {
    let context = json!({ "customer": { "customer_age": 17, "licenses": ["hunting"] } });
    let item = json!({ "id": "sku-1", "additionalProperties": { "category": "paint" } });
    [
        (
            "/api/v1/conditions/beer/evaluate",
            json!({ "item": { "id": "sku-1" }, "context": context }),
            json!({ "minimumAge": 18, "customerAge": 17 }),
        ),
        (
            "/api/v1/project-restrictions/evaluate",
            json!({ "item": item, "projectId": PROJECT }),
            json!({
                "restrictionIndex": 0, "propertyName": "category", "value": "paint", "wants": ["paint"], "wantsCount": 1,
            }),
        ),
        (
            BASKETS,
            json!({ "items": [{ "id": "sku-1", "conditionIds": ["cigars"] }], "context": context }),
            json!({ "licenseId": "cigars", "licenses": ["hunting"], "licensesCount": 1 }),
        ),
    ]
}

#[tokio::test]
async fn each_route_explains_when_it_is_asked_to() {
    let (host, token) = shop().await;
    for (path, request, explanation) in questions() {
        let ask = |query: &str| {
            let path = format!("{path}{query}");
            let (host, token, request) = (&host, &token, &request);
            async move { host.send(Method::POST, &path, token, request).await }
        };
        let (status, ordinary) = ask("").await;
        assert_eq!(status, 200, "{path}");
        assert_eq!(ask("?explain=false").await, (200, ordinary.clone()));
        let (status, mut explained) = ask("?explain=true").await;
        assert_eq!(status, 200, "{path}");
        let pointer = match explained.get("items") {
            Some(_) => "/items/0/results/0",
            None => "/results/0",
        };
        let result = explained.pointer_mut(pointer).unwrap();
        let said = result.as_object_mut().unwrap().remove("explanation");
        assert_eq!(said, Some(explanation));
        assert_eq!(explained, ordinary);
        for value in ["", "1", "TRUE", "yes"] {
            let (status, problem) = ask(&format!("?explain={value}")).await;
            assert_eq!(status, 400, "{path}");
            assert_eq!(
                problem["message"],
                json!(["$.explain must be true or false"])
            );
        }
    }
}

#[tokio::test]
async fn an_explained_request_is_refused_as_any_other() {
    let (host, token) = shop().await;
    let request = json!({ "item": {}, "context": {} });
    for path in ["beer", "nope"] {
        let path = format!("/api/v1/conditions/{path}/evaluate");
        let ordinary = host.send(Method::POST, &path, &token, &request).await;
        assert_eq!(ordinary.0, 400);
        let path = format!("{path}?explain=true");
        let explained = host.send(Method::POST, &path, &token, &request).await;
        assert_eq!(
            (explained.0, &explained.1["message"]),
            (400, &ordinary.1["message"])
        );
    }
    let path = "/api/v1/conditions/nope/evaluate?explain=true";
    let unknown = json!({ "item": { "id": "a" }, "context": {} });
    assert_eq!(host.send(Method::POST, path, &token, &unknown).await.0, 404);
}

#[tokio::test]
async fn large_baskets_are_explained_up_to_16_mib() {
    let (host, token) = shop().await;
    let path = format!("{BASKETS}?explain=true");
    // A few kilobytes that cause long answers, and a few more that cause answers that are too long.
    for (items, length, expected) in [(10, 10, 200), (40, 300, 200), (1_000, 100, 400)] {
        let item = json!({ "id": "sku-1", "conditionIds": vec!["cigars"; 64] });
        let licenses = vec!["l".repeat(length); 10];
        let context = json!({ "customer": { "licenses": licenses } });
        let basket = json!({ "items": vec![item; items], "context": context });
        let (status, answer) = host.send(Method::POST, &path, &token, &basket).await;
        assert_eq!(status, expected, "{items}");
        if status == 400 {
            let message = "$.items must lead to an answer of at most 16 MiB";
            assert_eq!(answer["message"], json!([message]));
        } else {
            let last = &answer["items"][items - 1]["results"][63]["explanation"];
            assert_eq!(last["licensesCount"], 10);
        }
    }
}
