//! The audit log against the table of routes: each route that is not a read writes a line, or is listed here with a
//! reason.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::data::records::Change;
use tillgate_base::error::Error;
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::{DEAD_LETTERS, DeadLetter};
use tillgate_http::{Access, Audits, Reply, Request, Route, Table, Takes};
use tillgate_store::clock::{StoppedClock, Timestamp};
use tillgate_store::{MemoryStore, Store};
use uuid::Uuid;

use crate::support::ecb::{daily_xml, day};
use crate::support::host::{self, Host, HostStore, read};
use crate::support::log;
use crate::support::switched::Switched;

/// The time of the stopped clock: the start of 2026.
const START: Timestamp = Timestamp(1_767_225_600_000_000);

/// GET routes that change something nevertheless.
const CHANGING_READS: &[&str] = &["GET /api/v1/events"];

/// Routes that are not reads but write no line, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    (
        "POST /api/v1/conditions/{conditionId}/evaluate",
        "a decision changes nothing",
    ),
    (
        "POST /api/v1/decisions",
        "the decision log has what is uploaded",
    ),
    ("POST /api/v1/evaluations", "a decision changes nothing"),
    (
        "POST /api/v1/exchange-rates/convert",
        "a conversion changes nothing",
    ),
    (
        "POST /api/v1/project-restrictions/evaluate",
        "a decision changes nothing",
    ),
    (
        "POST /oauth2/token",
        "a token is issued, and nothing is changed",
    ),
];

const NONE: Value = Value::Null;

/// A request, and the fields of its line in addition to who asked, the request's id and the result.
struct Step {
    route: &'static str,
    path: String,
    correlation: Uuid,
    by: String,
    says: Value,
}

/// A host, and the client that calls it.
struct Walk {
    host: Host,
    operator: String,
    token: String,
    steps: Vec<Step>,
}

impl Walk {
    async fn begin(store: impl Into<HostStore>, clock: Arc<StoppedClock>) -> Self {
        log::keep();
        let host = Host::start_configured(store, clock, |config| {
            config.webhooks.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
        });
        let host = host.await;
        let operator = host.client("platform", &["platform.operator"]).await;
        let (id, secret) = (operator.client_id, operator.client_secret.reveal());
        let token = host::token(&host.http, &host.url, &id, secret).await;
        Self {
            host,
            operator: id,
            token,
            steps: Vec::new(),
        }
    }

    async fn in_memory() -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        Self::begin(Arc::new(MemoryStore::new(clock.clone())), clock).await
    }

    /// Sends a request as the operator and asserts its status; returns its id and the answer.
    async fn send(&self, method: &str, path: &str, body: &Value, status: u16) -> (Uuid, Value) {
        let method: Method = method.parse().unwrap();
        self.send_as(&self.token, (method, path), body, status)
            .await
    }

    async fn send_as(
        &self,
        token: &str,
        (method, path): (Method, &str),
        body: &Value,
        status: u16,
    ) -> (Uuid, Value) {
        let correlation = Uuid::new_v4();
        let request = self.host.request(method, path, token);
        let request = request.header("correlation-id", correlation.to_string());
        let request = match body {
            Value::Null => request,
            Value::String(xml) => request
                .header("content-type", "application/xml")
                .body(xml.clone()),
            json => request.json(json),
        };
        let (answered, answer) = read(request.send().await.unwrap()).await;
        assert_eq!(answered, status, "{path}: {answer}");
        (correlation, answer)
    }

    /// Calls a route with these values of its path's parameters; `says` has the fields of its line about the change.
    async fn step(
        &mut self,
        route: &'static str,
        values: &[&str],
        (body, status): (Value, u16),
        says: Value,
    ) -> Value {
        let (method, template) = route.split_once(' ').unwrap();
        let mut values = values.iter();
        let segments = template.split('/').map(|segment| match segment {
            parameter if parameter.starts_with('{') => values.next().unwrap(),
            plain => plain,
        });
        let path = segments.collect::<Vec<_>>().join("/");
        let query: String = values.map(|query| format!("?{query}")).collect();
        let asked = format!("{path}{query}");
        let (correlation, answer) = self.send(method, &asked, &body, status).await;
        // A registration needs no token: the client registers itself.
        let by = match route {
            "POST /v1/registration" => "itself".to_owned(),
            _ => self.operator.clone(),
        };
        self.steps.push(Step {
            route,
            path,
            correlation,
            by,
            says,
        });
        answer
    }

    /// Sets the fields of the latest step's line, where only the answer reveals them.
    fn says(&mut self, says: Value) {
        self.steps.last_mut().unwrap().says = says;
    }

    /// Asserts that each step has one line that names the caller, the change, the request and the result `done`.
    fn check(&self) {
        let routes = self.host.features.routes(&self.host.app);
        let actions: BTreeMap<String, Audits> = routes
            .iter()
            .map(|route| (name_of(route), route.audits))
            .collect();
        for step in &self.steps {
            let Audits::Change(action) = actions[step.route] else {
                panic!("{} has no line", step.route);
            };
            let expected = json!({
                "action": action, "by": step.by, "path": step.path, "correlation": step.correlation,
                "result": "done",
            });
            let expected = with(&expected, step.says.clone());
            let mut lines = log::audited_with("correlation", &step.correlation.to_string());
            for line in &mut lines {
                let fields = line.as_object_mut().unwrap();
                fields.retain(|name, _| !matches!(name.as_str(), "before" | "after"));
            }
            assert_eq!(lines, [expected], "{}", step.route);
        }
    }
}

/// Returns the JSON with more members.
fn with(json: &Value, more: Value) -> Value {
    let mut json = json.clone();
    for (name, value) in more.as_object().unwrap() {
        json[name] = value.clone();
    }
    json
}

fn name_of<S>(route: &Route<S>) -> String {
    format!("{} {}", route.method, route.path)
}

#[tokio::test]
async fn every_route_that_changes_something_is_audited_or_exempt() {
    let host = Host::start().await;
    let routes = host.features.routes(&host.app);
    assert!(routes.len() > 60);
    let mut exempt = BTreeMap::new();
    for route in &routes {
        match route.audits {
            Audits::Nothing => assert_eq!(route.method, Method::GET, "{}", route.path),
            Audits::Change(_) => assert_eq!(
                route.method == Method::GET,
                CHANGING_READS.contains(&&*name_of(route)),
                "{}",
                route.path
            ),
            Audits::Exempt(why) => _ = exempt.insert(name_of(route), why),
        }
    }
    let expected = EXEMPT
        .iter()
        .map(|(route, why)| ((*route).to_owned(), *why));
    assert_eq!(exempt, expected.collect());
}

#[tokio::test]
async fn a_route_that_does_not_say_what_it_changes_does_not_start() {
    async fn nothing(_: (), _: Request) -> tillgate_base::error::Result<Reply> {
        Ok(Reply::empty(reqwest::StatusCode::NO_CONTENT))
    }
    let host = Host::start().await;
    let table = |route: Route| Table::new([route], host.app.metrics.requests());
    let route = |method| Route::new(method, "/x", Access::AnyCaller, Takes::Nothing, nothing);
    assert!(table(route(Method::GET)).is_ok());
    assert!(table(route(Method::POST).unaudited("it reads")).is_ok());
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let refused = table(route(method.clone()));
        assert!(matches!(refused, Err(Error::Bug(_))), "{method}");
    }
}

async fn administer(walk: &mut Walk) {
    let acme = json!({ "tenant": "acme" });
    let (tenant, role) = ("PUT /v1/tenants/{tenantId}", "PUT /v1/roles/{roleId}");
    walk.step(tenant, &["acme"], (json!({}), 201), acme.clone())
        .await;
    let held = json!({ "permissions": ["ecs.condition.read"] });
    let says = json!({ "role": "reader", "held": "ecs.condition.read" });
    walk.step(role, &["reader"], (held, 201), says).await;
    let software = json!({ "softwareId": "till", "softwareVersion": "1" });
    let template = with(
        &software,
        json!({ "name": "A till", "claimsSchema": {}, "roles": [] }),
    );
    let key = json!({ "tenant": "acme", "key": "template/acme/till/1" });
    let templates = "POST /v1/tenants/{tenantId}/templates";
    walk.step(templates, &["acme"], (template.clone(), 201), key.clone())
        .await;
    let replace = "PUT /v1/tenants/{tenantId}/templates/{softwareId}/{softwareVersion}";
    let values = ["acme", "till", "1"];
    let renamed = with(
        &software,
        json!({ "name": "The till", "claimsSchema": {}, "roles": [] }),
    );
    walk.step(replace, &values, (renamed, 200), key.clone())
        .await;

    let statement = with(&software, json!({ "usingGlobalTemplate": false }));
    let statements = "POST /v1/tenants/{tenantId}/software-statements";
    walk.step(statements, &["acme"], (statement, 201), NONE)
        .await;
    let listed = walk
        .send("GET", "/v1/tenants/acme/software-statements", &NONE, 200)
        .await;
    let jti = listed.1["items"][0]["jti"].as_str().unwrap();
    let says = json!({ "tenant": "acme", "statement": jti });
    walk.says(says.clone());
    let withdraw = "DELETE /v1/tenants/{tenantId}/software-statements/{jti}";
    walk.step(withdraw, &["acme", jti], (NONE, 204), says).await;
    let registration = json!({ "usingGlobalTemplate": false, "tenantId": "acme", "claims": {} });
    client(walk, with(&software, registration)).await;

    let template = "DELETE /v1/tenants/{tenantId}/templates/{softwareId}/{softwareVersion}";
    walk.step(template, &["acme", "till", "1"], (NONE, 204), key)
        .await;
    let role = "DELETE /v1/roles/{roleId}";
    walk.step(role, &["reader"], (NONE, 204), json!({ "role": "reader" }))
        .await;
    for (route, signer) in [
        ("POST /v1/keys/rotate", "tokens"),
        ("POST /v1/webhook-keys/rotate", "webhooks"),
    ] {
        let key = walk.step(route, &[], (NONE, 201), NONE).await;
        walk.says(json!({ "signer": signer, "kid": key["kid"] }));
    }
}

/// Changes a client that registers.
async fn client(walk: &mut Walk, registration: Value) {
    let registered = "POST /v1/registration";
    let answer = walk
        .step(registered, &[], (registration, 201), json!({}))
        .await;
    let id = answer["clientId"].as_str().unwrap();
    let says = json!({ "tenant": "acme", "client": id });
    walk.says(with(&says, json!({ "status": "Pending" })));
    let has_roles = with(&says, json!({ "roles": "reader" }));
    let roles = json!({ "roles": [{ "roleId": "reader" }] });
    let of_client = |route| (route, ["acme", id]);
    for ((route, values), body, status, says) in [
        (
            of_client("PUT /v1/tenants/{tenantId}/clients/{clientId}/authorize"),
            NONE,
            200,
            &says,
        ),
        (
            of_client("POST /v1/tenants/{tenantId}/clients/{clientId}/secret"),
            NONE,
            200,
            &says,
        ),
        (
            of_client("PUT /v1/tenants/{tenantId}/clients/{clientId}/roles"),
            roles,
            200,
            &has_roles,
        ),
        (
            of_client("PUT /v1/tenants/{tenantId}/clients/{clientId}/revoke"),
            NONE,
            200,
            &says,
        ),
        (
            of_client("DELETE /v1/tenants/{tenantId}/clients/{clientId}"),
            NONE,
            204,
            &says,
        ),
    ] {
        walk.step(route, &values, (body, status), says.clone())
            .await;
    }
}

async fn configure(walk: &mut Walk) {
    let rule = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let (global, own) = (
        json!({ "id": "beer" }),
        json!({ "id": "beer", "tenant": "platform" }),
    );
    let id = &["beer"];
    let (put, delete) = ((rule.clone(), 201), (NONE, 204));
    walk.step(
        "PUT /api/v1/global-entity-conditions/{conditionId}",
        id,
        put,
        global.clone(),
    )
    .await;
    walk.step(
        "DELETE /api/v1/global-entity-conditions/{conditionId}",
        id,
        delete,
        global,
    )
    .await;
    walk.step(
        "PUT /api/v1/entity-conditions/{conditionId}",
        id,
        (rule, 201),
        own.clone(),
    )
    .await;
    walk.step(
        "DELETE /api/v1/entity-conditions/{conditionId}",
        id,
        (NONE, 204),
        own,
    )
    .await;
    let project = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
    let says = json!({ "id": project, "tenant": "platform" });
    let body = json!({ "name": "A house", "restrictions": [] });
    walk.step(
        "PUT /api/v1/projects/{projectId}",
        &[project],
        (body, 201),
        says.clone(),
    )
    .await;
    walk.step(
        "DELETE /api/v1/projects/{projectId}",
        &[project],
        (NONE, 204),
        says,
    )
    .await;
}

/// Chooses what goes into the decision log, and forgets a till that has uploaded decisions.
async fn put_on_record(walk: &mut Walk) {
    let chosen = json!({ "decisionLog": "all" });
    walk.step(
        "PUT /v1/tenants/{tenantId}/decision-log",
        &["acme"],
        (chosen, 200),
        json!({ "tenant": "acme" }),
    )
    .await;
    let platform = TenantId::new("platform").unwrap();
    let mut till = Change::default();
    let at =
        json!({ "client": "c", "epoch": 0, "sequence": 1, "written": 1, "missing": 0, "at": 0 });
    let key = format!("till/till-7,{}", "0".repeat(64));
    till.put(&key, &at).unwrap();
    let records = walk.host.app.records(platform.partition());
    records.commit(till).await.unwrap();
    walk.step(
        "DELETE /api/v1/decisions/tills/{till}",
        &["till-7"],
        (NONE, 204),
        json!({ "id": "till-7", "tenant": "platform" }),
    )
    .await;
}

async fn set_rates(walk: &mut Walk) {
    const RATES: &str = "POST /api/v1/business-units/{businessUnitId}/exchange-rates";
    const PUT_RATE: &str = "PUT /api/v1/business-units/{businessUnitId}/exchange-rates/{exchangeRateType}/{currencyIdFrom}/{currencyIdTo}";
    const DELETE_RATE: &str = "DELETE /api/v1/business-units/{businessUnitId}/exchange-rates/{exchangeRateType}/{currencyIdFrom}/{currencyIdTo}";
    let unit = json!({ "unit": "C", "tenant": "platform" });
    let company = json!({ "type": "COMPANY" });
    let rate = ["C", "SALES", "EUR", "SEK"];
    walk.step(
        "PUT /api/v1/business-units/{businessUnitId}",
        &["C"],
        (company, 201),
        unit.clone(),
    )
    .await;
    walk.step(
        PUT_RATE,
        &rate,
        (json!({ "rateValue": 10 }), 201),
        unit.clone(),
    )
    .await;
    let other = json!({
        "exchangeRateType": "SALES", "currencyIdFrom": "EUR", "currencyIdTo": "NOK", "rateValue": 11,
    });
    walk.step(
        RATES,
        &["C"],
        (json!({ "set": [other] }), 200),
        unit.clone(),
    )
    .await;
    let quotes = json!(daily_xml(&day("2025-12-31 USD 1.149")));
    let query = "businessUnitId=C&exchangeRateTypes=SALES&source=ECB";
    walk.step(
        "POST /api/v1/reference-rates/import",
        &[query],
        (quotes, 200),
        unit.clone(),
    )
    .await;
    walk.step(DELETE_RATE, &rate, (NONE, 204), unit.clone())
        .await;
    let again = json!({ "tenantId": "platform", "businessUnitId": "C" });
    walk.step(
        "POST /api/v1/initial-state",
        &[],
        (again, 200),
        unit.clone(),
    )
    .await;
    walk.host.run_due().await;
    walk.step(
        "DELETE /api/v1/business-units/{businessUnitId}",
        &["C"],
        (NONE, 204),
        unit,
    )
    .await;
    walk.host.run_due().await;
}

/// Creates webhooks, sends test events and repeats, and publishes an event for another tenant.
async fn deliver(walk: &mut Walk) {
    let settings = |name: &str| {
        json!({
            "name": name, "callbackUrl": "https://127.0.0.1:9/hook?key=in-the-url", "eventTypes": ["x.orders.v1"],
            "authentication": { "type": "BEARER" },
        })
    };
    let own = |more: Value| with(&json!({ "tenant": "platform" }), more);
    let made = walk
        .step("POST /api/v1/webhooks", &[], (settings("ERP"), 201), NONE)
        .await;
    let id = made["id"].as_str().unwrap();
    let webhook = own(json!({ "id": id }));
    walk.says(webhook.clone());
    let one = &[id];
    let (put, key) = (
        "PUT /api/v1/webhooks/{webhookId}",
        "POST /api/v1/webhooks/{webhookId}/shared-key",
    );
    walk.step(put, one, (settings("SAP"), 200), webhook.clone())
        .await;
    walk.step(key, one, (NONE, 200), webhook.clone()).await;
    let ping = "POST /api/v1/webhooks/{webhookId}/ping";
    let sent = walk.step(ping, one, (NONE, 202), NONE).await;
    let delivery = sent["deliveryId"].as_str().unwrap();
    walk.says(own(json!({ "id": id, "delivery": delivery })));
    let resume = "POST /api/v1/webhooks/{webhookId}/resume";
    walk.step(resume, one, (NONE, 204), webhook.clone()).await;
    // The URL after the host may be a secret.
    let receiver = own(json!({ "receiver": "https://127.0.0.1:9" }));
    walk.step(
        "POST /api/v1/webhooks/ping",
        &[],
        (settings("Other"), 200),
        receiver,
    )
    .await;
    let replayed = own(json!({ "id": delivery }));
    walk.step(
        "POST /api/v1/deliveries/{deliveryId}/replay",
        &[delivery],
        (NONE, 202),
        replayed,
    )
    .await;
    let filter = json!({ "status": "FAILED" });
    let all = walk
        .step("POST /api/v1/deliveries/replay", &[], (filter, 202), NONE)
        .await;
    let named = r#"{"webhook":null,"status":"FAILED","event_type":null,"event_id":null,"since":null,"until":null}"#;
    walk.says(own(json!({ "id": all["id"], "filter": named })));
    let event = json!({ "id": "order-1", "type": "x.orders.v1", "data": {}, "tenantId": "acme" });
    let published = json!({ "tenant": "acme", "id": "order-1", "event_type": "x.orders.v1" });
    walk.step("POST /api/v1/events", &[], (event, 202), published)
        .await;
    pull(walk, own(json!({ "id": "erp" }))).await;
    let delete = "DELETE /api/v1/webhooks/{webhookId}";
    walk.step(delete, one, (NONE, 204), webhook).await;
    walk.host.run_due().await;
}

/// Creating and deleting a consumer each have a line; asking for events and acknowledging them have none.
async fn pull(walk: &mut Walk, consumer: Value) {
    let query = "consumer=erp";
    let made = ("GET /api/v1/events", (NONE, 200));
    let page = walk.step(made.0, &[query], made.1, consumer.clone()).await;
    let next = page["next"].as_str().unwrap();
    for query in [query, &format!("{query}&after={next}")] {
        let path = format!("/api/v1/events?{query}");
        let (asked, _) = walk.send("GET", &path, &NONE, 200).await;
        assert!(log::audited_with("correlation", &asked.to_string()).is_empty());
    }
    let event = json!({ "id": "order-2", "type": "x.orders.v1", "data": {} });
    walk.send("POST", "/api/v1/events", &event, 202).await;
    let local = json!({ "url": "http://127.0.0.1:3000/hook" });
    let mut signed = consumer.clone();
    signed["id"] = json!("order-2");
    signed["event_type"] = json!("x.orders.v1");
    signed["receiver"] = json!("http://127.0.0.1:3000");
    let sign = "POST /api/v1/events/{eventId}/signed-headers";
    walk.step(sign, &["order-2"], (local, 200), signed).await;
    let remove = "DELETE /api/v1/event-consumers/{name}";
    walk.step(remove, &["erp"], (NONE, 204), consumer).await;
}

/// Handles dead letters.
async fn try_again(walk: &mut Walk) {
    let queue = "history-retention";
    let letter = |job: &str| DeadLetter {
        queue: queue.to_owned(),
        job: job.to_owned(),
        attempts: 20,
        cause: "the disk failed".to_owned(),
        at: START.to_millis_text(),
        body: String::new(),
    };
    let mut change = Change::default();
    for job in ["retention", "unknown"] {
        let key = format!("{DEAD_LETTERS}{queue}/{job}");
        change.put(&key, &letter(job)).unwrap();
    }
    let acme = TenantId::new("acme").unwrap().partition();
    walk.host.app.records(acme).commit(change).await.unwrap();
    let listed = walk
        .send("GET", "/v1/jobs/dead-letters", &NONE, 200)
        .await
        .1;
    let id = |index: usize| listed["items"][index]["id"].as_str().unwrap().to_owned();
    let says = |job: &str| json!({ "tenant": "acme", "queue": queue, "id": job });
    let retry = "POST /v1/jobs/dead-letters/{jobId}/retry";
    walk.step(retry, &[&id(0)], (NONE, 202), says("retention"))
        .await;
    let remove = "DELETE /v1/jobs/dead-letters/{jobId}";
    walk.step(remove, &[&id(1)], (NONE, 204), says("unknown"))
        .await;
    walk.host.run_due().await;
}

#[tokio::test]
async fn each_route_that_changes_something_says_who_did_what_to_what() {
    let mut walk = Walk::in_memory().await;
    administer(&mut walk).await;
    configure(&mut walk).await;
    put_on_record(&mut walk).await;
    set_rates(&mut walk).await;
    deliver(&mut walk).await;
    try_again(&mut walk).await;
    let walked: BTreeSet<_> = walk
        .steps
        .iter()
        .map(|step| step.route.to_owned())
        .collect();
    let routes = walk.host.features.routes(&walk.host.app);
    let changing = routes
        .iter()
        .filter(|route| matches!(route.audits, Audits::Change(_)));
    let changing: BTreeSet<_> = changing.map(name_of).collect();
    assert_eq!(walked, changing);
    walk.check();
}

#[tokio::test]
async fn what_an_operator_has_sent_for_another_tenant_names_that_tenant() {
    let mut walk = Walk::in_memory().await;
    let roles = ["exr.editor", "exe.publisher"];
    let token = walk.host.token("acme", &roles).await;
    let unit = (Method::PUT, "/api/v1/business-units/shop");
    let company = json!({ "type": "COMPANY" });
    walk.send_as(&token, unit, &company, 201).await;
    let (initial, events) = ("POST /api/v1/initial-state", "POST /api/v1/events");
    let acme = json!({ "tenant": "acme" });
    walk.step(initial, &[], (json!({ "tenantId": "acme" }), 200), acme)
        .await;
    let event =
        |id: &str| json!({ "id": id, "type": "x.orders.v1", "data": {}, "tenantId": "acme" });
    let says = json!({ "tenant": "acme", "id": "1", "event_type": "x.orders.v1" });
    walk.step(events, &[], (event("1"), 202), says).await;
    walk.check();
    // Events that a tenant publishes for itself are the normal traffic of the service.
    let own = (Method::POST, "/api/v1/events");
    let (published, _) = walk.send_as(&token, own, &event("2"), 202).await;
    assert!(log::audited_with("correlation", &published.to_string()).is_empty());
    walk.host.run_due().await;
}

#[tokio::test]
async fn what_changes_nothing_has_no_line() {
    let walk = Walk::in_memory().await;
    let unit = "/api/v1/business-units/C";
    let company = json!({ "type": "COMPANY" });
    walk.send("PUT", unit, &company, 201).await;
    let rule = json!({ "rule": "NONE" });
    for (method, path, body, status) in [
        ("PUT", format!("{unit}?dryRun=true"), &company, 200),
        ("PUT", unit.to_owned(), &company, 200),
        ("DELETE", format!("{unit}?dryRun=true"), &NONE, 400),
        (
            "PUT",
            "/api/v1/entity-conditions/beer".to_owned(),
            &rule,
            400,
        ),
        (
            "DELETE",
            "/api/v1/entity-conditions/beer".to_owned(),
            &NONE,
            404,
        ),
        (
            "POST",
            "/api/v1/evaluations".to_owned(),
            &json!({ "items": [{ "id": "beer" }], "context": {} }),
            200,
        ),
    ] {
        let (correlation, _) = walk.send(method, &path, body, status).await;
        let lines = log::audited_with("correlation", &correlation.to_string());
        assert!(lines.is_empty(), "{method} {path}: {lines:?}");
    }
    walk.host.run_due().await;
}

#[tokio::test]
async fn a_change_that_fails_with_the_store_is_left_open() {
    let clock = Arc::new(StoppedClock::at(START));
    let store = Switched::new(clock.clone());
    let opened: Arc<dyn Store> = store.clone();
    let walk = Walk::begin(opened, clock).await;
    let path = "/api/v1/entity-conditions/beer";
    let rule = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
    walk.send("GET", path, &NONE, 404).await;
    store.set_read_only(true);
    let (correlation, _) = walk.send("PUT", path, &rule, 503).await;
    store.set_read_only(false);
    let line = json!({
        "action": "condition.put", "tenant": "platform", "by": walk.operator, "path": path,
        "correlation": correlation, "result": "unknown",
    });
    assert_eq!(
        log::audited_with("correlation", &correlation.to_string()),
        [line]
    );
}
