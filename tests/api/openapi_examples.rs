//! The examples of the OpenAPI document are requests that a host accepts: sent unchanged by a client with all
//! permissions, none is malformed, and the answers conform to the document.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Map, Value, json};
use tillgate_base::egress::Names;
use tillgate_store::MemoryStore;
use tillgate_store::clock::{StoppedClock, Timestamp};
use tillgate_tokens::Credentials;

use crate::support::documented::{Documented, Exchange};
use crate::support::host::{Host, token};

/// The time of the examples: 2026-11-20, 18:00 UTC.
const NOW: Timestamp = Timestamp(1_795_197_600_000_000);

const EVENTS: &str = "text/event-stream";

/// The methods in the order in which their examples are sent: what is created comes first, what is deleted last.
const METHODS: [&str; 4] = ["put", "post", "get", "delete"];

/// No name resolves.
#[derive(Debug)]
struct Nowhere;

impl Names for Nowhere {
    fn look_up(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        async { Err(io::Error::other("no such name")) }.boxed()
    }
}

/// A host with the company that the examples belong to, and a client of the platform with all permissions.
struct Session {
    host: Host,
    document: Value,
    documented: Documented,
    client: Credentials,
    token: String,
}

/// An example as it is sent.
struct Sent<'d> {
    method: &'d str,
    path: String,
    media_type: Option<&'d str>,
    body: &'d Value,
}

impl Session {
    async fn open() -> Self {
        let clock = Arc::new(StoppedClock::at(NOW));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let host = Host::start_resolving(store, clock, Arc::new(Nowhere), |_| ()).await;
        let platform = host.app.config.platform_tenant.clone();
        let operator = host.token(&platform, &["platform.operator"]).await;
        let (_, roles) = host.get("/v1/roles", &operator).await;
        let roles = roles.as_array().unwrap().iter();
        let roles: Vec<_> = roles.map(|role| role["roleId"].as_str().unwrap()).collect();
        let client = host.client(&platform, &roles).await;
        let (id, secret) = (&client.client_id, client.client_secret.reveal());
        let token = token(&host.http, &host.url, id, secret).await;
        let (_, document) = host.get("/openapi.json", "").await;
        let unit = "/api/v1/business-units";
        let put = &document["paths"][format!("{unit}/{{businessUnitId}}")]["put"];
        let company = &put["requestBody"]["content"]["application/json"]["examples"]["a company"];
        let path = format!("{unit}/nordic-retail");
        let created = host
            .send(Method::PUT, &path, &token, &company["value"])
            .await;
        assert_eq!(created.0, 201, "{}", created.1);
        Self {
            documented: Documented::of(&host).await,
            host,
            document,
            client,
            token,
        }
    }

    async fn send(&self, sent: &Sent<'_>) -> Response {
        let method: Method = sent.method.to_ascii_uppercase().parse().unwrap();
        let request = match &*sent.path {
            "/oauth2/token" => {
                let Credentials {
                    client_id,
                    client_secret,
                    ..
                } = &self.client;
                let url = format!("{}{}", self.host.url, sent.path);
                let request = self.host.http.request(method, url);
                request.basic_auth(client_id, Some(client_secret.reveal()))
            }
            path => self.host.request(method, path, &self.token),
        };
        let request = match sent.media_type {
            Some(media_type) => with_body(request, media_type, sent.body),
            None => request,
        };
        request.send().await.unwrap()
    }

    /// Sends the example and checks the answer against the document; returns the status. The resource of the example
    /// may be missing or exist already.
    async fn status(&self, sent: &Sent<'_>) -> u16 {
        let answer = self.send(sent).await;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = if is_stream(&headers) {
            bytes::Bytes::new()
        } else {
            answer.bytes().await.unwrap()
        };
        let (id, faults) = self.documented.check(&Exchange {
            method: &sent.method.to_ascii_uppercase(),
            path: &sent.path,
            sent: sent.body,
            status,
            headers: &headers,
            body: &body,
        });
        let text = String::from_utf8_lossy(&body);
        let is_taken = matches!(status, 200..300 | 404 | 409);
        assert!(is_taken, "{id} {}: {status} {text}", sent.path);
        assert_eq!(faults, [""; 0], "{id}: {status} {text}");
        status
    }
}

/// Returns a part of the document, or the part that it refers to.
fn resolved<'d>(document: &'d Value, part: &'d Value) -> &'d Value {
    match part["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => part,
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|it| it == EVENTS)
}

fn with_body(request: RequestBuilder, media_type: &str, body: &Value) -> RequestBuilder {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let members = || body.as_object().unwrap().iter();
    match media_type {
        "application/x-www-form-urlencoded" => {
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(members().map(|(name, value)| (name, text(value))));
            request.header(CONTENT_TYPE, media_type).body(form.finish())
        }
        "multipart/form-data" => {
            let parts = members().map(|(name, value)| {
                let disposition = format!("Content-Disposition: form-data; name=\"{name}\"");
                format!("--x\r\n{disposition}\r\n\r\n{}\r\n", text(value))
            });
            let form = format!("{}--x--\r\n", parts.collect::<String>());
            let media_type = format!("{media_type}; boundary=x");
            request.header(CONTENT_TYPE, media_type).body(form)
        }
        _ => request.header(CONTENT_TYPE, media_type).body(text(body)),
    }
}

/// Returns the path and query of an operation, filled with its examples: the required parameters, and those that a
/// form must have as parts.
fn path_of(path: &str, operation: &Map<String, Value>, parts: &[Value]) -> String {
    let mut path = path.to_owned();
    let mut query = form_urlencoded::Serializer::new(String::new());
    let parameters = operation.get("parameters").and_then(Value::as_array);
    for parameter in parameters.into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap();
        if parameter["required"] == false && !parts.contains(&parameter["name"]) {
            continue;
        }
        let example = parameter["example"].as_str();
        let example = example.unwrap_or_else(|| panic!("{path}: {name} has no example"));
        match parameter["in"].as_str() {
            Some("path") => path = path.replace(&format!("{{{name}}}"), example),
            _ => drop(query.append_pair(name, example)),
        }
    }
    match query.finish() {
        query if query.is_empty() => path,
        query => format!("{path}?{query}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_example_of_every_request_is_taken() {
    let s = Session::open().await;
    let mut paths: Vec<_> = s.document["paths"].as_object().unwrap().iter().collect();
    let mut succeeded = 0;
    for method in METHODS {
        // Children are deleted before their parents.
        if method == "delete" {
            paths.reverse();
        }
        for (path, methods) in &paths {
            let Some(operation) = methods.get(method).and_then(Value::as_object) else {
                continue;
            };
            let none = Map::new();
            let contents = operation.get("requestBody").map(|body| &body["content"]);
            let contents = contents.and_then(Value::as_object).unwrap_or(&none);
            let form = contents.get("multipart/form-data");
            let form = form.map(|form| resolved(&s.document, &form["schema"])["required"].clone());
            let parts = form.and_then(|parts| parts.as_array().cloned());
            let mut bodies: Vec<_> = contents.iter().filter_map(first).collect();
            if bodies.is_empty() {
                bodies.push((None, &Value::Null));
            }
            for (media_type, body) in bodies {
                let is_form = media_type == Some("multipart/form-data");
                let parts = parts.as_deref().filter(|_| !is_form).unwrap_or_default();
                let sent = Sent {
                    method,
                    path: path_of(path, operation, parts),
                    media_type,
                    body,
                };
                succeeded += usize::from(s.status(&sent).await < 300);
            }
        }
    }
    assert!(succeeded > 75, "{succeeded}");
    s.host.run_due().await;
}

/// Returns the first example of a media type, if it has one.
fn first<'d>(
    (media_type, content): (&'d String, &'d Value),
) -> Option<(Option<&'d str>, &'d Value)> {
    let mut examples = content.get("examples")?.as_object()?.values();
    Some((Some(media_type), &examples.next()?["value"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_many_rates_have_the_entity_tag_that_is_documented_and_dry_runs_have_none() {
    let s = Session::open().await;
    let unit = "/api/v1/business-units/nordic-retail/exchange-rates";
    let rate = json!({ "exchangeRateType": "SALES", "currencyIdFrom": "SEK", "currencyIdTo": "EUR", "rateValue": 11.05 });
    let (set, json) = (json!({ "set": [rate] }), Some("application/json"));
    for (method, path, media_type, body, has_tag) in [
        ("post", unit.to_owned(), json, &set, true),
        ("post", format!("{unit}?dryRun=true"), json, &set, false),
        (
            "delete",
            format!("{unit}/SALES/SEK/EUR?dryRun=true"),
            None,
            &Value::Null,
            false,
        ),
    ] {
        let sent = Sent {
            method,
            path,
            media_type,
            body,
        };
        assert_eq!(s.status(&sent).await, 200, "{}", sent.path);
        let answer = s.send(&sent).await;
        assert_eq!(
            answer.headers().contains_key("etag"),
            has_tag,
            "{}",
            sent.path
        );
    }
    s.host.run_due().await;
}
