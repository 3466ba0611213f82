//! `POST /v1/registration`, which anyone may call: whatever is wrong is named, and nothing that is sent chooses an id, a
//! secret or a status.

use std::time::Duration;

use serde_json::{Value, json};

use super::fixture::{Answer, Service, messages, registration, template};
use super::wire::{Headers, chunked, message};

const JSON: (&str, &str) = ("content-type", "application/json");

/// A service with a tenant whose tills say a country and a number.
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

impl Service {
    async fn register_bytes(&self, body: impl AsRef<[u8]>) -> Answer {
        // A minute has room for 30 registrations.
        self.clock.advance(Duration::from_secs(3));
        let request = message("POST /v1/registration", &[JSON], body);
        self.send_bytes(&request).await
    }

    /// How many clients the tenant has.
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
async fn what_is_no_json_as_it_should_be_is_refused() {
    let service = start().await;
    let good = registration("acme", json!({ "iso_cc": "SE" })).to_string();
    let number = |literal: &str| {
        let body = registration("acme", json!({ "iso_cc": "SE", "number": 7 }));
        body.to_string()
            .replace("\"number\":7", &format!("\"number\":{literal}"))
    };
    let before = |member: &str| good.replacen('{', &format!("{{{member},"), 1);
    let inside =
        |member: &str| good.replacen("\"claims\":{", &format!("\"claims\":{{{member},"), 1);
    let deep = |depth: usize| before(&format!("\"x\":{}{}", "[".repeat(depth), "]".repeat(depth)));
    let (json, twice, object) = ("$ must be JSON: ", " is there twice", "$ must be an object");
    let rows: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", Vec::new(), json),
        ("half", good[..good.len() / 2].into(), json),
        ("a brace more", format!("{good}}}").into(), json),
        ("two", good.repeat(2).into(), json),
        (
            "a comma at the end",
            good.replacen("\"}", "\",}", 1).into(),
            json,
        ),
        ("single quotes", good.replace('"', "'").into(), json),
        ("a comment", format!("/* */{good}").into(), json),
        ("a form", "softwareId=till&tenantId=acme".into(), json),
        ("YAML", "softwareId: till\n".into(), json),
        ("a byte order mark", format!("\u{feff}{good}").into(), json),
        (
            "no UTF-8",
            [good.as_bytes(), b"\xff"].concat(),
            "$ must be UTF-8",
        ),
        (
            "no UTF-8 in a claim",
            good.replace("SE", "S?")
                .bytes()
                .map(|b| if b == b'?' { 0xc0 } else { b })
                .collect(),
            "$ must be UTF-8",
        ),
        (
            "UTF-16",
            good.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            json,
        ),
        (
            "half a surrogate",
            good.replace("SE", "\\ud83d").into(),
            json,
        ),
        (
            "a line break in a text",
            good.replace("SE", "S\nE").into(),
            json,
        ),
        ("NaN", number("NaN").into(), json),
        ("Infinity", number("-Infinity").into(), json),
        ("a zero before", number("01").into(), json),
        ("hexadecimal", number("0x10").into(), json),
        ("a point and nothing", number("1.").into(), json),
        ("a plus", number("+1").into(), json),
        ("too large a number", number("1e400").into(), json),
        ("33 levels", deep(32).into(), json),
        ("2,000 levels", deep(2_000).into(), json),
        ("an array", format!("[{good}]").into(), object),
        ("a text", json!(good).to_string().into(), object),
        ("null", "null".into(), object),
        ("a number", "7".into(), object),
        (
            "a tenant twice",
            before(r#""tenantId":"other""#).into(),
            twice,
        ),
        (
            "a tenant twice, once escaped",
            before(r#""tenant\u0049d":"other""#).into(),
            twice,
        ),
        ("a claim twice", inside(r#""iso_cc":"NO""#).into(), twice),
        ("claims twice", before(r#""claims":{}"#).into(), twice),
        (
            "what is unknown, twice",
            before(r#""x":1,"x":1"#).into(),
            twice,
        ),
    ];
    for (case, body, why) in rows {
        let answer = service.register_bytes(body).await;
        assert_problem(&answer, 400, case);
        let messages = messages(&answer);
        assert!(messages[0].contains(why), "{case}: {messages:?}");
    }
    assert_eq!(service.clients().await, 0);
}

#[tokio::test]
async fn members_of_the_wrong_type_are_named_each() {
    let service = start().await;
    let name = "must be 1 to 64 of A-Z a-z 0-9 . _ -";
    let claim =
        "must be a string of 1 to 64 characters without control characters, a number or a boolean";
    let rows = [
        ("softwareId", Value::Null, format!("$.softwareId {name}")),
        ("softwareId", json!(["till"]), format!("$.softwareId {name}")),
        ("softwareId", json!(" till"), format!("$.softwareId {name}")),
        ("softwareId", json!("till\u{0}"), format!("$.softwareId {name}")),
        ("softwareId", json!("t\u{456}ll"), format!("$.softwareId {name}")),
        ("softwareId", json!("../till"), format!("$.softwareId {name}")),
        ("softwareVersion", json!(1.0), format!("$.softwareVersion {name}")),
        ("softwareVersion", json!("1/2"), format!("$.softwareVersion {name}")),
        ("tenantId", json!(7), format!("$.tenantId {name} and not _ alone")),
        ("tenantId", Value::Null, format!("$.tenantId {name} and not _ alone")),
        ("tenantId", json!({ "acme": 1 }), format!("$.tenantId {name} and not _ alone")),
        ("tenantId", json!("acme/../other"), format!("$.tenantId {name} and not _ alone")),
        ("usingGlobalTemplate", json!(0), "$.usingGlobalTemplate must be true or false".to_owned()),
        ("usingGlobalTemplate", Value::Null, "$.usingGlobalTemplate must be true or false".to_owned()),
        ("usingGlobalTemplate", json!("false"), "$.usingGlobalTemplate must be true or false".to_owned()),
        ("claims", Value::Null, "$.claims must be an object".to_owned()),
        ("claims", json!([["iso_cc", "SE"]]), "$.claims must be an object".to_owned()),
        ("claims", json!({ "iso_cc": "SE", "x": ["a"] }), format!("$.claims.x {claim}")),
        ("claims", json!({ "iso_cc": "SE", "x": "a\u{7f}" }), format!("$.claims.x {claim}")),
        ("claims", json!({ "iso_cc": "SE", "x": "\u{9b}31m" }), format!("$.claims.x {claim}")),
        ("claims", json!({ "iso_cc": "SE", "__proto__": "x" }), "$.claims.__proto__ must have a name of a-z 0-9 _, 1 to 32 long, a letter first, other than sfw and tid".to_owned()),
        ("claims", json!({ "iso_cc": "SE", "a: b\nc": "x" }), "$.claims['a: b\u{fffd}c'] must have a name of a-z 0-9 _, 1 to 32 long, a letter first, other than sfw and tid".to_owned()),
        ("claims", json!({ "iso_cc": "se" }), "$.claims.iso_cc does not match the schema: \"se\" does not match \"^[A-Z]{2}$\"".to_owned()),
        ("claims", json!({ "iso_cc": 46 }), "$.claims.iso_cc does not match the schema: 46 is not of type \"string\"".to_owned()),
        ("claims", json!({ "number": 1 }), "$.claims.iso_cc is required".to_owned()),
        ("claims", json!({ "iso_cc": "SE", "number": 1001 }), "$.claims.number does not match the schema: 1001 is greater than the maximum of 1000".to_owned()),
        ("tenantId", json!("nobody"), "$.tenantId names no tenant".to_owned()),
        ("tenantId", json!("ACME"), "$.tenantId names no tenant".to_owned()),
        ("softwareId", json!("other"), "$ there is no template of the tenant for this softwareId and softwareVersion".to_owned()),
        ("softwareVersion", json!("2"), "$ there is no template of the tenant for this softwareId and softwareVersion".to_owned()),
        ("usingGlobalTemplate", json!(true), "$ there is no global template for this softwareId and softwareVersion".to_owned()),
    ];
    for (member, value, why) in rows {
        let mut body = registration("acme", json!({ "iso_cc": "SE" }));
        body[member] = value;
        let answer = service.register_bytes(body.to_string()).await;
        assert_problem(&answer, 400, &why);
        assert_eq!(messages(&answer), [why.as_str()], "{body}");
    }
    let many: serde_json::Map<String, Value> =
        (0..101).map(|n| (format!("c{n}"), json!(true))).collect();
    let body = registration("acme", Value::Object(many));
    let answer = service.register_bytes(body.to_string()).await;
    assert_eq!(
        messages(&answer),
        ["$.claims must have at most 100 members"]
    );
    assert_eq!(service.clients().await, 0);
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
async fn a_registration_is_json_of_at_most_64_kib_by_post() {
    let service = start().await;
    let good = registration("acme", json!({ "iso_cc": "SE" })).to_string();
    let of_length = |length: usize| format!("{good}{}", " ".repeat(length - good.len()));
    let (exact, over) = (of_length(64 << 10), of_length((64 << 10) + 1));
    let in_chunks = [JSON, ("transfer-encoding", "chunked")];
    let encoded = [JSON, ("content-encoding", "gzip")];
    let html = [JSON, ("accept", "text/html")];
    let text = [("content-type", "text/plain")];
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let (post, json) = ("POST /v1/registration", [JSON]);
    let large = chunked(&over, 4_096);
    let rows: [(&str, &str, Headers<'_>, &str, u16); 10] = [
        ("a byte too many", post, &json, &over, 413),
        ("a byte too many, in chunks", post, &in_chunks, &large, 413),
        ("as text", post, &text, &good, 415),
        ("as a form", post, &form, &good, 415),
        ("compressed", post, &encoded, &good, 415),
        ("for HTML", post, &html, &good, 406),
        ("read", "GET /v1/registration", &json, "", 405),
        ("put", "PUT /v1/registration", &json, &good, 405),
        ("deleted", "DELETE /v1/registration", &json, "", 405),
        ("in a folder", "POST /v1/registration/", &json, &good, 404),
    ];
    for (case, line, headers, body, status) in rows {
        let answer = service.send_bytes(&message(line, headers, body)).await;
        assert_problem(&answer, status, case);
    }
    assert_eq!(service.clients().await, 0);
    assert_eq!(service.register_bytes(exact).await.status, 201);
}

#[tokio::test]
async fn what_is_refused_counts_as_a_registration_too() {
    let service = start().await;
    let request = message("POST /v1/registration", &[JSON], "{}");
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
    let request = message("POST /v1/registration", &forwarded, "{}");
    assert_problem(
        &service.send_bytes(&request).await,
        429,
        "who says it is another",
    );
}
