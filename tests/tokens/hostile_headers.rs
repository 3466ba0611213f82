//! Headers of tokens, and how tokens are spelled: the service's own key signed most of these, and none is taken.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD as BASE64URL};
use serde_json::{Value, json};

use super::forgery::Forgery;

const SHAPE: &str = "the token is no signed JWT";
const HEADER: &str = "the token's header is none";
const CRITICAL: &str = "the token's header has critical members that are not known";
const TYPE: &str = "the token is of another type";
const KID: &str = "the token's kid is not known";
const SIGNATURE: &str = "the token's signature is wrong";
const CLAIMS: &str = "the token's claims are none";
const BEARER: &str = "the Authorization header must hold one bearer token";

#[tokio::test]
async fn a_header_says_each_thing_once_and_nothing_that_must_be_understood() {
    let forgery = Forgery::start().await;
    let kid = forgery.forge.kid.as_str();
    let claims = forgery.claims.to_string();
    let with = |member: &str, value: Value| forgery.under(&forgery.with(member, value));
    let text = |header: &str| forgery.forge.sign(&header.replace("KID", kid), &claims);
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
                let mut header = forgery.with("crit", json!(["b64"]));
                header["b64"] = json!(false);
                forgery.signed(&BASE64URL.encode(header.to_string()), &claims)
            },
            SHAPE,
        ),
        (
            "b64 false, claims in plain",
            {
                let header = forgery.with("b64", json!(false)).to_string();
                let plain = claims.replace('.', "\\u002e");
                forgery.signed(&BASE64URL.encode(header), &plain)
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
                let header = forgery.with("zip", json!("DEF")).to_string();
                forgery.signed(
                    &BASE64URL.encode(header),
                    &BASE64URL.encode(deflated.finish().unwrap()),
                )
            },
            CLAIMS,
        ),
        ("typ in lower case", with("typ", json!("jwt")), TYPE),
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
    forgery.assert_each_refused(rows).await;
    let deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
    let token = with("x", deep);
    assert_eq!(
        forgery.service.status_of(&token).await.0,
        200,
        "deep beside"
    );
    let full = json!("application/at+jwt");
    for typ in [json!("JWT"), json!("at+jwt"), full, Value::Null] {
        let token = with("typ", typ.clone());
        assert_eq!(forgery.service.status_of(&token).await.0, 200, "{typ}");
    }
}

#[tokio::test]
async fn a_token_has_one_spelling() {
    let forgery = Forgery::start().await;
    let good = &forgery.good;
    let [head, body, signature] = good.split('.').collect::<Vec<_>>()[..] else {
        panic!("three parts")
    };
    let bytes = BASE64URL.decode(signature).unwrap();
    let signed = |bytes: &[u8]| format!("{head}.{body}.{}", BASE64URL.encode(bytes));
    // A member more or less, until the text is as long as it must be for a spelling that has others.
    let spelled = |rest: usize, encode: &dyn Fn(&str) -> String| {
        let text = (0..3).map(|more| {
            let mut header = forgery.header.clone();
            header["x"] = json!("~~~???>>>".repeat(3) + &"y".repeat(more));
            header.to_string()
        });
        let text = text.into_iter().find(|text| text.len() % 3 == rest);
        forgery.signed(&encode(&text.unwrap()), body)
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
                let claims = forgery.claims.to_string();
                let claims = claims.clone() + &" ".repeat(4 - claims.len() % 3);
                forgery.signed(head, &BASE64_URL_SAFE.encode(claims))
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
                let alone = forgery.signed_as(&aws_lc_rs::signature::RSA_PKCS1_SHA256, body);
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
    forgery.assert_each_refused(rows).await;
}
