//! Cross-origin requests: off by default, with answers that are byte-for-byte the same; with configured origins,
//! limits on the requests that their pages may send and the answers that they may read.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::json;
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use crate::support::host::Host;
use crate::support::wire::{self, Headers, Response, message};

const SHOP: &str = "https://shop.example";
const CONDITION: &str = "/api/v1/entity-conditions/beer";
const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator"];

/// Starts a host whose settings name these origins.
async fn open_to(origins: &[&str]) -> Host {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let origins: Vec<_> = origins.iter().map(|origin| (*origin).to_owned()).collect();
    Host::start_configured(store, clock, |config| config.cors.origins = origins).await
}

async fn send(host: &Host, line: &str, headers: Headers<'_>) -> Response {
    wire::send_one(&host.url, &message(line, headers, "")).await
}

/// Returns the headers of an answer that concern other origins, in lower case.
fn about_origins(headers: &HeaderMap) -> Vec<(&str, &str)> {
    let all = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
    let mut about: Vec<_> = all
        .filter(|(name, value)| {
            name.starts_with("access-control-") || (*name == "vary" && *value != "accept-encoding")
        })
        .collect();
    about.sort_unstable();
    about
}

/// Returns the headers of a browser's preflight before a PUT of JSON.
fn preflight(origin: &str) -> [(&str, &str); 3] {
    [
        ("origin", origin),
        ("access-control-request-method", "PUT"),
        (
            "access-control-request-headers",
            "authorization,content-type",
        ),
    ]
}

#[tokio::test]
async fn without_origins_answers_are_the_same_to_the_byte() {
    let host = Host::start().await;
    let correlation = ("correlation-id", "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90");
    for (line, status) in [
        (format!("OPTIONS {CONDITION}"), 405),
        ("GET /healthz".to_owned(), 200),
        ("GET /nowhere".to_owned(), 404),
        (format!("GET {CONDITION}"), 401),
    ] {
        let plain = send(&host, &line, &[correlation]).await;
        let [origin, method, headers] = preflight(SHOP);
        let asked = send(&host, &line, &[correlation, origin, method, headers]).await;
        assert_eq!((plain.status, asked.status), (status, status), "{line}");
        assert_eq!(plain.body, asked.body, "{line}");
        let without_date = |headers: &HeaderMap| {
            let mut headers = headers.clone();
            headers.remove("date");
            headers
        };
        assert_eq!(
            without_date(&plain.headers),
            without_date(&asked.headers),
            "{line}"
        );
        assert_eq!(about_origins(&asked.headers), [], "{line}");
    }
    let asked = send(&host, &format!("OPTIONS {CONDITION}"), &preflight(SHOP)).await;
    assert_eq!(asked.headers["allow"], "DELETE, GET, HEAD, PUT");
}

#[tokio::test]
async fn a_preflight_of_an_origin_is_answered_for_the_paths_and_methods_that_there_are() {
    let host = open_to(&["https://other.example", SHOP]).await;
    let allowed = "Authorization, Content-Type, Correlation-Id, If-Match, If-None-Match, Last-Event-ID, \
                   Prefer, baggage, traceparent, tracestate";
    let exposed = "Correlation-Id, ETag, Location, Preference-Applied, Retry-After, Tillgate-Engine, Tillgate-Failing-Tests, \
                   Tillgate-Stale, WWW-Authenticate";
    for (path, methods) in [
        (CONDITION, "DELETE, GET, HEAD, PUT"),
        ("/api/v1/evaluations", "POST"),
        ("/oauth2/token", "POST"),
        ("/healthz", "GET, HEAD"),
    ] {
        let answer = send(&host, &format!("OPTIONS {path}"), &preflight(SHOP)).await;
        assert_eq!((answer.status, &*answer.body), (204, ""), "{path}");
        let expected = [
            ("access-control-allow-headers", allowed),
            ("access-control-allow-methods", methods),
            ("access-control-allow-origin", SHOP),
            ("access-control-expose-headers", exposed),
            ("access-control-max-age", "7200"),
            ("vary", "origin"),
        ];
        assert_eq!(about_origins(&answer.headers), expected, "{path}");
    }
    let nowhere = send(&host, "OPTIONS /nowhere", &preflight(SHOP)).await;
    assert_eq!(nowhere.status, 404);
    assert_eq!(nowhere.headers["access-control-allow-origin"], SHOP);
    assert!(!nowhere.headers.contains_key("access-control-allow-methods"));

    // Anything that is not a preflight from such an origin is answered as without CORS.
    let [origin, method, headers] = preflight(SHOP);
    let [stranger, ..] = preflight("https://shop.example.evil.example");
    for (headers, allowed) in [
        (&[origin][..], Some(SHOP)),
        (&[method, headers][..], None),
        (&[stranger, method, headers][..], None),
        (&[("origin", "null"), method][..], None),
        (&[("origin", "http://shop.example"), method][..], None),
        (&[("origin", "https://shop.example:8443"), method][..], None),
    ] {
        let answer = send(&host, &format!("OPTIONS {CONDITION}"), headers).await;
        assert_eq!(answer.status, 405, "{headers:?}");
        assert_eq!(answer.headers["allow"], "DELETE, GET, HEAD, PUT");
        let reader = answer.headers.get("access-control-allow-origin");
        assert_eq!(
            reader.map(|origin| origin.to_str().unwrap()),
            allowed,
            "{headers:?}"
        );
        assert_eq!(answer.headers["vary"], "origin");
    }
}

#[tokio::test]
async fn every_answer_says_which_origin_may_read_it() {
    let host = open_to(&[SHOP]).await;
    let token = host.token("acme", ROLES).await;
    let body = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let made = host.request(Method::PUT, CONDITION, &token).json(&body);
    let made = made.header("origin", SHOP).send().await.unwrap();
    assert_eq!(made.status(), 201);
    let etag = made.headers()["etag"].to_str().unwrap().to_owned();
    let bearer = format!("Bearer {token}");
    let authorized = ("authorization", &*bearer);
    let catalog = "/api/v1/catalog/changes";
    for (line, header, status) in [
        (format!("GET {CONDITION}"), authorized, 200),
        (format!("HEAD {CONDITION}"), authorized, 200),
        (format!("GET {CONDITION}"), ("accept", "*/*"), 401),
        (format!("POST {CONDITION}"), authorized, 405),
        ("GET /nowhere".to_owned(), authorized, 404),
        ("GET /api/v1/projects/x%FF".to_owned(), authorized, 400),
        ("POST /oauth2/token".to_owned(), authorized, 400),
        ("GET /healthz".to_owned(), ("accept", "image/png"), 406),
    ] {
        for (origin, allowed) in [(SHOP, true), ("https://stranger.example", false)] {
            let answer = send(&host, &line, &[header, ("origin", origin)]).await;
            assert_eq!(answer.status, status, "{line}");
            let reader = answer.headers.get("access-control-allow-origin");
            assert_eq!(
                reader.is_some_and(|reader| reader == origin),
                allowed,
                "{line}"
            );
            assert_eq!(reader.is_some(), allowed, "{line}");
            assert_eq!(answer.headers["vary"], "origin", "{line}");
            assert!(
                !answer
                    .headers
                    .contains_key("access-control-allow-credentials")
            );
        }
    }
    let known = [authorized, ("if-none-match", &*etag), ("origin", SHOP)];
    let unchanged = send(&host, &format!("GET {CONDITION}"), &known).await;
    assert_eq!(unchanged.status, 304);
    assert_eq!(unchanged.headers["access-control-allow-origin"], SHOP);
    let stream = host.request(Method::GET, catalog, &token);
    let stream = stream.header("origin", SHOP).send().await.unwrap();
    assert_eq!(stream.headers()["access-control-allow-origin"], SHOP);
    // Caches must distinguish compressed answers by both request headers.
    let page = [("accept-encoding", "gzip"), ("origin", SHOP)];
    let page = host
        .http
        .get(&host.url)
        .header(page[0].0, page[0].1)
        .header(page[1].0, page[1].1);
    let page = page.send().await.unwrap();
    let vary: Vec<_> = page.headers().get_all("vary").iter().collect();
    assert_eq!(vary, ["accept-encoding", "origin"]);
}

#[tokio::test]
async fn configured_app_origins_and_extra_headers_are_allowed() {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let shells = ["tauri://localhost", "capacitor://localhost"];
    let host = Host::start_configured(store, clock, |config| {
        config.cors.origins = shells.map(str::to_owned).into();
        config.cors.headers = vec!["X-Request-Id".to_owned(), "X-Till".to_owned()];
    });
    let host = host.await;
    for shell in shells {
        let answer = send(&host, &format!("OPTIONS {CONDITION}"), &preflight(shell)).await;
        assert_eq!(answer.status, 204, "{shell}");
        assert_eq!(answer.headers["access-control-allow-origin"], shell);
        let allowed = answer.headers["access-control-allow-headers"]
            .to_str()
            .unwrap();
        let more = ", traceparent, tracestate, X-Request-Id, X-Till";
        assert!(allowed.ends_with(more), "{allowed}");
    }
    let other = [("origin", "ionic://localhost")];
    let answer = send(&host, "GET /healthz", &other).await;
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn a_star_lets_in_every_origin_without_credentials() {
    let host = open_to(&["*"]).await;
    for headers in [&[("origin", "null")][..], &[("origin", SHOP)], &[]] {
        let answer = send(&host, "GET /healthz", headers).await;
        assert_eq!(answer.headers["access-control-allow-origin"], "*");
        assert!(
            !answer
                .headers
                .contains_key("access-control-allow-credentials")
        );
        assert!(!answer.headers.contains_key("vary"));
    }
    let answer = send(&host, &format!("OPTIONS {CONDITION}"), &preflight(SHOP)).await;
    assert_eq!(answer.status, 204);
    assert_eq!(answer.headers["access-control-allow-origin"], "*");
}

#[tokio::test]
async fn the_address_for_operators_answers_no_other_origin() {
    let host = open_to(&["*"]).await;
    let listener = tillgate_http::Listener::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let url = format!("http://{}", listener.address().unwrap());
    let server = host.features.operations_server(&host.app).unwrap();
    let serving = tokio::spawn(listener.serve(server, std::future::pending()));
    for line in ["GET /metrics", "OPTIONS /metrics"] {
        let answer = wire::send_one(&url, &message(line, &preflight(SHOP), "")).await;
        assert_eq!(about_origins(&answer.headers), [], "{line}");
    }
    serving.abort();
}

/// Collects the names of this service's own headers from the sources of a folder.
fn own_headers(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            own_headers(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text.split("HeaderName::from_static(\"").skip(1);
            let names = names.map(|rest| rest.split('"').next().unwrap());
            found.extend(
                names
                    .filter(|name| name.starts_with("tillgate-"))
                    .map(str::to_owned),
            );
        }
    }
}

#[tokio::test]
async fn pages_may_read_every_header_of_this_services_own() {
    let host = open_to(&[SHOP]).await;
    let answer = send(&host, "GET /healthz", &[("origin", SHOP)]).await;
    let exposed = answer.headers["access-control-expose-headers"]
        .to_str()
        .unwrap()
        .to_lowercase();
    let mut own = BTreeSet::new();
    own_headers(Path::new(env!("CARGO_MANIFEST_DIR")), &mut own);
    assert!(own.len() >= 3, "{own:?}");
    for name in own {
        assert!(exposed.split(", ").any(|exposed| exposed == name), "{name}");
    }
}
