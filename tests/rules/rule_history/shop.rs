//! A host with rules and a stopped clock, and requests for their history.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::MemoryStore;
use tillgate_store::clock::{Clock, StoppedClock};
use tillgate_tokens::Credentials;

use crate::support::host::{self, Host, HostStore, read};
use crate::support::stores::{Opened, clock};

pub(crate) const BEER: &str = "/api/v1/entity-conditions/beer";
pub(crate) const GLOBAL_BEER: &str = "/api/v1/global-entity-conditions/beer";
pub(crate) const PROJECT: &str = "/api/v1/projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

const ROLES: &[&str] = &["ecs.editor", "iam.admin"];

/// A host, and a rule owner of the tenant `shop`.
pub(crate) struct Shop {
    pub(crate) host: Host,
    pub(crate) clock: Arc<StoppedClock>,
    pub(crate) owner: Credentials,
    token: Mutex<String>,
}

/// Returns the body of an age condition.
pub(crate) fn age(minimum: u64) -> Value {
    json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } })
}

/// Returns the change of a history row, without who and when: `16 -> 18`.
pub(crate) fn step(item: &Value) -> String {
    let side = |name: &str| match &item[name] {
        Value::Null => "-".to_owned(),
        document => document["condition_value"]["minimum_age"].to_string(),
    };
    format!(
        "{} {} -> {}",
        item["action"].as_str().unwrap(),
        side("before"),
        side("after")
    )
}

pub(crate) fn steps(page: &Value) -> Vec<String> {
    page["items"].as_array().unwrap().iter().map(step).collect()
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::configured(|_| ()).await
    }

    pub(crate) async fn configured(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = clock();
        Self::on(Arc::new(MemoryStore::new(clock.clone())), clock, configure).await
    }

    /// Opens the shop on a fresh store.
    pub(crate) async fn open_at(on: &Opened) -> Self {
        Self::on(on.store.clone(), on.clock.clone(), |_| ()).await
    }

    pub(crate) async fn on(
        store: impl Into<HostStore>,
        clock: Arc<StoppedClock>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let shared: Arc<dyn Clock> = clock.clone();
        let configure = |config: &mut Config| {
            config.issuer = "https://tillgate.example/".to_owned();
            configure(config);
        };
        let host = Host::start_configured(store, shared, configure).await;
        let owner = host.client("shop", ROLES).await;
        let shop = Self {
            host,
            clock,
            owner,
            token: Mutex::default(),
        };
        shop.sign_in().await;
        shop
    }

    /// Starts another host on the same store; it accepts this host's tokens.
    pub(crate) async fn another(&self, on: &Opened) -> Host {
        let clock: Arc<dyn Clock> = self.clock.clone();
        let configure =
            |config: &mut Config| config.issuer = "https://tillgate.example/".to_owned();
        Host::start_configured(on.store.clone(), clock, configure).await
    }

    async fn sign_in(&self) {
        let Credentials {
            client_id,
            client_secret,
        } = &self.owner;
        let (http, url) = (&self.host.http, &self.host.url);
        let token = host::token(http, url, client_id, client_secret.reveal()).await;
        *self.token.lock().unwrap() = token;
    }

    pub(crate) fn token(&self) -> String {
        self.token.lock().unwrap().clone()
    }

    /// Lets time pass; earlier tokens may expire.
    pub(crate) async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.host.run_due().await;
        self.sign_in().await;
    }

    pub(crate) async fn put(&self, path: &str, body: &Value) -> u16 {
        let token = self.token();
        self.host.send(Method::PUT, path, &token, body).await.0
    }

    pub(crate) async fn delete(&self, path: &str) -> u16 {
        let request = self.host.request(Method::DELETE, path, &self.token());
        request.send().await.unwrap().status().as_u16()
    }

    /// Returns a page of the history of the rule at a path.
    pub(crate) async fn history(&self, path: &str, query: &str) -> Value {
        let (status, page) = self.asked(path, query, &self.token()).await;
        assert_eq!(status, 200, "{page}");
        page
    }

    /// Returns a page of the rules of a kind that the tenant has deleted.
    pub(crate) async fn deleted(&self, kind: &str, query: &str) -> Value {
        let path = format!("/api/v1/deleted-{kind}{query}");
        let (status, page) = self.host.get(&path, &self.token()).await;
        assert_eq!(status, 200, "{page}");
        page
    }

    pub(crate) async fn asked(&self, path: &str, query: &str, token: &str) -> (u16, Value) {
        let path = format!("{path}/history{query}");
        read(
            self.host
                .request(Method::GET, &path, token)
                .send()
                .await
                .unwrap(),
        )
        .await
    }

    /// Returns the bytes of history in the tenant's usage.
    pub(crate) async fn bytes(&self) -> u64 {
        let (_, usage) = self.host.get("/v1/tenants/shop/usage", &self.token()).await;
        usage["historyBytes"]["used"].as_u64().unwrap()
    }
}
