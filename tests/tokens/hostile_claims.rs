//! Tokens that the service's own key signed and that must name nobody all the same, and headers that hold no token.

use serde_json::{Value, json};

use super::fixture::Service;
use super::forgery::{Forgery, assert_refused, assert_unauthenticated};
use super::wire::{Headers, message};
use crate::support::host::Host;

const CLAIMS: &str = "the token's claims are none";
const ISSUER: &str = "the token is of another issuer";
const AUDIENCE: &str = "the token is for another audience";
const EXPIRED: &str = "the token has expired";
const EARLY: &str = "the token is not valid yet";
const GONE: &str = "the token's client is gone";
const OTHER: &str = "the token's sub is not its client";
const BEARER: &str = "the Authorization header must hold one bearer token";
const NONE: &str = "a bearer token is needed";

#[tokio::test]
async fn each_claim_has_one_type_and_one_value() {
    let forgery = Forgery::start().await;
    let now = forgery.claims["iat"].as_u64().unwrap();
    let iss = forgery.claims["iss"].as_str().unwrap();
    let aud = "https://api.tillgate.example";
    let id = forgery.claims["sub"].as_str().unwrap();
    let rows = [
        ("iss", json!(format!("{iss}x")), ISSUER),
        ("iss", json!(format!("{iss}/")), ISSUER),
        ("iss", json!(format!(" {iss}")), ISSUER),
        ("iss", json!(format!("{iss}\0")), ISSUER),
        ("iss", json!(""), ISSUER),
        ("iss", json!({ "url": iss }), CLAIMS),
        ("iss", json!([iss, "https://evil.example/"]), CLAIMS),
        ("iss", json!(true), CLAIMS),
        ("aud", json!(""), AUDIENCE),
        ("aud", json!("https://api.tillgate.exampl"), AUDIENCE),
        ("aud", json!("https://API.tillgate.example"), AUDIENCE),
        ("aud", json!("https://a@api.tillgate.example"), AUDIENCE),
        ("aud", json!(format!("{aud} https://b.example")), AUDIENCE),
        ("aud", json!([format!("{aud},https://b.example")]), AUDIENCE),
        ("aud", json!(["*"]), AUDIENCE),
        ("aud", Value::Null, CLAIMS),
        ("aud", json!(true), CLAIMS),
        ("aud", json!([aud, null]), CLAIMS),
        ("aud", json!([aud, [aud]]), CLAIMS),
        ("aud", json!({ "0": aud }), CLAIMS),
        ("exp", json!(0), EXPIRED),
        ("exp", json!(now - 3_600), EXPIRED),
        ("exp", json!(""), CLAIMS),
        ("exp", json!(true), CLAIMS),
        ("exp", json!([now + 60]), CLAIMS),
        ("exp", json!({ "exp": now + 60 }), CLAIMS),
        ("exp", json!("2030-01-01T00:00:00Z"), CLAIMS),
        ("exp", json!(-9e15), CLAIMS),
        ("exp", json!(1e18), CLAIMS),
        ("exp", json!(18_446_744_073_709_551_616.0), CLAIMS),
        ("nbf", json!(now + 3_600), EARLY),
        ("nbf", json!(u64::MAX), EARLY),
        ("nbf", json!(-1), CLAIMS),
        ("nbf", Value::Null, CLAIMS),
        ("nbf", json!(now as f64), CLAIMS),
        ("iat", json!(-1), CLAIMS),
        ("iat", json!(1.5), CLAIMS),
        ("sub", json!(""), OTHER),
        ("sub", json!(id.to_lowercase()), OTHER),
        ("sub", json!(format!("{id} ")), OTHER),
        ("sub", json!(1), CLAIMS),
        ("sub", Value::Null, CLAIMS),
        ("client_id", json!([id]), CLAIMS),
        ("client_id", json!(format!("{id}=")), OTHER),
    ];
    for (claim, value, why) in rows {
        let mut claims = forgery.claims.clone();
        claims[claim] = value.clone();
        let header = forgery.header.to_string();
        let token = forgery.forge.sign(&header, &claims.to_string());
        assert_refused(&forgery.service, &token, why, &format!("{claim}: {value}")).await;
    }
}

#[tokio::test]
async fn claims_are_one_json_object_that_says_each_thing_once() {
    let forgery = Forgery::start().await;
    let claims = forgery.claims.to_string();
    let before = |member: &str| {
        claims
            .replacen('{', &format!("{{{member},"), 1)
            .into_bytes()
    };
    let exp = forgery.claims["exp"].as_u64().unwrap();
    let literal = |value: &str| claims.replace(&exp.to_string(), value).into_bytes();
    let rows: Vec<(&str, Vec<u8>)> = vec![
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
            "a byte order mark",
            format!("\u{feff}{claims}").into_bytes(),
        ),
        ("NUL after", format!("{claims}\0").into_bytes()),
        ("no UTF-8", [claims.as_bytes(), b"\xff"].concat()),
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
        ("a list of what they would say", {
            let say = |name: &str| forgery.claims[name].clone();
            let names = ["iss", "aud", "exp", "nbf", "iat", "sub", "client_id"];
            json!(names.map(say)).to_string().into_bytes()
        }),
    ];
    for (case, claims) in rows {
        let text = base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, claims);
        let head = forgery.good.split('.').next().unwrap();
        let token = forgery.signed(head, &text);
        assert_refused(&forgery.service, &token, CLAIMS, case).await;
    }
    let last = literal(&u64::MAX.to_string());
    let last = forgery.forge.sign(
        &forgery.header.to_string(),
        std::str::from_utf8(&last).unwrap(),
    );
    assert_eq!(forgery.service.status_of(&last).await.0, 200, "no overflow");
}

#[tokio::test]
async fn a_token_holds_for_its_issuer_and_a_client_in_good_standing() {
    let forgery = Forgery::start().await;
    let service = &forgery.service;
    service.open_tenant("acme", &["iam.admin"]).await;
    let pending = service.till("acme", 1).await.client_id;
    let operator = service.operator().await;
    let of = |id: &str| {
        let mut claims = forgery.claims.clone();
        (claims["sub"], claims["client_id"]) = (json!(id), json!(id));
        let header = forgery.header.to_string();
        forgery.forge.sign(&header, &claims.to_string())
    };
    let unauthorized = "the token's client is not authorized";
    assert_refused(service, &of(&pending), unauthorized, "pending").await;
    let path = format!("/v1/tenants/acme/clients/{pending}");
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    assert_eq!(service.status_of(&of(&pending)).await.0, 403);
    service
        .put(&format!("{path}/revoke"), &operator, Value::Null)
        .await;
    assert_refused(service, &of(&pending), unauthorized, "revoked").await;
    service.delete(&path, &operator).await;
    assert_refused(service, &of(&pending), GONE, "deleted").await;
    for id in ["", ".", "../keys", "*", "a/b", &"a".repeat(300)] {
        assert_refused(service, &of(id), GONE, id).await;
    }
    let elsewhere = Service::start().await;
    let token = elsewhere.operator().await;
    let kid = "the token's kid is not known";
    assert_refused(service, &token, kid, "another service's").await;
    // The same store and so the same keys, under another name.
    let named = Host::start_configured(service.store.clone(), service.clock.clone(), |config| {
        config.issuer = "https://tokens.tillgate.example/".to_owned();
    });
    let named = named.await;
    let credentials = (&service.operator.client_id, &service.operator.client_secret);
    let token = crate::support::host::token(&named.http, &named.url, credentials.0, credentials.1);
    assert_refused(service, &token.await, ISSUER, "of another name").await;
}

#[tokio::test]
async fn a_token_comes_in_the_one_header_and_nowhere_else() {
    let service = Service::start().await;
    let token = service.operator().await;
    let bearer = format!("Bearer {token}");
    let basic = "Basic dXNlcjpwYXNz";
    let tab = bearer.replace(' ', "\t");
    let dpop = bearer.replace("Bearer", "DPoP");
    let colon = bearer.replace(' ', ": ");
    let longer = bearer.replace("Bearer", "Bearers");
    let comma = format!("{bearer}, {basic}");
    let comma_first = format!("{basic}, {bearer}");
    let cookie = format!("access_token={token}; authorization={bearer}");
    let authorization = |value| ("authorization", value);
    let rows: [(&str, Headers<'_>, &str); 14] = [
        ("none", &[], NONE),
        (
            "another header",
            &[("x-authorization", bearer.as_str())],
            NONE,
        ),
        ("for a proxy", &[("proxy-authorization", &bearer)], NONE),
        ("a token's own header", &[("x-access-token", &token)], NONE),
        ("a cookie", &[("cookie", &cookie)], NONE),
        ("empty", &[authorization("")], BEARER),
        ("no scheme", &[authorization(&token)], BEARER),
        ("a tab", &[authorization(&tab)], BEARER),
        ("a colon", &[authorization(&colon)], BEARER),
        ("DPoP", &[authorization(&dpop)], BEARER),
        ("a longer scheme", &[authorization(&longer)], BEARER),
        (
            "Basic before, with a comma",
            &[authorization(&comma_first)],
            BEARER,
        ),
        (
            "good, then Basic",
            &[authorization(&bearer), authorization(basic)],
            BEARER,
        ),
        (
            "empty, then good",
            &[authorization(""), authorization(&bearer)],
            BEARER,
        ),
    ];
    for (case, headers, why) in rows {
        let answer = service
            .send_bytes(&message("GET /v1/tenants", headers, ""))
            .await;
        assert_unauthenticated(&answer, why, case);
    }
    let headers = [authorization(comma.as_str())];
    let answer = service
        .send_bytes(&message("GET /v1/tenants", &headers, ""))
        .await;
    assert_unauthenticated(
        &answer,
        "the token's signature is wrong",
        "Basic after, with a comma",
    );
    let line = format!("GET /v1/tenants?access_token={token}&token={token}&bearer={token}");
    let answer = service.send_bytes(&message(&line, &[], "")).await;
    assert_unauthenticated(&answer, NONE, "in the query");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let body = format!("access_token={token}");
    let answer = service
        .send_bytes(&message("PUT /v1/tenants/acme", &[form], body))
        .await;
    assert_unauthenticated(&answer, NONE, "in a form");
    let folded =
        format!("GET /v1/tenants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer\r\n {token}\r\n\r\n");
    let answer = service.send_bytes(folded.as_bytes()).await;
    assert_eq!(answer.status, 400, "a header over two lines is no header");
}
