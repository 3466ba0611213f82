//! A host with the business units of a tenant, and the messages of its topic.
#![allow(dead_code, reason = "each test file takes what it needs")]

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_base::identity::TenantId;
use tillgate_rates::topic::TOPIC;
use tillgate_store::clock::{Clock, StoppedClock, Timestamp};
use tillgate_store::{MemoryStore, Position};

use crate::support::host::{Host, HostStore, read};

pub const ROLES: &[&str] = &["exr.editor", "exr.subscriber"];

/// 2026-11-20T12:00:00Z.
pub const NOON: Timestamp = Timestamp(1_795_176_000_000_000);

/// A host with a stopped clock, and a rate editor.
pub struct Shop {
    pub host: Host,
    pub store: HostStore,
    pub clock: Arc<StoppedClock>,
    pub token: String,
    pub tenant: &'static str,
}

impl Shop {
    /// Starts a host without units.
    pub async fn start() -> Self {
        Self::configured(|_| ()).await
    }

    /// Starts a host without units, with other settings than the defaults.
    pub async fn configured(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(StoppedClock::at(NOON));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::on(store, clock, configure).await
    }

    /// Starts a host without units on a store.
    pub async fn on(
        store: impl Into<HostStore>,
        clock: Arc<StoppedClock>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let store = store.into();
        // Passes run only when a test starts them, so no change waits for the ones before it.
        let configure = |config: &mut Config| {
            config.quotas.rate_passes = usize::MAX;
            configure(config);
        };
        let clock_of_host = clock.clone() as Arc<dyn Clock>;
        let host = Host::start_configured(store.clone(), clock_of_host, configure).await;
        let tenant = "acme";
        let token = host.token(tenant, ROLES).await;
        Self {
            host,
            store,
            clock,
            token,
            tenant,
        }
    }

    /// Starts a host with a company `C`, its country `SE` with the shops `SE-1` and `SE-2`, and the shop `C-1`
    /// directly below.
    pub async fn with_units() -> Self {
        Self::configured_with_units(|_| ()).await
    }

    /// Like [`Self::with_units`], with other settings than the defaults.
    pub async fn configured_with_units(configure: impl FnOnce(&mut Config)) -> Self {
        let shop = Self::configured(configure).await;
        shop.add_units().await;
        shop
    }

    pub async fn add_units(&self) {
        self.unit("C", json!({ "type": "COMPANY" })).await;
        self.unit("SE", json!({ "type": "GROUP", "parentId": "C" }))
            .await;
        for id in ["SE-1", "SE-2"] {
            self.unit(id, json!({ "type": "STORE", "parentId": "SE" }))
                .await;
        }
        self.unit("C-1", json!({ "type": "STORE", "parentId": "C" }))
            .await;
    }

    pub async fn send(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let path = format!("/api/v1/{path}");
        self.host.send(method, &path, &self.token, body).await
    }

    pub async fn get(&self, path: &str) -> (u16, Value) {
        self.host.get(&format!("/api/v1/{path}"), &self.token).await
    }

    /// Returns the text of a 200 answer.
    pub async fn text(&self, path: &str) -> String {
        let request = self
            .host
            .request(Method::GET, &format!("/api/v1/{path}"), &self.token);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.text().await.unwrap()
    }

    /// Sends a body of JSON text.
    pub async fn send_text(&self, method: Method, path: &str, body: &str) -> (u16, Value) {
        let request = self
            .host
            .request(method, &format!("/api/v1/{path}"), &self.token)
            .header("content-type", "application/json")
            .body(body.to_owned());
        read(request.send().await.unwrap()).await
    }

    /// Puts a unit, and lets the background follow.
    pub async fn unit(&self, id: &str, body: Value) -> u16 {
        let (status, answer) = self
            .send(Method::PUT, &format!("business-units/{id}"), &body)
            .await;
        // The unit may be new or changed; the caller gets the status.
        assert!(status == 200 || status == 201, "{answer}");
        self.host.run_due().await;
        status
    }

    /// Sets a `SALES` rate, and lets the background follow.
    pub async fn set(&self, unit: &str, from: &str, to: &str, value: &str) -> u16 {
        let path = format!("business-units/{unit}/exchange-rates/SALES/{from}/{to}");
        let body = format!(r#"{{"rateValue":{value}}}"#);
        let (status, answer) = self.send_text(Method::PUT, &path, &body).await;
        // The rate may be new or changed; the caller gets the status.
        assert!(status == 200 || status == 201, "{answer}");
        self.host.run_due().await;
        status
    }

    /// Deletes a `SALES` rate, and lets the background follow.
    pub async fn unset(&self, unit: &str, from: &str, to: &str) {
        let path = format!("business-units/{unit}/exchange-rates/SALES/{from}/{to}");
        let (status, answer) = self.send(Method::DELETE, &path, &Value::Null).await;
        assert_eq!(status, 204, "{answer}");
        self.host.run_due().await;
    }

    /// Returns the rates that a unit uses: `FROM/TO value value-with-markup set-at`.
    pub async fn used(&self, unit: &str) -> Vec<String> {
        let (status, used) = self
            .get(&format!("exchange-rates?businessUnit={unit}"))
            .await;
        assert_eq!(status, 200, "{used}");
        used.as_array().unwrap().iter().map(row).collect()
    }

    /// Returns all messages since `after`, and moves `after` past them.
    pub async fn messages(&self, after: &mut Position) -> Vec<Value> {
        let partition = TenantId::new(self.tenant).unwrap().partition();
        let slice = self
            .host
            .app
            .store
            .read(&partition, TOPIC, *after, 10_000)
            .await
            .unwrap();
        *after = slice.last;
        slice
            .messages
            .iter()
            .map(|message| serde_json::from_slice(&message.body).unwrap())
            .collect()
    }
}

fn row(rate: &Value) -> String {
    format!(
        "{}/{} {} {} {}",
        rate["currencyIdFrom"].as_str().unwrap(),
        rate["currencyIdTo"].as_str().unwrap(),
        rate["rateValue"],
        rate["rateValueWithMarkup"],
        rate["setAt"].as_str().unwrap(),
    )
}
