//! `POST /v1/registration`, which anyone may call: all faults are reported, and nothing in a request chooses an id, a
//! secret or a status.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::fixture::{Answer, Service, messages, registration, template};
use super::{Case, rows};
use crate::support::wire::{Headers, chunked, message};

const JSON: (&str, &str) = ("content-type", "application/json");
const LINE: &str = "POST /v1/registration";

// The reasons for refusing a registration; a text that ends with two dots is a prefix.
const NOT_JSON: &str = "$ must be JSON: ..";
const NOT_UTF_8: &str = "$ must be UTF-8";
const NO_OBJECT: &str = "$ must be an object";
const TWICE: &str = "appears twice";
const NAME: &str = "must be 1 to 64 of A-Z a-z 0-9 . _ -";
const CLAIM: &str =
    "must be a string of 1 to 64 characters without control characters, a number or a boolean";
const CLAIM_NAME: &str =
    "must have a name of a-z 0-9 _, 1 to 32 long, a letter first, other than sfw and tid";
const NO_TEMPLATE: &str =
    "$ no template of the tenant exists for this softwareId and softwareVersion";
const NO_GLOBAL_TEMPLATE: &str =
    "$ no global template exists for this softwareId and softwareVersion";

/// Starts a service with a tenant whose tills state a country and a number.
async fn start() -> Service {
    let service = Service::start().await;
    let operator = service.operator().await;
    let schema = json!({
        "type": "object",
        "required": ["iso_cc"],
        "properties": {
            "iso_cc": { "type": "string", "pattern": "^[A-Z]{2}$" },
            "number": { "type": "number", "maximum": 1000 },
        },
    });
    let path = "/v1/tenants/acme/templates";
    let made = service
        .post(path, &operator, template("till", schema, &[]))
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    service
}

fn post(body: impl AsRef<[u8]>) -> Vec<u8> {
    message(LINE, &[JSON], body)
}

impl Service {
    async fn register_bytes(&self, body: impl AsRef<[u8]>) -> Answer {
        self.send_bytes(&post(body)).await
    }

    /// Returns the number of the tenant's clients.
    async fn clients(&self) -> usize {
        let operator = self.operator().await;
        let list = self.get("/v1/tenants/acme/clients", &operator).await;
        list.body["items"].as_array().unwrap().len()
    }
}

fn assert_problem(answer: &Answer, status: u16, case: &str) {
    assert_eq!(answer.status, status, "{case}: {}", answer.body);
    let media_type = answer.header("content-type");
    assert_eq!(media_type, Some("application/problem+json"), "{case}");
    let problem = &answer.body;
    assert_eq!(problem["status"], status, "{case}");
    assert_eq!(problem["statusCode"], status, "{case}");
    assert_eq!(problem["message"].is_array(), status == 400, "{case}");
    let allow = (status == 405).then_some("POST");
    assert_eq!(answer.header("allow"), allow, "{case}");
    let waits = status == 429;
    assert_eq!(answer.header("retry-after").is_some(), waits, "{case}");
}

#[tokio::test]
async fn only_a_well_formed_registration_that_fits_its_template_is_taken() {
    let service = start().await;
    for case in [texts(), members(), requests()].concat() {
        let Case { name, error, .. } = &case;
        // At most 30 registrations are allowed per minute.
        service.clock.advance(Duration::from_secs(3));
        let answer = service.send_bytes(&case.request).await;
        assert_problem(&answer, case.status, name);
        if let Some(beginning) = error.strip_suffix("..") {
            let told = messages(&answer);
            assert!(told[0].starts_with(beginning), "{name}: {told:?}");
        } else if case.status == 400 {
            assert_eq!(messages(&answer), [error.as_str()], "{name}");
        }
    }
    assert_eq!(service.clients().await, 0);
    let good = registration("acme", json!({ "iso_cc": "SE" })).to_string();
    let exact = format!("{good}{}", " ".repeat((64 << 10) - good.len()));
    service.clock.advance(Duration::from_secs(60));
    assert_eq!(service.register_bytes(exact).await.status, 201, "64 KiB");
}

/// Bodies that are not a JSON object or contain a member twice.
fn texts() -> Vec<Case> {
    let good = registration("acme", json!({ "iso_cc": "SE" })).to_string();
    let number = |literal: &str| {
        let body = registration("acme", json!({ "iso_cc": "SE", "number": 7 })).to_string();
        body.replace("\"number\":7", &format!("\"number\":{literal}"))
    };
    let before = |member: &str| good.replacen('{', &format!("{{{member},"), 1);
    let claims = "\"claims\":{";
    let inside = |member: &str| good.replacen(claims, &format!("{claims}{member},"), 1);
    let deep = |depth: usize| before(&format!("\"x\":{}{}", "[".repeat(depth), "]".repeat(depth)));
    let se = |text: &str| good.replace("SE", text);
    let not_json = [
        ("nothing", String::new()),
        ("half", good[..good.len() / 2].to_owned()),
        ("a brace more", format!("{good}}}")),
        ("two", good.repeat(2)),
        ("a comma at the end", good.replacen("\"}", "\",}", 1)),
        ("single quotes", good.replace('"', "'")),
        ("a comment", format!("/* */{good}")),
        ("a form", "softwareId=till&tenantId=acme".to_owned()),
        ("YAML", "softwareId: till\n".to_owned()),
        ("a byte order mark alone", "\u{feff}".to_owned()),
        ("half a surrogate", se("\\ud83d")),
        ("a line break in a text", se("S\nE")),
        ("NaN", number("NaN")),
        ("Infinity", number("-Infinity")),
        ("a zero before", number("01")),
        ("hexadecimal", number("0x10")),
        ("a point and nothing", number("1.")),
        ("a plus", number("+1")),
        ("too large a number", number("1e400")),
        ("33 levels", deep(32)),
        ("2,000 levels", deep(2_000)),
    ];
    let utf_16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (until, after) = good.split_once("SE").unwrap();
    let invalid = [
        ("invalid UTF-8", [good.as_bytes(), b"\xff"].concat()),
        (
            "invalid UTF-8 in a claim",
            [until.as_bytes(), b"S\xc0", after.as_bytes()].concat(),
        ),
    ];
    let no_object = [
        ("an array", format!("[{good}]")),
        ("a text", json!(good).to_string()),
        ("null", "null".to_owned()),
        ("a number", "7".to_owned()),
    ];
    let tenant = [
        ("a tenant twice", before(r#""tenantId":"other""#)),
        (
            "a tenant twice, once escaped",
            before(r#""tenant\u0049d":"other""#),
        ),
    ];
    let claim = [("a claim twice", inside(r#""iso_cc":"NO""#))];
    let claims = [("claims twice", before(r#""claims":{}"#))];
    let unknown = [("an unknown member twice", before(r#""x":1,"x":1"#))];
    let twice = |member: &str| format!("{member} {TWICE}..");
    [
        rows(400, NOT_JSON, not_json, post),
        rows(400, NOT_JSON, [("UTF-16", utf_16)], post),
        rows(400, NOT_UTF_8, invalid, post),
        rows(400, NO_OBJECT, no_object, post),
        rows(400, &twice("$.tenantId"), tenant, post),
        rows(400, &twice("$.claims.iso_cc"), claim, post),
        rows(400, &twice("$.claims"), claims, post),
        rows(400, &twice("$.x"), unknown, post),
    ]
    .concat()
}

/// Bodies with another value for one member.
fn members() -> Vec<Case> {
    let refused = |member: &str, error: &str, values: Vec<Value>| {
        let named = values
            .into_iter()
            .map(|value| (format!("{member}: {value}"), value));
        rows(400, error, named, |value| {
            let mut body = registration("acme", json!({ "iso_cc": "SE" }));
            body[member] = value;
            post(body.to_string())
        })
    };
    let tenant = format!("$.tenantId {NAME} and not _ alone");
    let claims = |error: &str, claims: Value| refused("claims", error, vec![claims]);
    let schema = |claim: &str| format!("$.claims.{claim} does not match the schema: ");
    let many: serde_json::Map<String, Value> =
        (0..101).map(|n| (format!("c{n}"), json!(true))).collect();
    [
        refused(
            "softwareId",
            &format!("$.softwareId {NAME}"),
            vec![
                Value::Null,
                json!(["till"]),
                json!(" till"),
                json!("till\0"),
                json!("t\u{456}ll"),
                json!("../till"),
            ],
        ),
        refused(
            "softwareVersion",
            &format!("$.softwareVersion {NAME}"),
            vec![json!(1.0), json!("1/2")],
        ),
        refused(
            "tenantId",
            &tenant,
            vec![
                json!(7),
                Value::Null,
                json!({ "acme": 1 }),
                json!("acme/../other"),
            ],
        ),
        refused(
            "usingGlobalTemplate",
            "$.usingGlobalTemplate must be true or false",
            vec![json!(0), Value::Null, json!("false")],
        ),
        refused(
            "claims",
            "$.claims must be an object",
            vec![Value::Null, json!([["iso_cc", "SE"]])],
        ),
        refused(
            "claims",
            &format!("$.claims.x {CLAIM}"),
            vec![
                json!({ "iso_cc": "SE", "x": ["a"] }),
                json!({ "iso_cc": "SE", "x": "a\u{7f}" }),
                json!({ "iso_cc": "SE", "x": "\u{9b}31m" }),
            ],
        ),
        claims(
            &format!("$.claims.__proto__ {CLAIM_NAME}"),
            json!({ "iso_cc": "SE", "__proto__": "x" }),
        ),
        claims(
            &format!("$.claims['a: b\u{fffd}c'] {CLAIM_NAME}"),
            json!({ "iso_cc": "SE", "a: b\nc": "x" }),
        ),
        claims(
            &(schema("iso_cc") + "\"se\" does not match \"^[A-Z]{2}$\""),
            json!({ "iso_cc": "se" }),
        ),
        claims(
            &(schema("iso_cc") + "46 is not of type \"string\""),
            json!({ "iso_cc": 46 }),
        ),
        claims("$.claims.iso_cc is required", json!({ "number": 1 })),
        claims(
            &(schema("number") + "1001 is greater than the maximum of 1000"),
            json!({ "iso_cc": "SE", "number": 1001 }),
        ),
        claims(
            "$.claims must have at most 100 members",
            Value::Object(many),
        ),
        refused(
            "tenantId",
            "$.tenantId is not the id of a tenant",
            vec![json!("nobody"), json!("ACME")],
        ),
        refused("softwareId", NO_TEMPLATE, vec![json!("other")]),
        refused("softwareVersion", NO_TEMPLATE, vec![json!("2")]),
        refused("usingGlobalTemplate", NO_GLOBAL_TEMPLATE, vec![json!(true)]),
    ]
    .concat()
}

/// Requests whose body is not read.
fn requests() -> Vec<Case> {
    let good = registration("acme", json!({ "iso_cc": "SE" })).to_string();
    let over = format!("{good}{}", " ".repeat((64 << 10) + 1 - good.len()));
    let with = |headers: Headers<'_>, body: &str| message(LINE, headers, body);
    let chunks = chunked(&over, 4_096);
    let large = [
        ("a byte too many", with(&[JSON], &over)),
        (
            "a byte too many, in chunks",
            with(&[JSON, ("transfer-encoding", "chunked")], &chunks),
        ),
    ];
    let form = "application/x-www-form-urlencoded";
    let other_types = [
        ("as text", with(&[("content-type", "text/plain")], &good)),
        ("as a form", with(&[("content-type", form)], &good)),
        (
            "compressed",
            with(&[JSON, ("content-encoding", "gzip")], &good),
        ),
    ];
    let html = [("for HTML", with(&[JSON, ("accept", "text/html")], &good))];
    let methods = [
        ("read", "GET", ""),
        ("put", "PUT", &good),
        ("deleted", "DELETE", ""),
    ];
    let methods = methods.map(|(name, method, body)| (name, (method, body)));
    let folder = [(
        "in a folder",
        message(&LINE.replace("tion", "tion/"), &[JSON], &good),
    )];
    [
        rows(413, "", large, |request| request),
        rows(415, "", other_types, |request| request),
        rows(406, "", html, |request| request),
        rows(405, "", methods, |(method, body)| {
            message(&LINE.replace("POST", method), &[JSON], body)
        }),
        rows(404, "", folder, |request| request),
    ]
    .concat()
}

#[tokio::test]
async fn nobody_chooses_an_id_a_secret_or_a_status() {
    let service = start().await;
    let mut body = registration("acme", json!({ "iso_cc": "SE" }));
    let chosen = [
        ("clientId", json!("c2Z3OiBhQDFAcGxhdGZvcm0K")),
        ("client_id", json!("c2Z3OiBhQDFAcGxhdGZvcm0K")),
        ("clientSecret", json!("0".repeat(64))),
        ("client_secret", json!("0".repeat(64))),
        ("status", json!("Authorized")),
        ("roles", json!([{ "roleId": "platform.operator" }])),
        ("permissions", json!(["iam.roles.write"])),
        ("autoApprove", json!(true)),
        ("platform", json!(true)),
        ("pendingUntil", Value::Null),
    ];
    for (member, value) in chosen {
        body[member] = value;
    }
    let answer = service.register_bytes(body.to_string()).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let told = &answer.body;
    assert_ne!(told["clientId"], body["clientId"]);
    assert_ne!(told["clientSecret"], body["clientSecret"]);
    assert_eq!(told["status"], "Pending");
    assert_eq!(told.as_object().unwrap().len(), 6);
    let path = format!(
        "/v1/tenants/acme/clients/{}",
        told["clientId"].as_str().unwrap()
    );
    let operator = service.operator().await;
    let kept = service.get(&path, &operator).await.body;
    assert_eq!(
        (&kept["status"], &kept["roles"]),
        (&json!("Pending"), &json!([]))
    );
    let secret = told["clientSecret"].as_str().unwrap();
    assert!(!kept.to_string().contains(secret), "it is shown once");
    let again = service.register_bytes(body.to_string()).await;
    assert_problem(&again, 409, "the same id again");
}

#[tokio::test]
async fn what_is_refused_counts_as_a_registration_too() {
    let service = start().await;
    let request = post("{}");
    for _ in 0..30 {
        assert_problem(&service.send_bytes(&request).await, 400, "empty");
    }
    let answer = service.send_bytes(&request).await;
    assert_problem(&answer, 429, "one more");
    assert_eq!(answer.header("retry-after"), Some("60"));
    let forwarded = [
        JSON,
        ("x-forwarded-for", "192.0.2.1"),
        ("forwarded", "for=192.0.2.1"),
    ];
    let request = message(LINE, &forwarded, "{}");
    let answer = service.send_bytes(&request).await;
    assert_problem(&answer, 429, "who says it is another");
}
