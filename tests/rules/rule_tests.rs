//! Tests next to a rule, over HTTP: they run before a change is stored, are stored with the document, and decide nothing.

mod bounds;
mod cli;
mod tenants;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::host::Host;

const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator", "iam.admin"];
const GAMES: &str = "/api/v1/entity-conditions/games";
const GLOBAL_GAMES: &str = "/api/v1/global-entity-conditions/games";
const ID: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const PROJECT: &str = "/api/v1/projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const CATALOG: &str = "/api/v1/catalog";
const WITH_TESTS: &str = "/api/v1/catalog?tests=true";

/// Returns a test of the decision about a customer of this age.
fn test(age: u8, decision: &str) -> Value {
    json!({
        "name": format!("aged {age}"),
        "request": { "item": { "id": "a" }, "context": { "customer": { "customer_age": age } } },
        "expect": { "decision": decision },
    })
}

fn condition(minimum: u8, tests: &[Value]) -> Value {
    json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum }, "tests": tests })
}

/// Returns a project that denies one item, with one test about it.
fn project(request: &Value, decision: &str) -> Value {
    json!({
        "restrictions": [{ "type": "BLACKLISTEDITEMS", "itemIds": ["foam"], "exclusive": false }],
        "tests": [{ "name": "foam", "request": request, "expect": { "decision": decision } }],
    })
}

async fn put(host: &Host, path: &str, token: &str, body: &Value) -> (u16, Value) {
    host.send(Method::PUT, path, token, body).await
}

/// Sends a body unchanged; returns the status and the raw body of the answer.
async fn put_text(host: &Host, path: &str, token: &str, body: &str) -> (u16, String) {
    let request = host.request(Method::PUT, path, token);
    let request = request.header("content-type", "application/json");
    let response = request.body(body.to_owned()).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Returns the raw body of a GET, and its entity tag.
async fn text(host: &Host, path: &str, token: &str) -> (String, String) {
    let response = host.request(Method::GET, path, token).send().await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let etag = response.headers()["etag"].to_str().unwrap().to_owned();
    (response.text().await.unwrap(), etag)
}

#[tokio::test]
async fn tests_are_stored_with_a_condition_in_the_order_of_the_contract_and_with_their_requests_as_given()
 {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let body = r#"{ "tests": [ { "expect": { "reasons": [], "decision": "ALLOW" }, "name": "Größe \u0041",
        "request": { "context": { "customer": { "licenses": [{ "n": 1e2, "id": "x", "price": 1.10 }], "customer_age": 18 } }, "item": { "id": "a" } } } ],
        "condition_value": { "minimum_age": 18 }, "rule": "AGE_RESTRICTION" }"#;
    let stored = r#"{"id":"games","rule":"AGE_RESTRICTION","scope":"TENANT","enabled":true,"condition_value":{"minimum_age":18},"tests":[{"name":"Größe A","request":{"context":{"customer":{"licenses":[{"n":1e2,"id":"x","price":1.10}],"customer_age":18}},"item":{"id":"a"}},"expect":{"decision":"ALLOW","reasons":[]}}]}"#;
    let send = async |body: &str| put_text(&host, GAMES, &token, body).await;
    assert_eq!(send(body).await, (201, stored.to_owned()));
    let (got, etag) = text(&host, GAMES, &token).await;
    assert_eq!(got, stored);
    assert_eq!(send(&got).await, (200, stored.to_owned()), "a GET's body");
    assert_eq!(text(&host, GAMES, &token).await, (got, etag.clone()));
    let (list, _) = text(&host, "/api/v1/entity-conditions", &token).await;
    assert_eq!(list, format!("[{stored}]"));

    // Without the member they are kept. An empty list removes them, and the stored document is the same as without tests.
    let plain = r#"{"id":"games","rule":"AGE_RESTRICTION","scope":"TENANT","enabled":true,"condition_value":{"minimum_age":18}}"#;
    assert_eq!(send(plain).await, (200, stored.to_owned()));
    assert_eq!(text(&host, GAMES, &token).await.1, etag);
    let empty = plain.replace("18}}", "18},\"tests\":[]}");
    assert_eq!(send(&empty).await, (200, plain.to_owned()));
    let (_, without) = text(&host, GAMES, &token).await;
    assert_eq!(send(plain).await, (200, plain.to_owned()));
    assert_eq!(text(&host, GAMES, &token).await.1, without);
    assert_ne!(without, etag);
}

#[tokio::test]
async fn tests_are_stored_with_a_project_whose_restrictions_are_answered_without_them() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let body = r#"{"name":"School","restrictions":[{"type":"BLACKLISTEDITEMS","itemIds":["foam"],"exclusive":false}],"tests":[{"name":"foam","request":{"item":{"id":"foam","additionalProperties":{"price":2.50,"tests":"[]"}}},"expect":{"decision":"HARD_DENY","reasons":["project_restriction.blacklisted_item"]}}]}"#;
    let stored = format!(r#"{{"projectId":"{ID}",{}"#, &body[1..]);
    for (status, body) in [(201, body), (200, &stored)] {
        let sent = put_text(&host, PROJECT, &token, body).await;
        assert_eq!(sent, (status, stored.clone()));
    }
    let (got, etag) = text(&host, PROJECT, &token).await;
    assert_eq!(got, stored);
    let path = format!("{PROJECT}/restrictions");
    let (restrictions, _) = text(&host, &path, &token).await;
    assert_eq!(
        restrictions,
        r#"{"restrictions":[{"type":"BLACKLISTEDITEMS","itemIds":["foam"],"exclusive":false}]}"#
    );
    let (list, _) = text(&host, "/api/v1/projects", &token).await;
    assert_eq!(list, format!("[{got}]"));
    let stale = host
        .request(Method::PUT, PROJECT, &token)
        .header("if-match", "\"x\"");
    let stale = stale.json(&project(&json!({ "item": { "id": "foam" } }), "HARD_DENY"));
    assert_eq!(stale.send().await.unwrap().status(), 412);
    let current = host
        .request(Method::GET, PROJECT, &token)
        .header("if-none-match", etag);
    assert_eq!(current.send().await.unwrap().status(), 304);
}

#[tokio::test]
async fn tests_that_fail_are_409_that_names_each_and_nothing_is_stored() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let tests = [test(18, "ALLOW"), test(16, "ALLOW"), test(15, "SOFT_DENY")];
    let (status, problem) = put(&host, GAMES, &token, &condition(18, &tests)).await;
    assert_eq!(status, 409);
    let messages = [
        "$.tests[1] \"aged 16\": expected ALLOW, is HARD_DENY",
        "$.tests[2] \"aged 15\": expected SOFT_DENY, is HARD_DENY",
    ];
    assert_eq!(problem["message"], json!(messages));
    assert_eq!(
        problem["detail"],
        format!("tests fail: {}", messages.join("; "))
    );
    assert_eq!(
        (&problem["statusCode"], &problem["error"]),
        (&json!(409), &json!("Conflict"))
    );
    assert_eq!(host.get(GAMES, &token).await.0, 404);

    let mut off = condition(18, &[test(16, "HARD_DENY")]);
    off["enabled"] = json!(false);
    let (status, problem) = put(&host, GAMES, &token, &off).await;
    let message = "$.tests[0] \"aged 16\": expected HARD_DENY, but the condition is not in force";
    assert_eq!((status, &problem["message"]), (409, &json!([message])));

    let body = project(&json!({ "item": { "id": "foam" } }), "ALLOW");
    let (status, problem) = put(&host, PROJECT, &token, &body).await;
    let message = "$.tests[0] \"foam\": expected ALLOW, is HARD_DENY";
    assert_eq!((status, &problem["message"]), (409, &json!([message])));
    assert_eq!(host.get(PROJECT, &token).await.0, 404);
}

#[tokio::test]
async fn a_put_without_tests_keeps_those_that_are_there_and_runs_them() {
    let host = Host::start().await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let token = host.token("shop", ROLES).await;
    let silent = |minimum: u8| json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } });
    let tests = [test(16, "HARD_DENY")];
    for (path, token) in [(GAMES, &token), (GLOBAL_GAMES, &operator)] {
        let accepting = format!("{path}?failingTests=accept");
        assert_eq!(put(&host, path, token, &condition(18, &tests)).await.0, 201);
        let (status, problem) = put(&host, path, token, &silent(15)).await;
        let message = "$.tests[0] \"aged 16\": expected HARD_DENY, is ALLOW";
        assert_eq!((status, &problem["message"]), (409, &json!([message])));
        for (path, minimum) in [(path, 17), (accepting.as_str(), 15)] {
            let (status, stored) = put(&host, path, token, &silent(minimum)).await;
            assert_eq!((status, &stored["tests"]), (200, &json!(tests)));
            assert_eq!(stored["condition_value"]["minimum_age"], minimum);
            assert_eq!(host.get(GAMES, token).await.1, stored);
        }
        for body in [condition(15, &[]), silent(16)] {
            let (status, stored) = put(&host, path, token, &body).await;
            assert_eq!((status, stored.get("tests")), (200, None));
        }
    }
    let mut body = project(&json!({ "item": { "id": "foam" } }), "HARD_DENY");
    assert_eq!(put(&host, PROJECT, &token, &body).await.0, 201);
    let tests = body.as_object_mut().unwrap().remove("tests");
    body["name"] = json!("School");
    let (status, stored) = put(&host, PROJECT, &token, &body).await;
    assert_eq!((status, stored.get("tests")), (200, tests.as_ref()));
    assert_eq!(stored["name"], "School");
    let open = json!({ "restrictions": [] });
    let (status, problem) = put(&host, PROJECT, &token, &open).await;
    let message = "$.tests[0] \"foam\": expected HARD_DENY, is ALLOW";
    assert_eq!((status, &problem["message"]), (409, &json!([message])));
    let deleted = host.request(Method::DELETE, PROJECT, &token).send().await;
    assert_eq!(deleted.unwrap().status(), 204);
    let (status, stored) = put(&host, PROJECT, &token, &open).await;
    assert_eq!(
        (status, stored.get("tests")),
        (201, None),
        "a new one has none"
    );
}

#[tokio::test]
async fn tests_that_fail_are_stored_when_that_is_accepted_and_no_other_value_is_known() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let body = condition(18, &[test(16, "ALLOW")]);
    for value in ["true", "", "ACCEPT"] {
        let path = format!("{GAMES}?failingTests={value}");
        let (status, problem) = put(&host, &path, &token, &body).await;
        assert_eq!(status, 400, "{value}");
        assert_eq!(problem["message"], json!(["$.failingTests must be accept"]));
        let path = format!("{PROJECT}?failingTests={value}");
        assert_eq!(put(&host, &path, &token, &body).await.0, 400, "{value}");
    }
    let (status, stored) = put(
        &host,
        &format!("{GAMES}?failingTests=accept"),
        &token,
        &body,
    )
    .await;
    assert_eq!((status, &stored["tests"]), (201, &body["tests"]));
    assert_eq!(host.get(GAMES, &token).await, (200, stored.clone()));
    // The body that a GET answers is refused like any other.
    assert_eq!(put(&host, GAMES, &token, &stored).await.0, 409);
    let path = format!("{PROJECT}?failingTests=accept");
    let body = project(&json!({ "item": { "id": "foam" } }), "ALLOW");
    assert_eq!(put(&host, &path, &token, &body).await.0, 201);
}

#[tokio::test]
async fn what_is_wrong_with_tests_is_named_beside_what_is_wrong_with_the_rule() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let body = json!({
        "rule": "AGE_RESTRICTION", "condition_value": {}, "tests": [{ "name": "", "request": {}, "expects": {} }],
    });
    let (status, problem) = put(
        &host,
        &format!("{GAMES}?failingTests=accept"),
        &token,
        &body,
    )
    .await;
    assert_eq!(status, 400);
    assert_eq!(
        problem["message"],
        json!([
            "$.condition_value.minimum_age is required",
            "$.tests[0].expects is unknown: is expect meant?",
            "$.tests[0].name must be a string of 1 to 256 characters",
            "$.tests[0].request.item is required",
            "$.tests[0].request.context is required",
            "$.tests[0].expect is required",
        ])
    );
}

#[tokio::test]
async fn a_test_is_about_its_own_project_and_no_other() {
    let host = Host::start().await;
    let (token, other) = (
        host.token("shop", ROLES).await,
        host.token("other", ROLES).await,
    );
    let of_other = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e91";
    let path = format!("/api/v1/projects/{of_other}");
    let body = json!({ "restrictions": [] });
    assert_eq!(put(&host, &path, &other, &body).await.0, 201);
    let unknown = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e92";
    for id in [of_other, unknown] {
        let request = json!({ "projectId": id, "item": { "id": "foam" } });
        let (status, problem) = put(&host, PROJECT, &token, &project(&request, "HARD_DENY")).await;
        assert_eq!(status, 400, "{id}");
        let message = "$.tests[0].request.projectId must be the id of the project";
        assert_eq!(problem["message"], json!([message]));
    }
    for id in [ID.to_owned(), ID.to_uppercase()] {
        let request = json!({ "projectId": id, "item": { "id": "foam" } });
        let (_, stored) = put(&host, PROJECT, &token, &project(&request, "HARD_DENY")).await;
        assert_eq!(stored["tests"][0]["request"]["projectId"], id.as_str());
    }
}

#[tokio::test]
async fn the_catalog_has_tests_only_when_asked_and_its_digest_says_nothing_of_them() {
    let host = Host::start().await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let token = host.token("shop", ROLES).await;
    let plain = condition(18, &[]);
    assert_eq!(
        put(
            &host,
            "/api/v1/global-entity-conditions/beer",
            &operator,
            &plain
        )
        .await
        .0,
        201
    );
    assert_eq!(put(&host, GAMES, &token, &plain).await.0, 201);
    let (before, tag) = text(&host, CATALOG, &token).await;
    assert_eq!(
        text(&host, WITH_TESTS, &token).await,
        (before.clone(), tag.clone()),
        "there are none"
    );
    let (_, list_tag) = text(&host, "/api/v1/entity-conditions", &token).await;

    let tested = condition(18, &[test(18, "ALLOW")]);
    assert_eq!(put(&host, GAMES, &token, &tested).await.0, 200);
    assert_eq!(
        text(&host, CATALOG, &token).await,
        (before.clone(), tag.clone())
    );
    let (with, with_tag) = text(&host, WITH_TESTS, &token).await;
    let (before, with): (Value, Value) = (
        serde_json::from_str(&before).unwrap(),
        serde_json::from_str(&with).unwrap(),
    );
    assert_eq!(with["tenant"][0]["tests"], tested["tests"]);
    assert_eq!(
        with["digest"], before["digest"],
        "it names what is decided with"
    );
    assert_ne!(with_tag, tag);
    let (_, new_list_tag) = text(&host, "/api/v1/entity-conditions", &token).await;
    assert_ne!(new_list_tag, list_tag, "a list has the tests");

    let request = json!({ "item": { "id": "foam" } });
    assert_eq!(
        put(&host, PROJECT, &token, &project(&request, "HARD_DENY"))
            .await
            .0,
        201
    );
    let (catalog, _) = text(&host, CATALOG, &token).await;
    assert!(!catalog.contains("tests"), "{catalog}");
    let (_, catalog) = host.get(WITH_TESTS, &token).await;
    assert_eq!(catalog["projects"][0]["tests"][0]["request"], request);
    let current = |tag: &str| {
        let request = host.request(Method::GET, WITH_TESTS, &token);
        request.header("if-none-match", tag).send()
    };
    let (_, now) = text(&host, WITH_TESTS, &token).await;
    assert_eq!(current(&now).await.unwrap().status(), 304);
    assert_eq!(current(&with_tag).await.unwrap().status(), 200);
    assert_eq!(host.get("/api/v1/catalog?tests=false", &token).await.0, 200);
    let (status, problem) = host.get("/api/v1/catalog?tests=yes", &token).await;
    assert_eq!(
        (status, &problem["message"]),
        (400, &json!(["$.tests must be true or false"]))
    );
}

#[tokio::test]
async fn tests_decide_nothing() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let body = condition(18, &[test(16, "ALLOW")]);
    assert_eq!(
        put(
            &host,
            &format!("{GAMES}?failingTests=accept"),
            &token,
            &body
        )
        .await
        .0,
        201
    );
    let request = &test(16, "ALLOW")["request"];
    let path = "/api/v1/conditions/games/evaluate";
    let (_, decided) = host.send(Method::POST, path, &token, request).await;
    assert_eq!(decided["results"][0]["reason"], "age_restriction.underage");
}
