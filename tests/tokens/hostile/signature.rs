//! Tokens signed with another algorithm or another key. Nothing that a token names is ever fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::hmac;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256,
};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD as BASE64URL};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::super::fixture::Forge;
use super::{
    ALGORITHM, Case, Forgery, HEADER, ISSUER, KEY, LONG, NOT_JWS, SIGNATURE, bearer, rows,
};
use crate::support::wait::until;

#[tokio::test]
async fn only_rs256_by_the_services_own_key_is_taken() {
    let forgery = Forgery::start().await;
    let jwks = forgery.service.get("/.well-known/jwks.json", "").await.body;
    let cases = [
        algorithms(&forgery, &jwks),
        keys(&forgery, &jwks),
        signatures(&forgery),
    ]
    .concat();
    forgery.service.assert_each(cases).await;
}

/// Returns a public key as OpenSSL writes it: a SubjectPublicKeyInfo around the PKCS #1 key.
fn spki(pkcs1: &[u8]) -> Vec<u8> {
    let algorithm = [
        0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
    ];
    let long = |tag: u8, content: &[u8]| {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82, length[0], length[1]], content].concat()
    };
    let bits = long(0x03, &[&[0], pkcs1].concat());
    long(0x30, &[&algorithm, bits.as_slice()].concat())
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines = text.as_bytes().chunks(64);
    let lines: String = lines
        .map(|line| format!("{}\n", std::str::from_utf8(line).unwrap()))
        .collect();
    format!("-----BEGIN {label}-----\n{lines}-----END {label}-----\n")
}

fn algorithms(forgery: &Forgery, jwks: &Value) -> Vec<Case> {
    let text = |alg: &str| {
        let header = forgery.with("alg", json!(alg)).to_string();
        let (header, claims) = (BASE64URL.encode(header), forgery.claims.to_string());
        format!("{header}.{}", BASE64URL.encode(claims))
    };
    let tagged = |alg: &str, algorithm: hmac::Algorithm, key: &[u8]| {
        let text = text(alg);
        let tag = hmac::sign(&hmac::Key::new(algorithm, key), text.as_bytes());
        format!("{text}.{}", BASE64URL.encode(tag))
    };
    let hs256 = |key: Vec<u8>| bearer(tagged("HS256", hmac::HMAC_SHA256, &key));
    let pkcs1 = forgery.forge.pair.public_key().as_ref().to_vec();
    let spki_pem = pem("PUBLIC KEY", &spki(&pkcs1));
    let modulus = jwks["keys"][0]["n"].as_str().unwrap();
    let secrets = [
        ("HS256, the key's PEM", spki_pem.clone().into_bytes()),
        (
            "HS256, the key's PEM without a line break",
            spki_pem.trim_end().into(),
        ),
        (
            "HS256, the key's PEM of PKCS #1",
            pem("RSA PUBLIC KEY", &pkcs1).into_bytes(),
        ),
        ("HS256, the key's DER", spki(&pkcs1)),
        ("HS256, the key's DER of PKCS #1", pkcs1.clone()),
        ("HS256, the modulus", BASE64URL.decode(modulus).unwrap()),
        ("HS256, the modulus in Base64", modulus.into()),
        ("HS256, the JWK", jwks["keys"][0].to_string().into_bytes()),
        ("HS256, the JWKS", jwks.to_string().into_bytes()),
        ("HS256, the kid", forgery.forge.kid.clone().into_bytes()),
        ("HS256, no key", Vec::new()),
    ];
    let pem = spki_pem.as_bytes();
    let others = [
        (
            "HS384, the key's PEM",
            tagged("HS384", hmac::HMAC_SHA384, pem),
        ),
        (
            "HS512, the key's PEM",
            tagged("HS512", hmac::HMAC_SHA512, pem),
        ),
        (
            "RS384 by the right key",
            forgery.signed_as(&RSA_PKCS1_SHA384, &text("RS384")),
        ),
        (
            "RS512 by the right key",
            forgery.signed_as(&RSA_PKCS1_SHA512, &text("RS512")),
        ),
        (
            "PS256 by the right key",
            forgery.signed_as(&RSA_PSS_SHA256, &text("PS256")),
        ),
    ];
    let disguised = [
        (
            "RS512 that says it is RS256",
            forgery.signed_as(&RSA_PKCS1_SHA512, &text("RS256")),
        ),
        (
            "PS256 that says it is RS256",
            forgery.signed_as(&RSA_PSS_SHA256, &text("RS256")),
        ),
    ];
    let names = [
        "none", "None", "NONE", "nOnE", "none ", "", "rs256", "Rs256", "RS256 ", "RS256\0",
        "ES256", "EdDSA", "RSA1_5", "dir",
    ];
    let of_no_type = [
        json!(["RS256"]),
        Value::Null,
        json!(256),
        json!({ "RS256": 1 }),
        json!(true),
    ];
    let alg = |alg: Value| bearer(forgery.under(&forgery.with("alg", alg)));
    [
        rows(401, ALGORITHM, secrets, hs256),
        rows(401, ALGORITHM, others, bearer),
        rows(401, SIGNATURE, disguised, bearer),
        rows(
            401,
            ALGORITHM,
            names.map(|name| (format!("alg {name:?}"), json!(name))),
            alg,
        ),
        rows(
            401,
            HEADER,
            of_no_type.map(|value| (format!("alg {value}"), value)),
            alg,
        ),
        rows(
            401,
            HEADER,
            [("no alg", json!({ "kid": forgery.forge.kid }))],
            |header| bearer(forgery.under(&header)),
        ),
        rows(
            401,
            NOT_JWS,
            [("none, no signature", format!("{}.", text("none")))],
            bearer,
        ),
    ]
    .concat()
}

fn keys(forgery: &Forgery, jwks: &Value) -> Vec<Case> {
    let stranger = Forge {
        pair: KeyPair::generate(KeySize::Rsa2048).unwrap(),
        kid: forgery.forge.kid.clone(),
    };
    let kid = forgery.forge.kid.as_str();
    let unknown = [
        ("unknown", "x"),
        ("empty", ""),
        ("a path", "../../dev/null"),
        ("and a space", &format!("{kid} ")),
        ("and NUL", &format!("{kid}\0")),
        ("without its end", &kid[..42]),
        ("in another case", &kid.to_uppercase()),
        ("of a query", "' or 1=1 --"),
        ("of an address", "http://127.0.0.1:1/"),
        ("of a command", "key;id|id"),
        ("of 3 kB", &"k".repeat(3_000)),
    ];
    let of_no_type = [
        Value::Null,
        json!(1),
        json!(true),
        json!([kid]),
        json!({ "kid": kid }),
    ];
    let with = |kid: Value| bearer(forgery.under(&forgery.with("kid", kid)));
    let strange =
        |header: Value| bearer(stranger.sign(&header.to_string(), &forgery.claims.to_string()));
    let strangers = [
        ("another's key", forgery.header.clone()),
        (
            "another's key, with our jwk",
            forgery.with("jwk", jwks["keys"][0].clone()),
        ),
    ];
    let without = json!({ "alg": "RS256", "typ": "JWT" });
    let long = [("of 10 kB", json!("k".repeat(10_000)))];
    [
        rows(
            401,
            KEY,
            unknown.map(|(name, kid)| (format!("kid {name}"), json!(kid))),
            with,
        ),
        rows(
            401,
            HEADER,
            of_no_type.map(|kid| (format!("kid {kid}"), kid)),
            with,
        ),
        rows(401, HEADER, [("no kid", without)], |header| {
            bearer(forgery.under(&header))
        }),
        rows(401, LONG, long, with),
        rows(401, SIGNATURE, strangers, strange),
        rows(
            200,
            "",
            [("the service's own key", forgery.header.clone())],
            |header| bearer(forgery.under(&header)),
        ),
    ]
    .concat()
}

/// Returns the valid token with other signatures.
fn signatures(forgery: &Forgery) -> Vec<Case> {
    let good = &forgery.good;
    let [head, body, signature] = forgery.parts();
    let bytes = BASE64URL.decode(signature).unwrap();
    let mut turned = bytes.clone();
    turned[128] ^= 1;
    let of_bytes = [
        ("cut off", bytes[..255].to_vec()),
        ("and a zero", [&bytes[..], &[0]].concat()),
        ("after a zero", [&[0], &bytes[..]].concat()),
        ("of one zero", vec![0]),
        ("of zeros", vec![0; 256]),
        ("of ones", vec![0xff; 256]),
        ("of the number one", [&[0; 255][..], &[1]].concat()),
        ("backwards", bytes.iter().rev().copied().collect()),
        ("with a bit turned", turned),
    ];
    // The last character has unused bits: of the characters that decode to the same, only one is accepted.
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let (rest, last) = good.split_at(good.len() - 1);
    let spare = alphabet.as_bytes()[alphabet.find(last).unwrap() ^ 1] as char;
    let alone = forgery.signed_as(&RSA_PKCS1_SHA256, body);
    let texts = [
        ("with padding", format!("{good}==")),
        ("with half its padding", format!("{good}=")),
        ("and a character", format!("{good}x")),
        ("and four characters", format!("{good}AAAA")),
        ("with bits to spare", format!("{rest}{spare}")),
        (
            "in the other alphabet",
            format!("{head}.{body}.{}", "+".repeat(342)),
        ),
        (
            "in hexadecimal",
            format!("{head}.{body}.{}", hex::encode(&bytes)),
        ),
        ("of the claims alone", format!("{head}.{alone}")),
        (
            "of other claims",
            format!("{head}.{}.{signature}", BASE64URL.encode("{}")),
        ),
    ];
    let named = |name: &str| format!("a signature {name}");
    let encoded = |bytes: Vec<u8>| bearer(format!("{head}.{body}.{}", BASE64URL.encode(bytes)));
    [
        rows(
            401,
            SIGNATURE,
            of_bytes.map(|(name, bytes)| (named(name), bytes)),
            encoded,
        ),
        rows(
            401,
            SIGNATURE,
            texts.map(|(name, text)| (named(name), text)),
            bearer,
        ),
        rows(200, "", [("the good token", good)], bearer),
    ]
    .concat()
}

#[tokio::test]
async fn nothing_that_a_token_names_is_fetched() {
    let forgery = Forgery::start().await;
    let stranger = Forge {
        pair: KeyPair::generate(KeySize::Rsa2048).unwrap(),
        kid: "stranger".to_owned(),
    };
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks.json", canary.local_addr().unwrap());
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let listening = tokio::spawn(async move {
        while canary.accept().await.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let public = stranger.pair.public_key();
    let number = |bytes: &[u8]| BASE64URL.encode(bytes);
    let jwk = json!({
        "kty": "RSA", "alg": "RS256", "use": "sig", "kid": forgery.forge.kid,
        "n": number(public.modulus().big_endian_without_leading_zero()),
        "e": number(public.exponent().big_endian_without_leading_zero()),
    });
    let certificate = json!([BASE64_STANDARD.encode(spki(public.as_ref()))]);
    let members = [
        ("jwk", jwk),
        ("jku", json!(url)),
        ("x5u", json!(url)),
        ("x5c", certificate),
        ("x5t", json!("AAAA")),
        ("iss", json!(url)),
        ("jwks_uri", json!(url)),
    ];
    let mut elsewhere = forgery.claims.clone();
    elsewhere["iss"] = json!(url);
    let mut cases = Vec::new();
    for (member, value) in members {
        let header = forgery.with(member, value);
        let mut of_stranger = header.clone();
        of_stranger["kid"] = json!(stranger.kid);
        let sign = |header: &Value, claims: &Value| {
            bearer(stranger.sign(&header.to_string(), &claims.to_string()))
        };
        let row =
            |status, error, request| rows(status, error, [(member, request)], |request| request);
        cases.extend(row(401, SIGNATURE, sign(&header, &forgery.claims)));
        // With the correct key, the header's other members about keys have no effect.
        cases.extend(row(200, "", bearer(forgery.under(&header))));
        cases.extend(row(401, KEY, sign(&of_stranger, &forgery.claims)));
        cases.extend(row(401, ISSUER, sign(&of_stranger, &elsewhere)));
    }
    forgery.service.assert_each(cases).await;
    // The test's own connection is the only one: any other would have come first.
    tokio::net::TcpStream::connect(url["http://".len()..].trim_end_matches("/jwks.json"))
        .await
        .unwrap();
    let count = || asked.load(Ordering::SeqCst);
    until("the test's own connection arrives", async || count() > 0).await;
    assert_eq!(count(), 1);
    listening.abort();
}
