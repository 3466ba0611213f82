//! `POST /oauth2/token`: every row of the table of `tokens.md`, with status, error and headers.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::fixture::{Answer, FORM, Service};

const AUDIENCE: &str = "audience=https%3A%2F%2Fapi.tillgate.example";
const GRANT: &str = "grant_type=client_credentials";

fn assert_refused(answer: &Answer, status: u16, error: &str, case: &str) {
    assert_eq!(answer.status, status, "{case}: {}", answer.body);
    assert_eq!(answer.body["error"], error, "{case}");
    let description = answer.body["error_description"].as_str().unwrap();
    assert!(
        description
            .chars()
            .all(|c| matches!(c, ' '..='~') && c != '"' && c != '\\'),
        "{case}"
    );
    assert_eq!(answer.body.as_object().unwrap().len(), 2, "{case}");
    assert_eq!(
        answer.header("content-type"),
        Some("application/json"),
        "{case}"
    );
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{case}");
    assert_eq!(answer.header("pragma"), Some("no-cache"), "{case}");
    let challenge = (status == 401).then_some("Basic realm=\"tillgate\"");
    assert_eq!(answer.header("www-authenticate"), challenge, "{case}");
}

#[tokio::test]
async fn each_form_gets_its_status_and_error() {
    let service = Service::start().await;
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    let cases = [
        (String::new(), 400, "invalid_request"),
        (AUDIENCE.to_owned(), 400, "invalid_request"),
        (format!("grant_type=&{AUDIENCE}"), 400, "invalid_request"),
        (format!("grant_type&{AUDIENCE}"), 400, "invalid_request"),
        (
            format!("{GRANT}&{GRANT}&{AUDIENCE}"),
            400,
            "invalid_request",
        ),
        (
            format!("{GRANT}&{AUDIENCE}&{AUDIENCE}"),
            400,
            "invalid_request",
        ),
        (
            format!("{GRANT}&{AUDIENCE}&x=1&x=1"),
            400,
            "invalid_request",
        ),
        (format!("{GRANT}&{AUDIENCE}&%ff=1"), 400, "invalid_request"),
        (format!("{GRANT}&{AUDIENCE}&x=%zz"), 400, "invalid_request"),
        (format!("{GRANT}&{AUDIENCE}&x=%4"), 400, "invalid_request"),
        (
            format!("{GRANT}&{AUDIENCE}&client_secret={secret}"),
            400,
            "invalid_request",
        ),
        (
            format!("{GRANT}&{AUDIENCE}&client_id=other"),
            400,
            "invalid_request",
        ),
        (
            format!("grant_type=password&{AUDIENCE}"),
            400,
            "unsupported_grant_type",
        ),
        (
            format!("grant_type=client_credentials+&{AUDIENCE}"),
            400,
            "unsupported_grant_type",
        ),
        (
            format!("grant_type=Client_Credentials&{AUDIENCE}"),
            400,
            "unsupported_grant_type",
        ),
        (GRANT.to_owned(), 401, "invalid_request"),
        (format!("{GRANT}&audience="), 400, "invalid_request"),
        (
            format!("{GRANT}&audience=https%3A%2F%2Fapi.tillgate.example%2F"),
            401,
            "invalid_request",
        ),
        (
            format!("{GRANT}&audience=https%3A%2F%2Fapi.tillgate.example.evil"),
            401,
            "invalid_request",
        ),
        (
            format!("{GRANT}&audience=HTTPS%3A%2F%2Fapi.tillgate.example"),
            401,
            "invalid_request",
        ),
        (
            format!("{GRANT}&audience=%22%5C%0D%0A%E2%82%AC"),
            401,
            "invalid_request",
        ),
        (
            format!("{GRANT}&{AUDIENCE}&scope=read"),
            400,
            "invalid_scope",
        ),
        (format!("{GRANT}&{AUDIENCE}&scope=+"), 400, "invalid_scope"),
    ];
    for (form, status, error) in cases {
        let answer = service.send(service.ask(id, secret, &form)).await;
        assert_refused(&answer, status, error, &form);
    }
    for form in [
        format!("{FORM}&scope="),
        format!("{FORM}&unknown=1"),
        format!("&{FORM}&&client_id={id}"),
    ] {
        assert_eq!(
            service.send(service.ask(id, secret, &form)).await.status,
            200,
            "{form}"
        );
    }
}

#[tokio::test]
async fn the_audience_that_is_needed_is_named() {
    let service = Service::start().await;
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    let answer = service.send(service.ask(id, secret, GRANT)).await;
    assert_eq!(
        answer.body["error_description"],
        "audience must be https://api.tillgate.example"
    );
}

#[tokio::test]
async fn nobody_learns_why_a_client_gets_no_token() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let operator = service.operator().await;
    let (pending, revoked) = (service.till("acme", 1).await, service.till("acme", 2).await);
    let path = format!("/v1/tenants/acme/clients/{}/revoke", revoked.client_id);
    assert_eq!(service.put(&path, &operator, Value::Null).await.status, 200);
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    let wrong = "0".repeat(64);
    let basic = |text: &str| format!("Basic {}", BASE64_STANDARD.encode(text));
    let header = |value: String| {
        service
            .ask_without_credentials(FORM)
            .header("authorization", value)
    };
    let long = "a".repeat(9_000);
    let requests = [
        ("no credentials", service.ask_without_credentials(FORM)),
        ("unknown client", service.ask("bm9ib2R5", secret, FORM)),
        ("not even an id", service.ask("../pepper", secret, FORM)),
        ("empty", service.ask("", "", FORM)),
        ("wrong secret", service.ask(id, &wrong, FORM)),
        ("part of the secret", service.ask(id, &secret[..63], FORM)),
        (
            "more than the secret",
            service.ask(id, &format!("{secret}0"), FORM),
        ),
        (
            "the secret in capitals",
            service.ask(id, &secret.to_uppercase(), FORM),
        ),
        (
            "the secret and a line break",
            service.ask(id, &format!("{secret}\n"), FORM),
        ),
        ("a long secret", service.ask(id, &long, FORM)),
        (
            "pending",
            service.ask(&pending.client_id, &pending.client_secret, FORM),
        ),
        (
            "revoked",
            service.ask(&revoked.client_id, &revoked.client_secret, FORM),
        ),
        (
            "another's secret",
            service.ask(id, &revoked.client_secret, FORM),
        ),
        ("no colon", header(basic(id))),
        ("no Base64", header(format!("Basic {id}:{secret}"))),
        (
            "no UTF-8",
            header(format!(
                "Basic {}",
                BASE64_STANDARD.encode([0xff, b':', 0xff])
            )),
        ),
        ("a bad escape", header(basic(&format!("%zz{id}:{secret}")))),
        ("no Basic", header(format!("Bearer {operator}"))),
        ("Basic alone", header("Basic".to_owned())),
        (
            "two headers",
            service
                .ask(id, secret, FORM)
                .header("authorization", basic(&format!("{id}:{secret}"))),
        ),
        (
            "client_secret_post",
            service
                .ask_without_credentials(&format!("{FORM}&client_id={id}&client_secret={secret}")),
        ),
    ];
    let mut bodies = Vec::new();
    for (case, request) in requests {
        let answer = service.send(request).await;
        assert_refused(&answer, 401, "invalid_client", case);
        bodies.push(answer.body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "one body for all");
}

#[tokio::test]
async fn basic_credentials_are_taken_plain_or_form_encoded() {
    let service = Service::start().await;
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    let encoded = |text: &str| {
        text.bytes()
            .map(|b| format!("%{b:02X}"))
            .collect::<String>()
    };
    let texts = [
        format!("{id}:{secret}"),
        format!("{}:{}", encoded(id), encoded(secret)),
    ];
    for text in texts {
        for scheme in ["Basic", "basic", "BASIC"] {
            let header = format!("{scheme} {}", BASE64_STANDARD.encode(&text));
            let request = service
                .ask_without_credentials(FORM)
                .header("authorization", header);
            assert_eq!(service.send(request).await.status, 200, "{scheme} {text}");
        }
    }
}

#[tokio::test]
async fn what_is_no_post_of_a_form_is_refused_in_the_same_words() {
    let service = Service::start().await;
    let url = format!("{}/oauth2/token", service.host.url);
    let (id, secret) = (&service.operator.client_id, &service.operator.client_secret);
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::PATCH] {
        let answer = service
            .send(service.host.http.request(method.clone(), &url))
            .await;
        assert_refused(&answer, 405, "invalid_request", method.as_str());
        assert_eq!(answer.header("allow"), Some("POST"));
    }
    let types = [
        "application/json",
        "multipart/form-data; boundary=x",
        "text/plain",
    ];
    for media_type in types {
        let request = service
            .host
            .http
            .post(&url)
            .basic_auth(id, Some(secret))
            .body(FORM);
        let answer = service
            .send(request.header("content-type", media_type))
            .await;
        assert_refused(&answer, 400, "invalid_request", media_type);
    }
    let request = service
        .host
        .http
        .post(&url)
        .basic_auth(id, Some(secret))
        .body(FORM);
    assert_refused(
        &service.send(request).await,
        400,
        "invalid_request",
        "no type at all",
    );
    let large = format!("{FORM}&x={}", "y".repeat(8 << 10));
    let answer = service.send(service.ask(id, secret, &large)).await;
    assert_refused(&answer, 413, "invalid_request", "over 8 KiB");
    let exact = format!("{FORM}&x={}", "y".repeat((8 << 10) - FORM.len() - 3));
    assert_eq!(
        service.send(service.ask(id, secret, &exact)).await.status,
        200
    );
    let charset = "application/x-www-form-urlencoded; charset=UTF-8";
    let request = service
        .host
        .http
        .post(&url)
        .basic_auth(id, Some(secret))
        .body(FORM);
    assert_eq!(
        service
            .send(request.header("content-type", charset))
            .await
            .status,
        200
    );
    let in_query = service
        .host
        .http
        .post(format!("{url}?{FORM}"))
        .basic_auth(id, Some(secret));
    let in_query = in_query.header("content-type", "application/x-www-form-urlencoded");
    assert_refused(
        &service.send(in_query).await,
        400,
        "invalid_request",
        "all in the query",
    );
}

#[tokio::test]
async fn two_tokens_of_one_second_differ() {
    let service = Service::start().await;
    let (first, second) = (service.operator().await, service.operator().await);
    assert_ne!(first, second);
}

#[tokio::test]
async fn a_replaced_secret_is_valid_until_its_overlap_ends() {
    let service = Service::start().await;
    let operator = service.operator().await;
    service.open_tenant("acme", &[]).await;
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    let status = async |secret: &str| {
        service
            .send(service.ask(&till.client_id, secret, FORM))
            .await
            .status
    };

    let renewed = service
        .post(&format!("{path}/secret"), &operator, Value::Null)
        .await;
    assert_eq!(renewed.status, 200);
    assert_eq!(renewed.header("cache-control"), Some("no-store"));
    let second = renewed.body["clientSecret"].as_str().unwrap().to_owned();
    assert_eq!(
        renewed.body,
        json!({ "clientId": till.client_id, "clientSecret": second })
    );
    assert_eq!(
        (status(&till.client_secret).await, status(&second).await),
        (200, 200)
    );
    service
        .clock
        .advance(std::time::Duration::from_secs(86_399));
    assert_eq!(status(&till.client_secret).await, 200);
    service.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(
        (status(&till.client_secret).await, status(&second).await),
        (401, 200)
    );

    let operator = service.operator().await;
    let at_once = service
        .post(&format!("{path}/secret?overlap=0s"), &operator, Value::Null)
        .await;
    let third = at_once.body["clientSecret"].as_str().unwrap();
    assert_eq!((status(&second).await, status(third).await), (401, 200));
    let spelled = service
        .post(
            &format!("{path}/secret?overlap=2%20days"),
            &operator,
            Value::Null,
        )
        .await;
    assert_eq!(spelled.status, 200);
    for wrong in ["", "1", "h", "-1s", "1.5h", "1 week", "31d", "99999999999s"] {
        let path = format!("{path}/secret?overlap={wrong}");
        assert_eq!(
            service.post(&path, &operator, Value::Null).await.status,
            400,
            "{wrong:?}"
        );
    }
}
