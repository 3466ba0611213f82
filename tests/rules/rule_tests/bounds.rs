//! The number of tests, their share of the quota, and that they survive a kill of the host.

use std::path::Path;
use std::sync::Arc;

use reqwest::Client;
use serde_json::{Value, json};
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use super::{GAMES, ROLES, WITH_TESTS, condition, put, test, text};
use crate::support::host::{Host, Program, client, read, token};

#[tokio::test]
async fn tests_count_as_what_a_tenant_configures() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_configured(store, clock, |config| {
        config.quotas.configuration = "2 KiB".parse().unwrap();
    })
    .await;
    let token = host.token("acme", ROLES).await;
    let used = async || {
        let (_, usage) = host.get("/v1/tenants/acme/usage", &token).await;
        usage["configurationBytes"]["used"].as_u64().unwrap()
    };
    let tests: Vec<Value> = (0..5).map(|age| test(age, "HARD_DENY")).collect();
    assert_eq!(
        put(&host, GAMES, &token, &condition(18, &tests)).await.0,
        201
    );
    let (stored, _) = text(&host, GAMES, &token).await;
    assert_eq!(used().await, u64::try_from(stored.len()).unwrap());
    let many: Vec<Value> = (0..17).map(|age| test(age, "HARD_DENY")).collect();
    let (status, problem) = put(&host, GAMES, &token, &condition(18, &many)).await;
    assert_eq!(status, 409, "{problem}");
    assert!(
        problem["message"]
            .as_str()
            .unwrap()
            .contains("at most 2048 bytes"),
        "{problem}"
    );
    assert_eq!(put(&host, GAMES, &token, &condition(18, &[])).await.0, 200);
    let (stored, _) = text(&host, GAMES, &token).await;
    assert_eq!(used().await, u64::try_from(stored.len()).unwrap());
}

#[tokio::test]
async fn as_many_tests_as_there_may_be_are_run_and_one_more_is_refused() {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let numbered = |number: usize| {
        let mut numbered = test(18, "ALLOW");
        numbered["name"] = json!(number.to_string());
        // Large enough to be handled off the threads that serve.
        numbered["request"]["context"]["customer"]["licenses"] = json!(["x".repeat(100)]);
        numbered
    };
    let mut tests: Vec<Value> = (0..200).map(numbered).collect();
    assert_eq!(
        put(&host, GAMES, &token, &condition(18, &tests)).await.0,
        201
    );
    let (status, problem) = put(&host, GAMES, &token, &condition(19, &tests)).await;
    assert_eq!(
        (status, problem["message"].as_array().unwrap().len()),
        (409, 200)
    );
    tests.push(numbered(200));
    let (status, problem) = put(&host, GAMES, &token, &condition(18, &tests)).await;
    assert_eq!(status, 400);
    assert_eq!(
        problem["message"],
        json!(["$.tests must have at most 200 tests"])
    );
    let mut large = test(18, "ALLOW");
    large["request"]["context"]["customer"]["licenses"] = json!(["x".repeat(64 << 10)]);
    let (status, problem) = put(&host, GAMES, &token, &condition(18, &[large])).await;
    assert_eq!(status, 400);
    assert_eq!(
        problem["message"],
        json!(["$.tests must be at most 64 KiB of JSON in all"])
    );
}

/// Returns the token of the operator of a program whose store is in a folder.
async fn operator(http: &Client, program: &Program, folder: &Path) -> String {
    let file = std::fs::read(folder.join("operator.json")).unwrap();
    let credentials: Value = serde_json::from_slice(&file).unwrap();
    let text = |member: &str| credentials[member].as_str().unwrap();
    token(http, &program.url, text("clientId"), text("clientSecret")).await
}

#[tokio::test]
async fn a_host_that_is_killed_has_the_tests_again() {
    let folder = tempfile::tempdir().unwrap();
    let http = client();
    let mut program = Program::serve(folder.path());
    let bearer = operator(&http, &program, folder.path()).await;
    let url = format!("{}{GAMES}?failingTests=accept", program.url);
    let body = condition(18, &[test(18, "ALLOW"), test(16, "ALLOW")]);
    let sent = http
        .put(url)
        .bearer_auth(&bearer)
        .json(&body)
        .send()
        .await
        .unwrap();
    let (status, stored) = read(sent).await;
    assert_eq!((status, &stored["tests"]), (201, &body["tests"]));
    program.kill();
    let program = Program::serve(folder.path());
    let bearer = operator(&http, &program, folder.path()).await;
    let get = async |path: &str| {
        let url = format!("{}{path}", program.url);
        read(http.get(url).bearer_auth(&bearer).send().await.unwrap()).await
    };
    assert_eq!(get(GAMES).await, (200, stored.clone()));
    assert_eq!(get(WITH_TESTS).await.1["tenant"], json!([stored]));
}
