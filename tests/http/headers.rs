//! Request headers: the media types that are accepted and sent, and entity tags that must or must not match.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::host::Host;
use crate::support::wire::{Response, message, send_one, status_of};

const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator"];
const CONDITION: &str = "/api/v1/entity-conditions/beer";

fn age(minimum: u8) -> Value {
    json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": minimum } })
}

/// Starts a host; returns it with a token of a shop whose condition `beer` has a minimum age of 16.
async fn open() -> (Host, String) {
    let host = Host::start().await;
    let token = host.token("shop", ROLES).await;
    let made = host.send(Method::PUT, CONDITION, &token, &age(16)).await;
    assert_eq!(made.0, 201);
    (host, token)
}

/// Returns a request with headers of this name, one for each value.
fn request(line: &str, token: &str, name: &str, values: &[impl AsRef<str>], body: &str) -> Vec<u8> {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("authorization", bearer.as_str())];
    headers.extend(values.iter().map(|value| (name, value.as_ref())));
    message(line, &headers, body)
}

/// `Accept` headers, and whether the answer is acceptable. `TYPE` stands for the media type that a route answers,
/// `FAMILY` for the part before its slash, and `OTHER` for another type.
const ACCEPT: &[(&[&str], bool)] = &[
    (&[], true),
    (&[""], true),
    (&[" , ,"], true),
    (&["*/*"], true),
    (&["FAMILY/*"], true),
    (&["TYPE"], true),
    (&["OTHER"], false),
    (&["image/*"], false),
    (&["TYPE;q=0"], false),
    (&["TYPE; q=0.000"], false),
    (&["TYPE;q=0."], false),
    (&["TYPE;q=0.001"], true),
    (&["TYPE;q=1.000"], true),
    (&["FAMILY/*;q=0"], false),
    (&["*/*;q=0"], false),
    // The most specific range decides, wherever it is.
    (&["TYPE;q=0, */*"], false),
    (&["*/*, TYPE;q=0"], false),
    (&["TYPE;q=0, FAMILY/*;q=0.5, */*"], false),
    (&["FAMILY/*;q=0, */*"], false),
    (&["FAMILY/*;q=0, TYPE;q=0.1"], true),
    (&["*/*;q=0, FAMILY/*;q=0.1"], true),
    (&["OTHER, TYPE;q=0.1"], true),
    (&["OTHER;q=0, */*;q=0.1"], true),
    (&["OTHER", "TYPE;q=0.1"], true),
    (&["*/*", "TYPE;q=0"], false),
    // A malformed range does not count.
    (&["FAMILY"], false),
    (&["/"], false),
    (&["*"], false),
    (&["TYPE/x"], false),
    (&[";q=1"], false),
    (&["FAMILY, */*;q=0.2"], true),
    (&["OTHER, *; q=.2, */*; q=.2"], true),
    // Neither case nor a parameter of the type matters.
    (&["UPPER"], true),
    (&["UPPER;Q=0"], false),
    (&["TYPE;charset=utf-8"], true),
    (&["TYPE;version=1;q=0"], false),
    (&["TYPE;version=\"1\";q=0.5"], true),
    // White space is allowed around a semicolon.
    (&["TYPE ; q=0"], false),
    (&["TYPE ; q=0, */*"], false),
    (&["*/* ; q=0.8"], true),
];

#[tokio::test]
async fn the_most_specific_range_that_is_accepted_decides_on_every_kind_of_answer() {
    let (host, token) = open().await;
    let routes = [
        ("/api/v1/entity-conditions", "application", "json"),
        ("/api/v1/catalog/changes", "text", "event-stream"),
    ];
    for (path, family, subtype) in routes {
        let media_type = format!("{family}/{subtype}");
        for (accept, acceptable) in ACCEPT {
            let write = |value: &&str| {
                let value = value.replace("OTHER", "video/mp4");
                let value = value.replace("UPPER", &media_type.to_uppercase());
                value.replace("TYPE", &media_type).replace("FAMILY", family)
            };
            let values: Vec<_> = accept.iter().map(write).collect();
            let line = format!("GET {path}");
            let asked = request(&line, &token, "accept", &values, "");
            let expected = if *acceptable { 200 } else { 406 };
            let status = status_of(&host.url, &asked).await;
            assert_eq!(status, expected, "{path} {values:?}");
        }
    }
}

/// Generated clients accept the media types in the document, which are problem documents alone where the answer has no
/// body.
#[tokio::test]
async fn a_client_that_accepts_problem_documents_alone_is_answered() {
    let (host, token) = open().await;
    for (accept, expected) in [
        ("application/problem+json", 200),
        ("application/problem+json;q=0", 406),
        ("text/html, application/problem+xml", 406),
    ] {
        let line = "GET /api/v1/entity-conditions";
        let asked = request(line, &token, "accept", &[accept], "");
        assert_eq!(status_of(&host.url, &asked).await, expected, "{accept}");
    }
}

#[tokio::test]
async fn a_body_of_two_media_types_or_two_codings_is_refused() {
    let (host, token) = open().await;
    let line = "POST /api/v1/conditions/beer/evaluate";
    let body = r#"{"item":{"id":"a"},"context":{}}"#;
    let json = "application/json";
    let rows: [(&str, &[&str], u16); 10] = [
        ("content-type", &[], 200),
        ("content-type", &[json], 200),
        ("content-type", &["Application/JSON ; charset=utf-8"], 200),
        ("content-type", &[json, json], 415),
        ("content-type", &[json, "text/plain"], 415),
        ("content-type", &["text/plain", json], 415),
        ("content-type", &["application/json, text/plain"], 415),
        ("content-encoding", &["identity", "Identity"], 200),
        ("content-encoding", &["identity", "gzip"], 415),
        ("content-encoding", &["gzip", "identity"], 415),
    ];
    for (name, values, expected) in rows {
        let request = request(line, &token, name, values, body);
        let answer = send_one(&host.url, &request).await;
        assert_eq!(answer.status, expected, "{name} {values:?}: {answer:?}");
    }
}

/// Headers of entity tags, and whether they match. `TAG` stands for the entity tag of the condition, without quotes.
const TAGS: &[(&[&str], bool)] = &[
    (&["*"], true),
    (&["\"TAG\""], true),
    (&["W/\"TAG\""], true),
    (&["\"x\", \"TAG\""], true),
    (&["\"x\",W/\"TAG\" , \"y\""], true),
    (&["\"x\"", "\"TAG\""], true),
    (&["\"a,b\", \"TAG\""], true),
    (&["\"\", \"TAG\""], true),
    (&[", \"TAG\", ,"], true),
    // Proxies that compress turn tags into these.
    (&["\"TAG-gzip\""], true),
    (&["\"TAG--gzip\""], true),
    (&["W/\"TAG;gzip\""], true),
    (&["\"TAG-br\""], true),
    (&["\"x-gzip\", \"TAG-zstd\""], true),
    (&["\"TAGgzip\""], false),
    (&["\"TAG-gzip-\""], false),
    (&["\"TAG\"-gzip"], false),
    (&["\"x\""], false),
    (&["\"a,TAG,b\""], false),
    (&["\"TAG,\""], false),
    (&["\"xTAG\""], false),
    (&[""], false),
    (&["TAG"], false),
    (&["\"TAG"], false),
    (&["TAG\""], false),
    (&["'TAG'"], false),
    (&["w/\"TAG\""], false),
    (&["W/ \"TAG\""], false),
    (&["W\"TAG\""], false),
    (&["\"\"TAG\"\""], false),
    (&["\"TAG\" \"TAG\""], false),
    (&["\" TAG\""], false),
    (&["\"x y\""], false),
    (&["\"x, \"y\""], false),
    (&["\"x", "TAG\""], false),
    (&["\"x", "y\""], false),
    (&["\"é\""], false),
    (&["*, \"x\""], false),
    (&["\"*\""], false),
    (&["**"], false),
    (&["\""], false),
    (&["W/"], false),
];

/// Returns the headers of a row of [`TAGS`], for an entity tag.
fn tags(row: &[&str], etag: &str) -> Vec<String> {
    let bare = etag.trim_matches('"');
    row.iter().map(|value| value.replace("TAG", bare)).collect()
}

fn etag_of(response: &Response) -> String {
    response.headers["etag"].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_change_that_names_another_version_or_is_malformed_changes_nothing() {
    let (host, token) = open().await;
    let (get, put) = (format!("GET {CONDITION}"), format!("PUT {CONDITION}"));
    let delete = format!("DELETE {CONDITION}");
    let read = request(&get, &token, "accept", &["*/*"], "");
    let mut minimum = 16;
    for (row, named) in TAGS {
        let before = send_one(&host.url, &read).await;
        let values = tags(row, &etag_of(&before));
        let body = age(minimum + 1).to_string();
        let changed = request(&put, &token, "if-match", &values, &body);
        let changed = send_one(&host.url, &changed).await;
        let after = send_one(&host.url, &read).await;
        if *named {
            minimum += 1;
            assert_eq!(changed.status, 200, "{values:?}: {changed:?}");
            assert_eq!(etag_of(&after), etag_of(&changed));
            assert_ne!(etag_of(&after), etag_of(&before));
            continue;
        }
        assert_eq!(changed.status, 412, "{values:?}: {changed:?}");
        let deleted = request(&delete, &token, "if-match", &values, "");
        assert_eq!(
            send_one(&host.url, &deleted).await.status,
            412,
            "{values:?}"
        );
        assert_eq!(after.body, before.body, "{values:?}");
        assert_eq!(etag_of(&after), etag_of(&before), "{values:?}");
    }
    let found = host.get(CONDITION, &token).await.1;
    assert_eq!(found["condition_value"]["minimum_age"], minimum);
    let deleted = request(&delete, &token, "if-match", &["*"], "");
    assert_eq!(send_one(&host.url, &deleted).await.status, 204);
    let absent = request(&put, &token, "if-match", &["*"], &age(16).to_string());
    assert_eq!(send_one(&host.url, &absent).await.status, 412);
    assert_eq!(host.get(CONDITION, &token).await.0, 404);
}

#[tokio::test]
async fn what_a_caller_has_already_is_not_sent_again() {
    let (host, token) = open().await;
    let paths = [CONDITION, "/api/v1/entity-conditions", "/api/v1/catalog"];
    for path in paths {
        let line = format!("GET {path}");
        let whole = request(&line, &token, "accept", &["*/*"], "");
        let whole = send_one(&host.url, &whole).await;
        for (row, named) in TAGS {
            let values = tags(row, &etag_of(&whole));
            let again = request(&line, &token, "if-none-match", &values, "");
            let again = send_one(&host.url, &again).await;
            let expected = if *named { 304 } else { 200 };
            assert_eq!(again.status, expected, "{path} {values:?}: {again:?}");
            assert_eq!(etag_of(&again), etag_of(&whole), "{path} {values:?}");
            let body = if *named { "" } else { whole.body.as_str() };
            assert_eq!(again.body, body, "{path} {values:?}");
        }
    }
}
