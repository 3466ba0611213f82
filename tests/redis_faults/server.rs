//! A host whose server is killed or paused.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate::clock::SystemClock;

use super::load::{open, with_prefix};
use crate::support::host::Host;
use crate::support::redis::{DEADLINE, Server};

/// Sends a request until its response has a status; returns its `Retry-After`.
async fn until(
    host: &Host,
    (method, path): (Method, &str),
    token: &str,
    body: &Value,
    status: u16,
) -> Option<String> {
    let sending = async {
        loop {
            let response = host
                .request(method.clone(), path, token)
                .json(body)
                .send()
                .await
                .unwrap();
            let known = [200, 201, 503].contains(&response.status().as_u16());
            assert!(known, "{}", response.status());
            if response.status() == status {
                let header = response.headers().get("retry-after");
                return header.map(|value| value.to_str().unwrap().to_owned());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(DEADLINE, sending)
        .await
        .expect("the status never came")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_answers_503_while_its_server_is_unavailable_and_then_recovers() {
    let mut server = Server::durable();
    let host = Host::start_on(
        Arc::new(open(&with_prefix(&server.url()))),
        Arc::new(SystemClock),
    )
    .await;
    let token = host.token("acme", &["ecs.editor", "ecs.evaluator"]).await;
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let question = json!({ "item": { "id": "1" }, "context": {} });
    let write = (Method::PUT, "/api/v1/entity-conditions/beer");
    let evaluate = (Method::POST, "/api/v1/conditions/beer/evaluate");
    until(&host, write.clone(), &token, &condition, 201).await;
    for pause in [false, true] {
        until(&host, evaluate.clone(), &token, &question, 200).await;
        if pause {
            server.signal("STOP");
        } else {
            server.kill();
        }
        for (target, body) in [(&write, &condition), (&evaluate, &question)] {
            let retry_after = until(&host, target.clone(), &token, body, 503).await;
            assert_eq!(retry_after.as_deref(), Some("1"));
        }
        if pause {
            server.signal("CONT");
        } else {
            server.restart();
        }
        until(&host, evaluate.clone(), &token, &question, 200).await;
        until(&host, write.clone(), &token, &condition, 200).await;
    }
}
