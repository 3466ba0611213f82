//! Several hosts on one Redis: each sees what the others write.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tillgate_store::clock::SystemClock;
use tillgate_store::{Commit, CommitId, Partition, RedisStore, RedisUrl, Store};

use crate::support::host::Host;
use crate::support::redis::{shared, shared_cluster};
use crate::support::wait::until;

fn url(of: &str) -> RedisUrl {
    RedisUrl::parse(&format!("{of}?prefix={:032x}", CommitId::random().0))
        .unwrap()
        .unwrap()
}

fn open(url: &RedisUrl) -> Arc<RedisStore> {
    Arc::new(RedisStore::connect(url, Arc::new(SystemClock)).unwrap())
}

#[tokio::test]
async fn a_commit_on_one_host_gives_a_hint_on_another() {
    for servers in [shared().url(), shared_cluster().url()] {
        let url = url(&servers);
        let (one, other) = (open(&url), open(&url));
        let partition = Partition::new("shop").unwrap();
        let mut hints = other.hints(&partition);
        // A hint that is published before the other host listens is lost, so this repeats until one arrives.
        until("a hint comes", async || {
            let commit = Commit {
                partition: partition.clone(),
                id: CommitId::random(),
                checks: Vec::new(),
                ops: Vec::new(),
            };
            one.commit(commit).await.unwrap();
            let hinted = tokio::time::timeout(Duration::from_millis(50), hints.changed());
            hinted.await.is_ok()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_sees_its_own_writes_at_once_and_those_of_others_soon() {
    let url = url(&shared_cluster().url());
    let clock = Arc::new(SystemClock);
    let issuer = |config: &mut tillgate_base::config::Config| {
        "https://tillgate.example/".clone_into(&mut config.issuer)
    };
    let one = Host::start_configured(open(&url), clock.clone(), issuer).await;
    let other = Host::start_configured(open(&url), clock, issuer).await;
    let token = one.token("acme", &["ecs.editor", "ecs.evaluator"]).await;
    for number in 0..5 {
        let path = format!("/api/v1/entity-conditions/beer-{number}");
        let condition =
            json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
        let put = one.send(Method::PUT, &path, &token, &condition).await;
        assert_eq!(put.0, 201, "{}", put.1);
        assert_eq!(one.get(&path, &token).await.0, 200);
        until("the other host sees it", async || {
            other.get(&path, &token).await.0 == 200
        })
        .await;
    }
}
