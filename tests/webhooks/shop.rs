//! A host with a stopped clock whose webhooks may be on this machine, and short functions for the requests of tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::MemoryStore;
use tillgate_store::clock::{Clock, StoppedClock, Timestamp};

use crate::support::host::{Host, HostStore};
use crate::support::stores::Opened;

pub(crate) const WEBHOOKS: &str = "/api/v1/webhooks";
pub(crate) const DELIVERIES: &str = "/api/v1/deliveries";
pub(crate) const TYPE: &str = "x.order-updates.v1";
pub(crate) const KEY: &str = "correct horse battery staple";

/// The initial time of the stopped clock: the start of 2026.
pub(crate) const START: Timestamp = Timestamp(1_767_225_600_000_000);

const ROLES: [&str; 3] = ["exe.editor", "exe.publisher", "ecs.editor"];

/// A host, and the token of an integrator of the tenant `acme`.
pub(crate) struct Shop {
    pub(crate) host: Host,
    pub(crate) clock: Arc<StoppedClock>,
    token: Mutex<String>,
}

/// Allows webhooks on this machine.
pub(crate) fn local(config: &mut Config) {
    config.webhooks.allow_http = true;
    config.webhooks.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::open_with(local).await
    }

    pub(crate) async fn open_with(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::open_on(store, clock, configure).await
    }

    /// Opens the shop on a fresh store.
    pub(crate) async fn open_at(on: &Opened) -> Self {
        Self::open_on(on.store.clone(), on.clock.clone(), local).await
    }

    pub(crate) async fn open_on(
        store: impl Into<HostStore>,
        clock: Arc<StoppedClock>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let shared: Arc<dyn Clock> = clock.clone();
        Self::of(
            Host::start_configured(store, shared, configure).await,
            clock,
        )
        .await
    }

    /// Opens the shop on a running host.
    pub(crate) async fn of(host: Host, clock: Arc<StoppedClock>) -> Self {
        let token = host.token("acme", &ROLES).await;
        let token = Mutex::new(token);
        Self { host, clock, token }
    }

    /// Returns a token of the integrator.
    pub(crate) fn token(&self) -> String {
        self.token.lock().unwrap().clone()
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        self.host.send(method, path, &self.token(), body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, body) = self.host.get(path, &self.token()).await;
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    /// Creates a webhook with these settings in addition to its URL; returns its id.
    pub(crate) async fn webhook(&self, url: &str, more: Value) -> String {
        let (status, body) = self
            .send(Method::POST, WEBHOOKS, &settings(url, more))
            .await;
        assert_eq!(status, 201, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    /// Publishes an event; returns its id.
    pub(crate) async fn publish(&self, data: Value) -> String {
        let event = json!({ "type": TYPE, "data": data });
        let (status, body) = self.send(Method::POST, "/api/v1/events", &event).await;
        assert_eq!(status, 202, "{body}");
        body["id"].as_str().unwrap().to_owned()
    }

    /// Runs the jobs that are due.
    pub(crate) async fn run(&self) {
        self.host.run_due().await;
    }

    /// Advances the clock, and runs the jobs that are due by then.
    pub(crate) async fn after(&self, span: Duration) {
        self.clock.advance(span);
        let token = self.host.token("acme", &ROLES).await;
        *self.token.lock().unwrap() = token;
        self.run().await;
    }

    /// Lets time pass in small steps, for jobs that wait for room.
    pub(crate) async fn pass(&self, steps: usize) {
        for _ in 0..steps {
            self.run().await;
            self.clock.advance(Duration::from_millis(500));
        }
        self.run().await;
    }

    /// Returns the deliveries that a query finds, newest first.
    pub(crate) async fn deliveries(&self, query: &str) -> Vec<Value> {
        let page = self.get(&format!("{DELIVERIES}?{query}")).await;
        page["items"].as_array().unwrap().clone()
    }

    /// Returns the only delivery.
    pub(crate) async fn delivery(&self) -> Value {
        let all = self.deliveries("").await;
        assert_eq!(all.len(), 1, "{all:#?}");
        self.get(&format!("{DELIVERIES}/{}", all[0]["id"].as_str().unwrap()))
            .await
    }
}

/// Returns the settings of a webhook.
pub(crate) fn settings(url: &str, more: Value) -> Value {
    let mut settings = json!({
        "name": "ERP",
        "callbackUrl": url,
        "eventTypes": [TYPE],
        "authentication": { "type": "BEARER" },
    });
    for (name, value) in more.as_object().unwrap() {
        settings[name] = value.clone();
    }
    settings
}

pub(crate) const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}
