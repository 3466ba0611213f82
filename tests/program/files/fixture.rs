//! A host in this process with a resource of every kind, the commands that talk to it, and the folder of its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;
use tillgate_tokens::Credentials;

use crate::support::host::{Host, HostStore, Program, token};
use crate::support::wait::output;

pub const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const OTHER_PROJECT: &str = "5b0e3f8a-94d2-4c57-8a16-d3c1f0b7e924";

/// The places of the webhooks' secrets.
pub const SECRETS: [(&str, &str); 2] = [
    ("WEBHOOK_ERP_PASSWORD", "hunter2 of the ERP"),
    ("WEBHOOK_ERP_SHARED_KEY", "correct horse battery staple"),
];

/// A host, its operator, and a folder for files.
pub struct Shop {
    pub host: Host,
    pub folder: tempfile::TempDir,
    token: String,
}

pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// Returns the output of a command that succeeds.
pub fn done(output: &Output) -> String {
    assert_eq!(
        code(output),
        0,
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout).to_owned()
}

/// Returns the error output of a command that fails.
pub fn failed(output: &Output) -> String {
    assert_eq!(
        code(output),
        1,
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stderr).to_owned()
}

/// Returns the command, with `DIR` replaced by the folder.
pub fn command(
    arguments: &[&str],
    folder: &Path,
    credentials: &Path,
    env: &[(&str, &str)],
) -> Command {
    let mut command = Program::command();
    for argument in arguments {
        match *argument {
            "DIR" => command.arg(folder),
            other => command.arg(other),
        };
    }
    command.env("TILLGATE_CREDENTIALS", credentials);
    command.envs(env.iter().copied());
    command
}

pub fn tillgate(
    arguments: &[&str],
    folder: &Path,
    credentials: &Path,
    env: &[(&str, &str)],
) -> Output {
    output(&mut command(arguments, folder, credentials, env))
}

/// Returns the files of all kinds in a folder, by path, except those whose names begin with a dot.
pub fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for kind in std::fs::read_dir(folder).unwrap() {
        let kind = kind.unwrap();
        for file in std::fs::read_dir(kind.path()).unwrap() {
            let file = file.unwrap();
            let name = file.file_name().into_string().unwrap();
            if !name.starts_with('.') {
                let name = format!("{}/{name}", kind.file_name().to_str().unwrap());
                files.insert(name, std::fs::read_to_string(file.path()).unwrap());
            }
        }
    }
    files
}

/// Writes the credentials of a client to a file.
pub fn credentials_file(folder: &Path, host: &Host, client: &Credentials) -> PathBuf {
    let file = folder.join(format!("{}.json", client.client_id.get(..12).unwrap()));
    let json = json!({
        "clientId": client.client_id, "clientSecret": client.client_secret,
        "tokenUrl": format!("{}/oauth2/token", host.url), "audience": host.app.config.audience,
    });
    std::fs::write(&file, json.to_string()).unwrap();
    file
}

impl Shop {
    /// Starts an empty host.
    pub async fn open() -> Self {
        let clock = Arc::new(SystemClock);
        Self::open_on(Arc::new(MemoryStore::new(clock))).await
    }

    pub async fn open_on(store: impl Into<HostStore>) -> Self {
        Self::open_with(store, |_| {}).await
    }

    /// Starts an empty host with other settings.
    pub async fn with(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(SystemClock);
        Self::open_with(Arc::new(MemoryStore::new(clock)), configure).await
    }

    async fn open_with(store: impl Into<HostStore>, configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(SystemClock);
        let host = Host::start_configured(store, clock, |config| {
            configure(config);
            config.webhooks.allow_http = true;
            config.webhooks.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
        })
        .await;
        let operator = host.client("platform", &["platform.operator"]).await;
        let folder = tempfile::tempdir().unwrap();
        let file = credentials_file(folder.path(), &host, &operator);
        std::fs::rename(file, folder.path().join("operator.json")).unwrap();
        let token = token(
            &host.http,
            &host.url,
            &operator.client_id,
            operator.client_secret.reveal(),
        )
        .await;
        Self {
            host,
            folder,
            token,
        }
    }

    /// Starts a host with a resource of every kind.
    pub async fn full() -> Self {
        let shop = Self::open().await;
        shop.fill().await;
        shop
    }

    async fn fill(&self) {
        for (path, body) in resources() {
            let method = match path.as_str() {
                path if path.ends_with("/webhooks")
                    || path.ends_with("/templates")
                    || path.ends_with("exchange-rates") =>
                {
                    Method::POST
                }
                _ => Method::PUT,
            };
            let (status, answer) = self.host.send(method, &path, &self.token, &body).await;
            assert!(matches!(status, 200 | 201), "{path}: {answer}");
        }
    }

    pub fn rules(&self) -> PathBuf {
        self.folder.path().join("rules")
    }

    pub fn operator(&self) -> PathBuf {
        self.folder.path().join("operator.json")
    }

    /// Runs a command as the operator.
    pub async fn run(&self, arguments: &[&str]) -> Output {
        self.run_on(self, arguments).await
    }

    /// Runs a command as the operator on the files of another shop.
    pub async fn run_on(&self, other: &Self, arguments: &[&str]) -> Output {
        self.run_as(&self.operator(), &other.rules(), arguments, &SECRETS)
            .await
    }

    pub async fn run_as(
        &self,
        credentials: &Path,
        rules: &Path,
        arguments: &[&str],
        env: &[(&str, &str)],
    ) -> Output {
        let mut command = command(arguments, rules, credentials, env);
        let output = tokio::task::spawn_blocking(move || output(&mut command))
            .await
            .unwrap();
        for secret in SECRETS.map(|(_, secret)| secret) {
            let printed = [&output.stdout, &output.stderr];
            assert!(
                printed
                    .iter()
                    .all(|printed| !text(printed).contains(secret)),
                "a secret was printed"
            );
        }
        output
    }

    pub async fn get(&self, path: &str) -> Value {
        let (status, body) = self.host.get(path, &self.token).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    pub async fn send(&self, method: Method, path: &str, body: Value) -> Value {
        let (status, answer) = self.host.send(method, path, &self.token, &body).await;
        assert!(status < 300, "{path}: {answer}");
        answer
    }

    /// Imports a document of reference rates.
    pub async fn import(&self, path: &str, xml: String) {
        let request = self.host.request(Method::POST, path, &self.token);
        let request = request.header("content-type", "application/xml").body(xml);
        assert_eq!(request.send().await.unwrap().status(), 200, "{path}");
    }

    pub async fn delete(&self, path: &str) {
        let request = self.host.request(Method::DELETE, path, &self.token);
        assert_eq!(request.send().await.unwrap().status(), 204, "{path}");
    }

    /// Returns all resources of the host, as it answers them.
    pub async fn all(&self) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for path in [
            "/v1/roles",
            "/v1/tenants/_/templates",
            "/v1/tenants/platform/templates",
            "/api/v1/entity-conditions",
            "/api/v1/projects",
            "/api/v1/business-units",
            "/api/v1/webhooks",
        ] {
            all.insert(path.to_owned(), self.get(path).await);
        }
        for unit in all["/api/v1/business-units"].clone().as_array().unwrap() {
            let path = format!(
                "/api/v1/business-units/{}/exchange-rates",
                unit["id"].as_str().unwrap()
            );
            all.insert(path.clone(), self.get(&path).await);
        }
        all
    }

    pub fn edit(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let file = self.rules().join(name);
        let mut json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        edit(&mut json);
        std::fs::write(file, json.to_string()).unwrap();
    }

    pub fn write(&self, name: &str, content: &str) {
        let file = self.rules().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
}

pub fn rate(from: &str, to: &str, value: Value) -> Value {
    json!({ "exchangeRateType": "SALES", "currencyIdFrom": from, "currencyIdTo": to, "rateValue": value })
}

/// Returns resources of every kind.
fn resources() -> Vec<(String, Value)> {
    let schema = json!({ "type": "object", "required": ["iso_cc"], "properties": { "number": { "maximum": 1.5 } } });
    let test = json!({
        "name": "seven\"teen", "request": { "item": { "id": "cola" }, "context": { "customer": { "customer_age": 17, "licenses": [{ "id": "x", "price": 1.5 }] } } },
        "expect": { "decision": "HARD_DENY", "reasons": ["age_restriction.underage"] },
    });
    let age = |minimum: u8| json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } });
    let license = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {}, "enabled": false });
    let beer = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 }, "tests": [test] });
    let markup = json!({ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "markupPercentage": 2.5 });
    let tolerance = json!({ "exchangeRateType": "PURCHASE", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "tolerancePercentage": 20 });
    let webhook = |name: &str, more: Value| {
        let mut webhook = json!({ "name": name, "callbackUrl": "https://127.0.0.1:9/hook", "eventTypes": ["*"], "authentication": { "type": "BEARER" } });
        webhook
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        webhook
    };
    let erp = json!({
        "authentication": { "type": "BASIC", "username": "till", "password": "hunter2 of the ERP" }, "sharedKey": "correct horse battery staple",
        "eventTypes": ["x.order-updates.v1", "projects.events.v1"], "signatureHeader": "X-Signature", "maxPerSecond": 10,
    });
    let filter = json!([{ "path": "$.data.total", "in": [1.50, "a", true] }]);
    [
        ("/v1/roles/reader", json!({ "permissions": ["other.thing.read", "ecs.condition.read"] })),
        ("/v1/tenants/_/templates", json!({ "softwareId": "till", "softwareVersion": "1", "name": "For all", "claimsSchema": {} })),
        ("/v1/tenants/platform/templates", json!({ "softwareId": "office", "softwareVersion": "1", "name": "The office", "claimsSchema": schema, "roles": [{ "roleId": "ecs.editor" }] })),
        ("/v1/tenants/platform/templates", json!({ "softwareId": "till", "softwareVersion": "1.0", "name": "A till", "claimsSchema": true, "roles": [{ "roleId": "reader" }] })),
        ("/api/v1/global-entity-conditions/alcohol", age(18)),
        ("/api/v1/global-entity-conditions/tobacco", license.clone()),
        ("/api/v1/entity-conditions/beer", beer),
        ("/api/v1/entity-conditions/spirits", age(20)),
        ("/api/v1/entity-conditions/Spirits", age(21)),
        ("/api/v1/entity-conditions/till:1", license),
        (&format!("/api/v1/projects/{PROJECT}"), json!({ "name": "A", "restrictions": [
            { "type": "WHITELIST", "propertyName": "group", "allowedValues": ["timber", true, "insulation"] },
            { "type": "BLACKLISTEDITEMS", "itemIds": ["foam-1", "foam-2"], "exclusive": true },
            { "type": "BOOLEAN", "propertyName": "wood", "value": true },
        ] })),
        (&format!("/api/v1/projects/{OTHER_PROJECT}"), json!({ "restrictions": [] })),
        ("/api/v1/business-units/nordic", json!({ "type": "COMPANY", "name": "Nordic", "tolerances": [tolerance] })),
        ("/api/v1/business-units/SE", json!({ "type": "GROUP", "parentId": "nordic", "markupPercentage": 1.5 })),
        ("/api/v1/business-units/se-001", json!({ "type": "STORE", "parentId": "SE", "markups": [markup] })),
        ("/api/v1/business-units/se-002", json!({ "type": "STORE", "parentId": "SE" })),
        ("/api/v1/business-units/se-003", json!({ "type": "STORE", "parentId": "nordic" })),
        ("/api/v1/business-units/nordic/exchange-rates", json!({ "set": [rate("SEK", "EUR", json!(11.25)), rate("NOK", "EUR", json!(11.75))] })),
        ("/api/v1/business-units/se-001/exchange-rates", json!({ "set": [rate("SEK", "EUR", json!(11.05)), rate("EUR", "SEK", json!(0.09))] })),
        ("/api/v1/webhooks", webhook("ERP", erp)),
        ("/api/v1/webhooks", webhook("Loyalty (card)", json!({}))),
        ("/api/v1/webhooks", webhook("All: Malmö", json!({ "filter": filter, "enabled": false }))),
    ]
    .map(|(path, body)| (path.to_owned(), body))
    .into()
}
