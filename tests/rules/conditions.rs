//! Conditions, projects, decisions and the catalog over HTTP, as a till and a rule owner use them.

use std::sync::Arc;

use futures_util::StreamExt;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tillgate_engine::face::{Line, Prepared};
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use crate::support::host::{Host, read};
use crate::support::wait::within;

const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator"];

fn age(minimum: u8) -> Value {
    json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } })
}

fn license() -> Value {
    json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} })
}

fn customer(customer: Value) -> Value {
    json!({ "item": { "id": "sku-1" }, "context": { "customer": customer } })
}

fn own(id: &str) -> String {
    format!("/api/v1/entity-conditions/{id}")
}

fn global(id: &str) -> String {
    format!("/api/v1/global-entity-conditions/{id}")
}

async fn reason(host: &Host, token: &str, id: &str, request: &Value) -> Value {
    let path = format!("/api/v1/conditions/{id}/evaluate");
    let (status, body) = host.send(Method::POST, &path, token, request).await;
    assert_eq!(status, 200, "{body}");
    body["results"][0]["reason"].clone()
}

#[tokio::test]
async fn a_condition_is_created_replaced_read_listed_and_deleted() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let stored = json!({
        "id": "beer", "rule": "AGE_RESTRICTION", "scope": "TENANT", "enabled": true,
        "condition_value": { "minimum_age": 16 },
    });
    assert_eq!(
        host.send(Method::PUT, &own("beer"), &token, &age(16)).await,
        (201, stored.clone())
    );
    assert_eq!(host.get(&own("beer"), &token).await, (200, stored.clone()));
    assert_eq!(
        host.send(Method::PUT, &own("beer"), &token, &stored).await,
        (200, stored.clone())
    );
    assert_eq!(
        host.send(Method::PUT, &own("Zoo"), &token, &license())
            .await
            .0,
        201
    );
    let (_, list) = host.get("/api/v1/entity-conditions", &token).await;
    assert_eq!(list[0]["id"], "Zoo", "by bytes: capitals come first");
    assert_eq!(list[1], stored);
    let gone = host
        .request(Method::DELETE, &own("beer"), &token)
        .send()
        .await
        .unwrap();
    assert_eq!(read(gone).await, (204, Value::Null));
    assert_eq!(host.get(&own("beer"), &token).await.0, 404);
    assert_eq!(
        host.get("/api/v1/entity-conditions", &token)
            .await
            .1
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_global_condition_shields_its_id_and_yields_to_an_older_one_when_deciding() {
    let host = Host::start().await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let token = host.token("shop", ROLES).await;
    let young = customer(json!({ "customer_age": 17 }));
    assert_eq!(
        host.send(Method::PUT, &own("wine"), &token, &age(16))
            .await
            .0,
        201
    );
    assert_eq!(
        host.send(Method::PUT, &global("wine"), &operator, &age(20))
            .await
            .0,
        201
    );
    let (_, seen) = host.get(&own("wine"), &token).await;
    assert_eq!(seen["scope"], "GLOBAL");
    let (_, list) = host.get("/api/v1/entity-conditions", &token).await;
    assert_eq!(list, json!([seen]));
    assert_eq!(
        reason(&host, &token, "wine", &young).await,
        Value::Null,
        "the tenant's is asked"
    );
    assert_eq!(
        host.send(Method::PUT, &own("wine"), &token, &age(18))
            .await
            .0,
        409
    );
    let delete = host
        .request(Method::DELETE, &own("wine"), &token)
        .send()
        .await
        .unwrap();
    assert_eq!(delete.status(), StatusCode::CONFLICT);
    let other = host.token("other", ROLES).await;
    assert_eq!(
        reason(&host, &other, "wine", &young).await,
        "age_restriction.underage"
    );
    let delete = host
        .request(Method::DELETE, &global("wine"), &operator)
        .send()
        .await
        .unwrap();
    assert_eq!(delete.status(), StatusCode::NO_CONTENT);
    assert_eq!(host.get(&own("wine"), &token).await.1["scope"], "TENANT");
    assert_eq!(host.get(&own("wine"), &other).await.0, 404);
}

#[tokio::test]
async fn a_disabled_condition_is_not_in_force() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let mut body = age(18);
    body["enabled"] = json!(false);
    assert_eq!(
        host.send(Method::PUT, &own("beer"), &token, &body).await.0,
        201
    );
    let path = "/api/v1/conditions/beer/evaluate";
    let request = customer(json!({ "customer_age": 17 }));
    assert_eq!(host.send(Method::POST, path, &token, &request).await.0, 404);
    body["enabled"] = json!(true);
    assert_eq!(
        host.send(Method::PUT, &own("beer"), &token, &body).await.0,
        200
    );
    assert_eq!(
        reason(&host, &token, "beer", &request).await,
        "age_restriction.underage"
    );
}

#[tokio::test]
async fn one_tenant_neither_sees_nor_decides_by_anothers() {
    let host = Host::start().await;
    let mine = host.token("mine", ROLES).await;
    let theirs = host.token("theirs", ROLES).await;
    assert_eq!(
        host.send(Method::PUT, &own("beer"), &mine, &age(16))
            .await
            .0,
        201
    );
    assert_eq!(host.get(&own("beer"), &theirs).await.0, 404);
    assert_eq!(
        host.get("/api/v1/entity-conditions", &theirs).await,
        (200, json!([]))
    );
    let path = "/api/v1/conditions/beer/evaluate";
    assert_eq!(
        host.send(Method::POST, path, &theirs, &customer(json!({})))
            .await
            .0,
        404
    );
}

#[tokio::test]
async fn versions_guard_against_lost_updates() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let path = own("beer");
    let put = |name: &'static str, value: String, minimum| {
        let request = host.request(Method::PUT, &path, &token).header(name, value);
        let request = request.json(&age(minimum));
        async { request.send().await.unwrap() }
    };
    assert_eq!(
        put("if-match", "*".into(), 1).await.status(),
        412,
        "there is nothing"
    );
    let first = put("if-none-match", "*".into(), 16).await;
    assert_eq!(first.status(), 201);
    let first = first.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(put("if-none-match", "*".into(), 17).await.status(), 412);
    let second = put("if-match", first.clone(), 17).await;
    assert_eq!(second.status(), 200);
    let second = second.headers()["etag"].to_str().unwrap().to_owned();
    assert_ne!(first, second);
    assert_eq!(put("if-match", first.clone(), 18).await.status(), 412);
    let get = |tag: String| {
        let request = host
            .request(Method::GET, &path, &token)
            .header("if-none-match", tag);
        async { read(request.send().await.unwrap()).await }
    };
    assert_eq!(get(second.clone()).await, (304, Value::Null));
    assert_eq!(get(format!("\"x\", W/{second}")).await, (304, Value::Null));
    assert_eq!(
        get(first.clone()).await.1["condition_value"]["minimum_age"],
        17
    );
    let delete = |tag: String| {
        let request = host
            .request(Method::DELETE, &path, &token)
            .header("if-match", tag);
        async { request.send().await.unwrap().status() }
    };
    assert_eq!(delete(first).await, 412);
    assert_eq!(delete(second).await, 204);
}

#[tokio::test]
async fn one_of_many_concurrent_creates_succeeds() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let puts = (0..20).map(|minimum| {
        let request = host.request(Method::PUT, "/api/v1/entity-conditions/beer", &token);
        let request = request.header("if-none-match", "*").json(&age(minimum));
        async { request.send().await.unwrap().status().as_u16() }
    });
    let mut statuses = futures_util::future::join_all(puts).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![201], vec![412; 19]].concat());
}

#[tokio::test]
async fn a_project_is_created_replaced_read_listed_and_deleted() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let path = format!("/api/v1/projects/{PROJECT}");
    let body = json!({ "name": "School", "restrictions": [
        { "type": "BLACKLISTEDITEMS", "itemIds": ["foam"] },
    ] });
    let stored = json!({ "projectId": PROJECT, "name": "School", "restrictions": [
        { "type": "BLACKLISTEDITEMS", "itemIds": ["foam"], "exclusive": false },
    ] });
    let upper = format!("/api/v1/projects/{}", PROJECT.to_uppercase());
    assert_eq!(
        host.send(Method::PUT, &upper, &token, &body).await,
        (201, stored.clone())
    );
    assert_eq!(host.get(&path, &token).await, (200, stored.clone()));
    assert_eq!(
        host.send(Method::PUT, &path, &token, &stored).await,
        (200, stored.clone())
    );
    assert_eq!(
        host.get("/api/v1/projects", &token).await,
        (200, json!([stored]))
    );
    let restrictions = format!("{path}/restrictions");
    let (_, read_restrictions) = host.get(&restrictions, &token).await;
    assert_eq!(
        read_restrictions,
        json!({ "restrictions": stored["restrictions"] })
    );
    let delete = host
        .request(Method::DELETE, &path, &token)
        .send()
        .await
        .unwrap();
    assert_eq!(delete.status(), StatusCode::NO_CONTENT);
    assert_eq!(host.get(&path, &token).await.0, 404);
    let request = json!({ "projectId": PROJECT, "item": { "id": "foam" } });
    let evaluate = "/api/v1/project-restrictions/evaluate";
    let (status, decision) = host.send(Method::POST, evaluate, &token, &request).await;
    assert_eq!(status, 200);
    assert_eq!(
        decision["results"][0]["reason"],
        "project_restriction.project_unreachable"
    );
}

#[tokio::test]
async fn a_whitelist_of_a_hundred_thousand_ids_decides() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let ids: Vec<String> = (0..100_000).map(|id| format!("sku-{id:06}")).collect();
    let mut body = json!({ "restrictions": [{ "type": "WHITELISTEDITEMS", "itemIds": ids }] });
    let path = format!("/api/v1/projects/{PROJECT}");
    assert_eq!(host.send(Method::PUT, &path, &token, &body).await.0, 201);
    let evaluate = "/api/v1/project-restrictions/evaluate";
    for (id, allow) in [
        ("sku-000000", true),
        ("sku-099999", true),
        ("sku-100000", false),
    ] {
        let request = json!({ "projectId": PROJECT, "item": { "id": id } });
        assert_eq!(
            host.send(Method::POST, evaluate, &token, &request).await.1["allow"],
            allow
        );
    }
    body["restrictions"][0]["itemIds"]
        .as_array_mut()
        .unwrap()
        .push(json!("one more"));
    let (status, problem) = host.send(Method::PUT, &path, &token, &body).await;
    assert_eq!(
        (status, &problem["message"].as_array().unwrap().len()),
        (400, &1)
    );
}

#[tokio::test]
async fn a_project_may_be_asked_with_its_own_permission_alone() {
    let host = Host::start().await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let role = json!({ "permissions": ["ecs.project-restriction.evaluate"] });
    assert_eq!(
        host.send(Method::PUT, "/v1/roles/site", &operator, &role)
            .await
            .0,
        201
    );
    let token = host.token("shop", &["site"]).await;
    let request = json!({ "projectId": PROJECT, "item": { "id": "a" } });
    let path = "/api/v1/project-restrictions/evaluate";
    assert_eq!(host.send(Method::POST, path, &token, &request).await.0, 200);
    let basket = json!({ "items": [{ "id": "a" }], "context": {} });
    assert_eq!(
        host.send(Method::POST, "/api/v1/evaluations", &token, &basket)
            .await
            .0,
        403
    );
}

#[tokio::test]
async fn a_basket_is_decided_in_one_call() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    assert_eq!(
        host.send(Method::PUT, &own("beer"), &token, &age(16))
            .await
            .0,
        201
    );
    let restrictions = json!({ "restrictions": [
        { "type": "WHITELIST", "propertyName": "group", "allowedValues": ["food"] },
    ] });
    let path = format!("/api/v1/projects/{PROJECT}");
    assert_eq!(
        host.send(Method::PUT, &path, &token, &restrictions).await.0,
        201
    );
    let basket = json!({
        "projectId": PROJECT,
        "items": [
            { "id": "bread", "additionalProperties": { "group": "food" } },
            { "id": "beer", "conditionIds": ["beer", "unknown"], "additionalProperties": { "group": "food" } },
        ],
        "context": { "customer": { "customer_age": 17 } },
    });
    let (status, decision) = host
        .send(Method::POST, "/api/v1/evaluations", &token, &basket)
        .await;
    assert_eq!(status, 200);
    assert_eq!(decision["decision"], "SOFT_DENY");
    assert_eq!(decision["items"][0]["allow"], true);
    assert_eq!(decision["items"][1]["allow"], false);
    assert_eq!(
        decision["items"][1]["errors"],
        json!([{ "conditionId": "unknown", "status": 404 }])
    );
}

#[tokio::test]
async fn a_basket_may_have_a_hundred_thousand_results_and_not_one_more() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let path = format!("/api/v1/projects/{PROJECT}");
    for (count, put, expected) in [(100, 201, 200), (101, 200, 400)] {
        let property = |id: usize| json!({ "type": "BOOLEAN", "propertyName": format!("p{id}"), "value": true });
        let restrictions = json!({ "restrictions": (0..count).map(property).collect::<Vec<_>>() });
        let stored = host.send(Method::PUT, &path, &token, &restrictions).await;
        assert_eq!(stored.0, put);
        let items: Vec<_> = (0..1000)
            .map(|id| json!({ "id": format!("sku-{id}") }))
            .collect();
        let basket = json!({ "items": items, "projectId": PROJECT, "context": {} });
        let (status, answer) = host
            .send(Method::POST, "/api/v1/evaluations", &token, &basket)
            .await;
        assert_eq!(status, expected);
        if status == 400 {
            assert_eq!(
                answer["message"][0],
                "$.items must lead to at most 100000 results"
            );
        } else {
            assert_eq!(
                answer["items"][999]["results"].as_array().unwrap().len(),
                100
            );
        }
    }
}

#[tokio::test]
async fn the_largest_basket_is_decided_for_a_customer_with_very_many_licenses() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let ids: Vec<String> = (0..64).map(|id| format!("l{id}")).collect();
    for id in &ids {
        let put = host.send(Method::PUT, &own(id), &token, &license()).await;
        assert_eq!(put.0, 201);
    }
    let items: Vec<_> = (0..1000)
        .map(|item| json!({ "id": format!("i{item}"), "conditionIds": ids }))
        .collect();
    let licenses: Vec<_> = (0..40_000).map(|id| format!("held-{id}")).collect();
    let basket = json!({ "items": items, "context": { "customer": { "licenses": licenses } } });
    let answer = host
        .send(Method::POST, "/api/v1/evaluations", &token, &basket)
        .await;
    assert_eq!(
        (answer.0, &answer.1["decision"]),
        (200, &json!("HARD_DENY"))
    );
}

#[tokio::test]
async fn many_who_replace_the_same_condition_all_do() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let puts = (0..100).map(|minimum| {
        let request = host.request(Method::PUT, "/api/v1/entity-conditions/beer", &token);
        let request = request.json(&age(minimum));
        async { request.send().await.unwrap().status().as_u16() }
    });
    let mut statuses = futures_util::future::join_all(puts).await;
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![200; 99], vec![201]].concat());
}

#[tokio::test]
async fn a_revoked_client_gets_no_more_catalog_events() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let spy = host.client("shop", &["ecs.viewer"]).await;
    let secret = spy.client_secret.reveal();
    let listening =
        crate::support::host::token(&host.http, &host.url, &spy.client_id, secret).await;
    let path = "/api/v1/catalog/changes";
    let request = host.request(Method::GET, path, &listening);
    let mut events = request.send().await.unwrap().bytes_stream();
    assert!(events.next().await.unwrap().unwrap().starts_with(b"data:"));
    let operator = host.token("platform", &["platform.operator"]).await;
    let revoke = format!("/v1/tenants/shop/clients/{}/revoke", spy.client_id);
    let revoked = host
        .request(Method::PUT, &revoke, &operator)
        .send()
        .await
        .unwrap();
    assert_eq!(revoked.status(), StatusCode::OK);
    assert_eq!(
        host.send(Method::PUT, &own("beer"), &token, &age(16))
            .await
            .0,
        201
    );
    assert!(
        events.next().await.is_none(),
        "the stream ends, and tells nothing of the change"
    );
}

#[tokio::test]
async fn the_catalog_decides_elsewhere_as_the_host_does() {
    let host = Host::start().await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let token = host.token("shop", ROLES).await;
    assert_eq!(
        host.send(Method::PUT, &global("beer"), &operator, &age(16))
            .await
            .0,
        201
    );
    assert_eq!(
        host.send(Method::PUT, &own("hunting"), &token, &license())
            .await
            .0,
        201
    );
    let response = host
        .request(Method::GET, "/api/v1/catalog", &token)
        .send()
        .await
        .unwrap();
    let etag = response.headers()["etag"].to_str().unwrap().to_owned();
    let catalog = response.text().await.unwrap();
    let parsed: Value = serde_json::from_str(&catalog).unwrap();
    assert_eq!(etag, format!("\"{}\"", parsed["digest"].as_str().unwrap()));
    assert_eq!(parsed["tenantId"], "shop");
    let prepared = Prepared::new("catalog", catalog.as_bytes()).unwrap();
    for id in ["beer", "hunting"] {
        for person in [
            json!(null),
            json!({ "customer_age": 15 }),
            json!({ "licenses": ["hunting"] }),
        ] {
            let request = customer(person).to_string();
            let path = format!("/api/v1/conditions/{id}/evaluate");
            let sent = host
                .request(Method::POST, &path, &token)
                .body(request.clone());
            let answer = sent.send().await.unwrap();
            assert_eq!(
                answer.headers()["tillgate-engine"],
                parsed["engine"]["sha256"].as_str().unwrap()
            );
            let mut preview = Vec::new();
            prepared.evaluate(
                Line::of(&format!("condition {id}")),
                request.as_bytes(),
                None,
                &mut preview,
            );
            assert_eq!(
                answer.bytes().await.unwrap(),
                preview[1..],
                "{id} {request}"
            );
        }
    }
}

#[tokio::test]
async fn catalog_changes_are_streamed_on_every_host() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let here = Host::start_on(Arc::clone(&store), clock.clone()).await;
    let there = Host::start_on(store, clock).await;
    let token = here.token("shop", ROLES).await;
    let followed = there
        .request(Method::GET, "/api/v1/catalog/changes", &token)
        .send()
        .await
        .unwrap();
    assert_eq!(followed.status(), 401, "another issuer's token");
    let elsewhere = there.token("shop", ROLES).await;
    let followed = there.request(Method::GET, "/api/v1/catalog/changes", &elsewhere);
    let mut events = followed.send().await.unwrap().bytes_stream();
    let mut text = String::new();
    let mut digests = Vec::new();
    while digests.len() < 2 {
        let chunk = within("two digests", events.next()).await;
        text += std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap();
        digests = text
            .lines()
            .filter_map(|line| line.strip_prefix("id:"))
            .map(str::to_owned)
            .collect();
        if digests.len() == 1 && !text.contains("written") {
            text += "written\n";
            assert_eq!(
                here.send(Method::PUT, &own("beer"), &token, &age(16))
                    .await
                    .0,
                201
            );
        }
    }
    let (_, catalog) = there.get("/api/v1/catalog", &elsewhere).await;
    assert_eq!(catalog["digest"], digests[1].as_str());
    assert_eq!(catalog["tenant"][0]["id"], "beer");
}

#[tokio::test]
async fn every_answer_carries_a_correlation_id_and_says_who_may_keep_it() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let id = "7f1d7a52-4f0c-4a39-9c0e-0d9d3d1c5e11";
    let request = host.request(Method::GET, "/api/v1/catalog", &token);
    let response = request.header("correlation-id", id).send().await.unwrap();
    assert_eq!(response.headers()["correlation-id"], id);
    assert_eq!(response.headers()["cache-control"], "no-store");
    let request = host.request(Method::GET, "/nowhere", &token);
    let response = request
        .header("correlation-id", "no uuid")
        .send()
        .await
        .unwrap();
    let made = response.headers()["correlation-id"]
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(made.len(), 36);
    assert_eq!(
        read(response).await.1["instance"],
        format!("urn:uuid:{made}")
    );
}

#[tokio::test]
async fn a_path_with_a_slash_too_many_says_so() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    for (path, detail) in [
        (
            "/api/v1/entity-conditions/",
            "there is nothing at this path: remove the slash at its end",
        ),
        ("/api/v1/nowhere/", "there is nothing at this path"),
    ] {
        let (status, answer) = host.get(path, &token).await;
        assert_eq!((status, &answer["detail"]), (404, &json!(detail)), "{path}");
    }
}

#[tokio::test]
async fn long_answers_are_compressed_for_those_who_ask() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    for id in 0..20 {
        let path = own(&format!("condition-{id}"));
        assert_eq!(host.send(Method::PUT, &path, &token, &age(id)).await.0, 201);
    }
    let list = |coding: &'static str| {
        let request = host.request(Method::GET, "/api/v1/entity-conditions", &token);
        let request = request.header("accept-encoding", coding);
        async { request.send().await.unwrap() }
    };
    let zipped = list("br, gzip").await;
    assert_eq!(zipped.headers()["content-encoding"], "gzip");
    assert_eq!(zipped.headers()["vary"], "accept-encoding");
    let weak = zipped.headers()["etag"].to_str().unwrap().to_owned();
    assert!(weak.starts_with("W/\""), "{weak}");
    let again = host.request(Method::GET, "/api/v1/entity-conditions", &token);
    let again = again.header("if-none-match", weak).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert!(zipped.bytes().await.unwrap().len() < 600);
    let plain = list("gzip;q=0").await;
    assert!(!plain.headers().contains_key("content-encoding"));
    assert_eq!(read(plain).await.1.as_array().unwrap().len(), 20);
}
