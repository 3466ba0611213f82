//! Tokens that the service's own key signed but whose claims must not identify anyone.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};

use super::super::fixture::{START, Service};
use super::{
    AUDIENCE, CLAIMS, Case, EARLY, EXPIRED, Forgery, GONE, ISSUER, SUBJECT, UNAUTHORIZED, bearer,
    rows,
};
use crate::support::host::{Host, token};

#[tokio::test]
async fn each_claim_has_one_type_and_one_value() {
    let forgery = Forgery::start().await;
    let cases = [values(&forgery), texts(&forgery)].concat();
    forgery.service.assert_each(cases).await;
}

/// Returns the valid claims with one changed.
fn values(forgery: &Forgery) -> Vec<Case> {
    let now = forgery.claims["iat"].as_u64().unwrap();
    let iss = forgery.claims["iss"].as_str().unwrap();
    let id = forgery.claims["sub"].as_str().unwrap();
    let aud = "https://api.tillgate.example";
    let with = |claim: &'static str| {
        move |value: Value| {
            let mut claims = forgery.claims.clone();
            claims[claim] = value;
            bearer(forgery.of(&claims))
        }
    };
    let refused = |claim: &'static str, error: &str, values: Vec<Value>| {
        let named = values
            .into_iter()
            .map(|value| (format!("{claim}: {value}"), value));
        rows(401, error, named, with(claim))
    };
    let taken = |claim: &'static str, value: Value| rows(200, "", [(claim, value)], with(claim));
    let missing = ["iss", "aud", "exp", "nbf", "iat", "sub", "client_id"];
    let without = |claim: &str| {
        let mut claims = forgery.claims.clone();
        claims.as_object_mut().unwrap().remove(claim);
        bearer(forgery.of(&claims))
    };
    let of_nobody = |id: &str| {
        let mut claims = forgery.claims.clone();
        (claims["sub"], claims["client_id"]) = (json!(id), json!(id));
        bearer(forgery.of(&claims))
    };
    let nobody = ["bm9ib2R5", "", ".", "../keys", "*", "a/b", &"a".repeat(300)];
    [
        refused(
            "iss",
            ISSUER,
            vec![
                json!("https://other/"),
                json!(iss.trim_end_matches('/')),
                json!(iss.to_uppercase()),
                json!(format!("{iss}x")),
                json!(format!("{iss}/")),
                json!(format!(" {iss}")),
                json!(format!("{iss}\0")),
                json!(""),
            ],
        ),
        refused(
            "iss",
            CLAIMS,
            vec![
                json!([iss]),
                json!([iss, "https://evil.example/"]),
                json!({ "url": iss }),
                json!(7),
                json!(true),
                Value::Null,
            ],
        ),
        refused(
            "aud",
            AUDIENCE,
            vec![
                json!("https://api.tillgate.example.evil"),
                json!("https://api.tillgate.example/"),
                json!("https://api.tillgate.exampl"),
                json!("https://API.tillgate.example"),
                json!("https://a@api.tillgate.example"),
                json!(format!("{aud} https://b.example")),
                json!([format!("{aud},https://b.example")]),
                json!(["a", "b"]),
                json!(["*"]),
                json!([]),
                json!(""),
            ],
        ),
        refused(
            "aud",
            CLAIMS,
            vec![
                json!([1]),
                json!([aud, 1]),
                json!([aud, null]),
                json!([aud, [aud]]),
                json!([[aud]]),
                json!({ aud: 1 }),
                json!({ "0": aud }),
                json!(7),
                json!(true),
                Value::Null,
            ],
        ),
        refused(
            "exp",
            EXPIRED,
            vec![json!(now - 5), json!(now - 3_600), json!(0)],
        ),
        refused(
            "exp",
            CLAIMS,
            vec![
                json!((now + 3_599).to_string()),
                json!("2030-01-01T00:00:00Z"),
                json!(""),
                json!(now as f64 + 0.5),
                json!(-1),
                json!(-9e15),
                json!(1e18),
                json!(1e30),
                json!(18_446_744_073_709_551_616.0),
                json!([now + 60]),
                json!({ "exp": now + 60 }),
                json!(true),
                Value::Null,
            ],
        ),
        refused(
            "nbf",
            EARLY,
            vec![json!(now + 6), json!(now + 3_600), json!(u64::MAX)],
        ),
        refused(
            "nbf",
            CLAIMS,
            vec![
                json!(now.to_string()),
                json!(now as f64),
                json!(-1),
                Value::Null,
            ],
        ),
        refused("iat", CLAIMS, vec![json!("now"), json!(-1), json!(1.5)]),
        refused(
            "sub",
            SUBJECT,
            vec![
                json!("someone"),
                json!(""),
                json!(id.to_lowercase()),
                json!(format!("{id} ")),
            ],
        ),
        refused("sub", CLAIMS, vec![json!(1), Value::Null]),
        refused(
            "client_id",
            SUBJECT,
            vec![json!("someone"), json!(format!("{id}="))],
        ),
        refused("client_id", CLAIMS, vec![json!(1), json!([id])]),
        rows(
            401,
            CLAIMS,
            missing.map(|claim| (format!("no {claim}"), claim)),
            without,
        ),
        rows(
            401,
            GONE,
            nobody.map(|id| (format!("of {id:?}"), id)),
            of_nobody,
        ),
        taken("aud", json!(aud)),
        taken("nbf", json!(now + 5)),
        taken("exp", json!(now - 4)),
        taken("exp", json!(u64::MAX)),
    ]
    .concat()
}

/// Returns the valid claims as another text.
fn texts(forgery: &Forgery) -> Vec<Case> {
    let claims = forgery.claims.to_string();
    let before = |member: &str| {
        claims
            .replacen('{', &format!("{{{member},"), 1)
            .into_bytes()
    };
    let exp = forgery.claims["exp"].as_u64().unwrap();
    let literal = |value: &str| claims.replace(&exp.to_string(), value).into_bytes();
    let names = ["iss", "aud", "exp", "nbf", "iat", "sub", "client_id"];
    let list = json!(names.map(|name| forgery.claims[name].clone()));
    let texts = [
        (
            "aud twice",
            before(r#""aud":"https://api.tillgate.example""#),
        ),
        ("iss twice", before(r#""iss":"https://evil.example/""#)),
        ("sub twice", before(r#""sub":"x""#)),
        ("sub twice, once escaped", before(r#""\u0073ub":"x""#)),
        ("exp twice", before(r#""exp":0"#)),
        ("nbf twice", before(r#""nbf":0"#)),
        ("client_id twice", before(r#""client_id":"x""#)),
        ("a text", b"\"claims\"".to_vec()),
        ("a word", b"hello".to_vec()),
        ("null", b"null".to_vec()),
        ("a number", b"7".to_vec()),
        ("an empty object", b"{}".to_vec()),
        ("in an array", format!("[{claims}]").into_bytes()),
        ("in a text", json!(claims).to_string().into_bytes()),
        ("two of them", claims.repeat(2).into_bytes()),
        ("a brace more", format!("{claims}}}").into_bytes()),
        (
            "two byte order marks",
            format!("\u{feff}\u{feff}{claims}").into_bytes(),
        ),
        ("NUL after", format!("{claims}\0").into_bytes()),
        ("invalid UTF-8", [claims.as_bytes(), b"\xff"].concat()),
        (
            "UTF-16",
            claims.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        ),
        ("exp NaN", literal("NaN")),
        ("exp Infinity", literal("Infinity")),
        ("exp 2^64", literal("18446744073709551616")),
        ("exp 10^400", literal("1e400")),
        ("exp with a fraction", literal(&format!("{exp}.0"))),
        ("exp with a zero before", literal(&format!("0{exp}"))),
        ("exp hexadecimal", literal("0x7fffffff")),
        (
            "a list of what they would say",
            list.to_string().into_bytes(),
        ),
    ];
    let [head, ..] = forgery.parts();
    rows(401, CLAIMS, texts, |text| {
        bearer(forgery.signed(head, &BASE64URL.encode(text)))
    })
}

#[tokio::test]
async fn a_token_holds_for_its_issuer_and_a_client_in_good_standing() {
    let forgery = Forgery::start().await;
    let service = &forgery.service;
    service.open_tenant("acme", &["iam.admin"]).await;
    let pending = service.till("acme", 1).await.client_id;
    let operator = service.operator().await;
    let mut claims = forgery.claims.clone();
    (claims["sub"], claims["client_id"]) = (json!(pending), json!(pending));
    let of_till = forgery.of(&claims);
    service
        .assert_refused(&of_till, UNAUTHORIZED, "pending")
        .await;
    let path = format!("/v1/tenants/acme/clients/{pending}");
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    assert_eq!(service.status_of(&of_till).await.0, 403);
    service
        .put(&format!("{path}/revoke"), &operator, Value::Null)
        .await;
    service
        .assert_refused(&of_till, UNAUTHORIZED, "revoked")
        .await;
    service.delete(&path, &operator).await;
    service.assert_refused(&of_till, GONE, "deleted").await;

    let elsewhere = Service::with_another_key().await.operator().await;
    service
        .assert_refused(&elsewhere, ISSUER, "another service's")
        .await;
    // The same store and thus the same keys, under another name.
    let named = Host::start_configured(service.store.clone(), service.clock.clone(), |config| {
        config.issuer = "https://tokens.tillgate.example/".to_owned();
    });
    let named = named.await;
    let (id, secret) = (
        &service.operator.client_id,
        service.operator.client_secret.reveal(),
    );
    let token = token(&named.http, &named.url, id, secret).await;
    service
        .assert_refused(&token, ISSUER, "of another name")
        .await;
}

#[tokio::test]
async fn a_token_expires_whether_it_was_seen_before_or_not() {
    let service = Service::start().await;
    let (seen, unseen) = (service.operator().await, service.operator().await);
    assert_eq!(service.status_of(&seen).await.0, 200);
    service.clock.advance(Duration::from_secs(3_599 + 4));
    let (status, _) = service.status_of(&seen).await;
    assert_eq!(status, 200, "clocks may differ by five seconds");
    service.clock.advance(Duration::from_secs(1));
    let tokens = [("seen", &seen), ("unseen", &unseen)];
    service
        .assert_each(rows(401, EXPIRED, tokens, bearer))
        .await;
    service.clock.set(START.minus(Duration::from_secs(60 * 60)));
    service.assert_each(rows(401, EARLY, tokens, bearer)).await;
}
