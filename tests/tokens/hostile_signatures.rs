//! Tokens whose header or signature is not what the service makes, sent to a protected route: 401 each, in full, and
//! nothing a token names is ever fetched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RsaEncoding,
};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD as BASE64URL};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::fixture::{Forge, Service, part};
use super::hostile_claims::assert_refused;

const SHAPE: &str = "the token is no signed JWT";
const HEADER: &str = "the token's header is none";
const ALG: &str = "the token's alg is not RS256";
const CRITICAL: &str = "the token's header has critical members that are not known";
const TYPE: &str = "the token is of another type";
const KID: &str = "the token's kid is not known";
const SIGNATURE: &str = "the token's signature is wrong";
const CLAIMS: &str = "the token's claims are none";
const BEARER: &str = "the Authorization header must hold one bearer token";

/// A service with a token of its own that is good, and the means to make others.
pub struct Bench {
    pub service: Service,
    pub forge: Forge,
    pub good: String,
    pub header: Value,
    pub claims: Value,
}

impl Bench {
    pub async fn start() -> Self {
        let service = Service::start().await;
        let good = service.operator().await;
        Self {
            forge: service.forge().await,
            header: part(&good, 0),
            claims: part(&good, 1),
            good,
            service,
        }
    }

    /// The good header with another member.
    fn with(&self, member: &str, value: Value) -> Value {
        let mut header = self.header.clone();
        header[member] = value;
        header
    }

    /// The good claims under another header, signed with the service's key.
    fn under(&self, header: &Value) -> String {
        self.forge
            .sign(&header.to_string(), &self.claims.to_string())
    }

    /// Two parts as they are, signed with the service's key.
    pub fn signed(&self, header: &str, payload: &str) -> String {
        self.signed_as(
            &aws_lc_rs::signature::RSA_PKCS1_SHA256,
            &format!("{header}.{payload}"),
        )
    }

    fn signed_as(&self, scheme: &'static dyn RsaEncoding, text: &str) -> String {
        let mut signature = vec![0; self.forge.pair.public_modulus_len()];
        let rng = SystemRandom::new();
        self.forge
            .pair
            .sign(scheme, &rng, text.as_bytes(), &mut signature)
            .unwrap();
        format!("{text}.{}", BASE64URL.encode(signature))
    }

    async fn assert_each_refused(&self, rows: Vec<(&str, String, &str)>) {
        assert_eq!(self.service.status_of(&self.good).await.0, 200);
        for (case, token, why) in rows {
            assert_refused(&self.service, &token, why, case).await;
        }
    }
}

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
    let bench = Bench::start().await;
    let pkcs1 = bench.forge.pair.public_key().as_ref().to_vec();
    let jwks = bench.service.get("/.well-known/jwks.json", "").await.body;
    let jwk = &jwks["keys"][0];
    let modulus = BASE64URL.decode(jwk["n"].as_str().unwrap()).unwrap();
    let text = |alg: &str| {
        let header = bench.with("alg", json!(alg)).to_string();
        let (header, claims) = (BASE64URL.encode(header), bench.claims.to_string());
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
        ("HS256, the kid", hs256(bench.forge.kid.as_bytes()), ALG),
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
            bench.signed_as(&RSA_PKCS1_SHA384, &text("RS384")),
            ALG,
        ),
        (
            "RS512 by the right key",
            bench.signed_as(&RSA_PKCS1_SHA512, &text("RS512")),
            ALG,
        ),
        (
            "PS256 by the right key",
            bench.signed_as(&RSA_PSS_SHA256, &text("PS256")),
            ALG,
        ),
        (
            "RS512 that says it is RS256",
            bench.signed_as(&RSA_PKCS1_SHA512, &text("RS256")),
            SIGNATURE,
        ),
        (
            "PS256 that says it is RS256",
            bench.signed_as(&RSA_PSS_SHA256, &text("RS256")),
            SIGNATURE,
        ),
    ];
    for alg in [
        "NONE", "nOnE", "none ", "Rs256", "RS256 ", "RS256\0", "EdDSA", "RSA1_5", "dir",
    ] {
        rows.push((alg, bench.under(&bench.with("alg", json!(alg))), ALG));
    }
    rows.push(("none, no signature", format!("{}.", text("none")), SHAPE));
    for (case, alg) in [
        ("alg null", Value::Null),
        ("alg a number", json!(256)),
        ("alg an object", json!({ "RS256": 1 })),
        ("alg true", json!(true)),
    ] {
        rows.push((case, bench.under(&bench.with("alg", alg)), HEADER));
    }
    bench.assert_each_refused(rows).await;
}

#[tokio::test]
async fn a_header_says_each_thing_once_and_nothing_that_must_be_understood() {
    let bench = Bench::start().await;
    let kid = bench.forge.kid.as_str();
    let claims = bench.claims.to_string();
    let with = |member: &str, value: Value| bench.under(&bench.with(member, value));
    let text = |header: &str| bench.forge.sign(&header.replace("KID", kid), &claims);
    let long_kid = json!("k".repeat(10_000));
    let rows = vec![
        (
            "alg twice",
            text(r#"{"alg":"RS256","alg":"RS256","kid":"KID"}"#),
            HEADER,
        ),
        (
            "alg twice, once escaped",
            text(r#"{"alg":"RS256","\u0061lg":"none","kid":"KID"}"#),
            HEADER,
        ),
        (
            "kid twice",
            text(r#"{"alg":"RS256","kid":"KID","kid":"KID"}"#),
            HEADER,
        ),
        (
            "kid twice, first another's",
            text(r#"{"alg":"RS256","kid":"x","kid":"KID"}"#),
            HEADER,
        ),
        (
            "typ twice",
            text(r#"{"alg":"RS256","kid":"KID","typ":"JWT","typ":"JWT"}"#),
            HEADER,
        ),
        (
            "crit twice",
            text(r#"{"alg":"RS256","kid":"KID","crit":[],"crit":[]}"#),
            HEADER,
        ),
        (
            "members in capitals",
            text(r#"{"ALG":"RS256","KID":"KID"}"#),
            HEADER,
        ),
        ("single quotes", text("{'alg':'RS256','kid':'KID'}"), HEADER),
        (
            "a comma at the end",
            text(r#"{"alg":"RS256","kid":"KID",}"#),
            HEADER,
        ),
        (
            "a comment",
            text(r#"{"alg":"RS256",/**/"kid":"KID"}"#),
            HEADER,
        ),
        ("an array", text(r#"[{"alg":"RS256","kid":"KID"}]"#), HEADER),
        ("null", text("null"), HEADER),
        ("empty", text("{}"), HEADER),
        (
            "a list of what it would say",
            text(r#"["RS256","KID","JWT"]"#),
            HEADER,
        ),
        (
            "crit of a known name",
            with("crit", json!(["alg"])),
            CRITICAL,
        ),
        ("crit of exp", with("crit", json!(["exp"])), CRITICAL),
        ("crit a text", with("crit", json!("exp")), CRITICAL),
        ("crit an object", with("crit", json!({})), CRITICAL),
        ("crit false", with("crit", json!(false)), CRITICAL),
        (
            "crit of b64",
            {
                let mut header = bench.with("crit", json!(["b64"]));
                header["b64"] = json!(false);
                bench.signed(&BASE64URL.encode(header.to_string()), &claims)
            },
            SHAPE,
        ),
        (
            "b64 false, claims in plain",
            {
                let header = bench.with("b64", json!(false)).to_string();
                let plain = claims.replace('.', "\\u002e");
                bench.signed(&BASE64URL.encode(header), &plain)
            },
            CLAIMS,
        ),
        (
            "zip, claims compressed",
            {
                use std::io::Write;
                let mut deflated =
                    flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
                deflated.write_all(claims.as_bytes()).unwrap();
                let header = bench.with("zip", json!("DEF")).to_string();
                bench.signed(
                    &BASE64URL.encode(header),
                    &BASE64URL.encode(deflated.finish().unwrap()),
                )
            },
            CLAIMS,
        ),
        ("typ in lower case", with("typ", json!("jwt")), TYPE),
        (
            "typ in full",
            with("typ", json!("application/at+jwt")),
            TYPE,
        ),
        (
            "typ of an id token",
            with("typ", json!("id_token+jwt")),
            TYPE,
        ),
        ("typ of DPoP", with("typ", json!("dpop+jwt")), TYPE),
        ("typ of an event", with("typ", json!("secevent+jwt")), TYPE),
        ("typ JOSE", with("typ", json!("JOSE")), TYPE),
        ("typ empty", with("typ", json!("")), TYPE),
        ("typ a number", with("typ", json!(1)), HEADER),
        ("typ a list", with("typ", json!(["JWT"])), HEADER),
        ("kid empty", with("kid", json!("")), KID),
        ("kid a list", with("kid", json!([kid])), HEADER),
        ("kid an object", with("kid", json!({ "kid": kid })), HEADER),
        ("kid true", with("kid", json!(true)), HEADER),
        (
            "kid and a space",
            with("kid", json!(format!("{kid} "))),
            KID,
        ),
        ("kid and NUL", with("kid", json!(format!("{kid}\0"))), KID),
        ("kid without its end", with("kid", json!(kid[..42])), KID),
        (
            "kid in another case",
            with("kid", json!(kid.to_uppercase())),
            KID,
        ),
        ("kid of a query", with("kid", json!("' or 1=1 --")), KID),
        (
            "kid of an address",
            with("kid", json!("http://127.0.0.1:1/")),
            KID,
        ),
        ("kid of a command", with("kid", json!("key;id|id")), KID),
        ("kid of 3 kB", with("kid", json!("k".repeat(3_000))), KID),
        ("kid of 10 kB", with("kid", long_kid), BEARER),
    ];
    bench.assert_each_refused(rows).await;
    let deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
    let token = with("x", deep);
    assert_eq!(bench.service.status_of(&token).await.0, 200, "deep beside");
    for typ in [json!("JWT"), json!("at+jwt"), Value::Null] {
        let token = with("typ", typ.clone());
        assert_eq!(bench.service.status_of(&token).await.0, 200, "{typ}");
    }
}

#[tokio::test]
async fn a_token_has_one_spelling() {
    let bench = Bench::start().await;
    let good = &bench.good;
    let [head, body, signature] = good.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts")
    };
    let bytes = BASE64URL.decode(signature).unwrap();
    let signed = |bytes: &[u8]| format!("{head}.{body}.{}", BASE64URL.encode(bytes));
    // A member more or less, until the text is as long as it must be for a spelling that has others.
    let spelled = |rest: usize, encode: &dyn Fn(&str) -> String| {
        let text = (0..3).map(|more| {
            let mut header = bench.header.clone();
            header["x"] = json!("~~~???>>>".repeat(3) + &"y".repeat(more));
            header.to_string()
        });
        let text = text.into_iter().find(|text| text.len() % 3 == rest);
        bench.signed(&encode(&text.unwrap()), body)
    };
    let spare = |text: &str| {
        let encoded = BASE64URL.encode(text);
        let (rest, last) = encoded.split_at(encoded.len() - 1);
        format!("{rest}{}", char::from(last.as_bytes()[0] + 1))
    };
    let flattened = json!({ "protected": head, "payload": body, "signature": signature });
    let general =
        json!({ "payload": body, "signatures": [{ "protected": head, "signature": signature }] });
    let rows = vec![
        ("flattened JSON", flattened.to_string(), SHAPE),
        ("general JSON", general.to_string(), SHAPE),
        ("one part", head.to_owned(), SHAPE),
        ("a dot", ".".to_owned(), SHAPE),
        ("two dots", "..".to_owned(), SHAPE),
        ("a dot before", format!(".{good}"), SHAPE),
        ("a dot after", format!("{good}."), SHAPE),
        ("encoded dots", good.replace('.', "%2E"), SHAPE),
        ("commas for dots", good.replace('.', ","), SHAPE),
        (
            "a JWE",
            format!("{head}.{body}.{signature}.{body}.{signature}"),
            SHAPE,
        ),
        ("in angle brackets", format!("<{good}>"), HEADER),
        ("in quotes", format!("\"{good}\""), HEADER),
        ("a space inside", good.replacen('.', ". ", 1), SIGNATURE),
        ("a tab inside", good.replacen('.', ".\t", 1), SIGNATURE),
        (
            "an encoded line break after",
            format!("{good}%0A"),
            SIGNATURE,
        ),
        ("two tokens", format!("{good} {good}"), SHAPE),
        ("two tokens and a comma", format!("{good},{good}"), SHAPE),
        ("a scheme more", format!("Bearer {good}"), HEADER),
        (
            "a header with padding",
            spelled(1, &|text| BASE64_URL_SAFE.encode(text)),
            HEADER,
        ),
        (
            "a header in the other alphabet",
            spelled(0, &|text| BASE64_STANDARD.encode(text)),
            HEADER,
        ),
        ("a header with bits to spare", spelled(1, &spare), HEADER),
        (
            "claims with padding",
            {
                let claims = bench.claims.to_string();
                let claims = claims.clone() + &" ".repeat(4 - claims.len() % 3);
                bench.signed(head, &BASE64_URL_SAFE.encode(claims))
            },
            CLAIMS,
        ),
        ("a signature with padding", signed(&bytes) + "==", SIGNATURE),
        ("a signature cut off", signed(&bytes[..255]), SIGNATURE),
        (
            "a signature and a zero",
            signed(&[&bytes[..], &[0]].concat()),
            SIGNATURE,
        ),
        (
            "a zero and a signature",
            signed(&[&[0], &bytes[..]].concat()),
            SIGNATURE,
        ),
        ("a signature of one zero", signed(&[0]), SIGNATURE),
        ("a signature of ones", signed(&[0xff; 256]), SIGNATURE),
        (
            "a signature of its number one",
            signed(&[&[0; 255][..], &[1]].concat()),
            SIGNATURE,
        ),
        (
            "a signature backwards",
            signed(&bytes.iter().rev().copied().collect::<Vec<_>>()),
            SIGNATURE,
        ),
        (
            "a signature with a bit turned",
            {
                let mut bytes = bytes.clone();
                bytes[128] ^= 1;
                signed(&bytes)
            },
            SIGNATURE,
        ),
        (
            "a signature in hexadecimal",
            format!("{head}.{body}.{}", hex::encode(&bytes)),
            SIGNATURE,
        ),
        (
            "a signature of the claims alone",
            {
                let alone = bench.signed_as(&aws_lc_rs::signature::RSA_PKCS1_SHA256, body);
                format!("{head}.{alone}")
            },
            SIGNATURE,
        ),
        (
            "header and claims swapped",
            format!("{body}.{head}.{signature}"),
            HEADER,
        ),
        ("8 KiB", "a".repeat(8 << 10), SHAPE),
        ("8 KiB and a byte", "a".repeat((8 << 10) + 1), BEARER),
    ];
    bench.assert_each_refused(rows).await;
}

#[tokio::test]
async fn nothing_that_a_token_names_is_fetched() {
    let bench = Bench::start().await;
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
        "kty": "RSA", "alg": "RS256", "use": "sig", "kid": bench.forge.kid,
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
        let mut header = bench.with(member, value);
        let claims = bench.claims.to_string();
        let token = stranger.sign(&header.to_string(), &claims);
        assert_refused(&bench.service, &token, SIGNATURE, member).await;
        // By the right key, what the header says of keys says nothing.
        let token = bench.under(&header);
        assert_eq!(bench.service.status_of(&token).await.0, 200, "{member}");
        header["kid"] = json!(stranger.kid);
        let token = stranger.sign(&header.to_string(), &claims);
        assert_refused(&bench.service, &token, KID, member).await;
        let mut claims = bench.claims.clone();
        claims["iss"] = json!(url);
        let token = stranger.sign(&header.to_string(), &claims.to_string());
        assert_refused(&bench.service, &token, KID, member).await;
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
