//! Bounds on the memory of one request: bodies while they are read, the values they are read into, and answers that
//! nobody reads. `tests/hostile/run.mjs` prints the amounts in MB.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tillgate_base::config::Config;
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::host::{Host, read};
use crate::support::wait::{answered, within};

const PROJECT: &str = "/api/v1/projects/00000000-0000-4000-8000-000000000001";
const ROLES: &[&str] = &["ecs.editor", "ecs.evaluator"];

async fn host(configure: impl FnOnce(&mut Config)) -> Host {
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    Host::start_configured(store, clock, configure).await
}

fn zeros(bytes: usize) -> String {
    format!("[{}0]", "0,".repeat(bytes / 2))
}

async fn put_text(host: &Host, token: &str, body: String) -> (u16, Value) {
    let request = host.request(Method::PUT, PROJECT, token).body(body);
    let request = request.header("content-type", "application/json");
    read(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_body_of_more_values_than_anything_valid_has_is_refused() {
    let host = host(|_| ()).await;
    let token = host.token("acme", ROLES).await;
    let (status, body) = put_text(
        &host,
        &token,
        format!(r#"{{"restrictions":{}}}"#, zeros(1 << 20)),
    )
    .await;
    assert_eq!(status, 400);
    let message = "$ must have at most 250000 values, in arrays and objects too";
    assert_eq!(body["message"], json!([message]));
    // An unknown member must be valid JSON too, and not too deep.
    let deep = format!(
        r#"{{"restrictions":[],"x":{}1{}}}"#,
        "[".repeat(40),
        "]".repeat(40)
    );
    let (status, body) = put_text(&host, &token, deep).await;
    assert_eq!(status, 400);
    assert_eq!(
        body["message"],
        json!(["$ must be JSON: nested deeper than 32 levels"])
    );
    let (status, _) = put_text(&host, &token, r#"{"restrictions":[],"x":[1,]}"#.to_owned()).await;
    assert_eq!(status, 400);
    let twice = r#"{"restrictions":[],"x":{"a":1,"b":[{"y":1,"y":2}]},"x":2}"#;
    let (status, body) = put_text(&host, &token, twice.to_owned()).await;
    assert_eq!(status, 400);
    let messages = json!(["$.x appears twice", "$.x.b[0].y appears twice"]);
    assert_eq!(body["message"], messages);
}

/// Opens a connection that announces a body and sends a part of it.
async fn stalled(url: &str, token: &str, announced: usize) -> TcpStream {
    let mut connection = TcpStream::connect(url.strip_prefix("http://").unwrap())
        .await
        .unwrap();
    let head = format!(
        "PUT {PROJECT} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {announced}\r\n\r\n{{"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    connection
}

#[tokio::test]
async fn bodies_wait_for_room_and_one_tenant_takes_at_most_half_of_it() {
    let host = host(|config| config.limits.request_bytes = "1 MiB".parse().unwrap()).await;
    let (token, other) = (
        host.token("acme", ROLES).await,
        host.token("other", ROLES).await,
    );
    let mut stalled = stalled(&host.url, &token, 500 << 10).await;
    // The stalled body has its room once there is none left for others of its tenant.
    let body = || format!(r#"{{"restrictions":[]{}}}"#, " ".repeat(300 << 10));
    let mut when_there_is_room = 201;
    let refused = answered("a body for which there is no room", async || {
        let request = host.request(Method::PUT, PROJECT, &token).body(body());
        let request = request.header("content-type", "application/json");
        let answer = request.send().await.unwrap();
        if answer.status() == 503 {
            return Ok(answer);
        }
        assert_eq!(answer.status(), when_there_is_room);
        when_there_is_room = 200;
        Err(answer.status())
    });
    let refused = refused.await;
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(
        put_text(&host, &other, body()).await.0,
        201,
        "another tenant has room"
    );
    let small = r#"{"restrictions":[]}"#.to_owned();
    assert_eq!(
        put_text(&host, &token, small).await.0,
        when_there_is_room,
        "small bodies need none"
    );
    // A body without progress for ten seconds is refused, whatever length was announced.
    let mut answer = String::new();
    let dropped = stalled.read_to_string(&mut answer);
    within("the end of a body that stalls", dropped)
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert_eq!(
        put_text(&host, &token, body()).await.0,
        200,
        "there is room again"
    );
}

#[tokio::test]
async fn answers_that_nobody_reads_leave_room_for_others() {
    let host = host(|config| config.limits.answer_bytes = "20 MiB".parse().unwrap()).await;
    let (token, other) = (
        host.token("acme", ROLES).await,
        host.token("other", ROLES).await,
    );
    let restrictions: Vec<_> = (0..100)
        .map(|number| json!({ "type": "BOOLEAN", "propertyName": format!("p{number}"), "value": true, "exclusive": true }))
        .collect();
    let project = json!({ "restrictions": restrictions });
    let items: Vec<_> = (0..400)
        .map(|number| json!({ "id": format!("{number}") }))
        .collect();
    let id = PROJECT.rsplit('/').next().unwrap();
    let basket = json!({ "items": items, "projectId": id, "context": {} });
    for token in [&token, &other] {
        assert_eq!(
            host.send(Method::PUT, PROJECT, token, &project).await.0,
            201
        );
    }
    let ask = async |token: &str| {
        let request = host.request(Method::POST, "/api/v1/evaluations", token);
        request.json(&basket).send().await.unwrap()
    };
    let whole = ask(&token).await.bytes().await.unwrap().len();
    assert!((5 << 20..10 << 20).contains(&whole), "{whole}");
    // More than one tenant may have, and enough to fill the system's buffers of a connection.
    let mut unread = Vec::new();
    let refused = loop {
        let answer = ask(&token).await;
        match answer.status().as_u16() {
            200 => unread.push(answer),
            status => break (status, answer.headers()["retry-after"].clone()),
        }
        assert!(unread.len() < 50, "none is refused");
    };
    assert_eq!(refused, (503, "1".parse().unwrap()));
    assert_eq!(ask(&other).await.bytes().await.unwrap().len(), whole);
    for answer in unread {
        assert_eq!(answer.bytes().await.unwrap().len(), whole);
    }
    assert_eq!(ask(&token).await.bytes().await.unwrap().len(), whole);
}

#[tokio::test]
async fn a_large_catalog_decides_as_a_small_one() {
    let host = host(|_| ()).await;
    let token = host.token("acme", ROLES).await;
    let put = async |number: u64, age: u64| {
        let body = json!({
            "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": age },
        });
        let path = format!("/api/v1/entity-conditions/c{number}");
        host.send(Method::PUT, &path, &token, &body).await
    };
    for number in 0..200 {
        let (status, body) = put(number, 10 + number % 10).await;
        assert_eq!(status, 201, "{body}");
    }
    let context = json!({ "customer": { "customer_age": 15 } });
    let decide = async |id: &str| {
        let body = json!({ "item": { "id": "1" }, "context": context });
        let path = format!("/api/v1/conditions/{id}/evaluate");
        host.send(Method::POST, &path, &token, &body).await
    };
    assert_eq!(decide("c5").await.1["allow"], true);
    assert_eq!(decide("c6").await.1["allow"], false);
    assert_eq!(decide("nothing").await.0, 404);
    let basket = async || {
        let items = json!([
            { "id": "1", "conditionIds": ["c5", "c6"] },
            { "id": "2", "conditionIds": ["c199", "c5", "nothing"] },
            { "id": "3" },
        ]);
        let body = json!({ "items": items, "context": context });
        let (status, body) = host
            .send(Method::POST, "/api/v1/evaluations", &token, &body)
            .await;
        assert_eq!(status, 200, "{body}");
        body["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| {
                (
                    item["results"].as_array().unwrap().len(),
                    item["allow"] == true,
                    item["errors"][0]["conditionId"].clone(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        basket().await,
        [
            (2, false, Value::Null),
            (2, false, json!("nothing")),
            (0, true, Value::Null)
        ]
    );
    assert_eq!(put(6, 12).await.0, 200);
    assert_eq!(decide("c6").await.1["allow"], true);
    assert_eq!(basket().await[0], (2, true, Value::Null));
    let (_, list) = host.get("/api/v1/entity-conditions", &token).await;
    assert_eq!(list.as_array().unwrap().len(), 200);
    let (_, catalog) = host.get("/api/v1/catalog", &token).await;
    assert_eq!(catalog["tenant"], list);
}
