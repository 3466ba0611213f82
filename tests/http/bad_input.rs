//! Hostile and mistaken requests: each gets its status and a list of all faults, none gets a 500, and none changes
//! anything.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::host::{Host, read};
use crate::support::wire::{message, send, send_one};

const PROJECT: &str = "/api/v1/projects/0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";
const AGE: &str = "/api/v1/conditions/age-18/evaluate";
const CONDITION: &str = "/api/v1/entity-conditions/new";
const RESTRICTIONS: &str = "/api/v1/project-restrictions/evaluate";
const BASKET: &str = "/api/v1/evaluations";

/// Method, path, body, and the paths of all faults, in order.
type Fault = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

const FAULTS: &[Fault] = &[
    // Bodies that are not JSON.
    ("POST", AGE, "", &["$"]),
    ("POST", AGE, "{", &["$"]),
    ("POST", AGE, "null", &["$"]),
    ("POST", AGE, "[]", &["$"]),
    ("POST", AGE, "\u{feff}", &["$"]),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{}} {}"#,
        &["$"],
    ),
    ("POST", AGE, r#"{"item":{"id":"a"},"context":{},}"#, &["$"]),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"\ud800"},"context":{}}"#,
        &["$"],
    ),
    ("POST", AGE, "{'item':{'id':'a'},'context':{}}", &["$"]),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":018}}}"#,
        &["$"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":NaN}}}"#,
        &["$"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"item":{"id":"b"},"context":{}}"#,
        &["$.item"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a","id":"b"},"context":{},"x":{"y":1,"y":2}}"#,
        &["$.item.id", "$.x.y"],
    ),
    ("POST", AGE, "{}", &["$.item", "$.context"]),
    (
        "POST",
        AGE,
        r#"{"item":null,"context":null}"#,
        &["$.item", "$.context"],
    ),
    ("POST", AGE, r#"{"item":{},"context":{}}"#, &["$.item.id"]),
    (
        "POST",
        AGE,
        r#"{"item":{"id":""},"context":[]}"#,
        &["$.item.id", "$.context"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":7},"context":{"customer":"x"}}"#,
        &["$.item.id", "$.context.customer"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":17.5,"licenses":"x"}}}"#,
        &[
            "$.context.customer.customer_age",
            "$.context.customer.licenses",
        ],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":17.5}}}"#,
        &["$.context.customer.customer_age"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":"17"}}}"#,
        &["$.context.customer.customer_age"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":-1}}}"#,
        &["$.context.customer.customer_age"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":151}}}"#,
        &["$.context.customer.customer_age"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":1e400}}}"#,
        &["$"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"customer_age":99999999999999999999}}}"#,
        &["$.context.customer.customer_age"],
    ),
    (
        "POST",
        AGE,
        r#"{"item":{"id":"a"},"context":{"customer":{"licenses":["ok",1,{"id":2},{}]}}}"#,
        &[
            "$.context.customer.licenses[1]",
            "$.context.customer.licenses[2].id",
            "$.context.customer.licenses[3].id",
        ],
    ),
    (
        "POST",
        "/api/v1/conditions/a%20b/evaluate",
        "{}",
        &["$.conditionId"],
    ),
    (
        "POST",
        "/api/v1/conditions/a%0Ab/evaluate",
        "{}",
        &["$.conditionId"],
    ),
    ("POST", RESTRICTIONS, "{}", &["$.projectId", "$.item"]),
    (
        "POST",
        RESTRICTIONS,
        r#"{"projectId":"x","item":{"id":"a"}}"#,
        &["$.projectId"],
    ),
    (
        "POST",
        RESTRICTIONS,
        r#"{"projectId":"0b8a5d3e6c1f4a529d7e2f4b8c6d1e90","item":{"id":"a"}}"#,
        &["$.projectId"],
    ),
    (
        "POST",
        RESTRICTIONS,
        r#"{"projectId":"0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90","item":{"id":"a","additionalProperties":{"n":null,"l":[],"odd name":{}}}}"#,
        &[
            "$.item.additionalProperties.n",
            "$.item.additionalProperties.l",
            "$.item.additionalProperties['odd name']",
        ],
    ),
    (
        "POST",
        RESTRICTIONS,
        r#"{"projectId":"0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90","item":{"id":"a","additionalProperties":null}}"#,
        &["$.item.additionalProperties"],
    ),
    ("POST", BASKET, "{}", &["$.items", "$.context"]),
    ("POST", BASKET, r#"{"items":[],"context":{}}"#, &["$.items"]),
    (
        "POST",
        BASKET,
        r#"{"items":[{"id":"a","conditionIds":["ok","not ok",3]},{}],"projectId":3,"context":{"customer":[]}}"#,
        &[
            "$.items[0].conditionIds[1]",
            "$.items[0].conditionIds[2]",
            "$.items[1].id",
            "$.projectId",
            "$.context.customer",
        ],
    ),
    ("PUT", CONDITION, "{}", &["$.rule", "$.condition_value"]),
    (
        "PUT",
        CONDITION,
        r#"{"rule":"AGE","condition_value":[]}"#,
        &["$.rule", "$.condition_value"],
    ),
    (
        "PUT",
        CONDITION,
        r#"{"rule":"AGE_RESTRICTION","condition_value":{}}"#,
        &["$.condition_value.minimum_age"],
    ),
    (
        "PUT",
        CONDITION,
        r#"{"rule":"AGE_RESTRICTION","enabled":"yes","condition_value":{"minimum_age":18.5,"maximum_age":99}}"#,
        &[
            "$.enabled",
            "$.condition_value.maximum_age",
            "$.condition_value.minimum_age",
        ],
    ),
    (
        "PUT",
        CONDITION,
        r#"{"rule":"AGE_RESTRICTION","condition_value":{"minimum_age":151}}"#,
        &["$.condition_value.minimum_age"],
    ),
    (
        "PUT",
        CONDITION,
        r#"{"rule":"AGE_RESTRICTION","condition_value":{"minimum_age":-1}}"#,
        &["$.condition_value.minimum_age"],
    ),
    (
        "PUT",
        CONDITION,
        r#"{"rule":"LICENSE_REQUIREMENT","condition_value":{"minimum_age":18}}"#,
        &["$.condition_value.minimum_age"],
    ),
    (
        "PUT",
        CONDITION,
        r#"{"id":"other","scope":"GLOBAL","rule":"LICENSE_REQUIREMENT","condition_value":{}}"#,
        &["$.id", "$.scope"],
    ),
    (
        "PUT",
        "/api/v1/entity-conditions/a%2Fb",
        r#"{"rule":"LICENSE_REQUIREMENT","condition_value":{}}"#,
        &["$.conditionId"],
    ),
    ("PUT", PROJECT, "{}", &["$.restrictions"]),
    (
        "PUT",
        PROJECT,
        r#"{"name":3,"restrictions":{}}"#,
        &["$.name", "$.restrictions"],
    ),
    (
        "PUT",
        PROJECT,
        r#"{"restrictions":[{},{"type":"X"},{"type":"WHITELIST"},{"type":"BOOLEAN","propertyName":"p","value":"true"},{"type":"BLACKLISTEDITEMS","itemIds":["a",1]},7]}"#,
        &[
            "$.restrictions[0].type",
            "$.restrictions[1].type",
            "$.restrictions[2].propertyName",
            "$.restrictions[2].allowedValues",
            "$.restrictions[3].value",
            "$.restrictions[4].itemIds[1]",
            "$.restrictions[5]",
        ],
    ),
    (
        "PUT",
        PROJECT,
        r#"{"projectId":"00000000-0000-0000-0000-000000000000","restrictions":[{"type":"WHITELIST","propertyName":"p","allowedValues":[1.5,null]}]}"#,
        &[
            "$.restrictions[0].allowedValues[0]",
            "$.restrictions[0].allowedValues[1]",
            "$.projectId",
        ],
    ),
    (
        "PUT",
        PROJECT,
        r#"{"name":"a\u001b[2Jb","restrictions":[{}]}"#,
        &["$.restrictions[0].type", "$.name"],
    ),
    (
        "PUT",
        "/api/v1/projects/nine",
        r#"{"restrictions":[]}"#,
        &["$.projectId"],
    ),
    ("GET", "/api/v1/projects/nine", "", &["$.projectId"]),
    ("DELETE", "/api/v1/projects/nine", "", &["$.projectId"]),
    (
        "GET",
        "/api/v1/entity-conditions/%F0%9F%8D%BA",
        "",
        &["$.conditionId"],
    ),
];

/// Method, path, role, body, status.
type Refusal = (&'static str, &'static str, &'static str, &'static str, u16);

const LICENSE: &str = r#"{"rule":"LICENSE_REQUIREMENT","condition_value":{}}"#;

const REFUSALS: &[Refusal] = &[
    ("GET", "/www/", "ecs.editor", "", 404),
    ("PUT", "/", "ecs.editor", "", 405),
    ("GET", "/api/v1", "ecs.editor", "", 404),
    ("GET", "/api/v1/entity-conditions/", "ecs.editor", "", 404),
    ("GET", "/api/v2/entity-conditions", "ecs.editor", "", 404),
    (
        "GET",
        "/api/v1/entity-conditions/unknown",
        "ecs.editor",
        "",
        404,
    ),
    (
        "DELETE",
        "/api/v1/entity-conditions/unknown",
        "ecs.editor",
        "",
        404,
    ),
    (
        "GET",
        "/api/v1/projects/00000000-0000-0000-0000-000000000000",
        "ecs.editor",
        "",
        404,
    ),
    (
        "GET",
        "/api/v1/projects/00000000-0000-0000-0000-000000000000/restrictions",
        "ecs.editor",
        "",
        404,
    ),
    (
        "DELETE",
        "/api/v1/projects/00000000-0000-0000-0000-000000000000",
        "ecs.editor",
        "",
        404,
    ),
    (
        "POST",
        "/api/v1/conditions/unknown/evaluate",
        "ecs.evaluator",
        r#"{"item":{"id":"a"},"context":{}}"#,
        404,
    ),
    (
        "PUT",
        "/api/v1/entity-conditions/global-18",
        "ecs.editor",
        LICENSE,
        409,
    ),
    (
        "DELETE",
        "/api/v1/entity-conditions/global-18",
        "ecs.editor",
        "",
        409,
    ),
    ("PUT", CONDITION, "ecs.viewer", LICENSE, 403),
    (
        "DELETE",
        "/api/v1/entity-conditions/age-18",
        "ecs.viewer",
        "",
        403,
    ),
    (
        "POST",
        AGE,
        "ecs.viewer",
        r#"{"item":{"id":"a"},"context":{}}"#,
        403,
    ),
    ("POST", RESTRICTIONS, "ecs.editor", "{}", 403),
    ("POST", BASKET, "ecs.editor", "{}", 403),
    ("GET", "/api/v1/entity-conditions", "ecs.evaluator", "", 403),
    ("GET", "/api/v1/catalog", "ecs.evaluator", "", 403),
    ("PUT", PROJECT, "ecs.viewer", r#"{"restrictions":[]}"#, 403),
    (
        "PUT",
        "/api/v1/global-entity-conditions/new",
        "ecs.editor",
        LICENSE,
        403,
    ),
    (
        "DELETE",
        "/api/v1/global-entity-conditions/global-18",
        "ecs.editor",
        "",
        403,
    ),
    ("POST", "/api/v1/entity-conditions", "ecs.editor", "{}", 405),
    (
        "PATCH",
        "/api/v1/entity-conditions/age-18",
        "ecs.editor",
        "{}",
        405,
    ),
    ("PUT", AGE, "ecs.evaluator", "{}", 405),
    ("DELETE", "/api/v1/catalog", "ecs.editor", "", 405),
    ("GET", "/api/v1/evaluations", "ecs.evaluator", "", 405),
];

struct Shop {
    host: Host,
    reader: String,
    all: String,
}

impl Shop {
    async fn open() -> Self {
        let host = Host::start().await;
        let operator = host.token("platform", &["platform.operator"]).await;
        let all = host.token("shop", &["ecs.editor", "ecs.evaluator"]).await;
        let age = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
        let global = "/api/v1/global-entity-conditions/global-18";
        assert_eq!(host.send(Method::PUT, global, &operator, &age).await.0, 201);
        let own = "/api/v1/entity-conditions/age-18";
        assert_eq!(host.send(Method::PUT, own, &all, &age).await.0, 201);
        let reader = host.token("shop", &["ecs.viewer"]).await;
        Self { host, reader, all }
    }

    async fn catalog(&self) -> Value {
        self.host.get("/api/v1/catalog", &self.reader).await.1
    }
}

/// Asserts that a problem conforms to RFC 9457 and has the members that existing clients read.
fn assert_problem(status: u16, problem: &Value) {
    assert_eq!(problem["status"], status, "{problem}");
    assert_eq!(problem["statusCode"], status, "{problem}");
    assert_eq!(problem["error"], problem["title"], "{problem}");
    assert_eq!(problem["message"].is_array(), status == 400, "{problem}");
    assert!(
        problem["detail"].is_string() && problem["type"].is_string(),
        "{problem}"
    );
}

#[tokio::test]
async fn every_fault_of_a_body_is_named_and_nothing_is_changed() {
    let shop = Shop::open().await;
    let before = shop.catalog().await;
    for (method, path, body, expected) in FAULTS {
        let method = method.parse().unwrap();
        let request = shop.host.request(method, path, &shop.all);
        let request = request
            .header("content-type", "application/json")
            .body(*body);
        let (status, problem) = read(request.send().await.unwrap()).await;
        assert_eq!(status, 400, "{path} {body}: {problem}");
        assert_problem(status, &problem);
        let messages = problem["message"].as_array().unwrap().iter();
        let path_of = |message: &Value| {
            let message = message.as_str().unwrap().to_owned();
            let verbs = [" must ", " is ", " appears "];
            let end = verbs.iter().find_map(|verb| message.find(verb)).unwrap();
            message[..end].to_owned()
        };
        let named: Vec<_> = messages.map(path_of).collect();
        assert_eq!(named, *expected, "{path} {body}: {problem}");
        assert_eq!(shop.catalog().await, before, "{path} {body}");
    }
}

#[tokio::test]
async fn every_refusal_has_its_status_and_changes_nothing() {
    let shop = Shop::open().await;
    let before = shop.catalog().await;
    for (method, path, role, body, expected) in REFUSALS {
        let token = shop.host.token("shop", &[role]).await;
        let request = shop.host.request(method.parse().unwrap(), path, &token);
        let request = request
            .header("content-type", "application/json")
            .body(*body);
        let response = request.send().await.unwrap();
        let allow = response.headers().get("allow").cloned();
        let challenge = response.headers().get("www-authenticate").cloned();
        let (status, problem) = read(response).await;
        assert_eq!(status, *expected, "{method} {path}: {problem}");
        assert_problem(status, &problem);
        assert_eq!(allow.is_some(), status == 405, "{method} {path}");
        assert_eq!(challenge.is_some(), status == 403, "{method} {path}");
        assert_eq!(shop.catalog().await, before, "{method} {path}");
    }
}

#[tokio::test]
async fn a_path_says_what_methods_it_takes() {
    let shop = Shop::open().await;
    let request = shop
        .host
        .request(Method::PATCH, "/api/v1/entity-conditions/age-18", &shop.all);
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["allow"], "DELETE, GET, HEAD, PUT");
}

#[tokio::test]
async fn only_uncompressed_json_is_accepted_and_only_json_is_sent() {
    let shop = Shop::open().await;
    let rows = [
        ("content-type", "text/plain", 415),
        ("content-type", "application/x-www-form-urlencoded", 415),
        ("content-type", "application/jsonp", 415),
        ("content-encoding", "gzip", 415),
        ("accept", "text/html", 406),
        ("accept", "image/*;q=0.5, application/xml", 406),
        ("accept", "text/html, */*;q=0.1", 200),
        ("accept", "application/*", 200),
        ("content-type", "application/json; charset=utf-8", 200),
    ];
    for (name, value, expected) in rows {
        let request = shop.host.request(Method::POST, AGE, &shop.all);
        let request = request
            .header(name, value)
            .body(r#"{"item":{"id":"a"},"context":{}}"#);
        let (status, body) = read(request.send().await.unwrap()).await;
        assert_eq!(status, expected, "{name}: {value}: {body}");
    }
}

#[tokio::test]
async fn a_body_larger_than_its_route_takes_is_refused_however_it_is_sent() {
    let shop = Shop::open().await;
    let large = format!(
        r#"{{"item":{{"id":"a"}},"context":{{}},"x":"{}"}}"#,
        "y".repeat(1 << 20)
    );
    for chunked in [false, true] {
        let body = if chunked {
            let chunks: Vec<_> = large
                .as_bytes()
                .chunks(1 << 16)
                .map(<[u8]>::to_vec)
                .collect();
            let chunks = chunks.into_iter().map(Ok::<_, std::io::Error>);
            reqwest::Body::wrap_stream(futures_util::stream::iter(chunks))
        } else {
            large.clone().into()
        };
        let request = shop.host.request(Method::POST, AGE, &shop.all);
        let request = request
            .header("content-type", "application/json")
            .body(body);
        let (status, problem) = read(request.send().await.unwrap()).await;
        assert_eq!(status, 413, "chunked: {chunked}");
        assert_problem(413, &problem);
    }
}

#[tokio::test]
async fn odd_requests_get_answers_and_break_nothing() {
    let shop = Shop::open().await;
    let long = format!(
        "GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
        "y".repeat(20 << 10)
    );
    let rows: [(&[u8], u16); 7] = [
        (b"CONNECT a:80 HTTP/1.1\r\nhost: x\r\n\r\n", 404),
        (b"GET a:80 HTTP/1.1\r\nhost: x\r\n\r\n", 404),
        (b"OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", 404),
        (
            b"GET /api/v1/entity-conditions/%ff HTTP/1.1\r\nhost: x\r\n\r\n",
            400,
        ),
        (
            b"GET /api/v1/entity-conditions?a=%zz HTTP/1.1\r\nhost: x\r\n\r\n",
            401,
        ),
        (b"garbage\r\n\r\n", 400),
        (long.as_bytes(), 431),
    ];
    for (request, status) in rows {
        let answer = send_one(&shop.host.url, request).await;
        assert_eq!(answer.status, status, "{answer:?}");
    }
    assert_eq!(shop.host.get("/api/v1/catalog", &shop.reader).await.0, 200);
}

#[tokio::test]
async fn an_unwanted_body_is_refused_and_the_connection_stays_open() {
    let shop = Shop::open().await;
    let body = "x".repeat(300 << 10);
    let first = format!(
        "PUT /nowhere HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let second = "GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n";
    let requests = format!("{first}{second}");
    let answers = send(&shop.host.url, requests.as_bytes()).await;
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [404, 404]);
}

#[tokio::test]
async fn refusals_too_are_kept_out_of_caches() {
    let shop = Shop::open().await;
    for (path, token) in [("/api/v1/catalog", "none"), ("/v1/tenants", &shop.reader)] {
        let response = shop
            .host
            .request(Method::GET, path, token)
            .send()
            .await
            .unwrap();
        assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
    }
}

/// A method, a path with a placeholder for an id, and the parameter's name.
type Place = (&'static str, &'static str, &'static str);

const PLACES: &[Place] = &[
    ("GET", "/api/v1/entity-conditions/{}", "conditionId"),
    ("PUT", "/api/v1/entity-conditions/{}", "conditionId"),
    ("DELETE", "/api/v1/entity-conditions/{}", "conditionId"),
    ("PUT", "/api/v1/global-entity-conditions/{}", "conditionId"),
    ("POST", "/api/v1/conditions/{}/evaluate", "conditionId"),
    ("PUT", "/api/v1/projects/{}", "projectId"),
    ("GET", "/api/v1/projects/{}/restrictions", "projectId"),
    (
        "GET",
        "/api/v1/entity-conditions/{}/findings",
        "conditionId",
    ),
    ("GET", "/api/v1/projects/{}/findings", "projectId"),
    ("PUT", "/api/v1/business-units/{}", "businessUnitId"),
    (
        "POST",
        "/api/v1/business-units/{}/exchange-rates",
        "businessUnitId",
    ),
    ("GET", "/api/v1/webhooks/{}", "webhookId"),
    ("GET", "/api/v1/deliveries/{}", "deliveryId"),
    ("PUT", "/v1/tenants/{}", "tenantId"),
    ("POST", "/v1/tenants/{}/templates", "tenantId"),
    ("GET", "/v1/tenants/shop/templates/{}/1", "softwareId"),
    (
        "DELETE",
        "/v1/tenants/shop/templates/till/{}",
        "softwareVersion",
    ),
    ("GET", "/v1/tenants/shop/clients/{}", "clientId"),
    ("PUT", "/v1/tenants/shop/clients/{}/authorize", "clientId"),
    ("PUT", "/v1/roles/{}", "roleId"),
];

#[tokio::test]
async fn a_dot_segment_as_an_id_is_refused_everywhere() {
    let shop = Shop::open().await;
    let operator = shop.host.token("platform", &["platform.operator"]).await;
    let authorization = format!("Bearer {operator}");
    let headers = [
        ("authorization", authorization.as_str()),
        ("content-type", "application/json"),
    ];
    for (method, path, place) in PLACES {
        // Sent unchanged on a raw connection, because well-behaved clients normalize them.
        for id in [".", "..", "%2e", "%2E%2e", ".%2E"] {
            let line = format!("{method} {}", path.replace("{}", id));
            let answer = send_one(&shop.host.url, &message(&line, &headers, LICENSE)).await;
            let problem: Value = serde_json::from_str(&answer.body).unwrap();
            let expected =
                format!("$.{place} must not be . or ..: HTTP clients take these for dot segments");
            assert_eq!(answer.status, 400, "{line}: {problem}");
            assert_eq!(problem["message"], json!([expected]), "{line}");
            assert_problem(400, &problem);
        }
    }
    let dots = message("PUT /api/v1/entity-conditions/...", &headers, LICENSE);
    assert_eq!(send_one(&shop.host.url, &dots).await.status, 201);
}

#[tokio::test]
async fn many_faults_are_listed_up_to_a_hundred() {
    let shop = Shop::open().await;
    let ids = vec!["not an id"; 60].join("\",\"");
    let item = format!(r#"{{"id":"a","conditionIds":["{ids}"]}}"#);
    let body = format!(r#"{{"items":[{item},{item}],"context":{{}}}}"#);
    let request = shop.host.request(Method::POST, BASKET, &shop.all);
    let request = request
        .header("content-type", "application/json")
        .body(body);
    let (status, problem) = read(request.send().await.unwrap()).await;
    assert_eq!(status, 400);
    let messages = problem["message"].as_array().unwrap();
    assert_eq!(messages.len(), 101);
    assert_eq!(messages[100], "$ has more faults than are listed");
}
