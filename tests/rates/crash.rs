//! A host that is killed again and again in the middle of a fan-out over thousands of shops, on either store:
//! afterwards every shop has exactly one message of each change. `host/benches/rates.rs` measures the memory of a
//! fan-out.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use reqwest::{Client, Method};
use serde_json::{Value, json};
use tillgate_base::data::etag::Preconditions;
use tillgate_base::identity::TenantId;
use tillgate_rates::topic::TOPIC;
use tillgate_rates::{Editor, UnitId, UnitSettings, UnitType};
use tillgate_store::clock::SystemClock;
use tillgate_store::{EmbeddedStore, Position, RedisStore, RedisUrl, Store};
use tillgate_tokens::Credentials;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::support::host::{Host, Program, client, read, token};
use crate::support::redis::Server;
use crate::support::sizes::size;
use crate::support::wait::until;

const COUNTRIES: usize = 10;
const TENANT: &str = "acme";

/// The number of shops: a fan-out over them takes many pages.
fn shops() -> usize {
    size(2_000, 20_000)
}

/// The number of times that the host is killed.
fn kills() -> usize {
    size(3, 10)
}

/// The number of messages to read at once.
const PAGE: usize = 1_000;

#[test]
fn a_killed_fan_out_reaches_every_shop_once_on_the_embedded_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let open = || -> Arc<dyn Store> {
        Arc::new(EmbeddedStore::open(&path, Arc::new(SystemClock)).unwrap())
    };
    let client = in_a_runtime(|| async { fill(open()).await });
    let url = format!("embedded:{}", path.display());
    let changes = in_a_runtime(|| kill_repeatedly(&url, folder.path(), &client));
    in_a_runtime(|| async { check(open().as_ref(), &changes).await });
}

#[test]
fn a_killed_fan_out_reaches_every_shop_once_on_redis() {
    let (server, folder) = (Server::durable(), tempfile::tempdir().unwrap());
    let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
    let open = || async {
        let opened = RedisStore::open(&url, Arc::new(SystemClock), true);
        Arc::new(opened.await.unwrap())
    };
    let client = in_a_runtime(|| async { fill(open().await).await });
    let address = server.url();
    let changes = in_a_runtime(|| kill_repeatedly(&address, folder.path(), &client));
    in_a_runtime(|| async { check(open().await.as_ref(), &changes).await });
}

/// Runs something in a separate runtime; everything that it has started ends with the runtime.
fn in_a_runtime<F: Future>(run: impl FnOnce() -> F) -> F::Output {
    let runtime = Runtime::new().unwrap();
    let _entered = runtime.enter();
    runtime.block_on(run())
}

/// Fills an empty store with a company and shops in ten countries; returns the credentials of its rate editor.
async fn fill(store: Arc<dyn Store>) -> Credentials {
    let host = Arc::new(Host::start_on(store, Arc::new(SystemClock)).await);
    let client = host.client(TENANT, &["exr.editor"]).await;
    put(&host, "C", UnitType::Company, None).await;
    let mut countries = JoinSet::new();
    for country in 0..COUNTRIES {
        let host = Arc::clone(&host);
        countries.spawn(async move {
            let id = format!("G{country}");
            put(&host, &id, UnitType::Group, Some("C")).await;
            for shop in (country..shops()).step_by(COUNTRIES) {
                put(&host, &format!("S{shop:05}"), UnitType::Store, Some(&id)).await;
            }
        });
    }
    while let Some(filled) = countries.join_next().await {
        filled.unwrap();
    }
    client
}

async fn put(host: &Host, id: &str, unit_type: UnitType, parent: Option<&str>) {
    let tenant = TenantId::new(TENANT).unwrap();
    let editor = Editor {
        tenant: &tenant,
        by: "test",
        name: None,
        note: None,
        correlation: Uuid::new_v4(),
        dry_run: false,
        accept_deviation: false,
    };
    let settings = UnitSettings::new(unit_type, parent.map(|id| UnitId::new(id).unwrap()));
    let (id, anything) = (UnitId::new(id).unwrap(), Preconditions::default());
    let put = host
        .features
        .rates
        .put_unit(editor, &id, &settings, &anything);
    put.await.unwrap();
}

/// Changes the company's rate several times and kills the host at a different point each time; returns the ids of the
/// changes.
async fn kill_repeatedly(store: &str, folder: &Path, credentials: &Credentials) -> Vec<String> {
    let http = client();
    let mut changes = Vec::new();
    let mut program = serve(store, folder);
    for round in 0..kills() {
        let manager = Manager::new(&http, &program, credentials).await;
        let is_new = round == 0;
        let change = manager.set("C", 10 + round, is_new).await;
        let reached = u64::try_from(shops() * round / kills()).unwrap();
        let what = format!("change {round} has reached {reached} shops");
        until(&what, async || manager.done(&change).await.1 >= reached).await;
        program.kill();
        program = serve(store, folder);
        let manager = Manager::new(&http, &program, credentials).await;
        let what = format!("change {round} is done");
        until(&what, async || manager.done(&change).await.0 == "DONE").await;
        changes.push(change);
    }
    changes
}

/// Starts a host on a store; it writes its operator's files to a folder.
fn serve(store: &str, folder: &Path) -> Program {
    let operator = folder.join("operator.json");
    let mut command = Program::command();
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
        .arg("--operator-file")
        .arg(operator);
    Program::spawn(&mut command, "")
}

/// The rate editor, at a running host.
struct Manager<'a> {
    http: &'a Client,
    url: String,
    token: String,
}

impl<'a> Manager<'a> {
    async fn new(http: &'a Client, program: &Program, credentials: &Credentials) -> Self {
        let url = program.url.clone();
        let Credentials {
            client_id,
            client_secret,
        } = credentials;
        let token = token(http, &url, client_id, client_secret.reveal()).await;
        Self { http, url, token }
    }

    /// Sets a rate of a unit; returns the id of the change.
    async fn set(&self, unit: &str, value: usize, is_new: bool) -> String {
        let path = format!("/api/v1/business-units/{unit}/exchange-rates/SALES/SEK/EUR");
        let request = self
            .http
            .request(Method::PUT, format!("{}{path}", self.url));
        let request = request
            .bearer_auth(&self.token)
            .json(&json!({ "rateValue": value }));
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), if is_new { 201 } else { 200 });
        let id = &response.headers()["correlation-id"];
        id.to_str().unwrap().to_owned()
    }

    /// Returns the state of a change, and how many shops it has reached.
    async fn done(&self, change: &str) -> (String, u64) {
        let path = format!("/api/v1/exchange-rates/changes/{change}");
        let request = self.http.get(format!("{}{path}", self.url));
        let (status, answer) = read(request.bearer_auth(&self.token).send().await.unwrap()).await;
        assert_eq!(status, 200, "{answer}");
        let done = answer["businessUnits"]["done"].as_u64().unwrap();
        (answer["state"].as_str().unwrap().to_owned(), done)
    }
}

/// Asserts that every shop has exactly one message of each change.
async fn check(store: &dyn Store, changes: &[String]) {
    let partition = TenantId::new(TENANT).unwrap().partition();
    let mut counts: HashMap<(String, String), usize> = HashMap::new();
    let mut after = Position::default();
    loop {
        let slice = store.read(&partition, TOPIC, after, PAGE).await.unwrap();
        for message in &slice.messages {
            let attribute = |name: &str| {
                let found = message.attributes.iter().find(|(it, _)| it == name);
                found.unwrap().1.clone()
            };
            let key = (attribute("Correlation-Id"), attribute("Business-Unit-Id"));
            *counts.entry(key).or_default() += 1;
            let body: Value = serde_json::from_slice(&message.body).unwrap();
            assert_eq!(body["tenantId"], TENANT);
        }
        let Some(last) = slice.messages.last() else {
            break;
        };
        after = last.position;
    }
    assert_eq!(counts.len(), shops() * changes.len());
    let twice = counts.iter().find(|(_, count)| **count > 1);
    assert_eq!(twice, None);
    for change in changes {
        let of_change = counts.keys().filter(|(id, _)| id == change);
        assert_eq!(of_change.count(), shops());
    }
}
