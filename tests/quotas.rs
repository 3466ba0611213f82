//! Quotas: what one tenant may have, the 409 that names what would be more, and the usage that tells.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate::clock::SystemClock;
use tillgate::config::Config;
use tillgate::store::MemoryStore;

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
    // Another tenant has its own, and the platform has none.
    let other = host.token("other", ROLES).await;
    let (status, _) = host
        .send(Method::PUT, &condition_at(0), &other, &condition(18))
        .await;
    assert_eq!(status, 201);
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
    // The client of the token is one.
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
    // Its place is free once the host has seen that it is gone.
    until("there is room for another stream", async || {
        let status = listen().await.status();
        assert!(status == 200 || status == 409, "{status}");
        status == 200
    })
    .await;
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
    let bytes = usage["configurationBytes"]["used"].as_u64().unwrap();
    assert!((200..2_000).contains(&bytes), "{usage}");
    assert_eq!(
        usage,
        json!({
            "tenantId": "acme",
            "conditions": { "used": 3, "quota": 10_000 },
            "projects": { "used": 1, "quota": 10_000 },
            "configurationBytes": { "used": bytes, "quota": 256 << 20 },
            "templates": { "used": 0, "quota": 1_000 },
            "clients": { "used": 1, "quota": 100_000 },
            "eventStreams": { "used": 0, "quota": 1_000 },
        })
    );
    let other = host.token("other", ROLES).await;
    assert_eq!(host.get(USAGE, &other).await.0, 403);
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
        let id = tillgate::identity::TenantId::new(&format!("t{number}")).unwrap();
        let (tenant, _) = host.features.conditions.tenant(&id).await.unwrap();
        assert!(tenant.catalog().document_of("c0").text().len() < 100);
    }
    let held = host.features.conditions.held_tenants();
    assert!((1..=2_001).contains(&held), "{held} tenants are in memory");
    // One that has data is not among those that were dropped.
    let request =
        json!({ "item": { "id": "1" }, "context": { "customer": { "customer_age": 17 } } });
    let evaluate = "/api/v1/conditions/c0/evaluate";
    let (status, body) = host.send(Method::POST, evaluate, &token, &request).await;
    assert_eq!((status, &body["allow"]), (200, &json!(false)), "{body}");
}
