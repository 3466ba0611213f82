//! Tokens that name nobody: each is refused with 401, none is a 500.

use std::time::Duration;

use aws_lc_rs::hmac;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};

use super::fixture::{Forge, Service, part};

#[tokio::test]
async fn a_token_that_the_service_did_not_sign_so_is_refused() {
    let service = Service::start().await;
    let good = service.operator().await;
    assert_eq!(service.status_of(&good).await.0, 200);
    let forge = service.forge().await;
    let (header, claims) = (part(&good, 0), part(&good, 1));
    let claims_text = claims.to_string();
    let [head, body, signature] = good.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts")
    };
    let unsigned = |header: Value| {
        format!(
            "{}.{}.{signature}",
            BASE64URL.encode(header.to_string()),
            BASE64URL.encode(&claims_text)
        )
    };
    let with = |member: &str, value: Value| {
        let mut header = header.clone();
        header[member] = value;
        header
    };
    let signed = |header: &Value| forge.sign(&header.to_string(), &claims_text);
    assert_eq!(
        service.status_of(&signed(&header)).await.0,
        200,
        "the forge is good"
    );

    let stranger = Forge {
        pair: KeyPair::generate(KeySize::Rsa2048).unwrap(),
        kid: forge.kid.clone(),
    };
    let hmac_of = |key: &[u8]| {
        let text = format!(
            "{}.{body}",
            BASE64URL.encode(with("alg", json!("HS256")).to_string())
        );
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes());
        format!("{text}.{}", BASE64URL.encode(tag))
    };
    let public = forge.pair.public_key().as_ref().to_vec();
    let jwks = service.get("/.well-known/jwks.json", &good).await.body;
    let modulus = jwks["keys"][0]["n"].as_str().unwrap().to_owned();
    let shape = "the token is no signed JWT";
    let alg = "the token's alg is not RS256";
    let wrong = "the token's signature is wrong";
    let no_header = "the token's header is none";
    let kid = "the token's kid is not known";
    let kind = "the token is of another type";
    let critical = "the token's header has critical members that are not known";
    let cases: Vec<(&str, String, &str)> = vec![
        ("alg none", unsigned(with("alg", json!("none"))), alg),
        ("alg None", unsigned(with("alg", json!("None"))), alg),
        (
            "alg none without signature",
            format!("{}.{body}.", BASE64URL.encode(r#"{"alg":"none"}"#)),
            shape,
        ),
        ("alg empty", unsigned(with("alg", json!(""))), alg),
        ("alg lower case", unsigned(with("alg", json!("rs256"))), alg),
        (
            "alg a list",
            unsigned(with("alg", json!(["RS256"]))),
            no_header,
        ),
        (
            "alg missing",
            unsigned(json!({ "kid": forge.kid })),
            no_header,
        ),
        ("HS256 with the public key", hmac_of(&public), alg),
        ("HS256 with the modulus", hmac_of(modulus.as_bytes()), alg),
        ("PS256", unsigned(with("alg", json!("PS256"))), alg),
        ("ES256", unsigned(with("alg", json!("ES256"))), alg),
        ("kid unknown", signed(&with("kid", json!("x"))), kid),
        (
            "kid a path",
            signed(&with("kid", json!("../../dev/null"))),
            kid,
        ),
        ("kid null", signed(&with("kid", Value::Null)), no_header),
        ("kid a number", signed(&with("kid", json!(1))), no_header),
        (
            "kid missing",
            signed(&json!({ "alg": "RS256", "typ": "JWT" })),
            no_header,
        ),
        ("crit", signed(&with("crit", json!(["x"]))), critical),
        ("crit empty", signed(&with("crit", json!([]))), critical),
        ("crit null", signed(&with("crit", Value::Null)), critical),
        (
            "typ of another token",
            signed(&with("typ", json!("logout+jwt"))),
            kind,
        ),
        (
            "another's key, with jwk",
            stranger.sign(
                &with("jwk", jwks["keys"][0].clone()).to_string(),
                &claims_text,
            ),
            wrong,
        ),
        (
            "another's key, with jku",
            stranger.sign(
                &with("jku", json!("http://127.0.0.1:1/")).to_string(),
                &claims_text,
            ),
            wrong,
        ),
        (
            "another's key, with x5u",
            stranger.sign(
                &with("x5u", json!("http://127.0.0.1:1/")).to_string(),
                &claims_text,
            ),
            wrong,
        ),
        (
            "another's key",
            stranger.sign(&header.to_string(), &claims_text),
            wrong,
        ),
        (
            "alg twice",
            forge.sign(
                &format!(r#"{{"alg":"none","alg":"RS256","kid":"{}"}}"#, forge.kid),
                &claims_text,
            ),
            no_header,
        ),
        (
            "header no object",
            forge.sign("\"RS256\"", &claims_text),
            no_header,
        ),
        (
            "header with a BOM",
            forge.sign(&format!("\u{feff}{header}"), &claims_text),
            no_header,
        ),
        (
            "header and more",
            forge.sign(&format!("{header}{{}}"), &claims_text),
            no_header,
        ),
        (
            "deep header",
            forge.sign(
                &format!("{}{}", "[".repeat(2_000), "]".repeat(2_000)),
                &claims_text,
            ),
            no_header,
        ),
        (
            "claims of another token",
            format!("{head}.{}.{signature}", BASE64URL.encode("{}")),
            wrong,
        ),
        ("no signature", format!("{head}.{body}."), shape),
        ("two parts", format!("{head}.{body}"), shape),
        ("four parts", format!("{good}.{signature}"), shape),
        ("five parts", format!("{good}.a.b"), shape),
        ("empty header", format!(".{body}.{signature}"), shape),
        ("empty claims", format!("{head}..{signature}"), shape),
        ("no dots", "token".to_owned(), shape),
        ("padding", format!("{good}="), wrong),
        ("short signature", good[..good.len() - 4].to_owned(), wrong),
        ("long signature", format!("{good}AAAA"), wrong),
        (
            "zeros",
            format!("{head}.{body}.{}", BASE64URL.encode([0; 256])),
            wrong,
        ),
        (
            "the alphabet of Base64",
            format!("{head}.{body}.{}", "+".repeat(342)),
            wrong,
        ),
    ];
    assert!(cases.len() >= 40);
    for (case, token, why) in cases {
        assert_eq!(
            service.status_of(&token).await,
            (401, why.to_owned()),
            "{case}"
        );
    }
    // The last character of the signature has bits to spare: any other that decodes to the same is refused.
    let last = good.chars().last().unwrap();
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let value = alphabet.find(last).unwrap();
    let spare = alphabet.as_bytes()[value ^ 1] as char;
    let respelled = format!("{}{spare}", &good[..good.len() - 1]);
    assert_eq!(service.status_of(&respelled).await.0, 401);
}

#[tokio::test]
async fn a_signed_token_with_wrong_claims_is_refused() {
    let service = Service::start().await;
    let good = service.operator().await;
    let forge = service.forge().await;
    let claims = part(&good, 1);
    let now = claims["iat"].as_u64().unwrap();
    let none = "the token's claims are none";
    let issuer = "the token is of another issuer";
    let audience = "the token is for another audience";
    let expired = "the token has expired";
    let early = "the token is not valid yet";
    let gone = "the token's client is gone";
    let iss = claims["iss"].as_str().unwrap();
    let cases = [
        ("iss", json!("https://other/"), issuer),
        ("iss", json!(iss.trim_end_matches('/')), issuer),
        ("iss", json!(iss.to_uppercase()), issuer),
        ("iss", json!([iss]), none),
        ("iss", json!(7), none),
        ("iss", Value::Null, none),
        ("aud", json!("https://api.tillgate.example.evil"), audience),
        ("aud", json!("https://api.tillgate.example/"), audience),
        ("aud", json!(["a", "b"]), audience),
        ("aud", json!([]), audience),
        ("aud", json!([1]), none),
        ("aud", json!(["https://api.tillgate.example", 1]), none),
        ("aud", json!([["https://api.tillgate.example"]]), none),
        ("aud", json!({ "https://api.tillgate.example": 1 }), none),
        ("aud", json!(7), none),
        ("exp", json!(now - 5), expired),
        ("exp", json!((now + 3_599).to_string()), none),
        ("exp", json!(now as f64 + 0.5), none),
        ("exp", json!(-1), none),
        ("exp", json!(1e30), none),
        ("exp", Value::Null, none),
        ("nbf", json!(now + 6), early),
        ("nbf", json!(now.to_string()), none),
        ("iat", json!("now"), none),
        ("sub", json!("someone"), "the token's sub is not its client"),
        (
            "client_id",
            json!("someone"),
            "the token's sub is not its client",
        ),
        ("client_id", json!(1), none),
    ];
    for (claim, value, why) in cases {
        let mut claims = claims.clone();
        claims[claim] = value.clone();
        let token = forge.sign(&forge.header().to_string(), &claims.to_string());
        assert_eq!(
            service.status_of(&token).await,
            (401, why.to_owned()),
            "{claim}: {value}"
        );
    }
    for missing in ["iss", "aud", "exp", "nbf", "iat", "sub", "client_id"] {
        let mut claims = claims.clone();
        claims.as_object_mut().unwrap().remove(missing);
        let token = forge.sign(&forge.header().to_string(), &claims.to_string());
        assert_eq!(
            service.status_of(&token).await,
            (401, none.to_owned()),
            "without {missing}"
        );
    }
    let twice = claims
        .to_string()
        .replacen('{', r#"{"aud":"https://api.tillgate.example","#, 1);
    let token = forge.sign(&forge.header().to_string(), &twice);
    assert_eq!(
        service.status_of(&token).await,
        (401, none.to_owned()),
        "aud twice"
    );
    let mut nobody = claims.clone();
    (nobody["sub"], nobody["client_id"]) = (json!("bm9ib2R5"), json!("bm9ib2R5"));
    let token = forge.sign(&forge.header().to_string(), &nobody.to_string());
    assert_eq!(service.status_of(&token).await, (401, gone.to_owned()));
    for (claim, value) in [
        ("aud", json!("https://api.tillgate.example")),
        ("nbf", json!(now + 5)),
        ("exp", json!(now - 4)),
    ] {
        let mut claims = claims.clone();
        claims[claim] = value;
        let token = forge.sign(&forge.header().to_string(), &claims.to_string());
        assert_eq!(service.status_of(&token).await.0, 200, "{claim}");
    }
}

#[tokio::test]
async fn a_header_that_is_none_of_a_bearer_token_is_refused() {
    let service = Service::start().await;
    let token = service.operator().await;
    let request = || {
        service
            .host
            .http
            .get(format!("{}/v1/tenants", service.host.url))
    };
    let none = service.send(request()).await;
    assert_eq!(
        (none.status, none.header("www-authenticate")),
        (401, Some("Bearer error=\"invalid_token\""))
    );
    let invalid = Some("Bearer error=\"invalid_token\"");
    let headers = [
        token.clone(),
        format!("Basic {token}"),
        format!("Bearer  {token}"),
        "Bearer".to_owned(),
        format!("Bearer {token}, Bearer {token}"),
        format!("Bearer \"{token}\""),
        format!("Bearer {}", "a".repeat((8 << 10) + 1)),
    ];
    for header in headers {
        let answer = service
            .send(request().header("authorization", &header))
            .await;
        assert_eq!(
            (answer.status, answer.header("www-authenticate")),
            (401, invalid),
            "{header}"
        );
    }
    let twice = request().bearer_auth(&token).bearer_auth(&token);
    assert_eq!(service.send(twice).await.status, 401);
    let in_query = service.host.http.get(format!(
        "{}/v1/tenants?access_token={token}",
        service.host.url
    ));
    assert_eq!(service.send(in_query).await.status, 401);
    for scheme in ["bearer", "BEARER"] {
        let answer = service
            .send(request().header("authorization", format!("{scheme} {token}")))
            .await;
        assert_eq!(answer.status, 200);
    }
}

#[tokio::test]
async fn a_token_expires_whether_it_was_seen_before_or_not() {
    let service = Service::start().await;
    let (seen, unseen) = (service.operator().await, service.operator().await);
    assert_eq!(service.status_of(&seen).await.0, 200);
    service.clock.advance(Duration::from_secs(3_599 + 4));
    assert_eq!(
        service.status_of(&seen).await.0,
        200,
        "clocks may differ by five seconds"
    );
    service.clock.advance(Duration::from_secs(1));
    for token in [&seen, &unseen] {
        assert_eq!(
            service.status_of(token).await,
            (401, "the token has expired".to_owned())
        );
    }
    service
        .clock
        .set(super::fixture::START.minus(Duration::from_secs(60 * 60)));
    for token in [&seen, &unseen] {
        assert_eq!(
            service.status_of(token).await,
            (401, "the token is not valid yet".to_owned())
        );
    }
}
