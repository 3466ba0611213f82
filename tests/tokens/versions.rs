//! Versions of what administrators read and write: entity tags, and requests that are refused because someone else was
//! faster.

use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{Answer, Service, template};

async fn with(
    service: &Service,
    method: Method,
    path: &str,
    header: (&str, &str),
    body: &Value,
) -> Answer {
    let token = service.operator().await;
    let request = service.host.request(method, path, &token);
    service
        .send(request.header(header.0, header.1).json(body))
        .await
}

#[tokio::test]
async fn an_unchanged_version_is_not_sent_again() {
    let service = Service::start().await;
    service.open_tenant("acme", &["ecs.viewer"]).await;
    let till = service.till("acme", 1).await;
    let client = format!("/v1/tenants/acme/clients/{}", till.client_id);
    let paths = [
        "/v1/tenants",
        "/v1/tenants/acme",
        "/v1/tenants/acme/templates",
        "/v1/tenants/acme/templates/till/1",
        &client,
        "/v1/roles",
        "/v1/roles/ecs.viewer",
        "/v1/tenants/acme/clients",
        "/v1/tenants/acme/software-statements",
        "/v1/keys",
    ];
    let operator = service.operator().await;
    for path in paths {
        let first = service.get(path, &operator).await;
        assert_eq!(first.status, 200, "{path}");
        let etag = first.header("etag").expect(path);
        let again = with(
            &service,
            Method::GET,
            path,
            ("if-none-match", etag),
            &Value::Null,
        )
        .await;
        assert_eq!((again.status, again.body), (304, Value::Null), "{path}");
    }
    let etag = service.get(&client, &operator).await;
    let etag = etag.header("etag").unwrap();
    let authorized = service
        .put(&format!("{client}/authorize"), &operator, Value::Null)
        .await;
    let other = with(
        &service,
        Method::GET,
        &client,
        ("if-none-match", etag),
        &Value::Null,
    )
    .await;
    assert_eq!(other.status, 200);
    assert_eq!(other.header("etag"), authorized.header("etag"));
}

#[tokio::test]
async fn what_has_changed_since_it_was_read_is_not_written_over() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let till = service.till("acme", 1).await;
    let client = format!("/v1/tenants/acme/clients/{}", till.client_id);
    let roles = format!("{client}/roles");
    let operator = service.operator().await;
    let reader = json!({ "permissions": ["ecs.condition.read"] });
    let nothing = json!({ "permissions": [] });
    assert_eq!(
        service.put("/v1/roles/r", &operator, reader).await.status,
        201
    );
    let (name, no_roles) = (json!({ "name": "Acme" }), json!({ "roles": [] }));
    let some_roles = json!({ "roles": [{ "roleId": "r" }] });
    // The path to read, the path to write, and the first and second bodies.
    let rows = [
        (
            "/v1/tenants/acme",
            "/v1/tenants/acme",
            &name,
            &json!({ "name": "A" }),
        ),
        ("/v1/roles/r", "/v1/roles/r", &nothing, &nothing),
        (client.as_str(), roles.as_str(), &some_roles, &no_roles),
    ];
    for (read, written, first, second) in rows {
        let found = service.get(read, &operator).await;
        let etag = found.header("etag").unwrap();
        let done = with(&service, Method::PUT, written, ("if-match", etag), first).await;
        assert_eq!(done.status, 200, "{written}: {}", done.body);
        let late = with(&service, Method::PUT, written, ("if-match", etag), second).await;
        assert_eq!(late.status, 412, "{written}");
        let now = service.get(read, &operator).await;
        assert_eq!(
            now.header("etag"),
            done.header("etag"),
            "{written}: the tag of what was written"
        );
        let there = with(
            &service,
            Method::PUT,
            written,
            ("if-none-match", "*"),
            second,
        )
        .await;
        assert_eq!(there.status, 412, "{written}");
    }
    for path in [&client, "/v1/roles/r", "/v1/tenants/acme/templates/till/1"] {
        let late = with(
            &service,
            Method::DELETE,
            path,
            ("if-match", "\"old\""),
            &Value::Null,
        )
        .await;
        assert_eq!(late.status, 412, "{path}");
        let found = service.get(path, &operator).await;
        let etag = found.header("etag").unwrap();
        let done = with(
            &service,
            Method::DELETE,
            path,
            ("if-match", etag),
            &Value::Null,
        )
        .await;
        assert_eq!(done.status, 204, "{path}");
    }
    let made = with(
        &service,
        Method::PUT,
        "/v1/roles/r",
        ("if-match", "*"),
        &nothing,
    )
    .await;
    assert_eq!(made.status, 412, "there is nothing to match");
    assert_eq!(service.get("/v1/roles/r", &operator).await.status, 404);
    assert_eq!(
        service.get("/v1/tenants/nobody", &operator).await.status,
        404
    );
    let again = template("till", json!({}), &[]);
    let made = service
        .post("/v1/tenants/acme/templates", &operator, again)
        .await;
    assert!(made.header("etag").is_some());
}
