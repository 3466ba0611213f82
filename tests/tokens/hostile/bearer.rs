//! The header that holds a token, the form of the token, and the contents of the token's own header.

use std::io::Write;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD as BASE64URL};
use serde_json::{Value, json};

use super::{
    CLAIMS, CRITICAL, Case, Forgery, HEADER, LONG, NO_TOKEN, NOT_BEARER, NOT_JWS, SIGNATURE, TYPE,
    bearer, get, rows,
};
use crate::support::wire::message;

#[tokio::test]
async fn only_a_well_formed_token_in_the_one_header_is_taken() {
    let forgery = Forgery::start().await;
    let cases = [
        authorization_headers(&forgery.good),
        shapes(&forgery),
        spellings(&forgery),
        headers(&forgery),
    ]
    .concat();
    forgery.service.assert_each(cases).await;
}

fn authorization_headers(good: &str) -> Vec<Case> {
    let bearer = format!("Bearer {good}");
    let basic = "Basic dXNlcjpwYXNz";
    let with = |scheme: &str| bearer.replacen("Bearer ", scheme, 1);
    let cookie = format!("access_token={good}; authorization={bearer}");
    let others = [
        ("another header", "x-authorization", bearer.clone()),
        ("a proxy's header", "proxy-authorization", bearer.clone()),
        (
            "a header of the token's own",
            "x-access-token",
            good.to_owned(),
        ),
        ("a cookie", "cookie", cookie),
    ];
    let values = [
        ("empty", String::new()),
        ("no scheme", good.to_owned()),
        ("no token", "Bearer".to_owned()),
        ("no token, with a space", "Bearer ".to_owned()),
        ("a tab", with("Bearer\t")),
        ("a colon", with("Bearer: ")),
        ("a longer scheme", with("Bearers ")),
        ("DPoP", with("DPoP ")),
        ("Basic with a token", with("Basic ")),
        ("Basic", basic.to_owned()),
        ("Basic before a comma", format!("{basic}, {bearer}")),
    ];
    let repeated = [
        ("the same header again", [bearer.as_str(), &bearer]),
        ("a good header, then Basic", [&bearer, basic]),
        ("Basic, then a good header", [basic, &bearer]),
        ("an empty header, then a good one", ["", &bearer]),
    ];
    let schemes = ["bearer ", "BEARER ", "bEaReR "].map(|scheme| (scheme, with(scheme)));
    let authorization = |value: String| get(&[("authorization", &value)]);
    let query = format!("GET /v1/tenants?access_token={good}&token={good}&bearer={good}");
    let form = ("content-type", "application/x-www-form-urlencoded");
    let in_form = message(
        "PUT /v1/tenants/acme",
        &[form],
        format!("access_token={good}"),
    );
    let elsewhere = [
        ("no header", get(&[])),
        ("in the query", message(&query, &[], "")),
        ("in a form", in_form),
    ];
    let folded =
        format!("GET /v1/tenants HTTP/1.1\r\nhost: x\r\nauthorization: Bearer\r\n {good}\r\n\r\n");
    let others = others.map(|(case, name, value)| (case, (name, value)));
    [
        rows(401, NO_TOKEN, elsewhere, |request| request),
        rows(401, NO_TOKEN, others, |(name, value)| {
            get(&[(name, &value)])
        }),
        rows(401, NOT_BEARER, values, authorization),
        rows(
            401,
            LONG,
            [("12 KiB and a byte", "a".repeat((12 << 10) + 1))],
            super::bearer,
        ),
        rows(401, NOT_BEARER, repeated, |values| {
            get(&values.map(|value| ("authorization", value)))
        }),
        rows(
            401,
            SIGNATURE,
            [("Basic after a comma", format!("{bearer}, {basic}"))],
            authorization,
        ),
        rows(
            400,
            "",
            [("a header over two lines", folded)],
            String::into_bytes,
        ),
        rows(
            401,
            HEADER,
            [("two spaces", with("Bearer  "))],
            authorization,
        ),
        rows(200, "", schemes, authorization),
    ]
    .concat()
}

/// Tokens that do not have the form of a JWS in compact serialization.
fn shapes(forgery: &Forgery) -> Vec<Case> {
    let good = &forgery.good;
    let [head, body, signature] = forgery.parts();
    let flattened = json!({ "protected": head, "payload": body, "signature": signature });
    let general =
        json!({ "payload": body, "signatures": [{ "protected": head, "signature": signature }] });
    let shapes = [
        ("flattened JSON", flattened.to_string()),
        ("general JSON", general.to_string()),
        ("one part", head.to_owned()),
        ("two parts", format!("{head}.{body}")),
        ("four parts", format!("{good}.{signature}")),
        ("a JWE", format!("{good}.{body}.{signature}")),
        ("an empty header", format!(".{body}.{signature}")),
        ("empty claims", format!("{head}..{signature}")),
        ("no signature", format!("{head}.{body}.")),
        ("a dot", ".".to_owned()),
        ("two dots", "..".to_owned()),
        ("a dot before", format!(".{good}")),
        ("a dot after", format!("{good}.")),
        ("encoded dots", good.replace('.', "%2E")),
        ("commas for dots", good.replace('.', ",")),
        ("two tokens", format!("{good} {good}")),
        ("two tokens and a comma", format!("{good},{good}")),
        ("two headers in one", format!("{good}, Bearer {good}")),
        ("12 KiB", "a".repeat(12 << 10)),
    ];
    let headers = [
        ("letters", "a.b.c".to_owned()),
        ("angle brackets", format!("<{good}>")),
        ("quotes", format!("\"{good}\"")),
        ("the scheme again", format!("Bearer {good}")),
        (
            "header and claims swapped",
            format!("{body}.{head}.{signature}"),
        ),
    ];
    let signatures = [
        ("a space inside", good.replacen('.', ". ", 1)),
        ("a tab inside", good.replacen('.', ".\t", 1)),
        ("an encoded line break after", format!("{good}%0A")),
    ];
    [
        rows(401, NOT_JWS, shapes, bearer),
        rows(401, HEADER, headers, bearer),
        rows(401, SIGNATURE, signatures, bearer),
    ]
    .concat()
}

/// Other spellings of a token's parts, with a matching signature.
fn spellings(forgery: &Forgery) -> Vec<Case> {
    let [head, body, _] = forgery.parts();
    // Adds members until the text has a length for which other spellings exist.
    let spelled = |rest: usize, encode: &dyn Fn(&str) -> String| {
        let mut texts = (0..3).map(|more| {
            let x = "~~~???>>>".repeat(3) + &"y".repeat(more);
            forgery.with("x", json!(x)).to_string()
        });
        let text = texts.find(|text| text.len() % 3 == rest);
        forgery.signed(&encode(&text.unwrap()), body)
    };
    let spare = |text: &str| {
        let encoded = BASE64URL.encode(text);
        let (rest, last) = encoded.split_at(encoded.len() - 1);
        format!("{rest}{}", char::from(last.as_bytes()[0] + 1))
    };
    let headers = [
        (
            "a header with padding",
            spelled(1, &|text| BASE64_URL_SAFE.encode(text)),
        ),
        (
            "a header in the other alphabet",
            spelled(0, &|text| BASE64_STANDARD.encode(text)),
        ),
        ("a header with bits to spare", spelled(1, &spare)),
    ];
    let claims = forgery.claims.to_string();
    let padded = claims.clone() + &" ".repeat(4 - claims.len() % 3);
    let mut deflated = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    deflated.write_all(claims.as_bytes()).unwrap();
    let zip = BASE64URL.encode(forgery.with("zip", json!("DEF")).to_string());
    let b64 = BASE64URL.encode(forgery.with("b64", json!(false)).to_string());
    let claims = [
        (
            "claims with padding",
            forgery.signed(head, &BASE64_URL_SAFE.encode(padded)),
        ),
        (
            "compressed claims",
            forgery.signed(&zip, &BASE64URL.encode(deflated.finish().unwrap())),
        ),
        (
            "plain claims",
            forgery.signed(&b64, &claims.replace('.', "\\u002e")),
        ),
    ];
    let mut critical = forgery.with("crit", json!(["b64"]));
    critical["b64"] = json!(false);
    let critical = BASE64URL.encode(critical.to_string());
    let plain = forgery.signed(&critical, &forgery.claims.to_string());
    [
        rows(401, HEADER, headers, bearer),
        rows(401, CLAIMS, claims, bearer),
        rows(
            401,
            NOT_JWS,
            [("plain claims that are critical", plain)],
            bearer,
        ),
    ]
    .concat()
}

/// Members of a token's header other than its algorithm and its key.
fn headers(forgery: &Forgery) -> Vec<Case> {
    let kid = forgery.forge.kid.as_str();
    let claims = forgery.claims.to_string();
    let text = |header: &str| bearer(forgery.forge.sign(&header.replace("KID", kid), &claims));
    let with = |(member, value): (&str, Value)| bearer(forgery.under(&forgery.with(member, value)));
    let header = forgery.header.to_string();
    let texts = [
        ("alg twice", r#"{"alg":"RS256","alg":"RS256","kid":"KID"}"#),
        (
            "alg twice, first none",
            r#"{"alg":"none","alg":"RS256","kid":"KID"}"#,
        ),
        (
            "alg twice, once escaped",
            r#"{"alg":"RS256","\u0061lg":"none","kid":"KID"}"#,
        ),
        ("kid twice", r#"{"alg":"RS256","kid":"KID","kid":"KID"}"#),
        (
            "kid twice, first another's",
            r#"{"alg":"RS256","kid":"x","kid":"KID"}"#,
        ),
        (
            "typ twice",
            r#"{"alg":"RS256","kid":"KID","typ":"JWT","typ":"JWT"}"#,
        ),
        (
            "crit twice",
            r#"{"alg":"RS256","kid":"KID","crit":[],"crit":[]}"#,
        ),
        ("members in capitals", r#"{"ALG":"RS256","KID":"KID"}"#),
        ("single quotes", "{'alg':'RS256','kid':'KID'}"),
        ("a comma at the end", r#"{"alg":"RS256","kid":"KID",}"#),
        ("a comment", r#"{"alg":"RS256",/**/"kid":"KID"}"#),
        ("an array", r#"[{"alg":"RS256","kid":"KID"}]"#),
        ("a list of what it would say", r#"["RS256","KID","JWT"]"#),
        ("a text", "\"RS256\""),
        ("null", "null"),
        ("empty", "{}"),
        ("a byte order mark", &format!("\u{feff}{header}")),
        ("an object more", &format!("{header}{{}}")),
        (
            "2,000 levels",
            &format!("{}{}", "[".repeat(2_000), "]".repeat(2_000)),
        ),
    ];
    let critical = [
        ("crit", json!(["x"])),
        ("crit of a known name", json!(["alg"])),
        ("crit of exp", json!(["exp"])),
        ("crit empty", json!([])),
        ("crit null", Value::Null),
        ("crit a text", json!("exp")),
        ("crit an object", json!({})),
        ("crit false", json!(false)),
    ];
    let types = [
        "logout+jwt",
        "jwt",
        "id_token+jwt",
        "dpop+jwt",
        "secevent+jwt",
        "JOSE",
        "",
    ];
    let no_types = [("typ a number", json!(1)), ("typ a list", json!(["JWT"]))];
    let deep = (0..500).fold(json!(1), |inner, _| json!([inner]));
    let taken = [
        ("500 levels beside", ("x", deep)),
        ("typ JWT", ("typ", json!("JWT"))),
        ("typ at+jwt", ("typ", json!("at+jwt"))),
        (
            "typ application/at+jwt",
            ("typ", json!("application/at+jwt")),
        ),
        ("typ null", ("typ", Value::Null)),
    ];
    [
        rows(401, HEADER, texts, text),
        rows(401, CRITICAL, critical, |value| with(("crit", value))),
        rows(
            401,
            TYPE,
            types.map(|typ| (format!("typ {typ:?}"), ("typ", json!(typ)))),
            with,
        ),
        rows(401, HEADER, no_types, |value| with(("typ", value))),
        rows(200, "", taken, with),
    ]
    .concat()
}
