//! One server that is killed, stands still, or forgets our scripts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tillgate::clock::SystemClock;

use super::load::{Committer, Count, Load, open, with_prefix};
use crate::support::host::Host;
use crate::support::redis::{DEADLINE, Server};

/// How long a server stands still, with commits failing all the while.
const STANDSTILL: Duration = Duration::from_secs(10);

/// A load during which a server is killed and started again, a few times.
async fn load_over_kills(mut server: Server) -> Count {
    let url = with_prefix(&server.url());
    let load = Load::start(&url, Committer::Sure);
    for _ in 0..3 {
        load.acknowledges(150).await;
        server.kill();
        load.fails().await;
        server.restart();
    }
    load.acknowledges(150).await;
    load.count(&url).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_and_started_again_loses_and_doubles_nothing() {
    load_over_kills(Server::durable()).await.assert_whole();
}

/// The control: a server that has nothing on its disk loses what it acknowledged, and the count sees it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_a_disk_loses() {
    let count = load_over_kills(Server::start()).await;
    assert!(count.lost > 0, "{count:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stands_still_gives_errors_and_then_goes_on() {
    let server = Server::durable();
    let url = with_prefix(&server.url());
    let load = Load::start(&url, Committer::Sure);
    for still in [Duration::ZERO, STANDSTILL] {
        load.acknowledges(150).await;
        server.signal("STOP");
        let begin = Instant::now();
        load.fails().await;
        while begin.elapsed() < still {
            load.fails().await;
        }
        server.signal("CONT");
    }
    load.acknowledges(150).await;
    load.count(&url).await.assert_whole();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_are_forgotten_are_sent_again() {
    let server = Server::durable();
    let url = with_prefix(&server.url());
    let load = Load::start(&url, Committer::Sure);
    for _ in 0..20 {
        load.acknowledges(30).await;
        assert_eq!(server.cli(&["script", "flush"]), "OK");
    }
    load.acknowledges(100).await;
    load.count(&url).await.assert_whole();
}

/// Asks until an answer has a status; answers its `Retry-After`.
async fn until(
    host: &Host,
    (method, path): (Method, &str),
    token: &str,
    body: &Value,
    status: u16,
) -> Option<String> {
    let asking = async {
        loop {
            let answer = host
                .request(method.clone(), path, token)
                .json(body)
                .send()
                .await
                .unwrap();
            let known = [200, 201, 503].contains(&answer.status().as_u16());
            assert!(known, "{}", answer.status());
            if answer.status() == status {
                let header = answer.headers().get("retry-after");
                return header.map(|value| value.to_str().unwrap().to_owned());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(DEADLINE, asking)
        .await
        .expect("it never answers that")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_says_503_while_its_server_is_away_and_then_goes_on() {
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
    for still in [false, true] {
        until(&host, evaluate.clone(), &token, &question, 200).await;
        if still {
            server.signal("STOP");
        } else {
            server.kill();
        }
        for (asked, body) in [(&write, &condition), (&evaluate, &question)] {
            let retry_after = until(&host, asked.clone(), &token, body, 503).await;
            assert_eq!(retry_after.as_deref(), Some("1"));
        }
        if still {
            server.signal("CONT");
        } else {
            server.restart();
        }
        until(&host, evaluate.clone(), &token, &question, 200).await;
        until(&host, write.clone(), &token, &condition, 200).await;
    }
}
