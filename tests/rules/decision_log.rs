//! The decision log has what a tenant has chosen and nothing about the customer, whatever happens to the disk; missing
//! decisions are counted and reported.

mod choice;
mod command;
mod faults;
mod rotation;
mod uploads;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tillgate_base::config::Config;
use tillgate_store::MemoryStore;
use tillgate_store::clock::{StoppedClock, Timestamp};
use uuid::Uuid;

use crate::support::host::{Host, HostStore, take_modifier};

const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const UNREACHABLE: &str = "00000000-0000-4000-8000-000000000000";

/// The time of the stopped clock: the start of 2026.
const START: Timestamp = Timestamp(1_767_225_600_000_000);
const AT: &str = "2026-01-01T00:00:00.000Z";

const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator", "iam.admin"];

/// A host that writes a decision log, with an age condition, a license and a project of a tenant.
struct Shop {
    host: Host,
    clock: Arc<StoppedClock>,
    token: String,
    client: String,
    /// The version of each rule, by its id.
    etags: Vec<(String, String)>,
    folder: TempDir,
}

fn record_in(folder: &TempDir) -> PathBuf {
    folder.path().join("decisions.jsonl")
}

impl Shop {
    async fn open() -> Self {
        Self::configured(|_| ()).await
    }

    async fn configured(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::on(store, clock, configure).await
    }

    async fn on(
        store: impl Into<HostStore>,
        clock: Arc<StoppedClock>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = record_in(&folder).display().to_string();
        let configure = |config: &mut Config| {
            config.decisions.log = log;
            configure(config);
        };
        let host = Host::start_configured(store, clock.clone(), configure).await;
        let client = host.client("acme", ROLES).await;
        let (id, secret) = (&client.client_id, client.client_secret.reveal());
        let token = crate::support::host::token(&host.http, &host.url, id, secret).await;
        let mut shop = Self {
            host,
            clock,
            token,
            client: client.client_id,
            etags: Vec::new(),
            folder,
        };
        shop.put_rules().await;
        shop
    }

    async fn put_rules(&mut self) {
        let age = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
        let license = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
        let paint =
            json!({ "type": "BLACKLIST", "propertyName": "group", "deniedValues": ["paint"] });
        let glue = json!({ "type": "WHITELISTEDITEMS", "itemIds": ["glue"] });
        for (id, path, document) in [
            ("beer", "entity-conditions/beer".to_owned(), age),
            ("hunting", "entity-conditions/hunting".to_owned(), license),
            (
                PROJECT,
                format!("projects/{PROJECT}"),
                json!({ "restrictions": [glue, paint] }),
            ),
        ] {
            let path = format!("/api/v1/{path}");
            let put = self
                .host
                .request(Method::PUT, &path, &self.token)
                .json(&document);
            let put = put.send().await.unwrap();
            assert_eq!(put.status(), 201, "{path}");
            let etag = put.headers()["etag"].to_str().unwrap().trim_matches('"');
            self.etags.push((id.to_owned(), etag.to_owned()));
        }
    }

    async fn choose(&self, choice: &str) {
        let chosen = json!({ "decisionLog": choice });
        let path = "/v1/tenants/acme/decision-log";
        let (status, mut answer) = self
            .host
            .send(Method::PUT, path, &self.token, &chosen)
            .await;
        assert_eq!(take_modifier(&mut answer), "test 1");
        assert_eq!((status, answer), (200, chosen));
    }

    /// Asks the host for a decision; returns the id of the request.
    async fn decide(&self, path: &str, request: &Value) -> Uuid {
        let correlation = Uuid::new_v4();
        let asked = self
            .host
            .request(Method::POST, &format!("/api/v1/{path}"), &self.token);
        let asked = asked.header("correlation-id", correlation.to_string());
        // A till may send members about its customer that the host does not read.
        let asked = asked.header("prefer", "handling=lenient");
        let answer = asked.json(request).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path} {request}");
        correlation
    }

    /// Asks the host whether a customer of this age may buy an item.
    async fn sell(&self, item: &str, age: u8) -> Uuid {
        let request = json!({
            "item": { "id": item }, "context": { "customer": { "customer_age": age } },
        });
        self.decide("conditions/beer/evaluate", &request).await
    }

    /// Lets the host finish writing; returns the lines of the log.
    async fn on_record(&self) -> Vec<Value> {
        let log = self.host.features.conditions.decision_log().unwrap();
        log.close().await;
        lines(&record_in(&self.folder))
    }

    /// Returns a line about an item, with these further members.
    fn line(&self, item: &str, correlation: Uuid, more: Value) -> Value {
        let mut line = json!({
            "at": AT, "tenantId": "acme", "clientId": self.client, "itemId": item,
            "engine": tillgate_base::engine::MODULE_SHA256, "correlationId": correlation.to_string(),
        });
        for (name, value) in more.as_object().unwrap() {
            line[name] = value.clone();
        }
        for id in ["conditionId", "projectId"] {
            let rule = self.etags.iter().find(|(rule, _)| line[id] == **rule);
            if let Some((_, etag)) = rule {
                line["etag"] = json!(etag);
            }
        }
        line
    }
}

/// Returns the lines of a file.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

#[tokio::test]
async fn each_decision_is_on_record_with_its_rule_and_nothing_of_the_customer() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    let customer = json!({
        "customer_age": 17, "birth_date": "1984-07-07", "licenses": ["pesticide"], "name": "Anna",
    });
    let context = json!({ "customer": customer });
    let beer = json!({ "item": { "id": "beer-1" }, "context": context });
    let one = shop.decide("conditions/beer/evaluate", &beer).await;
    let explained = "conditions/hunting/evaluate?explain=true";
    let two = shop.decide(explained, &beer).await;
    let paint = json!({ "id": "a \"pot\"", "additionalProperties": { "group": "paint" } });
    let three = json!({ "projectId": PROJECT, "item": paint });
    let three = shop.decide("project-restrictions/evaluate", &three).await;
    let glue = json!({ "projectId": PROJECT, "item": { "id": "glue" } });
    let four = shop
        .decide("project-restrictions/evaluate?explain=true", &glue)
        .await;
    let five = json!({ "projectId": UNREACHABLE, "item": { "id": "glue" } });
    let five = shop.decide("project-restrictions/evaluate", &five).await;
    let written = shop.on_record().await;
    let expected = vec![
        shop.line("beer-1", one, json!({
            "conditionId": "beer", "decision": "HARD_DENY", "reason": "age_restriction.underage",
        })),
        shop.line("beer-1", two, json!({
            "conditionId": "hunting", "decision": "HARD_DENY", "reason": "license_requirement.license_missing",
        })),
        shop.line("a \"pot\"", three, json!({
            "projectId": PROJECT, "decision": "HARD_DENY",
            "reason": "project_restriction.whitelist_not_met", "restriction": "itemId",
        })),
        shop.line("glue", four, json!({ "projectId": PROJECT, "decision": "ALLOW" })),
        shop.line("glue", five, json!({
            "projectId": UNREACHABLE, "decision": "SOFT_DENY",
            "reason": "project_restriction.project_unreachable",
        })),
    ];
    assert_eq!(written, expected);
    let text = std::fs::read_to_string(record_in(&shop.folder)).unwrap();
    for known in [
        "customer",
        "1984",
        "pesticide",
        "Anna",
        "explanation",
        "licenses",
        "minimumAge",
    ] {
        assert!(!text.contains(known), "{known}");
    }
}

#[tokio::test]
async fn a_basket_has_a_line_for_each_item_and_rule() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    let basket = json!({
        "items": [
            { "id": "bread" },
            { "id": "beer-1", "conditionIds": ["beer", "nowhere"] },
            { "id": "glue", "conditionIds": ["hunting"] },
        ],
        "context": { "customer": { "customer_age": 30 } },
    });
    let plain = shop.decide("evaluations", &basket).await;
    let mut of_project = basket.clone();
    of_project["projectId"] = json!(PROJECT);
    let on_project = shop.decide("evaluations?explain=true", &of_project).await;
    let bought = |correlation| {
        vec![
            shop.line("beer-1", correlation, json!({ "conditionId": "beer", "decision": "ALLOW" })),
            shop.line("beer-1", correlation, json!({
                "conditionId": "nowhere", "decision": "SOFT_DENY", "reason": "condition.not_in_force",
            })),
            shop.line("glue", correlation, json!({
                "conditionId": "hunting", "decision": "SOFT_DENY",
                "reason": "license_requirement.missing_context",
            })),
        ]
    };
    let project = |item, decision: Value| {
        let mut line = shop.line(item, on_project, json!({ "projectId": PROJECT }));
        for (name, value) in decision.as_object().unwrap() {
            line[name] = value.clone();
        }
        line
    };
    let denied = json!({
        "decision": "HARD_DENY", "reason": "project_restriction.whitelist_not_met", "restriction": "itemId",
    });
    let [beer, nowhere, hunting] = bought(on_project).try_into().unwrap();
    let mut expected = vec![shop.line("bread", plain, json!({ "decision": "ALLOW" }))];
    expected.extend(bought(plain));
    expected.extend([
        project("bread", denied.clone()),
        beer,
        project("beer-1", denied),
        nowhere,
        hunting,
        project("glue", json!({ "decision": "ALLOW" })),
    ]);
    assert_eq!(shop.on_record().await, expected);
}

#[tokio::test]
async fn the_unit_that_a_client_has_registered_for_is_on_record() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    let template = json!({
        "softwareId": "till", "softwareVersion": "1", "name": "A till", "claimsSchema": {},
        "roles": [{ "roleId": "ecs.evaluator" }],
    });
    let templates = "/v1/tenants/acme/templates";
    let made = shop
        .host
        .send(Method::POST, templates, &shop.token, &template)
        .await;
    assert_eq!(made.0, 201);
    let mut units = Vec::new();
    for unit in [json!("SE-003"), json!(17)] {
        let registration = json!({
            "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "tenantId": "acme",
            "claims": { "business_unit_id": unit },
        });
        let made = shop
            .host
            .send(Method::POST, "/v1/registration", "", &registration)
            .await
            .1;
        let text = |member: &str| made[member].as_str().unwrap().to_owned();
        let (id, secret) = (text("clientId"), text("clientSecret"));
        let authorize = format!("/v1/tenants/acme/clients/{id}/authorize");
        let done = shop
            .host
            .send(Method::PUT, &authorize, &shop.token, &Value::Null)
            .await;
        assert_eq!(done.0, 200);
        let token =
            crate::support::host::token(&shop.host.http, &shop.host.url, &id, &secret).await;
        let request = json!({ "item": { "id": "1" }, "context": {} });
        let path = "/api/v1/conditions/beer/evaluate";
        let decided = shop.host.send(Method::POST, path, &token, &request).await;
        assert_eq!(decided.0, 200);
        units.push((
            json!(id),
            unit.as_str().map_or("17".to_owned(), str::to_owned),
        ));
    }
    let written = shop.on_record().await;
    let written: Vec<_> = written
        .iter()
        .map(|line| {
            (
                line["clientId"].clone(),
                line["businessUnitId"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    assert_eq!(written, units);
}

#[tokio::test]
async fn the_version_on_record_is_that_of_the_condition_that_decided() {
    let shop = Shop::open().await;
    shop.choose("all").await;
    let operator = shop.host.token("platform", &["platform.operator"]).await;
    let mut rule = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 21 } });
    let global = "/api/v1/global-entity-conditions/beer";
    let put = shop
        .host
        .request(Method::PUT, global, &operator)
        .json(&rule)
        .send()
        .await
        .unwrap();
    let etag = put.headers()["etag"]
        .to_str()
        .unwrap()
        .trim_matches('"')
        .to_owned();
    // The tenant's own condition decides as long as it is enabled.
    shop.sell("1", 19).await;
    rule["enabled"] = json!(false);
    let own = shop.host.app.records(
        tillgate_base::identity::TenantId::new("acme")
            .unwrap()
            .partition(),
    );
    let mut change = tillgate_base::data::records::Change::default();
    let off = json!({
        "id": "beer", "rule": "AGE_RESTRICTION", "scope": "TENANT", "enabled": false,
        "condition_value": { "minimum_age": 18 },
    });
    change.put("condition/beer", &off).unwrap();
    change.notify("condition/beer");
    own.commit(change).await.unwrap();
    shop.clock.advance(std::time::Duration::from_secs(2));
    shop.sell("2", 19).await;
    let written = shop.on_record().await;
    let said: Vec<_> = written
        .iter()
        .map(|line| {
            (
                line["decision"].as_str().unwrap(),
                line["etag"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(said, [("ALLOW", &*shop.etags[0].1), ("HARD_DENY", &*etag)]);
}
