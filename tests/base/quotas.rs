//! Quotas: the limits of one tenant, the 409 that names the exceeded limit, and the usage report.

use std::sync::Arc;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_base::data::records::Change;
use tillgate_base::identity::TenantId;
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use crate::support::host::Host;
use crate::support::wait::until;

const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator", "iam.admin"];
const USAGE: &str = "/v1/tenants/acme/usage";

async fn host(configure: impl FnOnce(&mut Config)) -> Host {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    Host::start_configured(store, clock, configure).await
}

fn condition(age: u8) -> Value {
    json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": age } })
}

fn project(value: &str) -> Value {
    json!({ "restrictions": [{ "type": "WHITELISTEDITEMS", "itemIds": [value] }] })
}

fn condition_at(number: usize) -> String {
    format!("/api/v1/entity-conditions/c{number}")
}

fn project_at(number: usize) -> String {
    format!("/api/v1/projects/00000000-0000-4000-8000-{number:012}")
}

#[tokio::test]
async fn a_tenant_has_so_many_conditions_and_projects_and_no_more() {
    let host = host(|config| (config.quotas.conditions, config.quotas.projects) = (2, 1)).await;
    let token = host.token("acme", ROLES).await;
    let put = async |path: &str, body: &Value| host.send(Method::PUT, path, &token, body).await;
    for number in 0..2 {
        assert_eq!(put(&condition_at(number), &condition(18)).await.0, 201);
    }
    let (status, body) = put(&condition_at(2), &condition(18)).await;
    assert_eq!(status, 409);
    assert_eq!(body["detail"], "a tenant may have at most 2 conditions");
    assert_eq!(
        put(&condition_at(1), &condition(16)).await.0,
        200,
        "it is replaced"
    );
    assert_eq!(put(&project_at(0), &project("a")).await.0, 201);
    let (status, body) = put(&project_at(1), &project("a")).await;
    assert_eq!(
        (status, &body["detail"]),
        (409, &json!("a tenant may have at most 1 projects"))
    );
    let request = host.request(Method::DELETE, &condition_at(0), &token);
    assert_eq!(request.send().await.unwrap().status(), 204);
    assert_eq!(
        put(&condition_at(2), &condition(18)).await.0,
        201,
        "one is gone"
    );
    // Another tenant has separate quotas, and the platform has none.
    let other = host.token("other", ROLES).await;
    let (status, _) = host
        .send(Method::PUT, &condition_at(0), &other, &condition(18))
        .await;
    assert_eq!(status, 201);
}

/// Starts two hosts on one store with the same issuer; returns them with a token.
async fn two_hosts(configure: impl Fn(&mut Config)) -> ([Host; 2], String) {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let open = async || {
        let configure = |config: &mut Config| {
            config.issuer = "https://tillgate.example/".to_owned();
            configure(config);
        };
        Host::start_configured(store.clone(), clock.clone(), configure).await
    };
    let hosts = [open().await, open().await];
    let token = hosts[0].token("acme", ROLES).await;
    (hosts, token)
}

/// Sends one request for each path at once, alternating between the two hosts; returns the statuses and details.
async fn at_once(
    hosts: &[Host; 2],
    token: &str,
    requests: impl IntoIterator<Item = (Method, String, Value)>,
) -> Vec<(u16, Value)> {
    let sent = hosts.iter().cycle().zip(requests);
    let sent = sent.map(async |(host, (method, path, body))| {
        let (status, answer) = host.send(method, &path, token, &body).await;
        (status, answer["detail"].clone())
    });
    join_all(sent).await
}

fn count(answers: &[(u16, Value)], expected: &(u16, Value)) -> usize {
    answers.iter().filter(|answer| *answer == expected).count()
}

#[tokio::test]
async fn of_a_hundred_who_create_at_once_as_many_do_as_the_quota_allows() {
    let quotas = |config: &mut Config| {
        (config.quotas.conditions, config.quotas.projects) = (20, 10);
    };
    let (hosts, token) = two_hosts(quotas).await;
    let put = |path: fn(usize) -> String, body: Value, numbers: std::ops::Range<usize>| {
        numbers.map(move |number| (Method::PUT, path(number), body.clone()))
    };
    let answers = at_once(&hosts, &token, put(condition_at, condition(18), 0..100)).await;
    let full = (409, json!("a tenant may have at most 20 conditions"));
    let created = (201, Value::Null);
    assert_eq!(
        (count(&answers, &created), count(&answers, &full)),
        (20, 80)
    );
    let answers = at_once(&hosts, &token, put(project_at, project("a"), 0..100)).await;
    let full = (409, json!("a tenant may have at most 10 projects"));
    assert_eq!(
        (count(&answers, &created), count(&answers, &full)),
        (10, 90)
    );

    // Concurrent deletions make room for the same number.
    let (_, conditions) = hosts[1].get("/api/v1/entity-conditions", &token).await;
    let conditions = conditions.as_array().unwrap().clone();
    assert_eq!(conditions.len(), 20);
    let first = conditions.iter().take(15).map(|condition| {
        let path = format!(
            "/api/v1/entity-conditions/{}",
            condition["id"].as_str().unwrap()
        );
        (Method::DELETE, path, Value::Null)
    });
    let answers = at_once(&hosts, &token, first).await;
    assert_eq!(count(&answers, &(204, Value::Null)), 15);
    let answers = at_once(&hosts, &token, put(condition_at, condition(18), 100..150)).await;
    assert_eq!(count(&answers, &created), 15);
    for host in &hosts {
        let (_, usage) = host.get(USAGE, &token).await;
        assert_eq!(usage["conditions"], json!({ "used": 20, "quota": 20 }));
        assert_eq!(usage["projects"], json!({ "used": 10, "quota": 10 }));
    }
}

#[tokio::test]
async fn concurrent_writes_cannot_exceed_the_byte_quota() {
    let quotas = |config: &mut Config| config.quotas.configuration = "4 KiB".parse().unwrap();
    let (hosts, token) = two_hosts(quotas).await;
    let put = |value: &str| {
        let body = project(value);
        (0..40).map(move |number| (Method::PUT, project_at(number), body.clone()))
    };
    let full = "a tenant may have at most 4096 bytes of conditions and projects";
    let used = async || {
        let (_, usage) = hosts[1].get(USAGE, &token).await;
        let bytes = usage["configurationBytes"]["used"].as_u64().unwrap();
        let (_, projects) = hosts[0].get("/api/v1/projects", &token).await;
        let projects = projects.as_array().unwrap().clone();
        let stored: usize = projects.iter().map(|it| it.to_string().len()).sum();
        assert_eq!(
            bytes,
            u64::try_from(stored).unwrap(),
            "it is what is stored"
        );
        assert!(bytes <= 4 << 10, "{bytes}");
        bytes
    };
    let answers = at_once(&hosts, &token, put("a")).await;
    let created = count(&answers, &(201, Value::Null));
    assert_eq!(created + count(&answers, &(409, json!(full))), 40);
    let small = used().await;
    // Existing documents are replaced by longer ones as far as there is room.
    let answers = at_once(&hosts, &token, put(&"a".repeat(200))).await;
    assert_eq!(count(&answers, &(201, Value::Null)), 0);
    assert!(
        answers
            .iter()
            .all(|(status, _)| matches!(status, 200 | 409))
    );
    assert!(used().await >= small);
    let answers = at_once(&hosts, &token, put("b")).await;
    assert_eq!(
        count(&answers, &(200, Value::Null)),
        created,
        "they become smaller"
    );
    used().await;
}

/// Starts a host of a company with a shop.
async fn company(store: Arc<MemoryStore>, rate_passes: usize) -> (Host, String) {
    let configure = |config: &mut Config| config.quotas.rate_passes = rate_passes;
    let host = Host::start_configured(store, Arc::new(SystemClock), configure).await;
    let roles = ["exr.editor", "exr.subscriber", "iam.admin"];
    let token = host.token("acme", &roles).await;
    let units = [
        ("C", json!({ "type": "COMPANY" })),
        ("S", json!({ "type": "STORE", "parentId": "C" })),
    ];
    for (id, unit) in units {
        let path = format!("/api/v1/business-units/{id}");
        assert_eq!(host.send(Method::PUT, &path, &token, &unit).await.0, 201);
    }
    (host, token)
}

async fn set_rate(host: &Host, token: &str, to: &str) -> (u16, Value) {
    let path = format!("/api/v1/business-units/C/exchange-rates/SALES/SEK/{to}");
    let rate = json!({ "rateValue": 10 });
    host.send(Method::PUT, &path, token, &rate).await
}

#[tokio::test]
async fn changes_above_shops_wait_for_those_before_them_and_only_then_are_refused() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let (host, token) = company(store.clone(), 2).await;
    host.run_due().await;
    host.app.runner.stop().await;
    for to in ["EUR", "NOK"] {
        assert_eq!(set_rate(&host, &token, to).await.0, 201);
    }
    let passes = async || {
        let (_, usage) = host.get(USAGE, &token).await;
        usage["ratePasses"].clone()
    };
    assert_eq!(passes().await, json!({ "used": 2, "quota": 2 }));
    let all = json!({ "tenantId": "acme" });
    let send_all = host.send(Method::POST, "/api/v1/initial-state", &token, &all);
    let ((status, refused), (sent, _)) = tokio::join!(set_rate(&host, &token, "USD"), send_all);
    assert_eq!((status, sent), (429, 429));
    let detail = "a tenant may have at most 2 changes and initial states with shops left to visit";
    assert_eq!(refused["detail"], detail);
    // A change at a shop has no other shops to visit.
    let path = "/api/v1/business-units/S/exchange-rates/SALES/SEK/EUR";
    let rate = json!({ "rateValue": 11 });
    assert_eq!(host.send(Method::PUT, path, &token, &rate).await.0, 201);

    // Another host visits the shops.
    let another = Host::start_on(store, Arc::new(SystemClock));
    let ((status, _), another) = tokio::join!(set_rate(&host, &token, "USD"), another);
    assert_eq!(status, 201, "it has waited for its place");
    another.run_due().await;
    assert_eq!(passes().await, json!({ "used": 0, "quota": 2 }));
}

#[tokio::test]
async fn a_client_that_sets_one_rate_after_another_is_never_refused() {
    let store = Arc::new(MemoryStore::new(Arc::new(SystemClock)));
    let (host, token) = company(store, 16).await;
    for round in 0..6 {
        for to in [
            "EUR", "NOK", "DKK", "USD", "GBP", "CHF", "PLN", "CZK", "HUF", "JPY",
        ] {
            let (status, answer) = set_rate(&host, &token, to).await;
            assert!(matches!(status, 200 | 201), "{round} {to} {answer}");
        }
    }
}

#[tokio::test]
async fn what_was_stored_before_it_was_counted_is_counted_too() {
    let host = host(|config| config.quotas.conditions = 3).await;
    let token = host.token("acme", ROLES).await;
    let put = async |number| {
        let path = condition_at(number);
        host.send(Method::PUT, &path, &token, &condition(18))
            .await
            .0
    };
    for number in 0..2 {
        assert_eq!(put(number).await, 201);
    }
    let records = host.app.records(TenantId::new("acme").unwrap().partition());
    let mut change = Change::default();
    change.delete("usage/configuration");
    records.commit(change).await.unwrap();
    let used = async || host.get(USAGE, &token).await.1["conditions"]["used"].clone();
    assert_eq!(used().await, 2);
    assert_eq!((put(2).await, put(3).await), (201, 409));
    assert_eq!(used().await, 3);
}

/// A missing count is rebuilt from the stored data. If an empty count were missing too, two hosts could rebuild it at
/// the same moment and be wrong; `tests/hostile/fuzz/race.mjs` has seen this.
#[tokio::test]
async fn a_count_of_zero_is_stored() {
    let host = host(|_| ()).await;
    let token = host.token("acme", &[ROLES, &["exe.editor"]].concat()).await;
    let webhook = json!({
        "name": "ERP", "callbackUrl": "https://receiver.example/hook", "eventTypes": ["x.orders.v1"],
        "authentication": { "type": "BEARER" },
    });
    let path = condition_at(0);
    let made = host.send(Method::PUT, &path, &token, &condition(18)).await;
    assert_eq!(made.0, 201);
    let (status, made) = host
        .send(Method::POST, "/api/v1/webhooks", &token, &webhook)
        .await;
    assert_eq!(status, 201);
    let webhook = format!("/api/v1/webhooks/{}", made["id"].as_str().unwrap());
    for path in [&path, &webhook] {
        let deleted = host.send(Method::DELETE, path, &token, &Value::Null).await;
        assert_eq!(deleted.0, 204, "{path}");
    }
    let usage = host.get(USAGE, &token).await.1;
    assert_eq!(usage["conditions"]["used"], 0);
    assert_eq!(usage["configurationBytes"]["used"], 0);
    assert_eq!(usage["webhooks"]["used"], 0);
    let records = host.app.records(TenantId::new("acme").unwrap().partition());
    for key in ["usage/configuration", "usage/webhooks"] {
        assert!(records.get_bytes(key).await.unwrap().is_some(), "{key}");
    }
    host.run_due().await;
}

#[tokio::test]
async fn a_tenant_has_so_many_bytes_of_configuration_and_no_more() {
    let host = host(|config| config.quotas.configuration = "1 KiB".parse().unwrap()).await;
    let token = host.token("acme", ROLES).await;
    let put = async |number, value: &str| {
        let path = project_at(number);
        host.send(Method::PUT, &path, &token, &project(value)).await
    };
    assert_eq!(put(0, &"a".repeat(250)).await.0, 201);
    assert_eq!(put(1, &"a".repeat(250)).await.0, 201);
    let (status, body) = put(2, &"a".repeat(250)).await;
    assert_eq!(status, 409);
    let detail = "a tenant may have at most 1024 bytes of conditions and projects";
    assert_eq!(body["detail"], detail);
    assert_eq!(put(1, "a").await.0, 200, "it becomes smaller");
    assert_eq!(put(2, &"a".repeat(250)).await.0, 201, "there is room again");
}

#[tokio::test]
async fn a_tenant_has_so_many_templates_clients_and_streams_and_no_more() {
    let host = host(|config| {
        let quotas = &mut config.quotas;
        (quotas.templates, quotas.clients, quotas.streams) = (1, 2, 1);
    })
    .await;
    let token = host.token("acme", ROLES).await;
    let template = |version: &str| {
        json!({
            "softwareId": "till", "softwareVersion": version, "name": "A till",
            "claimsSchema": { "type": "object" }, "roles": [],
        })
    };
    let templates = "/v1/tenants/acme/templates";
    let post = async |version| {
        host.send(Method::POST, templates, &token, &template(version))
            .await
    };
    let (status, body) = post("1").await;
    assert_eq!(status, 201, "{body}");
    let (status, body) = post("2").await;
    assert_eq!(
        (status, &body["detail"]),
        (409, &json!("a tenant may have at most 1 templates"))
    );
    let register = async |number: u64| {
        let body = json!({
            "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false,
            "tenantId": "acme", "claims": { "number": number },
        });
        host.send(Method::POST, "/v1/registration", "", &body).await
    };
    // The client of the token counts too.
    let (status, body) = register(1).await;
    assert_eq!(status, 201, "{body}");
    let (status, body) = register(2).await;
    assert_eq!(
        (status, &body["detail"]),
        (409, &json!("a tenant may have at most 2 clients"))
    );
    let changes = "/api/v1/catalog/changes";
    let listen = async || {
        host.request(Method::GET, changes, &token)
            .send()
            .await
            .unwrap()
    };
    let first = listen().await;
    assert_eq!(first.status(), 200);
    assert_eq!(listen().await.status(), 409);
    drop(first);
    // Its place is free once the host has noticed that it is gone.
    until("there is room for another stream", async || {
        let status = listen().await.status();
        assert!(status == 200 || status == 409, "{status}");
        status == 200
    })
    .await;
}

#[tokio::test]
async fn a_tenant_has_so_many_bytes_of_templates_and_no_more() {
    let host = host(|config| config.quotas.template_bytes = "4 KiB".parse().unwrap()).await;
    let token = host.token("acme", ROLES).await;
    let post = async |version: &str, length: usize| {
        let template = json!({
            "softwareId": "till", "softwareVersion": version, "name": "A till",
            "claimsSchema": { "type": "object", "description": "x".repeat(length) }, "roles": [],
        });
        let path = "/v1/tenants/acme/templates";
        host.send(Method::POST, path, &token, &template).await
    };
    for (version, length, expected) in [("1", 3_000, 201), ("2", 3_000, 409), ("3", 100, 201)] {
        let (status, body) = post(version, length).await;
        assert_eq!(status, expected, "{version}: {body}");
        if status == 409 {
            let detail = "a tenant may have at most 4096 bytes of templates";
            assert_eq!(body["detail"], detail);
        }
    }
    let (_, usage) = host.get(USAGE, &token).await;
    assert_eq!(usage["templates"]["used"], 2);
    let used = usage["templateBytes"]["used"].as_u64().unwrap();
    assert!((3_100..4_096).contains(&used), "{used}");
}

#[tokio::test]
async fn usage_tells_how_much_there_is_of_what_a_tenant_may_have() {
    let host = host(|_| ()).await;
    let token = host.token("acme", ROLES).await;
    for number in 0..3 {
        host.send(Method::PUT, &condition_at(number), &token, &condition(18))
            .await;
    }
    host.send(Method::PUT, &project_at(0), &token, &project("a"))
        .await;
    let (status, usage) = host.get(USAGE, &token).await;
    assert_eq!(status, 200);
    let [bytes, history] = ["configurationBytes", "historyBytes"].map(|name| {
        let bytes = usage[name]["used"].as_u64().unwrap();
        assert!((200..2_000).contains(&bytes), "{usage}");
        bytes
    });
    assert_eq!(
        usage,
        json!({
            "tenantId": "acme",
            "conditions": { "used": 3, "quota": 10_000 },
            "projects": { "used": 1, "quota": 10_000 },
            "configurationBytes": { "used": bytes, "quota": 256 << 20 },
            "historyBytes": { "used": history, "quota": 1 << 30 },
            "tills": { "used": 0, "quota": 10_000 },
            "templates": { "used": 0, "quota": 1_000 },
            "templateBytes": { "used": 0, "quota": 16 << 20 },
            "clients": { "used": 1, "quota": 100_000 },
            "businessUnits": { "used": 0, "quota": 100_000 },
            "businessUnitBytes": { "used": 0, "quota": 256 << 20 },
            "exchangeRates": { "used": 0, "quota": 1_000_000 },
            "ratePasses": { "used": 0, "quota": 16 },
            "eventStreams": { "used": 0, "quota": 1_000 },
            "webhooks": { "used": 0, "quota": 1_000 },
            "eventConsumers": { "used": 0, "quota": 100 },
            "eventsPerSecond": { "used": 0, "quota": 1_000 },
            "waitingDeliveries": { "used": 0, "quota": 1_000_000 },
            "deliveriesPerTarget": { "used": 0, "quota": 64 },
        })
    );
    let other = host.token("other", ROLES).await;
    let (status, problem) = host.get(USAGE, &other).await;
    let why = "only callers of this tenant or of the platform may do this";
    assert_eq!((status, &problem["detail"]), (403, &json!(why)));
    let platform = host.token("platform", &["platform.operator"]).await;
    assert_eq!(host.get(USAGE, &platform).await.1, usage);
    assert_eq!(host.get("/v1/tenants/_/usage", &platform).await.0, 400);
}

#[tokio::test]
async fn tenants_without_data_cost_little_however_many_are_named() {
    let host = host(|_| ()).await;
    let token = host.token("acme", ROLES).await;
    host.send(Method::PUT, &condition_at(0), &token, &condition(18))
        .await;
    for number in 0..5_000 {
        let id = tillgate_base::identity::TenantId::new(&format!("t{number}")).unwrap();
        let (tenant, _) = host.features.conditions.tenant(&id).await.unwrap();
        assert!(tenant.catalog().document_of("c0").text().len() < 100);
    }
    let held = host.features.conditions.held_tenants();
    assert!((1..=2_001).contains(&held), "{held} tenants are in memory");
    // A tenant with data is not among those that were dropped.
    let request =
        json!({ "item": { "id": "1" }, "context": { "customer": { "customer_age": 17 } } });
    let evaluate = "/api/v1/conditions/c0/evaluate";
    let (status, body) = host.send(Method::POST, evaluate, &token, &request).await;
    assert_eq!((status, &body["allow"]), (200, &json!(false)), "{body}");
}
