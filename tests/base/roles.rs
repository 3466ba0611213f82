//! Hosts that share the work: what a host with some of the roles serves and does, and what it leaves to others.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::{Config, Role, Roles};
use tillgate_store::clock::SystemClock;
use tillgate_store::{CommitId, MemoryStore, RedisStore, RedisUrl};

use crate::support::exposition::Scrape;
use crate::support::host::{Host, HostStore, Program, client, read};
use crate::support::receiver::Receiver;
use crate::support::redis::shared;
use crate::support::wait::{answered, until};
use crate::webhooks::shop::{TYPE, local, settings};

const EVALUATIONS: &str = "/api/v1/evaluations";

fn roles(names: &str) -> Roles {
    serde_json::from_value(json!(names)).unwrap()
}

/// Starts a host with these roles, whose webhooks may be on this machine.
async fn host(store: impl Into<HostStore>, names: &str) -> Host {
    let configure = |config: &mut Config| {
        local(config);
        config.roles = roles(names);
        "https://tillgate.example/".clone_into(&mut config.issuer);
    };
    Host::start_configured(store, Arc::new(SystemClock), configure).await
}

/// Each role with the method and path of a route that only it has.
const ROUTES: &[(Role, Method, &str)] = &[
    (Role::Token, Method::POST, "/oauth2/token"),
    (Role::Token, Method::GET, "/.well-known/jwks.json"),
    (Role::Token, Method::GET, "/api/v1/caller"),
    (Role::Token, Method::GET, "/v1/tenants/acme/usage"),
    (Role::Conditions, Method::POST, EVALUATIONS),
    (Role::Conditions, Method::GET, "/api/v1/catalog"),
    (Role::Rates, Method::GET, "/api/v1/business-units"),
    (Role::Webhooks, Method::GET, "/api/v1/webhooks"),
    (Role::Webhooks, Method::GET, "/oauth2/v1/certs"),
    (Role::Workers, Method::GET, "/v1/jobs/dead-letters"),
    (
        Role::Workers,
        Method::POST,
        "/v1/jobs/dead-letters/dGVuYW50/retry",
    ),
    (
        Role::Workers,
        Method::DELETE,
        "/v1/jobs/dead-letters/dGVuYW50",
    ),
    (Role::Page, Method::GET, "/"),
];

async fn status(host: &Host, method: &Method, path: &str) -> u16 {
    let request = host
        .http
        .request(method.clone(), format!("{}{path}", host.url));
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_host_serves_the_paths_of_its_roles_and_those_of_operators() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    for role in Role::ALL {
        let host = host(store.clone(), role.as_str()).await;
        for (of, method, path) in ROUTES {
            let status = status(&host, method, path).await;
            assert_eq!(
                status == 404,
                *of != role,
                "{path} of {of:?} on {role:?}: {status}"
            );
        }
        for path in ["/healthz", "/metrics"] {
            assert_eq!(status(&host, &Method::GET, path).await, 200, "{path}");
        }
        let (code, ready) = host.get("/readyz", "").await;
        assert_eq!((code, &ready["roles"]), (200, &json!([role.as_str()])));
        let metrics = host
            .http
            .get(format!("{}/metrics", host.url))
            .send()
            .await
            .unwrap();
        let metrics = Scrape::read(&metrics.text().await.unwrap());
        for other in Role::ALL {
            let has = metrics.sum("tillgate_role", &[("role", other.as_str())]);
            assert_eq!(has, if other == role { 1.0 } else { 0.0 });
        }
    }
}

fn on_redis() -> impl Fn() -> Arc<RedisStore> {
    let url = format!("{}?prefix={:032x}", shared().url(), CommitId::random().0);
    let url = RedisUrl::parse(&url).unwrap().unwrap();
    move || Arc::new(RedisStore::connect(&url, Arc::new(SystemClock)).unwrap())
}

/// Returns the number of successful deliveries of a host.
async fn delivered(host: &Host) -> f64 {
    let text = host
        .http
        .get(format!("{}/metrics", host.url))
        .send()
        .await
        .unwrap();
    let scrape = Scrape::read(&text.text().await.unwrap());
    scrape.sum("tillgate_deliveries_total", &[("outcome", "delivered")])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_host_takes_requests_and_another_delivers_and_fans_out() {
    let store = on_redis();
    let front = host(store(), "token,conditions,rates,webhooks,page").await;
    let worker = host(store(), "workers").await;
    let roles = ["ecs.evaluator", "exe.editor", "exe.publisher", "exr.editor"];
    let token = front.token("acme", &roles).await;

    let receiver = Receiver::start().await;
    let webhook = settings(&receiver.url, json!({}));
    let made = front
        .send(Method::POST, "/api/v1/webhooks", &token, &webhook)
        .await;
    assert_eq!(made.0, 201, "{}", made.1);
    let event = json!({ "id": "order-1", "type": TYPE, "data": 1 });
    let sent = front
        .send(Method::POST, "/api/v1/events", &token, &event)
        .await;
    assert_eq!(
        (sent.0, &sent.1["deliveries"]),
        (202, &json!(1)),
        "{}",
        sent.1
    );
    until("the event is delivered", async || {
        let (_, page) = front
            .get("/api/v1/deliveries?status=DELIVERED", &token)
            .await;
        page["items"]
            .as_array()
            .is_some_and(|items| items.len() == 1)
    })
    .await;
    assert_eq!(receiver.received()[0].id(), "order-1");
    let counts = answered("the worker counts the delivery", async || {
        match (delivered(&front).await, delivered(&worker).await) {
            (by_front, by_worker) if by_worker > 0.0 => Ok((by_front, by_worker)),
            counts => Err(format!("{counts:?}")),
        }
    });
    assert_eq!(counts.await, (0.0, 1.0));

    // A company's change reaches its shop; the worker runs those jobs too.
    let put = async |path: &str, body: Value| {
        let answer = front.request(
            Method::PUT,
            &format!("/api/v1/business-units/{path}"),
            &token,
        );
        let answer = answer.json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.headers()["correlation-id"]
            .to_str()
            .unwrap()
            .to_owned()
    };
    put("company", json!({ "type": "COMPANY" })).await;
    put("shop", json!({ "type": "STORE", "parentId": "company" })).await;
    let change = put(
        "company/exchange-rates/SALES/SEK/EUR",
        json!({ "rateValue": 11.5 }),
    )
    .await;
    answered("the change has reached the shop", async || {
        let path = format!("/api/v1/exchange-rates/changes/{change}");
        match front.get(&path, &token).await.1 {
            progress if progress["state"] == "DONE" => Ok(()),
            progress => Err(progress),
        }
    })
    .await;

    let basket = json!({ "items": [{ "id": "1" }], "context": {} });
    assert_eq!(
        front
            .send(Method::POST, EVALUATIONS, &token, &basket)
            .await
            .0,
        200
    );
    assert_eq!(
        worker
            .send(Method::POST, EVALUATIONS, &token, &basket)
            .await
            .0,
        404
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_are_checked_on_every_host_whoever_gives_out_tokens() {
    let store = on_redis();
    let tokens = host(store(), "token,workers").await;
    let decisions = host(store(), "conditions").await;
    let client = tokens.client("acme", &["ecs.evaluator"]).await;
    let (id, secret) = (&client.client_id, client.client_secret.reveal());
    let token = crate::support::host::token(&tokens.http, &tokens.url, id, secret).await;
    let basket = json!({ "items": [{ "id": "1" }], "context": {} });
    let decide = async || {
        decisions
            .send(Method::POST, EVALUATIONS, &token, &basket)
            .await
            .0
    };
    until("the client is known to the other host", async || {
        decide().await == 200
    })
    .await;
    assert_eq!(
        decisions
            .send(Method::POST, EVALUATIONS, "x", &basket)
            .await
            .0,
        401
    );
    let operator = tokens.token("platform", &["platform.operator"]).await;
    let revoke = format!("/v1/tenants/acme/clients/{id}/revoke");
    let revoked = tokens
        .request(Method::PUT, &revoke, &operator)
        .send()
        .await
        .unwrap();
    assert_eq!(revoked.status(), 200);
    until("the client is refused by the other host", async || {
        decide().await == 401
    })
    .await;
}

#[tokio::test]
async fn jobs_wait_for_a_host_that_does_them() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let receiver = Receiver::start().await;
    let front = host(store.clone(), "token,webhooks").await;
    let token = front.token("acme", &["exe.editor", "exe.publisher"]).await;
    let webhook = settings(&receiver.url, json!({}));
    assert_eq!(
        front
            .send(Method::POST, "/api/v1/webhooks", &token, &webhook)
            .await
            .0,
        201
    );
    let event = json!({ "type": TYPE, "data": 1 });
    assert_eq!(
        front
            .send(Method::POST, "/api/v1/events", &token, &event)
            .await
            .0,
        202
    );
    front.run_due().await;
    assert_eq!(receiver.connections(), 0);
    let (_, page) = front.get("/api/v1/deliveries", &token).await;
    assert_eq!(page["items"][0]["status"], "PENDING", "{page}");
    let worker = host(store, "workers").await;
    worker.run_due().await;
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn on_a_store_of_one_host_what_nobody_does_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut command = Program::command();
    command
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--roles",
            "conditions,token,page",
            "--store",
        ])
        .arg(format!(
            "embedded:{}",
            folder.path().join("store").display()
        ))
        .env("TILLGATE_LOG__FORMAT", "json")
        .stderr(std::fs::File::create(&log).unwrap());
    let program = Program::spawn(&mut command, "");
    let ready = client()
        .get(format!("{}/readyz", program.url))
        .send()
        .await
        .unwrap();
    let (_, ready) = read(ready).await;
    assert_eq!(ready["roles"], json!(["token", "conditions", "page"]));
    let log = std::fs::read_to_string(log).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let begun = &lines[0]["fields"];
    let store = folder.path().join("store");
    let said = json!({
        "message": "starting",
        "version": env!("CARGO_PKG_VERSION"),
        "store": format!("embedded:{}", store.display()),
        "roles": "token, conditions, page",
        "address": program.url.strip_prefix("http://").unwrap(),
    });
    assert_eq!(*begun, said);
    let warned: Vec<_> = lines
        .iter()
        .filter(|line| line["level"] == "WARN")
        .collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert_eq!(warned[0]["fields"]["roles"], "rates, webhooks, workers");
}
