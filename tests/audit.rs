//! The audit lines of the program's log: one for each change of who may do what, none for what changed nothing, and
//! nowhere a secret.

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::support::host::{Program, read, token};

/// A program, the operator's token, and every secret that was answered.
struct Asked {
    program: Program,
    http: Client,
    token: String,
    secrets: Vec<String>,
}

impl Asked {
    async fn call(&mut self, method: Method, path: &str, body: Value) -> (u16, Value) {
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
        (status, answer)
    }

    async fn done(&mut self, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = self.call(method, path, body).await;
        assert!((200..300).contains(&status), "{path}: {status} {answer}");
        answer
    }

    async fn refused(&mut self, method: Method, path: &str, body: Value) {
        let (status, answer) = self.call(method, path, body).await;
        assert!((400..500).contains(&status), "{path}: {status} {answer}");
    }

    async fn register(&mut self, number: u64, statement: Option<&str>) -> String {
        let mut body = json!({
            "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "tenantId": "acme",
            "claims": { "number": number },
        });
        if let Some(statement) = statement {
            body["softwareStatement"] = json!(statement);
        }
        let registered = self.done(Method::POST, "/v1/registration", body).await;
        let text = |member: &str| registered[member].as_str().unwrap().to_owned();
        text("clientId")
    }
}

/// Does everything that there is to do, and a little that changes nothing; answers the lines that are to be there,
/// after those of the first start.
async fn administer(asked: &mut Asked) -> Vec<Value> {
    const NONE: Value = Value::Null;
    let (put, post, delete) = (Method::PUT, Method::POST, Method::DELETE);
    asked.done(put.clone(), "/v1/tenants/acme", json!({})).await;
    let role = json!({ "permissions": ["ecs.condition.read"] });
    asked.done(put.clone(), "/v1/roles/reader", role).await;
    let template = json!({
        "softwareId": "till", "softwareVersion": "1", "name": "A till", "claimsSchema": {}, "roles": [],
    });
    let templates = "/v1/tenants/acme/templates";
    asked.done(post.clone(), templates, template.clone()).await;
    asked.refused(post.clone(), templates, template).await;
    let statements = "/v1/tenants/acme/software-statements";
    let statement = json!({
        "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false, "autoApprove": true,
    });
    let statement = asked.done(post.clone(), statements, statement).await;
    let statement = statement["softwareStatement"].as_str().unwrap().to_owned();
    let listed = asked.done(Method::GET, statements, NONE).await;
    let jti = listed["items"][0]["jti"].as_str().unwrap().to_owned();
    let (first, second) = (
        asked.register(1, None).await,
        asked.register(2, Some(&statement)).await,
    );
    let client = format!("/v1/tenants/acme/clients/{first}");
    for _ in 0..2 {
        asked
            .done(put.clone(), &format!("{client}/authorize"), NONE)
            .await;
    }
    asked
        .done(post.clone(), &format!("{client}/secret"), NONE)
        .await;
    let roles = json!({ "roles": [{ "roleId": "reader" }] });
    asked
        .done(put.clone(), &format!("{client}/roles"), roles)
        .await;
    asked
        .done(put.clone(), &format!("{client}/revoke"), NONE)
        .await;
    asked
        .refused(put.clone(), &format!("{client}/authorize"), NONE)
        .await;
    asked.done(delete.clone(), &client, NONE).await;
    asked.refused(delete.clone(), &client, NONE).await;
    let one = format!("{statements}/{jti}");
    asked.done(delete.clone(), &one, NONE).await;
    asked.refused(delete.clone(), &one, NONE).await;
    asked
        .done(delete.clone(), &format!("{templates}/till/1"), NONE)
        .await;
    asked.done(delete, "/v1/roles/reader", NONE).await;
    let key = asked.done(post.clone(), "/v1/keys/rotate", NONE).await;
    asked.refused(post.clone(), "/v1/keys/rotate", NONE).await;
    let webhooks = "/v1/webhook-keys/rotate";
    let webhook_key = asked.done(post.clone(), webhooks, NONE).await;
    asked.refused(post, webhooks, NONE).await;
    vec![
        json!({ "action": "tenant.put", "tenant": "acme" }),
        json!({ "action": "role.put", "role": "reader", "held": "ecs.condition.read" }),
        json!({ "action": "template.created", "key": "template/acme/till/1" }),
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
        json!({ "action": "template.deleted", "key": "template/acme/till/1" }),
        json!({ "action": "role.deleted", "role": "reader" }),
        json!({ "action": "key.rotated", "signer": "tokens", "kid": key["kid"] }),
        json!({ "action": "key.rotated", "signer": "webhooks", "kid": webhook_key["kid"] }),
    ]
}

/// What is configured, written by the operator.
async fn configure(asked: &mut Asked) -> Vec<Value> {
    const NONE: Value = Value::Null;
    let (put, delete) = (Method::PUT, Method::DELETE);
    let age =
        |age: u8| json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": age } });
    let global = "/api/v1/global-entity-conditions/alcohol";
    asked.done(put.clone(), global, age(18)).await;
    asked.done(put.clone(), global, age(21)).await;
    asked
        .refused(put.clone(), global, json!({ "rule": "NONE" }))
        .await;
    asked.done(delete.clone(), global, NONE).await;
    asked.refused(delete.clone(), global, NONE).await;
    let unit = "/api/v1/business-units/acme";
    let settings = json!({ "type": "COMPANY", "name": "A company" });
    asked.done(put.clone(), unit, settings).await;
    let rate = "/api/v1/business-units/acme/exchange-rates/SALES/EUR/USD";
    asked.done(put, rate, json!({ "rateValue": 1.1 })).await;
    asked.done(delete.clone(), rate, NONE).await;
    asked.done(delete, unit, NONE).await;
    vec![
        json!({ "action": "condition.put", "id": "alcohol" }),
        json!({ "action": "condition.put", "id": "alcohol" }),
        json!({ "action": "condition.deleted", "id": "alcohol" }),
        json!({ "action": "business_unit.put", "tenant": "platform", "unit": "acme" }),
        json!({ "action": "rates.changed", "tenant": "platform", "unit": "acme" }),
        json!({ "action": "rates.changed", "tenant": "platform", "unit": "acme" }),
        json!({ "action": "business_unit.deleted", "tenant": "platform", "unit": "acme" }),
    ]
}

/// Takes out of lines what names the request and the versions; answers these.
fn versions(lines: &mut [Value]) -> Vec<(Value, Value)> {
    let versions = lines.iter_mut().map(|line| {
        let fields = line.as_object_mut().unwrap();
        let correlation = fields.remove("correlation").unwrap();
        assert!(uuid::Uuid::try_parse(correlation.as_str().unwrap()).is_ok());
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
    let http = Client::new();
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
    let versions = versions(&mut audit[administered..]);
    assert_eq!(audit, expected);
    // Each begins where the one before has ended.
    assert!(versions[0].0.is_null() && versions[2].1.is_null());
    assert_eq!(versions[0].1, versions[1].0);
    assert_eq!(versions[1].1, versions[2].0);
    assert_ne!(versions[0].1, versions[1].1);
    let [unit, set, cleared, removed] = &versions[3..] else {
        panic!("{versions:?}")
    };
    assert!(unit.0.is_null() && removed.1.is_null());
    assert_eq!(unit.1, removed.0);
    assert_eq!((&set.0, &set.1), (&cleared.1, &cleared.0));
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
