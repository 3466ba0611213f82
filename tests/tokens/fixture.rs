//! A host with a stopped clock, its operator, and short functions for the requests of tests.

use std::sync::{Arc, Mutex};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_base::identity::Secret;
use tillgate_store::clock::{Clock, StoppedClock, Timestamp};
use tillgate_store::{MemoryStore, Partition, Store};
use tillgate_tokens::Credentials;

use crate::support::host::{Host, HostStore, keys, read};

/// The time of a test's clock: the start of 2026.
pub const START: Timestamp = Timestamp(1_767_225_600_000_000);

pub const AUDIENCE: &str = "https://api.tillgate.example";

/// The form of a valid token request.
pub const FORM: &str = "grant_type=client_credentials&audience=https%3A%2F%2Fapi.tillgate.example";

/// A host, its clock and its operator.
pub struct Service {
    pub host: Host,
    pub clock: Arc<StoppedClock>,
    pub store: HostStore,
    pub operator: Credentials,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Value,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

impl Service {
    pub async fn start() -> Self {
        Self::configured(|_| ()).await
    }

    pub async fn configured(configure: impl FnOnce(&mut Config)) -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::on(store, clock, configure).await
    }

    /// Starts a service that signs with another key than those of other tests.
    pub async fn with_another_key() -> Self {
        let clock = Arc::new(StoppedClock::at(START));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(clock.clone()));
        keys::provide_another(&store, START).await;
        Self::on(store, clock, |_| ()).await
    }

    /// Starts a service on a store and a clock.
    pub async fn on(
        store: impl Into<HostStore>,
        clock: Arc<StoppedClock>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let store = store.into();
        let host = Host::start_configured(store.clone(), clock.clone(), configure).await;
        let kept = Mutex::new(None);
        let keep = |credentials: &Credentials| {
            *kept.lock().unwrap() = Some(credentials.clone());
            Ok(())
        };
        assert!(host.features.tokens.ensure_operator(keep).await.unwrap());
        let operator = kept.into_inner().unwrap().unwrap();
        Self {
            host,
            clock,
            store,
            operator,
        }
    }

    pub fn clock_at(&self) -> Timestamp {
        self.clock.now()
    }

    pub async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let headers = response.headers().clone();
        let (status, body) = read(response).await;
        Answer {
            status,
            headers,
            body,
        }
    }

    /// Returns a token request with these credentials and this form.
    pub fn ask(&self, id: &str, secret: &str, form: &str) -> RequestBuilder {
        self.ask_without_credentials(form)
            .basic_auth(id, Some(secret))
    }

    pub fn ask_without_credentials(&self, form: &str) -> RequestBuilder {
        let url = format!("{}/oauth2/token", self.host.url);
        let request = self.host.http.post(url).body(form.to_owned());
        request.header("content-type", "application/x-www-form-urlencoded")
    }

    pub async fn token_of(&self, credentials: &Credentials) -> String {
        let Credentials {
            client_id,
            client_secret,
        } = credentials;
        let answer = self
            .send(self.ask(client_id, client_secret.reveal(), FORM))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["access_token"].as_str().unwrap().to_owned()
    }

    pub async fn operator(&self) -> String {
        self.token_of(&self.operator).await
    }

    /// Returns a token of an administrator of a tenant.
    pub async fn admin(&self, tenant: &str) -> String {
        self.host.token(tenant, &["iam.admin"]).await
    }

    pub async fn call(&self, method: Method, path: &str, token: &str, body: Value) -> Answer {
        let request = self.host.request(method, path, token);
        self.send(if body.is_null() {
            request
        } else {
            request.json(&body)
        })
        .await
    }

    pub async fn get(&self, path: &str, token: &str) -> Answer {
        self.call(Method::GET, path, token, Value::Null).await
    }

    pub async fn put(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call(Method::PUT, path, token, body).await
    }

    pub async fn post(&self, path: &str, token: &str, body: Value) -> Answer {
        self.call(Method::POST, path, token, body).await
    }

    pub async fn delete(&self, path: &str, token: &str) -> Answer {
        self.call(Method::DELETE, path, token, Value::Null).await
    }

    pub async fn register(&self, body: &Value) -> Answer {
        let url = format!("{}/v1/registration", self.host.url);
        self.send(self.host.http.post(url).json(body)).await
    }

    /// Creates a tenant with a template that accepts any claims and gives these roles.
    pub async fn open_tenant(&self, tenant: &str, roles: &[&str]) {
        let operator = self.operator().await;
        let path = format!("/v1/tenants/{tenant}/templates");
        let template = template("till", json!({ "type": "object" }), roles);
        let made = self.post(&path, &operator, template).await;
        assert_eq!(made.status, 201, "{}", made.body);
    }

    /// Registers the till with this number; returns its id and secret.
    pub async fn till(&self, tenant: &str, number: u64) -> Credentials {
        let answer = self
            .register(&registration(tenant, json!({ "number": number })))
            .await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let text = |member: &str| answer.body[member].as_str().unwrap().to_owned();
        Credentials {
            client_id: text("clientId"),
            client_secret: Secret::new(text("clientSecret")),
        }
    }

    /// Calls a route for operators with a token; returns the status, which is 403 for any known client, and the detail.
    pub async fn status_of(&self, token: &str) -> (u16, String) {
        let answer = self.get("/v1/tenants", token).await;
        (
            answer.status,
            answer.body["detail"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    }

    /// Returns the service's own key, to sign tokens that the service would not issue.
    pub async fn forge(&self) -> Forge {
        let partition = Partition::new("iam").unwrap();
        let entry = self
            .store
            .get(&partition, &["keys".to_owned()])
            .await
            .unwrap()
            .remove(0);
        let keys: Value = serde_json::from_slice(&entry.unwrap().value).unwrap();
        let key = &keys[0];
        let private = BASE64URL.decode(key["private"].as_str().unwrap()).unwrap();
        Forge {
            pair: KeyPair::from_pkcs8(&private).unwrap(),
            kid: key["kid"].as_str().unwrap().to_owned(),
        }
    }
}

pub struct Forge {
    pub pair: KeyPair,
    pub kid: String,
}

impl Forge {
    pub fn header(&self) -> Value {
        json!({ "alg": "RS256", "typ": "JWT", "kid": self.kid })
    }

    pub fn sign(&self, header: &str, claims: &str) -> String {
        let text = format!("{}.{}", BASE64URL.encode(header), BASE64URL.encode(claims));
        let mut signature = vec![0; self.pair.public_modulus_len()];
        let rng = SystemRandom::new();
        self.pair
            .sign(&RSA_PKCS1_SHA256, &rng, text.as_bytes(), &mut signature)
            .unwrap();
        format!("{text}.{}", BASE64URL.encode(signature))
    }
}

/// Returns the JSON of a part of a token.
pub fn part(token: &str, index: usize) -> Value {
    serde_json::from_str(&part_text(token, index)).unwrap()
}

/// Returns the text of a part of a token.
pub fn part_text(token: &str, index: usize) -> String {
    let part = token.split('.').nth(index).unwrap();
    String::from_utf8(BASE64URL.decode(part).unwrap()).unwrap()
}

pub fn template(software: &str, schema: Value, roles: &[&str]) -> Value {
    let roles: Vec<Value> = roles.iter().map(|role| json!({ "roleId": role })).collect();
    json!({
        "softwareId": software, "softwareVersion": "1", "name": "A till",
        "claimsSchema": schema, "roles": roles,
    })
}

pub fn registration(tenant: &str, claims: Value) -> Value {
    json!({
        "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false,
        "tenantId": tenant, "claims": claims,
    })
}

/// Returns the messages of a 400.
pub fn messages(answer: &Answer) -> Vec<&str> {
    assert_eq!(answer.status, 400, "{}", answer.body);
    answer.body["message"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}
