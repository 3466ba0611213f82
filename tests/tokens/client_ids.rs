//! Client ids: their content, how YAML reads it, that a number keeps every digit, and that nobody can forge a line.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use proptest::prelude::*;
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tillgate_base::identity::TenantId;
use tillgate_tokens::client_id::{Claims, Software, encode};

use super::fixture::{Answer, Service, messages, part_text, registration};
use crate::support::host::Host;

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

/// Returns the value of a claim as it appears in the mapping.
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
        // At most 30 registrations are allowed per minute.
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

/// Numbers as they are sent: those in a row are equal after rounding, or in another notation.
const NUMBERS: [&[&str]; 4] = [
    &["123456789012345678901", "123456789012345678902"],
    &["0.1", "0.1000000000000000055", "0.10", "1e-1"],
    &["-0.30000000000000000001", "-0.3"],
    &["7", "7.0", "7E0"],
];

/// An answer with the text of its claims' numbers.
#[derive(Deserialize)]
struct WithClaims {
    claims: BTreeMap<String, Box<RawValue>>,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<WithClaims>,
}

/// Returns the body of a registration whose claim `workstation_id` is this number.
fn numbered(number: &str) -> String {
    let body = registration("acme", json!({ "workstation_id": "NUMBER" }));
    body.to_string().replace("\"NUMBER\"", number)
}

async fn register_text(service: &Service, body: String) -> Answer {
    let url = format!("{}/v1/registration", service.host.url);
    let request = service.host.http.post(url).body(body);
    let request = request.header("content-type", "application/json");
    service.send(request).await
}

/// Returns the raw answer of a path.
async fn text_of(host: &Host, path: &str, token: &str) -> String {
    let request = host.request(reqwest::Method::GET, path, token);
    request.send().await.unwrap().text().await.unwrap()
}

/// Returns the text of the number in a returned client or statement.
fn number_in(answered: &str) -> String {
    let answered: WithClaims = serde_json::from_str(answered).unwrap();
    answered.claims["workstation_id"].get().to_owned()
}

/// Returns the numbers in a returned list, sorted.
fn numbers_in(list: &str) -> Vec<String> {
    let page: Page = serde_json::from_str(list).unwrap();
    let mut numbers: Vec<_> = page
        .items
        .iter()
        .map(|item| item.claims["workstation_id"].get().to_owned())
        .collect();
    numbers.sort();
    numbers
}

#[tokio::test]
async fn numbers_that_differ_in_a_digit_are_different_clients_and_are_shown_as_sent() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let mut paths = Vec::new();
    for number in NUMBERS.concat() {
        let made = register_text(&service, numbered(number)).await;
        assert_eq!(made.status, 201, "{number}: {}", made.body);
        let again = register_text(&service, numbered(number)).await;
        assert_eq!(again.status, 409, "{number}: {}", again.body);
        let id = made.body["clientId"].as_str().unwrap();
        let mapping = String::from_utf8(BASE64URL.decode(id).unwrap()).unwrap();
        let line = format!("workstation_id: {number}\n");
        assert!(mapping.ends_with(&line), "{mapping}");
        paths.push((number, format!("/v1/tenants/acme/clients/{id}")));
    }
    let mut sorted = NUMBERS.concat();
    sorted.sort_unstable();
    let restarted = Host::start_on(service.store.clone(), service.clock.clone()).await;
    for host in [&service.host, &restarted] {
        let admin = host.token("acme", &["iam.admin"]).await;
        for (number, path) in &paths {
            assert_eq!(number_in(&text_of(host, path, &admin).await), *number);
        }
        let list = "/v1/tenants/acme/clients?status=Pending";
        assert_eq!(numbers_in(&text_of(host, list, &admin).await), sorted);
    }
}

#[tokio::test]
async fn a_software_statements_number_is_exact_too() {
    let service = Service::start().await;
    service.open_tenant("acme", &[]).await;
    let admin = service.admin("acme").await;
    let path = "/v1/tenants/acme/software-statements";
    for row in NUMBERS {
        let (stated, other) = (row[0], row[1]);
        let body = format!(
            r#"{{"softwareId":"till","softwareVersion":"1","usingGlobalTemplate":false,"claims":{{"workstation_id":{stated}}}}}"#
        );
        let request = service.host.request(reqwest::Method::POST, path, &admin);
        let request = request.header("content-type", "application/json");
        let made = service.send(request.body(body)).await;
        assert_eq!(made.status, 201, "{stated}: {}", made.body);
        let statement = made.body["softwareStatement"].as_str().unwrap();
        assert_eq!(number_in(&part_text(statement, 1)), stated);
        let presenting = |number: &str| {
            let member = format!(r#"{{"softwareStatement":"{statement}","#);
            numbered(number).replacen('{', &member, 1)
        };
        let differs = register_text(&service, presenting(other)).await;
        assert_eq!(
            messages(&differs),
            ["$.claims.workstation_id differs from the software statement"]
        );
        let mut silent = registration("acme", json!({}));
        silent["softwareStatement"] = json!(statement);
        let registered = service.register(&silent).await;
        assert_eq!(registered.status, 201, "{stated}: {}", registered.body);
        let repeated = register_text(&service, presenting(stated)).await;
        assert_eq!(repeated.status, 409, "{stated}: {}", repeated.body);
        let id = registered.body["clientId"].as_str().unwrap();
        let client = format!("/v1/tenants/acme/clients/{id}");
        let client = text_of(&service.host, &client, &admin).await;
        assert_eq!(number_in(&client), stated);
    }
    let mut sorted = NUMBERS.map(|row| row[0]);
    sorted.sort_unstable();
    let list = text_of(&service.host, path, &admin).await;
    assert_eq!(numbers_in(&list), sorted);
}
