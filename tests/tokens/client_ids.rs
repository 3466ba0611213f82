//! Client ids: what they hold, what YAML reads in them, and that nobody forges a line.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use proptest::prelude::*;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Value, json};
use tillgate::identity::TenantId;
use tillgate::tokens::client_id::{Claims, Software, encode};

use super::fixture::{Service, messages, registration};

fn id_of(claims: Value) -> Option<String> {
    let claims: Claims = serde_json::from_str(&claims.to_string()).unwrap();
    encode(
        &claims,
        &Software::new("till", "1").unwrap(),
        &TenantId::new("acme").unwrap(),
    )
}

fn mapping_of(claims: Value) -> String {
    String::from_utf8(BASE64URL.decode(id_of(claims).unwrap()).unwrap()).unwrap()
}

/// How the value of a claim stands in the mapping.
fn scalar_of(text: &str) -> String {
    let mapping = mapping_of(json!({ "a": text }));
    mapping
        .lines()
        .next()
        .unwrap()
        .strip_prefix("a: ")
        .unwrap()
        .to_owned()
}

#[test]
fn strings_that_yaml_reads_as_strings_are_plain() {
    let plain = [
        "SE",
        "NO",
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "store-17",
        "a:b",
        "a#b",
        "a b",
        "-a",
        "?a",
        ":a",
        "a-",
        "1.2.3",
        "1_000",
        "0b1",
        "0o8",
        "0xg",
        "2026-01-01",
        "12:30",
        "1e",
        "e1",
        ".",
        "..",
        ".infinity",
        "+",
        "-.",
        "Åre",
        "株式会社",
        "🛒",
        "nulL",
        "tRue",
        "inf",
        "nan",
        "=",
        "<<",
        "a, b",
        "a [b]",
        "a'b",
        "a\"b",
        "a\\b",
        "/",
        "(x)",
    ];
    for text in plain {
        assert_eq!(scalar_of(text), text);
    }
}

#[test]
fn strings_that_yaml_reads_as_something_else_are_quoted() {
    let quoted = [
        "0001", "17", "-1", "+1", "0x1F", "0o17", "1.5", ".5", "5.", "1e3", "1E-3", "-.5e+3",
        ".inf", "-.INF", "+.Inf", ".nan", ".NaN", "null", "Null", "NULL", "~", "true", "True",
        "TRUE", "false", "False", "FALSE", " a", "a ", " ", "- a", "-", "?", ":", "? a", ": a",
        "a: b", "a:", "a #b", "#a", ",a", "[a", "]a", "{a", "}a", "&a", "*a", "!a", "|a", ">a",
        "'a", "%a", "@a", "`a", "---", "...",
    ];
    for text in quoted {
        assert_eq!(scalar_of(text), format!("\"{text}\""));
    }
    assert_eq!(scalar_of("\"a\\"), r#""\"a\\""#);
    assert_eq!(scalar_of("a\u{2028}b\u{feff}"), r#""a\u2028b\uFEFF""#);
}

#[test]
fn numbers_and_booleans_are_bare_and_keys_are_sorted() {
    let claims = json!({ "workstation_id": 1, "a": true, "t": -2.5, "sg": 3, "null": "x", "tie": 18446744073709551615_u64 });
    assert_eq!(
        mapping_of(claims),
        "a: true\n\"null\": x\nsfw: till@1@acme\nsg: 3\nt: -2.5\ntid: acme\ntie: 18446744073709551615\nworkstation_id: 1\n"
    );
}

#[test]
fn names_that_look_like_numbers_are_quoted_too() {
    let software = Software::new("17", "1").unwrap();
    let id = encode(&Claims::new(), &software, &TenantId::new("0042").unwrap()).unwrap();
    assert_eq!(
        BASE64URL.decode(id).unwrap(),
        b"sfw: 17@1@0042\ntid: \"0042\"\n"
    );
}

#[test]
fn an_id_is_at_most_255_characters() {
    let id = |length: usize| {
        id_of(json!({ "a": "x".repeat(64), "b": "x".repeat(64), "c": "x".repeat(length) }))
    };
    let longest = (1..=64).rev().find(|length| id(*length).is_some());
    let Some(longest) = longest else {
        panic!("some fit")
    };
    assert!(id(longest).unwrap().len() <= 255);
    assert!(id(longest + 1).is_none());
}

proptest! {
    #[test]
    fn a_yaml_parser_reads_back_every_string(text in "[^\\p{Cc}]{1,12}") {
        prop_assume!(text.chars().count() <= 64);
        let mapping = mapping_of(json!({ "a": text }));
        prop_assert_eq!(mapping.matches('\n').count(), 3);
        let documents = Yaml::load_from_str(&mapping).unwrap();
        prop_assert_eq!(documents.len(), 1);
        prop_assert_eq!(documents[0].as_mapping().unwrap().len(), 3);
        let expected = Yaml::Value(Scalar::String(text.clone().into()));
        prop_assert_eq!(documents[0].as_mapping_get("a"), Some(&expected), "{}", mapping);
    }

    #[test]
    fn a_yaml_parser_reads_back_every_string_that_looks_like_yaml(
        text in "[-?:,\\[\\]{}#&*!|>'\"%@` .~+0-9eExoaflnrtuTN_/\\\\]{1,8}"
    ) {
        let mapping = mapping_of(json!({ "a": text }));
        let documents = Yaml::load_from_str(&mapping).unwrap();
        let expected = Yaml::Value(Scalar::String(text.clone().into()));
        prop_assert_eq!(documents[0].as_mapping_get("a"), Some(&expected), "{}", mapping);
        prop_assert_eq!(documents[0].as_mapping_get("tid").and_then(Yaml::as_str), Some("acme"));
    }
}

#[tokio::test]
async fn no_registration_forges_a_line() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let with = |member: &str, value: Value| {
        let mut body = registration("acme", json!({ "a": "b" }));
        body[member] = value;
        body
    };
    let name = "must be 1 to 64 of A-Z a-z 0-9 . _ -";
    let claim =
        "must be a string of 1 to 64 characters without control characters, a number or a boolean";
    let claim_name =
        "must have a name of a-z 0-9 _, 1 to 32 long, a letter first, other than sfw and tid";
    let cases = [
        (
            with("softwareId", json!("till@1")),
            format!("$.softwareId {name}"),
        ),
        (
            with("softwareId", json!("a\ntid: other")),
            format!("$.softwareId {name}"),
        ),
        (
            with("softwareVersion", json!("")),
            format!("$.softwareVersion {name}"),
        ),
        (
            with("softwareVersion", json!("x".repeat(65))),
            format!("$.softwareVersion {name}"),
        ),
        (
            with("softwareVersion", json!(1)),
            format!("$.softwareVersion {name}"),
        ),
        (
            with("tenantId", json!("acme\n")),
            format!("$.tenantId {name} and not _ alone"),
        ),
        (
            with("tenantId", json!("_")),
            format!("$.tenantId {name} and not _ alone"),
        ),
        (
            with("claims", json!({ "a": "x\ntid: other" })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "a": "x\r" })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "a": "x\u{85}y" })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "a": "\u{0}" })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "a": "" })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "a": "x".repeat(65) })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "a": null })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "a": ["x"] })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "a": { "b": 1 } })),
            format!("$.claims.a {claim}"),
        ),
        (
            with("claims", json!({ "tid": "other" })),
            format!("$.claims.tid {claim_name}"),
        ),
        (
            with("claims", json!({ "sfw": "a@1@other" })),
            format!("$.claims.sfw {claim_name}"),
        ),
        (
            with("claims", json!({ "A": 1 })),
            format!("$.claims.A {claim_name}"),
        ),
        (
            with("claims", json!({ "a\nb": 1 })),
            format!("$.claims['a\u{fffd}b'] {claim_name}"),
        ),
        (
            with("claims", json!({ "": 1 })),
            format!("$.claims[''] {claim_name}"),
        ),
        (
            with("claims", json!({ "_a": 1 })),
            format!("$.claims._a {claim_name}"),
        ),
        (
            with("claims", json!({ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": 1 })),
            format!("$.claims.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa {claim_name}"),
        ),
        (
            with("claims", json!("x")),
            "$.claims must be an object".to_owned(),
        ),
        (
            with("usingGlobalTemplate", json!("no")),
            "$.usingGlobalTemplate must be true or false".to_owned(),
        ),
        (
            with("softwareStatement", json!("a.b.c")),
            "$.softwareStatement is not a statement of this service, was withdrawn, or has expired"
                .to_owned(),
        ),
        (
            with(
                "claims",
                json!({ "a": "x".repeat(64), "b": "x".repeat(64), "c": "x".repeat(64) }),
            ),
            "$.claims make a client id longer than 255 characters".to_owned(),
        ),
    ];
    let count = cases.len();
    for (index, (body, message)) in cases.into_iter().enumerate() {
        // A minute has room for 30 registrations.
        if index % 25 == 24 {
            service.clock.advance(std::time::Duration::from_secs(61));
        }
        let answer = service.register(&body).await;
        assert_eq!(messages(&answer), [message], "{body}");
    }
    assert!(count > 20);
    service.clock.advance(std::time::Duration::from_secs(61));
    let everything = service.register(&json!({})).await;
    let required = [
        "softwareId",
        "softwareVersion",
        "usingGlobalTemplate",
        "tenantId",
        "claims",
    ];
    assert_eq!(
        messages(&everything),
        required.map(|member| format!("$.{member} is required"))
    );
}
