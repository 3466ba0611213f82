//! The audit lines of the program's log: each change of rights has exactly one, a request that changes nothing has
//! none, and none contains a secret.

mod routes;

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::support::host::{Program, client, read, token};

/// A program, the operator's token, and every secret that an answer contained.
struct Asked {
    program: Program,
    http: Client,
    token: String,
    secrets: Vec<String>,
}

impl Asked {
    /// Sends a request and asserts its status.
    async fn call(&mut self, expected: u16, method: Method, path: &str, body: Value) -> Value {
        let request = self
            .http
            .request(method, format!("{}{path}", self.program.url));
        let request = request.bearer_auth(&self.token);
        let request = if body.is_null() {
            request
        } else {
            request.json(&body)
        };
        let (status, answer) = read(request.send().await.unwrap()).await;
        for member in ["clientSecret", "softwareStatement"] {
            self.secrets
                .extend(answer[member].as_str().map(str::to_owned));
        }
        assert_eq!(status, expected, "{path}: {answer}");
        answer
    }

    async fn register(&mut self, number: u64, statement: Option<&str>) -> String {
        let mut body = json!({
            "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "tenantId": "acme",
            "claims": { "number": number },
        });
        if let Some(statement) = statement {
            body["softwareStatement"] = json!(statement);
        }
        let registered = self.call(201, Method::POST, "/v1/registration", body).await;
        let text = |member: &str| registered[member].as_str().unwrap().to_owned();
        text("clientId")
    }
}

/// Makes every kind of change, and a few that change nothing; returns the expected lines, after those of the first start.
async fn administer(asked: &mut Asked) -> Vec<Value> {
    const NONE: Value = Value::Null;
    let (put, post, delete) = (Method::PUT, Method::POST, Method::DELETE);
    let tenant = "/v1/tenants/acme";
    let (role, reader) = (
        "/v1/roles/reader",
        json!({ "permissions": ["ecs.condition.read"] }),
    );
    // Written again unchanged, they add no line.
    for status in [201, 200] {
        asked.call(status, put.clone(), tenant, json!({})).await;
        asked.call(status, put.clone(), role, reader.clone()).await;
    }
    let template = json!({
        "softwareId": "till", "softwareVersion": "1", "name": "A till", "claimsSchema": {}, "roles": [],
    });
    let templates = "/v1/tenants/acme/templates";
    for status in [201, 409] {
        asked
            .call(status, post.clone(), templates, template.clone())
            .await;
    }
    let same = format!("{templates}/till/1");
    asked.call(200, put.clone(), &same, template).await;
    let statements = "/v1/tenants/acme/software-statements";
    let statement = json!({
        "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "autoApprove": true,
    });
    let statement = asked.call(201, post.clone(), statements, statement).await;
    let statement = statement["softwareStatement"].as_str().unwrap().to_owned();
    let listed = asked.call(200, Method::GET, statements, NONE).await;
    let jti = listed["items"][0]["jti"].as_str().unwrap().to_owned();
    let (first, second) = (
        asked.register(1, None).await,
        asked.register(2, Some(&statement)).await,
    );
    let client = format!("/v1/tenants/acme/clients/{first}");
    let authorize = format!("{client}/authorize");
    for _ in 0..2 {
        asked.call(200, put.clone(), &authorize, NONE).await;
    }
    let secret = format!("{client}/secret");
    asked.call(200, post.clone(), &secret, NONE).await;
    let roles = json!({ "roles": [{ "roleId": "reader" }] });
    for _ in 0..2 {
        asked
            .call(200, put.clone(), &format!("{client}/roles"), roles.clone())
            .await;
    }
    let revoke = format!("{client}/revoke");
    asked.call(200, put.clone(), &revoke, NONE).await;
    asked.call(409, put.clone(), &authorize, NONE).await;
    for path in [&client, &format!("{statements}/{jti}")] {
        for status in [204, 404] {
            asked.call(status, delete.clone(), path, NONE).await;
        }
    }
    let template = format!("{templates}/till/1");
    asked.call(204, delete.clone(), &template, NONE).await;
    asked.call(204, delete, role, NONE).await;
    let rotate = "/v1/keys/rotate";
    let key = asked.call(201, post.clone(), rotate, NONE).await;
    asked.call(409, post.clone(), rotate, NONE).await;
    let rotate = "/v1/webhook-keys/rotate";
    let webhook_key = asked.call(201, post.clone(), rotate, NONE).await;
    asked.call(409, post, rotate, NONE).await;
    vec![
        json!({ "action": "tenant.put", "tenant": "acme" }),
        json!({ "action": "role.put", "role": "reader", "held": "ecs.condition.read" }),
        json!({ "action": "template.created", "tenant": "acme", "key": "template/acme/till/1" }),
        json!({ "action": "statement.created", "tenant": "acme", "statement": jti }),
        json!({ "action": "client.registered", "tenant": "acme", "client": first, "status": "Pending", "by": "itself" }),
        json!({
            "action": "client.registered", "tenant": "acme", "client": second, "status": "Authorized",
            "statement": jti, "by": "itself",
        }),
        json!({ "action": "client.authorized", "tenant": "acme", "client": first }),
        json!({ "action": "client.secret_renewed", "tenant": "acme", "client": first }),
        json!({ "action": "client.roles_set", "tenant": "acme", "client": first, "roles": "reader" }),
        json!({ "action": "client.revoked", "tenant": "acme", "client": first }),
        json!({ "action": "client.deleted", "tenant": "acme", "client": first }),
        json!({ "action": "statement.withdrawn", "tenant": "acme", "statement": jti }),
        json!({ "action": "template.deleted", "tenant": "acme", "key": "template/acme/till/1" }),
        json!({ "action": "role.deleted", "role": "reader" }),
        json!({ "action": "key.rotated", "signer": "tokens", "kid": key["kid"] }),
        json!({ "action": "key.rotated", "signer": "webhooks", "kid": webhook_key["kid"] }),
    ]
}

/// Makes the operator's changes of conditions and rates; returns the expected lines.
async fn configure(asked: &mut Asked) -> Vec<Value> {
    const NONE: Value = Value::Null;
    let (put, delete) = (Method::PUT, Method::DELETE);
    let age =
        |age: u8| json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": age } });
    let global = "/api/v1/global-entity-conditions/alcohol";
    for (status, body) in [
        (201, age(18)),
        (200, age(21)),
        (400, json!({ "rule": "NONE" })),
    ] {
        asked.call(status, put.clone(), global, body).await;
    }
    let mut tested = age(18);
    tested["tests"] = json!([
        { "name": "no age", "request": { "item": { "id": "a" }, "context": {} }, "expect": { "decision": "ALLOW" } },
    ]);
    asked.call(409, put.clone(), global, tested.clone()).await;
    let accepted = format!("{global}?failingTests=accept&note=The%20law");
    asked.call(200, put.clone(), &accepted, tested).await;
    for status in [204, 404] {
        asked.call(status, delete.clone(), global, NONE).await;
    }
    let unit = "/api/v1/business-units/acme";
    let settings = json!({ "type": "COMPANY", "name": "A company", "tolerancePercentage": 20 });
    asked.call(201, put.clone(), unit, settings).await;
    let rate = "/api/v1/business-units/acme/exchange-rates/SALES/EUR/USD";
    let value = |value: f64| json!({ "rateValue": value });
    asked.call(201, put.clone(), rate, value(11.0)).await;
    asked.call(409, put.clone(), rate, value(1.1)).await;
    let accepted = format!("{rate}?acceptDeviation=true&note=Inflation");
    asked.call(200, put, &accepted, value(1.1)).await;
    asked.call(204, delete.clone(), rate, NONE).await;
    asked.call(204, delete, unit, NONE).await;
    vec![
        json!({ "action": "condition.put", "id": "alcohol" }),
        json!({ "action": "condition.put", "id": "alcohol" }),
        json!({ "action": "condition.put", "id": "alcohol", "failing_tests": 1, "note": "The law" }),
        json!({ "action": "condition.deleted", "id": "alcohol" }),
        json!({ "action": "business_unit.put", "tenant": "platform", "unit": "acme" }),
        json!({ "action": "rates.changed", "tenant": "platform", "unit": "acme" }),
        json!({ "action": "rates.changed", "tenant": "platform", "unit": "acme", "accepted_deviations": 1, "note": "Inflation" }),
        json!({ "action": "rates.changed", "tenant": "platform", "unit": "acme" }),
        json!({ "action": "business_unit.deleted", "tenant": "platform", "unit": "acme" }),
    ]
}

/// Removes the fields that name the request and the versions from the lines; returns the versions.
fn versions(lines: &mut [Value]) -> Vec<(Value, Value)> {
    let versions = lines.iter_mut().map(|line| {
        let fields = line.as_object_mut().unwrap();
        let correlation = fields.remove("correlation").unwrap();
        assert!(uuid::Uuid::try_parse(correlation.as_str().unwrap()).is_ok());
        assert!(
            fields
                .remove("path")
                .unwrap()
                .as_str()
                .unwrap()
                .starts_with('/')
        );
        assert_eq!(fields.remove("result").unwrap(), "done");
        let mut take = |name| fields.remove(name).unwrap_or_default();
        (take("before"), take("after"))
    });
    versions.collect()
}

#[tokio::test]
async fn every_change_has_its_line_once_and_no_secret_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (store, log) = (folder.path().join("store"), folder.path().join("log"));
    let program = Program::serve_logging(&store, &log);
    let operator = std::fs::read(store.join("operator.json")).unwrap();
    let operator: Value = serde_json::from_slice(&operator).unwrap();
    let (id, secret) = (
        operator["clientId"].as_str().unwrap(),
        operator["clientSecret"].as_str().unwrap(),
    );
    let http = client();
    let token = token(&http, &program.url, id, secret).await;
    let secrets = vec![secret.to_owned(), token.clone()];
    let mut asked = Asked {
        program,
        http,
        token,
        secrets,
    };
    let mut expected = administer(&mut asked).await;
    let administered = expected.len();
    expected.extend(configure(&mut asked).await);
    for line in &mut expected {
        if line["by"].is_null() {
            line["by"] = json!(id);
        }
    }
    assert_eq!(asked.program.terminate(), Some(0));
    let written = std::fs::read_to_string(&log).unwrap();
    let lines = written
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect(line));
    let mut audit = lines
        .filter(|line| line["target"] == "audit")
        .map(|line| line["fields"].clone());
    let first: Vec<Value> = audit.by_ref().take(3).collect();
    let action = |line: &Value| (line["action"].clone(), line["signer"].clone());
    let actions: Vec<_> = first.iter().map(action).collect();
    let expected_first = [
        (json!("key.made"), json!("tokens")),
        (json!("key.made"), json!("webhooks")),
        (json!("client.provisioned"), Value::Null),
    ];
    assert_eq!(actions, expected_first);
    let mut audit: Vec<Value> = audit.collect();
    let versions = versions(&mut audit).split_off(administered);
    assert_eq!(audit, expected);
    // Each change begins with the version that the one before ended with.
    assert!(versions[0].0.is_null() && versions[3].1.is_null());
    for (before, after) in versions.iter().zip(&versions[1..4]) {
        assert_eq!(before.1, after.0);
        assert_ne!(after.0, after.1);
    }
    let [unit, set, slipped, cleared, removed] = &versions[4..] else {
        panic!("{versions:?}")
    };
    assert!(unit.0.is_null() && removed.1.is_null());
    assert_eq!(unit.1, removed.0);
    assert_eq!((&set.1, &slipped.1), (&slipped.0, &cleared.0));
    assert_eq!(set.0, cleared.1);
    assert_ne!(set.0, set.1);
    assert_eq!(
        asked.secrets.len(),
        6,
        "two secrets of tills, a new one, a statement, the operator's and its token"
    );
    for secret in &asked.secrets {
        assert!(!written.contains(secret), "{secret}");
    }
}
