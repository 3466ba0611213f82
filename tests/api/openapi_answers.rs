//! The host accepts and answers what its OpenAPI document says: parameters, bodies, statuses, media types and headers.
//! Each operation succeeds at least once, and the usual errors are among the answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::data::records::Change;
use tillgate_base::error::Error;
use tillgate_base::identity::TenantId;
use tillgate_base::jobs::{Queue, Scope};
use tillgate_store::MemoryStore;
use tillgate_store::clock::StoppedClock;

use crate::support::documented::{Documented, Exchange};
use crate::support::host::Host;
use crate::support::receiver::{Answer, Receiver};
use crate::webhooks::shop::{START, local};

const GET: Method = Method::GET;
const PUT: Method = Method::PUT;
const POST: Method = Method::POST;
const DELETE: Method = Method::DELETE;

/// The body of a request without one.
const NOTHING: Value = Value::Null;

/// The tags of the API that this test covers.
const TAGS: &[&str] = &[
    "tokens",
    "clients",
    "platform",
    "webhooks",
    "events",
    "deliveries",
    "operations",
];

/// A host, its operator, and the operations that have succeeded so far.
struct Session {
    host: Host,
    documented: Documented,
    token: String,
    succeeded: BTreeSet<String>,
}

impl Session {
    async fn open() -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let host = Host::start_configured(store, clock, local).await;
        let platform = host.app.config.platform_tenant.clone();
        Self {
            token: host.token(&platform, &["platform.operator"]).await,
            documented: Documented::of(&host).await,
            host,
            succeeded: BTreeSet::new(),
        }
    }

    /// Sends JSON, or nothing, and asserts the status; returns the JSON of the answer.
    async fn ask(&mut self, method: Method, path: &str, sent: &Value, status: u16) -> Value {
        let mut request = self.host.request(method.clone(), path, &self.token);
        if !sent.is_null() {
            request = request.json(sent);
        }
        self.checked(method, path, sent, request, status).await
    }

    async fn get(&mut self, path: &str) -> Value {
        self.ask(GET, path, &NOTHING, 200).await
    }

    async fn checked(
        &mut self,
        method: Method,
        path: &str,
        sent: &Value,
        request: reqwest::RequestBuilder,
        status: u16,
    ) -> Value {
        let again = request.try_clone().unwrap();
        let answer = request.send().await.unwrap();
        let tag = answer.headers().get("etag").cloned();
        let body = self.check(&method, path, sent, answer, status).await;
        // A client that already has that version gets 304.
        if let Some(tag) = tag.filter(|_| method == GET && status == 200) {
            let answer = again.header("if-none-match", tag).send().await.unwrap();
            self.check(&method, path, sent, answer, 304).await;
        }
        body
    }

    async fn check(
        &mut self,
        method: &Method,
        path: &str,
        sent: &Value,
        answer: reqwest::Response,
        status: u16,
    ) -> Value {
        let (found, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.bytes().await.unwrap();
        let text = String::from_utf8_lossy(&body);
        assert_eq!(found, status, "{method} {path}: {text}");
        let (id, faults) = self.documented.check(&Exchange {
            method: method.as_str(),
            path,
            sent: &documented(sent),
            status,
            headers: &headers,
            body: &body,
        });
        let name = format!("{method} {path} {status}");
        assert!(faults.is_empty(), "{name}: {faults:#?} in {text}");
        if status < 300 {
            self.succeeded.insert(id);
        }
        serde_json::from_slice(&body).unwrap_or_default()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn tenants_and_roles(s: &mut Session) {
    let tenant = json!({ "name": "Acme", "rateTolerancePercent": 2.5 });
    s.ask(PUT, "/v1/tenants/acme", &tenant, 201).await;
    s.ask(PUT, "/v1/tenants/acme", &tenant, 200).await;
    s.ask(PUT, "/v1/tenants/bare", &NOTHING, 201).await;
    let wrong = json!({ "name": "", "rateTolerancePercent": 100 });
    s.ask(PUT, "/v1/tenants/acme", &wrong, 400).await;
    s.ask(PUT, "/v1/tenants/_", &tenant, 400).await;
    s.get("/v1/tenants").await;
    s.get("/v1/tenants/acme").await;
    s.get("/v1/tenants/acme/usage").await;
    s.ask(GET, "/v1/tenants/nobody", &NOTHING, 404).await;

    let role = json!({ "permissions": ["ecs.condition.read", "other.thing.read"] });
    s.ask(PUT, "/v1/roles/reader", &role, 201).await;
    s.ask(PUT, "/v1/roles/reader", &role, 200).await;
    s.ask(PUT, "/v1/roles/exr.viewer", &role, 409).await;
    let wrong = json!({ "permissions": ["read"] });
    s.ask(PUT, "/v1/roles/reader", &wrong, 400).await;
    s.get("/v1/roles").await;
    s.get("/v1/roles/reader").await;
    s.ask(DELETE, "/v1/roles/reader", &NOTHING, 204).await;
    s.ask(DELETE, "/v1/roles/reader", &NOTHING, 404).await;
    s.ask(GET, "/v1/roles/reader", &NOTHING, 404).await;
}

async fn clients(s: &mut Session) {
    let template = json!({
        "softwareId": "till", "softwareVersion": "1", "name": "A till", "claimsSchema": { "required": ["iso_cc"] },
        "roles": [{ "roleId": "ecs.evaluator" }],
    });
    let of_acme = "/v1/tenants/acme/templates";
    s.ask(POST, of_acme, &template, 201).await;
    s.ask(POST, of_acme, &template, 409).await;
    s.ask(POST, "/v1/tenants/_/templates", &template, 201).await;
    s.ask(POST, of_acme, &json!({ "claimsSchema": 1 }), 400)
        .await;
    s.get(of_acme).await;
    s.get(&format!("{of_acme}/till/1")).await;
    let mut labelled = template.clone();
    labelled["managedBy"] = json!("tillgate-apply");
    let replaced = format!("{of_acme}/till/1");
    s.ask(PUT, &replaced, &labelled, 200).await;
    s.get(&replaced).await;
    s.ask(PUT, &format!("{of_acme}/till/2"), &template, 400)
        .await;
    s.ask(GET, &format!("{of_acme}/till/2"), &NOTHING, 404)
        .await;

    let statements = "/v1/tenants/acme/software-statements";
    let statement = json!({
        "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "claims": { "iso_cc": "SE" },
        "autoApprove": true, "expiresIn": "2 days",
    });
    let made = s.ask(POST, statements, &statement, 201).await;
    let listed = s.get(&format!("{statements}?limit=10")).await;
    let jti = text(&listed["items"][0]["jti"]);

    let registration = json!({
        "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "tenantId": "acme",
        "claims": { "workstation_id": 17, "training": true }, "softwareStatement": made["softwareStatement"],
    });
    let register = "/v1/registration";
    let client = s.ask(POST, register, &registration, 201).await;
    s.ask(POST, register, &registration, 409).await;
    let mut pending = registration.clone();
    pending["softwareStatement"].take();
    pending.as_object_mut().unwrap().remove("softwareStatement");
    s.ask(POST, register, &pending, 400).await;
    pending["claims"] = json!({ "iso_cc": "SE" });
    let second = s.ask(POST, register, &pending, 201).await;

    let all = "/v1/tenants/acme/clients";
    let page = s.get(&format!("{all}?limit=1")).await;
    let next = text(&page["next"]);
    s.get(&format!("{all}?status=Pending&cursor={next}")).await;
    s.ask(GET, &format!("{all}?status=pending"), &NOTHING, 400)
        .await;
    let one = format!("{all}/{}", text(&second["clientId"]));
    s.get(&one).await;
    s.ask(PUT, &format!("{one}/authorize"), &NOTHING, 200).await;
    let roles = json!({ "roles": [{ "roleId": "ecs.viewer" }] });
    s.ask(PUT, &format!("{one}/roles"), &roles, 200).await;
    let unknown = json!({ "roles": [{ "roleId": "nobody" }] });
    s.ask(PUT, &format!("{one}/roles"), &unknown, 400).await;
    s.ask(POST, &format!("{one}/secret?overlap=1h"), &NOTHING, 200)
        .await;
    s.ask(POST, &format!("{one}/secret?overlap=1"), &NOTHING, 400)
        .await;
    s.ask(PUT, &format!("{one}/revoke"), &NOTHING, 200).await;
    s.ask(PUT, &format!("{one}/authorize"), &NOTHING, 409).await;
    s.ask(POST, &format!("{one}/secret"), &NOTHING, 409).await;
    let stale = s
        .host
        .request(DELETE, &one, &s.token)
        .header("if-match", "\"0\"");
    s.checked(DELETE, &one, &NOTHING, stale, 412).await;
    s.ask(DELETE, &one, &NOTHING, 204).await;
    s.ask(GET, &one, &NOTHING, 404).await;

    let jti = format!("{statements}/{jti}");
    s.ask(DELETE, &jti, &NOTHING, 204).await;
    s.ask(DELETE, &jti, &NOTHING, 404).await;
    s.ask(DELETE, &format!("{of_acme}/till/1"), &NOTHING, 204)
        .await;
    tokens(
        s,
        &text(&client["clientId"]),
        &text(&client["clientSecret"]),
    )
    .await;
}

async fn tokens(s: &mut Session, id: &str, secret: &str) {
    let path = "/oauth2/token";
    let right =
        json!({ "grant_type": "client_credentials", "audience": s.host.app.config.audience });
    let mut elsewhere = right.clone();
    elsewhere["audience"] = json!("https://elsewhere.example");
    let mut password = right.clone();
    password["grant_type"] = json!("password");
    for (form, secret, status) in [
        (&right, secret, 200),
        (&right, "wrong", 401),
        (&elsewhere, secret, 401),
        (&password, secret, 400),
    ] {
        let mut body = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form.as_object().unwrap() {
            body.append_pair(name, value.as_str().unwrap());
        }
        let request = s.host.http.post(format!("{}{path}", s.host.url));
        let request = request
            .basic_auth(id, Some(secret))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.finish());
        s.checked(POST, path, form, request, status).await;
    }
    let form = s.host.http.post(format!("{}{path}", s.host.url));
    s.checked(POST, path, &NOTHING, form.body("{}"), 400).await;
    let html = s.host.http.post(format!("{}{path}", s.host.url));
    let html = html.header("accept", "text/html");
    s.checked(POST, path, &NOTHING, html, 406).await;

    s.get("/.well-known/jwks.json").await;
    s.get("/.well-known/oauth-authorization-server").await;
    s.get("/oauth2/v1/certs").await;
    s.get("/api/v1/caller").await;
    s.get("/v1/keys").await;
    s.ask(POST, "/v1/keys/rotate", &NOTHING, 201).await;
    s.ask(POST, "/v1/keys/rotate", &NOTHING, 409).await;
    s.get("/v1/keys").await;
    s.get("/v1/webhook-keys").await;
    s.ask(POST, "/v1/webhook-keys/rotate", &NOTHING, 201).await;
    s.ask(POST, "/v1/webhook-keys/rotate", &NOTHING, 409).await;
    for (token, status) in [("nonsense", 401), ("", 401)] {
        let request = s.host.request(GET, "/v1/keys", token);
        s.checked(GET, "/v1/keys", &NOTHING, request, status).await;
    }
    let nobody = s.host.token("bare", &[]).await;
    let request = s.host.request(GET, "/v1/keys", &nobody);
    s.checked(GET, "/v1/keys", &NOTHING, request, 403).await;
}

async fn webhooks(s: &mut Session, receiver: &Receiver) -> String {
    let all = "/api/v1/webhooks";
    let bearer = json!({
        "name": "ERP", "callbackUrl": receiver.url, "eventTypes": ["x.order-updates.v1", "x.receipts.v1"],
        "filter": [{ "path": "$.data['shop']", "in": ["SE-001", 1, true] }],
        "authentication": { "type": "BEARER" }, "sharedKey": "generate", "maxPerSecond": 50,
    });
    let basic = json!({
        "name": "ERP", "callbackUrl": receiver.url, "eventTypes": ["*"], "filter": null,
        "authentication": { "type": "BASIC", "username": "erp", "password": "secret" },
        "signatureHeader": "X-Signature", "maxPerSecond": null, "enabled": true, "sharedKey": null,
    });
    let made = s.ask(POST, all, &bearer, 201).await;
    let id = text(&made["id"]);
    let one = format!("{all}/{id}");
    s.get(all).await;
    s.get(&one).await;
    s.ask(POST, all, &json!({ "eventTypes": [] }), 400).await;
    s.ask(PUT, &one, &basic, 200).await;
    let key = format!("{one}/shared-key");
    s.ask(POST, &format!("{key}?overlap=1h"), &NOTHING, 200)
        .await;
    s.ask(POST, &format!("{key}?overlap=8%20days"), &NOTHING, 400)
        .await;
    s.get(&one).await;
    s.ask(POST, &format!("{one}/ping"), &NOTHING, 202).await;
    s.ask(POST, &format!("{one}/resume"), &NOTHING, 204).await;
    s.host.run_due().await;
    s.ask(POST, &format!("{all}/ping"), &bearer, 200).await;
    receiver.answer(Answer::Status(503, "", "maintenance"));
    let mut kept = basic.clone();
    kept["id"] = json!(id);
    kept["authentication"] = json!({ "type": "BASIC", "username": "erp" });
    s.ask(POST, &format!("{all}/ping"), &kept, 200).await;
    receiver.answer(Answer::Status(204, "", ""));
    kept["callbackUrl"] = json!("https://elsewhere.example/");
    s.ask(PUT, &one, &kept, 400).await;
    s.get(&format!("{all}/health")).await;
    let unknown = format!("{all}/00000000-0000-4000-8000-000000000000");
    s.ask(GET, &unknown, &NOTHING, 404).await;
    s.ask(PUT, &unknown, &basic, 404).await;
    id
}

async fn events(s: &mut Session, receiver: &Receiver) {
    // Jobs run a little later by themselves, even before they are asked to.
    receiver.answer(Answer::Status(500, "", "not today"));
    let all = "/api/v1/events";
    let erp = format!("{all}?consumer=erp");
    s.get(&erp).await;
    let event =
        json!({ "type": "x.order-updates.v1", "id": "order-1", "data": { "shop": "SE-001" } });
    s.ask(POST, all, &event, 202).await;
    let local =
        json!({ "url": "http://127.0.0.1:3000/hook", "sharedKey": "correct horse battery staple" });
    let signed = |event: &str| format!("{all}/{event}/signed-headers");
    s.ask(POST, &signed("order-1"), &local, 200).await;
    s.ask(POST, &signed("order-2"), &local, 404).await;
    s.ask(POST, &signed("order-1"), &json!({ "url": 1 }), 400)
        .await;
    let mut other = event.clone();
    other["data"] = json!(null);
    s.ask(POST, all, &other, 409).await;
    other["type"] = json!("exe.events.v1");
    s.ask(POST, all, &other, 403).await;
    other["type"] = json!("Exe");
    s.ask(POST, all, &other, 400).await;
    let csv = json!({
        "type": "x.receipts.v1", "data": "a;b", "datacontenttype": "text/csv; charset=utf-8", "id": null,
        "time": "2026-01-01T00:00:00Z", "tenantId": "acme",
    });
    s.ask(POST, all, &csv, 202).await;
    let page = s.get(&format!("{erp}&limit=5&wait=1s")).await;
    let next = text(&page["next"]);
    s.get(&format!("{erp}&after={next}")).await;
    s.ask(GET, &format!("{erp}&after=x"), &NOTHING, 400).await;
    s.ask(GET, all, &NOTHING, 400).await;
    s.get("/api/v1/event-consumers").await;
    let consumer = "/api/v1/event-consumers/erp";
    s.ask(DELETE, consumer, &NOTHING, 204).await;
    s.ask(DELETE, consumer, &NOTHING, 404).await;
    s.host.run_due().await;
}

async fn deliveries(s: &mut Session, receiver: &Receiver, webhook: &str) {
    let all = "/api/v1/deliveries";
    let filtered = format!(
        "{all}?webhookId={webhook}&status=RETRYING&eventType=x.order-updates.v1&eventId=order-1&since=2026-01-01T00:00:00Z\
         &until=2027-01-01T00:00:00Z&limit=1"
    );
    let page = s.get(&filtered).await;
    let id = text(&page["items"][0]["id"]);
    s.get(&format!("{all}?cursor={id}")).await;
    s.ask(GET, &format!("{all}?status=NEW&limit=0"), &NOTHING, 400)
        .await;
    s.get(&format!("{all}/{id}")).await;
    receiver.answer(Answer::Status(204, "", ""));
    s.ask(POST, &format!("{all}/{id}/replay"), &NOTHING, 202)
        .await;
    s.host.run_due().await;
    s.get(&format!("{all}/{id}")).await;
    let filter = json!({ "webhookId": webhook, "status": "DELIVERED", "eventType": null, "until": "2027-01-01T00:00:00Z" });
    let replay = s.ask(POST, &format!("{all}/replay"), &filter, 202).await;
    let state = format!("{all}/replays/{}", text(&replay["id"]));
    s.get(&state).await;
    s.host.run_due().await;
    s.get(&state).await;
    s.ask(
        POST,
        &format!("{all}/replay"),
        &json!({ "since": "now" }),
        400,
    )
    .await;
    let unknown = "00000000-0000-4000-8000-000000000000";
    s.ask(GET, &format!("{all}/{unknown}"), &NOTHING, 404).await;
    s.ask(GET, &format!("{all}/replays/{unknown}"), &NOTHING, 404)
        .await;
    s.ask(POST, &format!("{all}/{unknown}/replay"), &NOTHING, 404)
        .await;
    let one = format!("/api/v1/webhooks/{webhook}");
    s.ask(DELETE, &one, &NOTHING, 204).await;
    s.ask(POST, &format!("{all}/{id}/replay"), &NOTHING, 409)
        .await;
}

async fn dead_letters(s: &mut Session) {
    let (name, app) = ("orders", &s.host.app);
    let queue = Queue {
        max_attempts: 1,
        ..Queue::new(name, Scope::AllPartitions)
    };
    let failed = || Err::<(), _>(Error::Bug("it fails".to_owned()));
    app.runner.register(queue, move |_| async move { failed() });
    let mut change = Change::default();
    for job in ["1", "2"] {
        change.enqueue(name, job, app.clock.now(), Bytes::new());
    }
    let records = app.records(TenantId::new("acme").unwrap().partition());
    records.commit(change).await.unwrap();
    s.host.run_due().await;
    let all = "/v1/jobs/dead-letters";
    let page = s.get(all).await;
    let [first, second] = [0, 1].map(|index| text(&page["items"][index]["id"]));
    s.get(&format!("{all}?limit=1&cursor={first}")).await;
    s.ask(POST, &format!("{all}/{first}/retry"), &NOTHING, 202)
        .await;
    let dropped = format!("{all}/{second}");
    s.ask(DELETE, &dropped, &NOTHING, 204).await;
    s.ask(DELETE, &dropped, &NOTHING, 404).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_and_answered_is_documented() {
    let (mut s, receiver) = (Session::open().await, Receiver::start().await);
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/asyncapi.json",
    ] {
        s.get(path).await;
    }
    tenants_and_roles(&mut s).await;
    clients(&mut s).await;
    let webhook = webhooks(&mut s, &receiver).await;
    events(&mut s, &receiver).await;
    deliveries(&mut s, &receiver, &webhook).await;
    dead_letters(&mut s).await;
    s.host.run_due().await;
    let all = s.documented.tagged(TAGS).into_iter();
    let left: Vec<_> = all.filter(|id| !s.succeeded.contains(id)).collect();
    assert!(left.is_empty(), "not looked at: {left:#?}");
}

/// Returns a body in the form of the documents: without optional members that are null, which means absent. Client
/// generators do not understand members that may be null. Null has another meaning for a shared key and in the data of
/// an event.
fn documented(sent: &Value) -> Value {
    match sent {
        Value::Object(members) => members
            .iter()
            .filter(|(name, value)| {
                !value.is_null() || ["sharedKey", "data"].contains(&name.as_str())
            })
            .map(|(name, value)| (name.clone(), documented(value)))
            .collect(),
        other => other.clone(),
    }
}
