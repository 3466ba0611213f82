//! `/healthz` and `/readyz` while the store is unavailable, comes back, or accepts no writes, and the log lines about it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::{Config, StoreIdentity};
use tillgate_base::observe::readiness::{Found, Readiness, State, Status};
use tillgate_store::clock::{StoppedClock, Timestamp};
use tillgate_store::{Store, StoreUrl};

use crate::support::host::{Host, Program, client};
use crate::support::redis::Server;
use crate::support::switched::Switched;
use crate::support::wait::answered;

const START: Timestamp = Timestamp(1_767_225_600_000_000);
const MINUTE: Duration = Duration::from_secs(60);

struct Watched {
    host: Host,
    store: Arc<Switched>,
    clock: Arc<StoppedClock>,
}

impl Watched {
    async fn start(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let store = Switched::new(clock.clone());
        let opened: Arc<dyn Store> = store.clone();
        let host = Host::start_configured(opened, clock.clone(), configure).await;
        Self { host, store, clock }
    }

    async fn get(&self, path: &str) -> (u16, String) {
        let request = self.host.http.get(format!("{}{path}", self.host.url));
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn ready(&self) -> (u16, Value) {
        let (status, body) = self.get("/readyz").await;
        (status, serde_json::from_str(&body).unwrap())
    }

    async fn assert_alive(&self) {
        assert_eq!(
            self.get("/healthz").await,
            (200, r#"{"status":"up"}"#.to_owned())
        );
    }

    /// Asks for a decision; returns the status.
    async fn decides(&self, token: &str) -> u16 {
        let body = json!({ "items": [{ "id": "1" }], "context": {} });
        self.host
            .send(Method::POST, "/api/v1/evaluations", token, &body)
            .await
            .0
    }
}

#[tokio::test]
async fn a_host_is_degraded_while_it_decides_from_memory_and_unavailable_when_that_is_too_old() {
    let watched = Watched::start(|_| ()).await;
    let token = watched.host.token("shop", &["ecs.evaluator"]).await;
    assert_eq!(watched.decides(&token).await, 200);
    let up = |since: &str| json!({ "status": "up", "since": since });
    let start = "2026-01-01T00:00:00.000Z";
    let ready = json!({
        "status": "ready",
        "since": start,
        "checks": { "store": up(start), "module": up(start), "keys": up(start) },
        "store": StoreIdentity::of(&StoreUrl::Memory),
        "roles": ["token", "conditions", "rates", "webhooks", "workers", "page"],
    });
    assert_eq!(watched.ready().await, (200, ready));
    watched.assert_alive().await;

    watched.clock.advance(MINUTE);
    assert_eq!(watched.decides(&token).await, 200);
    watched.store.set_away(true);
    watched.clock.advance(15 * MINUTE);
    let (status, body) = watched.ready().await;
    assert_eq!(
        (status, &body["status"]),
        (200, &json!("degraded")),
        "{body}"
    );
    let store = &body["checks"]["store"];
    assert_eq!(store["status"], "away");
    assert_eq!(store["since"], "2026-01-01T00:01:00.000Z");
    assert_eq!(
        store["why"],
        "the store does not answer; decisions are made from memory"
    );
    assert_eq!(body["checks"]["module"], up(start));
    assert_eq!(watched.decides(&token).await, 200);

    watched.clock.advance(Duration::from_micros(1));
    let (status, body) = watched.ready().await;
    assert_eq!(
        (status, &body["status"]),
        (503, &json!("unavailable")),
        "{body}"
    );
    assert_eq!(body["since"], "2026-01-01T00:16:00.000Z");
    assert_eq!(watched.decides(&token).await, 503);
    watched.assert_alive().await;

    watched.store.set_away(false);
    watched.clock.advance(MINUTE);
    let (status, body) = watched.ready().await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["status"], "ready");
    assert_eq!(body["since"], "2026-01-01T00:17:00.000Z");
    assert_eq!(body["checks"]["store"], up("2026-01-01T00:17:00.000Z"));
    let (_, metrics) = watched.get("/metrics").await;
    assert!(
        metrics.contains("tillgate_status{status=\"ready\"} 1.0\n"),
        "{metrics}"
    );
}

#[tokio::test]
async fn without_stale_decisions_a_host_is_unavailable_as_soon_as_the_store_is_away() {
    for configure in [
        (|config: &mut Config| config.max_stale = Duration::ZERO) as fn(&mut Config),
        |config| config.max_stale_callers = Duration::ZERO,
    ] {
        let watched = Watched::start(configure).await;
        watched.store.set_away(true);
        watched.clock.advance(Duration::from_secs(2));
        let (status, body) = watched.ready().await;
        assert_eq!(
            (status, &body["status"]),
            (503, &json!("unavailable")),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_host_whose_store_takes_no_writes_decides_for_as_long_as_that_lasts() {
    let watched = Watched::start(|_| ()).await;
    let token = watched.host.token("shop", &["ecs.evaluator"]).await;
    watched.store.set_read_only(true);
    watched.clock.advance(40 * MINUTE);
    let (status, body) = watched.ready().await;
    assert_eq!(
        (status, &body["status"]),
        (200, &json!("degraded")),
        "{body}"
    );
    let store = json!({
        "status": "read-only",
        "since": "2026-01-01T00:00:00.000Z",
        "why": "nothing can be written to the store",
    });
    assert_eq!(body["checks"]["store"], store);
    assert_eq!(watched.decides(&token).await, 200);
    watched.store.set_read_only(false);
    assert_eq!(watched.ready().await.1["status"], "ready");
}

#[tokio::test]
async fn a_host_without_a_part_that_decides_is_unavailable_and_says_which() {
    let clock = Arc::new(StoppedClock::at(START));
    let readiness = Readiness::new(Switched::new(clock.clone()), clock.clone());
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = Arc::clone(&is_broken);
    readiness.check("keys", move || {
        let is_broken = broken.load(Ordering::SeqCst);
        is_broken.then_some((State::Away, "there is no key".into()))
    });
    assert_eq!(readiness.report().status, Status::Ready);
    is_broken.store(true, Ordering::SeqCst);
    clock.advance(MINUTE);
    let report = readiness.report();
    assert_eq!(report.status, Status::Unavailable);
    let found = Found {
        state: State::Away,
        since: START.plus(MINUTE),
        why: Some("there is no key".into()),
    };
    assert_eq!(report.checks["keys"], found);
    clock.advance(MINUTE);
    assert_eq!(readiness.report(), report, "since when does not move");
}

#[test]
fn hosts_on_one_store_report_it_alike() {
    let of = |url: &str| StoreIdentity::of(&url.parse().unwrap());
    let here = std::env::current_dir().unwrap().display().to_string();
    for (one, same) in [
        ("embedded:data".to_owned(), format!("embedded:{here}/data")),
        ("embedded:data".into(), "embedded:data?cache=1MiB".into()),
        (
            "redis://h".into(),
            "redis://user:secret@h:6379/0?replicas=1".into(),
        ),
        (
            "redis+cluster://a,b".into(),
            "redis+cluster://b:6379,a".into(),
        ),
    ] {
        assert_eq!(of(&one), of(&same), "{one} {same}");
    }
    let all = [
        "memory:",
        "embedded:data",
        "embedded:other",
        "redis://h",
        "redis://h/1",
        "redis://h?prefix=other",
        "redis://other",
        "redis+cluster://h",
    ];
    let ids: BTreeSet<String> = all.map(|url| of(url).id).into();
    assert_eq!(ids.len(), all.len());
}

#[tokio::test]
async fn strangers_learn_nothing_of_the_store() {
    let hide = |config: &mut Config| {
        config.store = "redis://shop:hunter2@redis.internal:6379".to_owned();
    };
    let watched = Watched::start(hide).await;
    let kind = watched.ready().await.1["store"]["kind"].clone();
    assert_eq!(kind, "redis");
    watched.store.set_away(true);
    watched.clock.advance(MINUTE);
    for path in ["/readyz", "/metrics", "/healthz"] {
        let (status, body) = watched.get(path).await;
        assert_eq!(status, 200, "{path}");
        // The last one is the error text of this store.
        for secret in ["hunter2", "redis.internal", "switched off"] {
            assert!(!body.contains(secret), "{path} has {secret}: {body}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_says_once_each_way_that_redis_is_away_and_a_password_is_nowhere() {
    const PASSWORD: &str = "hunter2-of-the-store";
    let user = [
        "--user",
        "tillgate",
        "on",
        &format!(">{PASSWORD}"),
        "~*",
        "&*",
        "+@all",
    ];
    let options = [
        "--save",
        "",
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ];
    let mut redis = Server::with(&[options.as_slice(), &user].concat());
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let operator = folder.path().join("operator.json");
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--operator-file"])
        .arg(&operator)
        .env(
            "TILLGATE_STORE",
            format!("redis://tillgate:{PASSWORD}@127.0.0.1:{}", redis.port),
        )
        .env("TILLGATE_LOG__FORMAT", "json")
        .stderr(std::fs::File::create(&log).unwrap());
    let program = Program::spawn(&mut command, "");
    let (http, mut answers) = (client(), Vec::new());
    let get = async |path: &str| {
        let request = http.get(format!("{}{path}", program.url));
        request.send().await.unwrap().text().await.unwrap()
    };
    let mut until = async |expected: &str| {
        answered(expected, async || {
            let text = get("/readyz").await;
            answers.push(text.clone());
            let body: Value = serde_json::from_str(&text).unwrap();
            if body["status"] == expected {
                Ok(())
            } else {
                Err(text)
            }
        })
        .await;
    };
    until("ready").await;
    redis.kill();
    until("degraded").await;
    redis.restart();
    until("ready").await;
    answers.push(get("/metrics").await);
    let log = std::fs::read_to_string(&log).unwrap();
    let said = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!(
        said("the store is unavailable: writes are refused"),
        1,
        "{log}"
    );
    assert_eq!(said("the store is back"), 1, "{log}");
    answers.push(log);
    for text in answers {
        assert!(!text.contains(PASSWORD), "{text}");
    }
}
