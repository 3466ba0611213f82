//! `tillgate evaluate`: decides by a catalog in a file, with the same answers as a host with these rules.

use std::path::Path;
use std::process::Output;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::host::{Host, Program};
use crate::support::wait::output;

const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

/// Starts a host with these rules; returns a folder with its catalog, the host and a token.
async fn catalog_of_a_host() -> (tempfile::TempDir, Host, String) {
    let host = Host::start().await;
    let token = host.token("acme", &["ecs.editor", "ecs.evaluator"]).await;
    let rules = [
        (
            "/api/v1/entity-conditions/alcohol".to_owned(),
            json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } }),
        ),
        (
            format!("/api/v1/projects/{PROJECT}"),
            json!({ "restrictions": [{ "type": "WHITELIST", "propertyName": "group", "allowedValues": ["timber"] }] }),
        ),
    ];
    for (path, rule) in rules {
        let (status, answer) = host.send(Method::PUT, &path, &token, &rule).await;
        assert_eq!(status, 201, "{answer}");
    }
    let answer = host.request(Method::GET, "/api/v1/catalog", &token).send();
    let catalog = answer.await.unwrap().bytes().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("catalog.json"), catalog).unwrap();
    (folder, host, token)
}

/// Decides by the catalog in a folder.
fn evaluate(folder: &Path, request: &str, more: &[&str]) -> Output {
    std::fs::write(folder.join("request.json"), request).unwrap();
    let mut command = Program::command();
    command.current_dir(folder);
    output(
        command
            .args(["evaluate", "catalog.json", "request.json"])
            .args(more),
    )
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn the_answer_is_that_of_a_host_with_the_same_rules() {
    let (folder, host, token) = catalog_of_a_host().await;
    let young =
        json!({ "item": { "id": "beer" }, "context": { "customer": { "customer_age": 17 } } });
    let paint = json!({ "projectId": PROJECT, "item": { "id": "paint", "additionalProperties": { "group": "paint" } } });
    let basket = json!({
        "items": [{ "id": "beer", "conditionIds": ["alcohol"] }, { "id": "paint" }],
        "projectId": PROJECT, "context": { "customer": { "customer_age": 30 } },
    });
    let rows: &[(&str, &Value, &[&str])] = &[
        (
            "/api/v1/conditions/alcohol/evaluate",
            &young,
            &["--condition", "alcohol"],
        ),
        ("/api/v1/project-restrictions/evaluate", &paint, &[]),
        ("/api/v1/evaluations", &basket, &[]),
    ];
    for (path, request, more) in rows {
        for explain in [false, true] {
            let path = format!("{path}?explain={explain}");
            let asked = host.request(Method::POST, &path, &token).json(request);
            let answered = asked.send().await.unwrap();
            assert_eq!(answered.status(), 200);
            let answered = answered.text().await.unwrap();
            let mut more = more.to_vec();
            if explain {
                more.push("--explain");
            }
            let printed = evaluate(folder.path(), &request.to_string(), &more);
            assert_eq!(printed.status.code(), Some(0), "{}", text(&printed.stderr));
            assert_eq!(text(&printed.stdout), format!("{answered}\n"));
        }
    }
}

#[tokio::test]
async fn what_cannot_be_decided_is_said_with_its_place_and_an_exit_code() {
    let (folder, ..) = catalog_of_a_host().await;
    let item = r#"{"item":{"id":"beer"},"context":{}}"#;
    let rows: &[(&str, &[&str], i32, &str)] = &[
        (item, &["--condition", "wine"], 4, "there is no decision"),
        (item, &[], 3, "--condition is missing"),
        (item, &["--condition", "a/b"], 3, "--condition must"),
        (
            "{}",
            &["--condition", "alcohol"],
            3,
            "request.json is not a request:\n  $.item",
        ),
        (
            r#"{"items":[{"id":1}],"context":{}}"#,
            &[],
            3,
            "$.items[0].id",
        ),
        ("[", &[], 3, "request.json is not a request"),
    ];
    for (request, more, code, told) in rows {
        let refused = evaluate(folder.path(), request, more);
        assert_eq!(refused.status.code(), Some(*code), "{request} {more:?}");
        assert!(
            text(&refused.stderr).contains(told),
            "{}",
            text(&refused.stderr)
        );
        assert_eq!(text(&refused.stdout), "");
    }
    std::fs::write(
        folder.path().join("catalog.json"),
        r#"{"global":[],"tenant":[{"id":7}]}"#,
    )
    .unwrap();
    let refused = evaluate(folder.path(), item, &["--condition", "alcohol"]);
    assert_eq!(refused.status.code(), Some(3));
    let told = text(&refused.stderr);
    assert!(
        told.contains("catalog.json is not a catalog") && told.contains("$.tenant[0].id"),
        "{told}"
    );
    std::fs::remove_file(folder.path().join("catalog.json")).unwrap();
    let refused = evaluate(folder.path(), item, &["--condition", "alcohol"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("catalog.json cannot be read"),
        "{}",
        text(&refused.stderr)
    );
}
