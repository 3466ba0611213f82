//! A host whose server is killed or paused.

use std::sync::Arc;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tillgate_store::clock::SystemClock;

use super::load::{open, with_prefix};
use crate::support::host::Host;
use crate::support::redis::{Cluster, Server};
use crate::support::wait::answered;

/// Repeats a request until its status is as wanted: 200 or 201 while the server is up, 503 while it is down. The
/// earlier statuses depend on timing.
async fn until(
    host: &Host,
    (method, path): (Method, &str),
    token: &str,
    body: &Value,
    wanted: impl Fn(&Response) -> bool,
) -> Response {
    let what = format!("the wanted answer to {method} {path}");
    answered(&what, async || {
        let request = host.request(method.clone(), path, token).json(body);
        let response = request.send().await.unwrap();
        let status = response.status();
        assert!([200, 201, 503].contains(&status.as_u16()), "{status}");
        if wanted(&response) {
            Ok(response)
        } else {
            Err(status)
        }
    })
    .await
}

fn is(status: u16) -> impl Fn(&Response) -> bool {
    move |response| response.status().as_u16() == status
}

/// Returns whether a decision rests on memory older than a second.
fn is_stale(response: &Response) -> bool {
    response.headers().contains_key("tillgate-stale")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_its_server_is_away_a_host_decides_from_memory_and_writes_nothing() {
    let mut server = Server::durable();
    let host = Host::start_on(
        Arc::new(open(&with_prefix(&server.url()))),
        Arc::new(SystemClock),
    )
    .await;
    let token = host.token("acme", &["ecs.editor", "ecs.evaluator"]).await;
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let question = json!({ "item": { "id": "1" }, "context": {} });
    let write = || (Method::PUT, "/api/v1/entity-conditions/beer");
    let evaluate = || (Method::POST, "/api/v1/conditions/beer/evaluate");
    until(&host, write(), &token, &condition, is(201)).await;
    for pause in [false, true] {
        let fresh = |response: &Response| is(200)(response) && !is_stale(response);
        until(&host, evaluate(), &token, &question, fresh).await;
        if pause {
            server.signal("STOP");
        } else {
            server.kill();
        }
        let refused = until(&host, write(), &token, &condition, is(503)).await;
        assert_eq!(refused.headers()["retry-after"], "1");
        let stale = until(&host, evaluate(), &token, &question, is_stale).await;
        assert_eq!(stale.status(), 200);
        assert_eq!(stale.headers()["age"], stale.headers()["tillgate-stale"]);
        for _ in 0..200 {
            let request = host
                .request(Method::POST, evaluate().1, &token)
                .json(&question);
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), 200, "no decision is refused meanwhile");
        }
        if pause {
            server.signal("CONT");
        } else {
            server.restart();
        }
        until(&host, evaluate(), &token, &question, fresh).await;
        until(&host, write(), &token, &condition, is(200)).await;
    }
}

/// A host that decides but writes nothing.
struct Decider {
    host: Host,
    token: String,
}

impl Decider {
    async fn start(url: &str) -> Self {
        let store = Arc::new(open(&with_prefix(url)));
        let host = Host::start_on(store, Arc::new(SystemClock)).await;
        let token = host.token("acme", &["ecs.editor", "ecs.evaluator"]).await;
        let write = (Method::PUT, "/api/v1/entity-conditions/beer");
        let condition = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
        until(&host, write, &token, &condition, is(201)).await;
        let decider = Self { host, token };
        decider.until(|answer| !is_stale(answer)).await;
        decider
    }

    async fn until(&self, wanted: impl Fn(&Response) -> bool) {
        let question = json!({ "item": { "id": "1" }, "context": {} });
        let evaluate = (Method::POST, "/api/v1/conditions/beer/evaluate");
        let wanted = |answer: &Response| is(200)(answer) && wanted(answer);
        until(&self.host, evaluate, &self.token, &question, wanted).await;
    }

    async fn is_fresh_again(&self) {
        self.until(|answer| !is_stale(answer)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_is_fresh_once_its_server_answers_again_though_nothing_is_written() {
    let mut server = Server::slow_to_load();
    let decider = Decider::start(&server.url()).await;
    server.kill();
    decider.until(is_stale).await;
    server.restart();
    decider.is_fresh_again().await;
    server.signal("STOP");
    decider.until(is_stale).await;
    server.signal("CONT");
    decider.is_fresh_again().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_is_fresh_once_its_cluster_answers_again_though_nothing_is_written() {
    let mut cluster = Cluster::durable();
    let decider = Decider::start(&cluster.url()).await;
    for server in &mut cluster.servers {
        server.kill();
    }
    decider.until(is_stale).await;
    for server in &mut cluster.servers {
        server.restart();
    }
    cluster.wait_until_complete();
    decider.is_fresh_again().await;
}
