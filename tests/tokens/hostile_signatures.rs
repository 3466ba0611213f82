//! Tokens that another algorithm or another key signed, sent to a protected route: 401 each, in full, and nothing a token
//! names is ever fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::hmac;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD as BASE64URL};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::fixture::Forge;
use super::forgery::{Forgery, assert_refused};

const SHAPE: &str = "the token is no signed JWT";
const HEADER: &str = "the token's header is none";
const ALG: &str = "the token's alg is not RS256";
const KID: &str = "the token's kid is not known";
const SIGNATURE: &str = "the token's signature is wrong";

/// A public key as OpenSSL writes it: SubjectPublicKeyInfo around what PKCS #1 has.
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

#[tokio::test]
async fn no_algorithm_but_rs256_is_taken_even_from_the_right_key() {
    let forgery = Forgery::start().await;
    let pkcs1 = forgery.forge.pair.public_key().as_ref().to_vec();
    let jwks = forgery.service.get("/.well-known/jwks.json", "").await.body;
    let jwk = &jwks["keys"][0];
    let modulus = BASE64URL.decode(jwk["n"].as_str().unwrap()).unwrap();
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
    let hs256 = |key: &[u8]| tagged("HS256", hmac::HMAC_SHA256, key);
    let spki_pem = pem("PUBLIC KEY", &spki(&pkcs1));
    let mut rows = vec![
        ("HS256, the key's PEM", hs256(spki_pem.as_bytes()), ALG),
        (
            "HS256, the key's PEM without a line break",
            hs256(spki_pem.trim_end().as_bytes()),
            ALG,
        ),
        (
            "HS256, the key's PEM of PKCS #1",
            hs256(pem("RSA PUBLIC KEY", &pkcs1).as_bytes()),
            ALG,
        ),
        ("HS256, the key's DER", hs256(&spki(&pkcs1)), ALG),
        ("HS256, the modulus", hs256(&modulus), ALG),
        ("HS256, the JWK", hs256(jwk.to_string().as_bytes()), ALG),
        ("HS256, the JWKS", hs256(jwks.to_string().as_bytes()), ALG),
        ("HS256, the kid", hs256(forgery.forge.kid.as_bytes()), ALG),
        ("HS256, no key", hs256(b""), ALG),
        (
            "HS384, the key's PEM",
            tagged("HS384", hmac::HMAC_SHA384, spki_pem.as_bytes()),
            ALG,
        ),
        (
            "HS512, the key's PEM",
            tagged("HS512", hmac::HMAC_SHA512, spki_pem.as_bytes()),
            ALG,
        ),
        (
            "RS384 by the right key",
            forgery.signed_as(&RSA_PKCS1_SHA384, &text("RS384")),
            ALG,
        ),
        (
            "RS512 by the right key",
            forgery.signed_as(&RSA_PKCS1_SHA512, &text("RS512")),
            ALG,
        ),
        (
            "PS256 by the right key",
            forgery.signed_as(&RSA_PSS_SHA256, &text("PS256")),
            ALG,
        ),
        (
            "RS512 that says it is RS256",
            forgery.signed_as(&RSA_PKCS1_SHA512, &text("RS256")),
            SIGNATURE,
        ),
        (
            "PS256 that says it is RS256",
            forgery.signed_as(&RSA_PSS_SHA256, &text("RS256")),
            SIGNATURE,
        ),
    ];
    for alg in [
        "NONE", "nOnE", "none ", "Rs256", "RS256 ", "RS256\0", "EdDSA", "RSA1_5", "dir",
    ] {
        rows.push((alg, forgery.under(&forgery.with("alg", json!(alg))), ALG));
    }
    rows.push(("none, no signature", format!("{}.", text("none")), SHAPE));
    for (case, alg) in [
        ("alg null", Value::Null),
        ("alg a number", json!(256)),
        ("alg an object", json!({ "RS256": 1 })),
        ("alg true", json!(true)),
    ] {
        rows.push((case, forgery.under(&forgery.with("alg", alg)), HEADER));
    }
    forgery.assert_each_refused(rows).await;
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
    for (member, value) in members {
        let mut header = forgery.with(member, value);
        let claims = forgery.claims.to_string();
        let token = stranger.sign(&header.to_string(), &claims);
        assert_refused(&forgery.service, &token, SIGNATURE, member).await;
        // By the right key, what the header says of keys says nothing.
        let token = forgery.under(&header);
        assert_eq!(forgery.service.status_of(&token).await.0, 200, "{member}");
        header["kid"] = json!(stranger.kid);
        let token = stranger.sign(&header.to_string(), &claims);
        assert_refused(&forgery.service, &token, KID, member).await;
        let mut claims = forgery.claims.clone();
        claims["iss"] = json!(url);
        let token = stranger.sign(&header.to_string(), &claims.to_string());
        assert_refused(&forgery.service, &token, KID, member).await;
    }
    // A connection of the test itself is the only one: whatever was to come has come before it.
    tokio::net::TcpStream::connect(url["http://".len()..].trim_end_matches("/jwks.json"))
        .await
        .unwrap();
    let one = async {
        while asked.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    let deadline = std::time::Duration::from_secs(10);
    tokio::time::timeout(deadline, one).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    listening.abort();
}
