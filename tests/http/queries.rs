//! Queries: a parameter that appears twice, or that the route does not take, is refused on every route that needs a
//! token, and nothing is done.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::host::{Host, read};

const UNITS: &str = "/api/v1/business-units";

/// Starts a host; returns it with the token of a rate editor.
async fn open() -> (Host, String) {
    let host = Host::start().await;
    let token = host.token("acme", &["exr.editor"]).await;
    (host, token)
}

#[tokio::test]
async fn no_documented_route_takes_a_parameter_twice() {
    let host = Host::start().await;
    let platform = host.app.config.platform_tenant.clone();
    let token = host.token(&platform, &["platform.operator"]).await;
    let (_, document) = host.get("/openapi.json", "").await;
    let mut refused = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        // The values of the path's parameters do not matter.
        let steps = path.split('/');
        let steps = steps.map(|step| if step.starts_with('{') { "x" } else { step });
        let address = steps.collect::<Vec<_>>().join("/");
        for (method, operation) in methods.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|one| one["in"] == "query") {
                let name = parameter["name"].as_str().unwrap();
                assert_ne!(parameter["schema"]["type"], "array", "{path} {name}");
                let method: Method = method.to_ascii_uppercase().parse().unwrap();
                let twice = format!("{address}?{name}=1&{name}=2");
                let answer = host.request(method, &twice, &token).send().await.unwrap();
                let (status, problem) = read(answer).await;
                assert_eq!(status, 400, "{twice}: {problem}");
                let expected = json!([format!("$.{name} is a duplicate")]);
                assert_eq!(problem["message"], expected, "{twice}");
                refused += 1;
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

#[tokio::test]
async fn each_parameter_that_appears_more_than_once_is_named_once() {
    let (host, token) = open().await;
    for (query, expected) in [
        ("limit=1&limit=2", &["$.limit"][..]),
        ("limit=1&limit=1", &["$.limit"]),
        ("limit=1&cursor=C&lim%69t=2&limit=3", &["$.limit"]),
        ("limit=0&cursor=.&limit&cursor=", &["$.cursor", "$.limit"]),
        ("a+b=1&limit=1&a%20b=1", &["$.a b"]),
    ] {
        let (status, problem) = host.get(&format!("{UNITS}?{query}"), &token).await;
        assert_eq!(status, 400, "{query}: {problem}");
        let expected = expected.iter().map(|name| format!("{name} is a duplicate"));
        let expected: Value = expected.collect();
        assert_eq!(problem["message"], expected, "{query}");
    }
    for query in ["", "limit=1", "&limit=1&&"] {
        let (status, page) = host.get(&format!("{UNITS}?{query}"), &token).await;
        assert_eq!(status, 200, "{query}: {page}");
    }
}

#[tokio::test]
async fn a_request_with_a_duplicate_changes_nothing() {
    let (host, token) = open().await;
    let (unit, company) = (format!("{UNITS}/C"), json!({ "type": "COMPANY" }));
    let unclear = format!("{unit}?dryRun=false&dryRun=true");
    let (status, problem) = host.send(Method::PUT, &unclear, &token, &company).await;
    assert_eq!(status, 400, "{problem}");
    assert_eq!(problem["message"], json!(["$.dryRun is a duplicate"]));
    assert_eq!(host.get(&unit, &token).await.0, 404);
    let clear = format!("{unit}?dryRun=false");
    assert_eq!(
        host.send(Method::PUT, &clear, &token, &company).await.0,
        201
    );
    host.run_due().await;
}

#[tokio::test]
async fn a_caller_without_a_token_is_not_told_of_duplicates() {
    let (host, _) = open().await;
    let answer = host
        .http
        .get(format!("{}{UNITS}?limit=1&limit=2", host.url));
    assert_eq!(read(answer.send().await.unwrap()).await.0, 401);
}

#[tokio::test]
async fn public_routes_ignore_duplicates() {
    let (host, _) = open().await;
    for path in ["/", "/healthz", "/openapi.json", "/.well-known/jwks.json"] {
        let answer = host.http.get(format!("{}{path}?a=1&a=2", host.url));
        assert_eq!(answer.send().await.unwrap().status(), 200, "{path}");
    }
    let client = host.client("acme", &["exe.viewer"]).await;
    let request = host
        .http
        .post(format!("{}/oauth2/token?audience=a&audience=b", host.url));
    let request = request.basic_auth(&client.client_id, Some(client.client_secret.reveal()));
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let form = "grant_type=client_credentials&audience=https%3A%2F%2Fapi.tillgate.example";
    let (status, issued) = read(request.body(form).send().await.unwrap()).await;
    assert_eq!(status, 200, "{issued}");
}

#[tokio::test]
async fn a_parameter_that_the_route_does_not_take_is_refused_and_changes_nothing() {
    let (host, token) = open().await;
    let (unit, company) = (format!("{UNITS}/C"), json!({ "type": "COMPANY" }));
    let misspelled = format!("{unit}?dryrun=true");
    let (status, problem) = host.send(Method::PUT, &misspelled, &token, &company).await;
    assert_eq!(status, 400, "{problem}");
    let meant = "$.dryrun is unknown: is dryRun meant?";
    assert_eq!(problem["message"], json!([meant]));
    assert_eq!(host.get(&unit, &token).await.0, 404);
    let (status, problem) = host.get(&format!("{UNITS}?colour=red"), &token).await;
    assert_eq!(status, 400);
    assert_eq!(problem["message"], json!(["$.colour is unknown"]));
    // OAuth endpoints ignore unknown parameters (RFC 6749, section 3.2).
    let (status, _) = host.get("/.well-known/jwks.json?colour=red", &token).await;
    assert_eq!(status, 200);
}
