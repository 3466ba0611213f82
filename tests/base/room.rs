//! Room: memory for what a request reads and answers is reserved before it is read, and no work is begun that nobody
//! waits for.

use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::identity::TenantId;
use tillgate_base::load::{Context, Requester};
use tillgate_http::Describes;
use tillgate_store::Store;
use tillgate_store::clock::SystemClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use crate::support::exposition::Scrape;
use crate::support::host::{Host, read};
use crate::support::switched::Switched;
use crate::support::wait::within;

const PROJECT: &str = "/api/v1/projects/00000000-0000-4000-8000-000000000001";
const TEMPLATES: &str = "/v1/tenants/acme/templates";
const SHOP: &str = "/api/v1/business-units/shop";
const RATE: &str = "/api/v1/business-units/company/exchange-rates/SALES/SEK/EUR";

/// The routes without an id at the end of the path that reserve nothing, with the reasons.
const RESERVE_NOTHING: &[(&str, &[&str])] = &[
    (
        "all who ask share what is in memory",
        &[
            "/.well-known/jwks.json",
            "/.well-known/oauth-authorization-server",
            "/api/v1/business-units/{businessUnitId}/exchange-rates",
            "/api/v1/catalog",
            "/api/v1/entity-conditions",
            "/api/v1/exchange-rates",
            "/api/v1/projects",
            "/asyncapi.json",
            "/oauth2/v1/certs",
            "/openapi.json",
        ],
    ),
    (
        "made of what is in memory, while nothing is waited for",
        &[
            "/api/v1/caller",
            "/api/v1/entity-conditions/{conditionId}/findings",
            "/api/v1/projects/{projectId}/findings",
            "/api/v1/webhooks",
            "/healthz",
            "/metrics",
            "/readyz",
            "/v1/keys",
            "/v1/roles",
            "/v1/webhook-keys",
        ],
    ),
    (
        "a few small records",
        &[
            "/api/v1/decisions/tills",
            "/api/v1/event-consumers",
            "/api/v1/exchange-rates/history",
            "/api/v1/webhooks/health",
            "/v1/jobs/dead-letters",
            "/v1/tenants",
            "/v1/tenants/{tenantId}/decision-log",
            "/v1/tenants/{tenantId}/usage",
        ],
    ),
    (
        "1 MiB of events for each of a hundred consumers",
        &["/api/v1/events"],
    ),
    (
        "streams, of which each has bounds of its own",
        &[
            "/api/v1/catalog/changes",
            "/api/v1/topics/cer.public.event.rates-changed.v1",
        ],
    ),
];

#[tokio::test]
async fn every_route_that_reads_much_says_how_much() {
    let host = Host::start().await;
    let mut silent = Vec::new();
    for route in host.features.routes(&host.app) {
        let is_list = route.method == Method::GET && !route.path.ends_with('}');
        let is_documented = matches!(route.to_described().describes, Describes::With(_));
        if is_list && is_documented && route.room == 0 {
            silent.push(route.path);
        }
    }
    silent.sort_unstable();
    let mut excused: Vec<_> = RESERVE_NOTHING
        .iter()
        .flat_map(|(_, it)| *it)
        .copied()
        .collect();
    excused.sort_unstable();
    assert_eq!(silent, excused);
}

/// Starts a host whose tenants have room for one large request each.
async fn small_host() -> (Host, Arc<Switched>) {
    let clock = Arc::new(SystemClock);
    let store = Switched::new(clock.clone());
    let configure = |config: &mut tillgate_base::config::Config| {
        config.limits.answer_bytes = "100 KiB".parse().unwrap();
    };
    let opened: Arc<dyn Store> = store.clone();
    let host = Host::start_configured(opened, clock, configure).await;
    (host, store)
}

async fn put(host: &Host, token: &str, path: &str, body: &Value) {
    let (status, answer) = host.send(Method::PUT, path, token, body).await;
    assert!(matches!(status, 200 | 201), "{path}: {answer}");
}

#[tokio::test]
async fn large_reads_take_turns() {
    let (host, store) = small_host().await;
    let roles = ["ecs.editor", "exr.editor", "exe.viewer", "iam.admin"];
    let token = host.token("acme", &roles).await;
    for value in ["foam", "paint", "wood"] {
        let restriction =
            json!({ "type": "BLACKLIST", "propertyName": "category", "deniedValues": [value] });
        put(
            &host,
            &token,
            PROJECT,
            &json!({ "restrictions": [restriction] }),
        )
        .await;
    }
    let company = "/api/v1/business-units/company";
    put(&host, &token, company, &json!({ "type": "COMPANY" })).await;
    let shop = json!({ "type": "STORE", "parentId": "company" });
    put(&host, &token, SHOP, &shop).await;
    put(&host, &token, RATE, &json!({ "rateValue": 11 })).await;
    // Shops follow the company's rates in the background.
    host.run_due().await;

    let history = format!("{PROJECT}/history");
    let dry_run = format!("{RATE}?dryRun=true");
    let asked: [(Method, &str, Value, &str); 8] = [
        (Method::GET, &history, Value::Null, "history-version/"),
        (Method::GET, TEMPLATES, Value::Null, "template/"),
        (Method::GET, "/v1/tenants/acme/clients", Value::Null, "of/"),
        (
            Method::GET,
            "/v1/tenants/acme/software-statements",
            Value::Null,
            "statement/",
        ),
        (Method::GET, "/api/v1/business-units", Value::Null, "unit/"),
        (
            Method::GET,
            "/api/v1/deliveries",
            Value::Null,
            "webhook-delivery/",
        ),
        (Method::PUT, &dry_run, json!({ "rateValue": 12 }), "unit/"),
        (Method::PUT, SHOP, shop.clone(), "unit/"),
    ];
    for (method, path, body, at) in asked {
        store.meeting.begin(Some(at));
        let ask = async || {
            let request = host.request(method.clone(), path, &token);
            let request = match method {
                Method::PUT => request.json(&body),
                _ => request,
            };
            read(request.send().await.unwrap()).await
        };
        let answers = tokio::join!(ask(), ask(), ask());
        for (status, answer) in [answers.0, answers.1, answers.2] {
            assert_eq!(status, 200, "{path}: {answer}");
        }
        assert_eq!(store.meeting.most(), 1, "{path}");
        store.meeting.begin(None);
    }
}

/// Takes all permits of a tenant, except those for decisions, until the returned value is dropped.
async fn keep_permits(host: &Host, tenant: &str) -> Vec<Sender<()>> {
    let permits = std::thread::available_parallelism().unwrap().get();
    let (begun, mut has_begun) = unbounded_channel();
    let keep = |number: usize| {
        let (begun, (end, ended)) = (begun.clone(), channel::<()>());
        let context = Context {
            requester: Requester::Tenant(TenantId::new(tenant).unwrap()),
            client: Some(format!("client-{number}").into()),
            connection: None,
        };
        let workers = Arc::clone(&host.app.workers);
        let work = move || {
            let _ = begun.send(());
            ended.recv()
        };
        tokio::spawn(context.run(async move { workers.run(work).await }));
        end
    };
    let kept = (0..permits).map(keep).collect();
    // A tenant has half of them.
    for _ in 0..permits.div_ceil(2) {
        within("a permit", has_begun.recv()).await.unwrap();
    }
    kept
}

/// Sends a request and closes the sending half of the connection at once; returns the answer.
async fn ask_and_go(host: &Host, token: &str, asked: &str, body: &str) -> String {
    let length = body.len();
    let request = format!(
        "{asked} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    let address = host.url.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(request.as_bytes()).await.unwrap();
    connection.shutdown().await.unwrap();
    let mut answer = String::new();
    let read = connection.read_to_string(&mut answer);
    within("the end of what was asked", read).await.unwrap();
    answer
}

#[tokio::test]
async fn a_long_dry_run_ends_when_its_caller_has_gone() {
    let clock = Arc::new(SystemClock);
    let store = Switched::new(clock.clone());
    let opened: Arc<dyn Store> = store.clone();
    let host = Host::start_configured(opened, clock, |_| ()).await;
    let token = host.token("acme", &["exr.editor"]).await;
    let company = json!({ "type": "COMPANY" });
    put(&host, &token, "/api/v1/business-units/company", &company).await;
    put(&host, &token, RATE, &json!({ "rateValue": 11 })).await;
    for number in 0..24 {
        let path = format!("/api/v1/business-units/shop-{number}");
        let shop = json!({ "type": "STORE", "parentId": "company" });
        put(&host, &token, &path, &shop).await;
        let own = format!("{path}/exchange-rates/SALES/DKK/EUR");
        put(&host, &token, &own, &json!({ "rateValue": 7 })).await;
    }
    host.run_due().await;
    // Here each shop takes a fifth of a second.
    store.meeting.begin(Some("unit-rates/shop-"));
    let dry_run = format!("PUT {RATE}?dryRun=true");
    let answer = ask_and_go(&host, &token, &dry_run, r#"{"rateValue":12}"#).await;
    assert!(answer.starts_with("HTTP/1.1 499"), "{answer}");
}

#[tokio::test]
async fn large_events_and_many_filters_wait_for_a_permit_and_keep_no_thread() {
    let host = Host::start().await;
    let token = host.token("acme", &["exe.editor", "exe.publisher"]).await;
    let publish = |data: Value| {
        let event = json!({ "type": "x.orders.v1", "data": data });
        let request = host.request(Method::POST, "/api/v1/events", &token);
        async move { read(request.json(&event).send().await.unwrap()).await }
    };
    // A request waits for a permit if it gets no answer while all permits are taken.
    let waits_for_a_permit = async |data: Value| {
        let kept = keep_permits(&host, "acme").await;
        let mut published = pin!(publish(data));
        if let Ok(answer) = timeout(Duration::from_secs(1), &mut published).await {
            panic!("answered without a permit: {answer:?}");
        }
        drop(kept);
        let (status, answer) = within("an event", published).await;
        assert_eq!(status, 202, "{answer}");
    };
    let large = json!({ "text": "x".repeat(20_000) });
    waits_for_a_permit(large).await;

    let kept = keep_permits(&host, "acme").await;
    let (status, answer) = within("a small event", publish(json!({}))).await;
    assert_eq!(status, 202, "{answer}");
    drop(kept);
    let filter = json!([{ "path": "$.data.shop", "in": ["SE-001"] }]);
    for number in 0..65 {
        let webhook = json!({
            "name": format!("ERP {number}"), "callbackUrl": "https://erp.example/hook", "eventTypes": ["x.orders.v1"],
            "authentication": { "type": "BEARER" }, "filter": filter,
        });
        let (status, created) = host
            .send(Method::POST, "/api/v1/webhooks", &token, &webhook)
            .await;
        assert_eq!(status, 201, "{created}");
    }
    waits_for_a_permit(json!({ "shop": "SE-002" })).await;
}

#[tokio::test]
async fn what_waits_for_its_turn_ends_with_its_connection_and_keeps_no_decision_waiting() {
    let host = Host::start().await;
    let token = host.token("acme", &["ecs.editor", "ecs.evaluator"]).await;
    let values: Vec<String> = (0..4_000).map(|number| format!("value-{number}")).collect();
    let restriction =
        json!({ "type": "BLACKLIST", "propertyName": "category", "deniedValues": values });
    let restrictions = json!({ "restrictions": [restriction] });
    put(&host, &token, PROJECT, &restrictions).await;
    let kept = keep_permits(&host, "acme").await;

    let path = format!("{PROJECT}/findings");
    for _ in 0..3 {
        let answer = ask_and_go(&host, &token, &format!("GET {path}"), "").await;
        assert!(answer.starts_with("HTTP/1.1 499"), "{answer}");
    }
    let large = json!({ "item": { "id": "1", "additionalProperties": { "x": "y".repeat(20_000) } }, "projectId": "00000000-0000-4000-8000-000000000001" });
    let deciding = host.send(
        Method::POST,
        "/api/v1/project-restrictions/evaluate",
        &token,
        &large,
    );
    let (status, decided) = within("a decision", deciding).await;
    assert_eq!(status, 200, "{decided}");
    drop(kept);
    let (status, found) = host.get(&path, &token).await;
    assert_eq!(status, 200, "{found}");
    let metrics = host.request(Method::GET, "/metrics", &token).send().await;
    let metrics = Scrape::read(&metrics.unwrap().text().await.unwrap());
    let route = "/api/v1/projects/{projectId}/findings";
    let labels = [("route", route), ("status", "499")];
    assert_eq!(metrics.sum("tillgate_http_requests_total", &labels), 3.0);
}
