//! Software statements: claims that an administrator fixes for future clients, and texts that are not valid statements.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};
use tillgate_store::{Commit, CommitId, Op, Partition};

use super::fixture::{Answer, FORM, Service, messages, part, registration, template};

const PATH: &str = "/v1/tenants/acme/software-statements";
const NONE: &str =
    "$.softwareStatement is not a statement of this service, was withdrawn, or has expired";

fn statement() -> Value {
    json!({ "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false })
}

fn with(mut body: Value, member: &str, value: impl Into<Value>) -> Value {
    body[member] = value.into();
    body
}

/// Starts a service whose tenant has a template; returns it with an administrator's token.
async fn open() -> (Service, String) {
    let service = Service::start().await;
    service.open_tenant("acme", &["ecs.evaluator"]).await;
    let admin = service.admin("acme").await;
    (service, admin)
}

/// Creates a statement from a body.
async fn made(service: &Service, token: &str, body: Value) -> String {
    let answer = service.post(PATH, token, body).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.body.as_object().unwrap().len(), 1);
    answer.body["softwareStatement"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn show(service: &Service, statement: &str, claims: Value) -> Answer {
    let body = registration("acme", claims);
    service
        .register(&with(body, "softwareStatement", statement))
        .await
}

/// Returns every key and value of the service's partition, as text.
async fn kept(service: &Service) -> String {
    let partition = Partition::new("iam").unwrap();
    let page = service.store.scan(&partition, "", None, 1_000).await;
    let entries = page.unwrap().entries.into_iter();
    entries
        .map(|(key, entry)| format!("{key} {}\n", String::from_utf8_lossy(&entry.value)))
        .collect()
}

#[tokio::test]
async fn a_statement_is_a_jwt_that_says_what_was_asked_for() {
    let (service, admin) = open().await;
    let body = with(
        statement(),
        "claims",
        json!({ "iso_cc": "SE", "number": 7 }),
    );
    let body = with(with(body, "autoApprove", true), "expiresIn", "2 days");
    let text = made(&service, &admin, body).await;
    let header = part(&text, 0);
    assert_eq!(header["typ"], "software-statement+jwt");
    assert_eq!(header["alg"], "RS256");
    let kid = part(&service.operator().await, 0)["kid"].clone();
    assert_eq!(header["kid"], kid);
    let said = part(&text, 1);
    let iat = service.clock_at().seconds();
    let url = &service.host.url;
    let expected = json!({
        "iss": format!("{url}/"), "aud": format!("{url}/v1/registration"), "jti": said["jti"],
        "iat": iat, "nbf": iat, "exp": iat + 2 * 24 * 60 * 60,
        "tenantId": "acme", "softwareId": "till", "softwareVersion": "1",
        "usingGlobalTemplate": false, "claims": { "iso_cc": "SE", "number": 7 }, "autoApprove": true,
    });
    assert_eq!(said, expected);
    let jti = said["jti"].as_str().unwrap();
    assert_eq!(jti.len(), 36);
    let plain = made(&service, &admin, statement()).await;
    let plain = part(&plain, 1);
    assert_eq!(plain["exp"], iat + 7 * 24 * 60 * 60, "a week unless said");
    assert_eq!(
        (&plain["claims"], &plain["autoApprove"]),
        (&json!({}), &json!(false))
    );
}

#[tokio::test]
async fn a_client_with_an_approving_statement_gets_a_token_at_once_and_waits_in_no_list() {
    let (service, admin) = open().await;
    let body = with(statement(), "claims", json!({ "iso_cc": "SE" }));
    let text = made(&service, &admin, with(body, "autoApprove", true)).await;
    let answer = show(&service, &text, json!({ "number": 1 })).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.body["status"], "Authorized");
    let text_of = |member: &str| answer.body[member].as_str().unwrap();
    let (id, secret) = (text_of("clientId"), text_of("clientSecret"));
    let token = service.send(service.ask(id, secret, FORM)).await;
    assert_eq!(token.status, 200, "{}", token.body);
    let client = service
        .get(&format!("/v1/tenants/acme/clients/{id}"), &admin)
        .await;
    assert_eq!(
        client.body["claims"],
        json!({ "iso_cc": "SE", "number": 1 })
    );
    assert_eq!(client.body["roles"], json!([{ "roleId": "ecs.evaluator" }]));
    assert!(
        !kept(&service).await.contains("pending-from/acme"),
        "nothing is counted"
    );
    // It is not removed along with pending clients either.
    service.clock.advance(Duration::from_secs(8 * 24 * 60 * 60));
    service.host.run_due().await;
    let token = service.send(service.ask(id, secret, FORM)).await;
    assert_eq!(token.status, 200);
}

#[tokio::test]
async fn a_statement_serves_many_clients_until_it_is_withdrawn_and_they_stay() {
    let (service, admin) = open().await;
    let text = made(&service, &admin, statement()).await;
    let first = show(&service, &text, json!({ "number": 1 })).await;
    assert_eq!(
        (first.status, &first.body["status"]),
        (201, &json!("Pending"))
    );
    assert_eq!(
        show(&service, &text, json!({ "number": 2 })).await.status,
        201
    );
    assert_eq!(
        show(&service, &text, json!({ "number": 2 })).await.status,
        409
    );
    let one = format!("{PATH}/{}", part(&text, 1)["jti"].as_str().unwrap());
    assert_eq!(service.delete(&one, &admin).await.status, 204);
    assert_eq!(service.delete(&one, &admin).await.status, 404);
    let refused = show(&service, &text, json!({ "number": 3 })).await;
    assert_eq!(messages(&refused), [NONE]);
    let id = first.body["clientId"].as_str().unwrap();
    let client = format!("/v1/tenants/acme/clients/{id}");
    assert_eq!(service.get(&client, &admin).await.status, 200);
    for path in [format!("{PATH}/nothing"), format!("{PATH}/%00")] {
        assert_eq!(service.delete(&path, &admin).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_statement_ends_when_it_expires_and_leaves_nothing_behind() {
    let (service, admin) = open().await;
    let text = made(&service, &admin, with(statement(), "expiresIn", "90 s")).await;
    let jti = part(&text, 1)["jti"].as_str().unwrap().to_owned();
    service.clock.advance(Duration::from_secs(89));
    service.host.run_due().await;
    assert_eq!(
        show(&service, &text, json!({ "number": 1 })).await.status,
        201
    );
    service.clock.advance(Duration::from_secs(1));
    let refused = show(&service, &text, json!({ "number": 2 })).await;
    assert_eq!(messages(&refused), [NONE]);
    let one = format!("{PATH}/{jti}");
    assert_eq!(service.delete(&one, &admin).await.status, 404);
    assert_eq!(service.get(PATH, &admin).await.body, json!({ "items": [] }));
    service.host.run_due().await;
    assert!(!kept(&service).await.contains(&jti));
}

#[tokio::test]
async fn a_statement_outlives_the_key_that_signed_it() {
    let (service, admin) = open().await;
    let text = made(&service, &admin, statement()).await;
    let operator = service.operator().await;
    let rotated = service
        .post("/v1/keys/rotate", &operator, Value::Null)
        .await;
    assert_eq!(rotated.status, 201, "{}", rotated.body);
    service.clock.advance(Duration::from_secs(2 * 60 * 60));
    service.host.run_due().await;
    let kid = part(&text, 0)["kid"].as_str().unwrap().to_owned();
    let jwks = service.host.features.tokens.jwks().unwrap().json;
    assert!(!String::from_utf8_lossy(&jwks).contains(&kid));
    assert_eq!(
        show(&service, &text, json!({ "number": 1 })).await.status,
        201
    );
}

#[tokio::test]
async fn what_contradicts_the_statement_is_named_all_of_it() {
    let (service, admin) = open().await;
    service.open_tenant("other", &[]).await;
    let claims = json!({ "iso_cc": "SE", "number": 7, "on": true });
    let text = made(&service, &admin, with(statement(), "claims", claims)).await;
    let body = json!({
        "softwareId": "oven", "softwareVersion": "2", "usingGlobalTemplate": true, "tenantId": "other",
        "claims": { "iso_cc": "NO", "number": 7.5, "on": "true", "mine": 1 }, "softwareStatement": text,
    });
    let rule = "differs from the software statement";
    let paths = [
        "softwareId",
        "softwareVersion",
        "usingGlobalTemplate",
        "tenantId",
        "claims.iso_cc",
        "claims.number",
        "claims.on",
    ];
    let expected = paths.map(|path| format!("$.{path} {rule}"));
    assert_eq!(messages(&service.register(&body).await), expected);
    let same = show(&service, &text, json!({ "iso_cc": "SE", "mine": 1 })).await;
    assert_eq!(same.status, 201, "{}", same.body);
    let id = BASE64URL
        .decode(same.body["clientId"].as_str().unwrap())
        .unwrap();
    let id = String::from_utf8(id).unwrap();
    assert_eq!(
        id,
        "iso_cc: SE\nmine: 1\nnumber: 7\non: true\nsfw: till@1@acme\ntid: acme\n"
    );
}

#[tokio::test]
async fn the_claims_of_both_go_through_the_templates_schema() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    let schema = json!({
        "required": ["iso_cc", "number"], "additionalProperties": false,
        "properties": { "iso_cc": { "enum": ["SE"] }, "number": { "type": "number" } },
    });
    let path = "/v1/tenants/acme/templates";
    let made_template = service
        .post(path, &admin, template("till", schema, &[]))
        .await;
    assert_eq!(made_template.status, 201);
    let body = with(statement(), "claims", json!({ "iso_cc": "SE" }));
    let text = made(&service, &admin, body).await;
    let lacking = show(&service, &text, json!({})).await;
    assert_eq!(messages(&lacking), ["$.claims.number is required"]);
    let more = show(&service, &text, json!({ "number": 1, "more": 1 })).await;
    assert_eq!(
        messages(&more),
        ["$.claims.more is not a claim of the template"]
    );
    assert_eq!(
        show(&service, &text, json!({ "number": 1 })).await.status,
        201
    );
    assert_eq!(
        service
            .delete(&format!("{path}/till/1"), &admin)
            .await
            .status,
        204
    );
    let gone = show(&service, &text, json!({ "number": 2 })).await;
    let rule = "$ no template of the tenant exists for this softwareId and softwareVersion";
    assert_eq!(messages(&gone), [rule]);
}

#[tokio::test]
async fn foreign_statements_are_refused() {
    let (service, admin) = open().await;
    let text = made(&service, &admin, with(statement(), "autoApprove", true)).await;
    let forge = service.forge().await;
    let header = json!({ "alg": "RS256", "typ": "software-statement+jwt", "kid": forge.kid });
    let said = |member: &str, value: Value| {
        let mut claims = part(&text, 1);
        claims[member] = value;
        claims.to_string()
    };
    let parts: Vec<&str> = text.split('.').collect();
    let other = Service::start().await;
    other.open_tenant("acme", &[]).await;
    let others = made(&other, &other.admin("acme").await, statement()).await;
    let rows = [
        String::new(),
        "x".to_owned(),
        "..".to_owned(),
        format!("{text}x"),
        format!("{text} "),
        format!("{text}.{text}"),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], parts[1], parts[0]),
        // The correct key, but other content than the service signed.
        forge.sign(&header.to_string(), &said("exp", json!(9_999_999_999_u64))),
        forge.sign(
            &header.to_string(),
            &said("claims", json!({ "iso_cc": "NO" })),
        ),
        forge.sign(&header.to_string(), &said("tenantId", json!("other"))),
        forge.sign(
            &header.to_string(),
            &said("jti", json!("00000000-0000-4000-8000-000000000000")),
        ),
        forge.sign(&header.to_string(), &said("jti", json!("../../keys"))),
        forge.sign(&header.to_string(), &said("tenantId", json!("acme/x"))),
        // Not a statement.
        admin.clone(),
        others,
    ];
    for row in rows {
        let refused = show(&service, &row, json!({ "number": 1 })).await;
        assert_eq!(messages(&refused), [NONE], "{row}");
    }
    let rule = "$.softwareStatement must be a software statement: a JWT of at most 8 KiB";
    for row in [json!(7), json!(null), json!({}), json!("x".repeat(8_193))] {
        let body = registration("acme", json!({ "number": 1 }));
        let refused = service
            .register(&with(body, "softwareStatement", row))
            .await;
        assert_eq!(messages(&refused), [rule]);
    }
}

#[tokio::test]
async fn a_statement_is_no_access_token() {
    let (service, admin) = open().await;
    let text = made(&service, &admin, statement()).await;
    let (status, detail) = service.status_of(&text).await;
    assert_eq!(status, 401, "{detail}");
}

#[tokio::test]
async fn faults_of_a_statement_are_named_each() {
    let (service, admin) = open().await;
    let empty = service.post(PATH, &admin, json!({})).await;
    let names = ["softwareId", "softwareVersion", "usingGlobalTemplate"];
    let told = messages(&empty);
    assert_eq!(told.len(), 3);
    for (told, name) in told.iter().zip(names) {
        assert!(told.starts_with(&format!("$.{name} ")), "{told}");
    }
    let body = json!({
        "softwareId": "a/b", "softwareVersion": 1, "usingGlobalTemplate": "no", "autoApprove": 1,
        "claims": { "tid": "x", "Name": "x", "list": [] }, "expiresIn": "soon",
    });
    let refused = service.post(PATH, &admin, body).await;
    let told = messages(&refused).join("\n");
    for path in [
        "$.softwareId ",
        "$.softwareVersion ",
        "$.usingGlobalTemplate ",
        "$.autoApprove ",
        "$.claims.tid ",
        "$.claims.Name ",
        "$.claims.list ",
        "$.expiresIn ",
    ] {
        assert!(told.contains(path), "{path}: {told}");
    }
    for life in [
        json!("0s"),
        json!("366 days"),
        json!("-1 days"),
        json!(7),
        json!("9999999999 days"),
        // The maximum of a duration, and a second more.
        json!("18446744073709551615s 1000000000ns"),
        json!(""),
    ] {
        let refused = service
            .post(PATH, &admin, with(statement(), "expiresIn", life))
            .await;
        let rule = "$.expiresIn must be a duration such as 30m, 24h or 2 days, at most 365 days";
        assert_eq!(messages(&refused), [rule]);
    }
    let long: Value = (0..4)
        .map(|n| (format!("claim_{n}"), json!("x".repeat(64))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let refused = service
        .post(PATH, &admin, with(statement(), "claims", long))
        .await;
    assert_eq!(
        messages(&refused),
        ["$.claims make a client id longer than 255 characters"]
    );
    let nowhere = service
        .post(PATH, &admin, with(statement(), "softwareId", "oven"))
        .await;
    let rule = "$ no template of the tenant exists for this softwareId and softwareVersion";
    assert_eq!(messages(&nowhere), [rule]);
    let operator = service.operator().await;
    let path = "/v1/tenants/nobody/software-statements";
    let nobody = service.post(path, &operator, statement()).await;
    assert_eq!(messages(&nobody), ["$.tenantId is not the id of a tenant"]);
}

#[tokio::test]
async fn a_tenants_statements_are_its_own_administrators() {
    let (service, admin) = open().await;
    service.open_tenant("other", &[]).await;
    let text = made(&service, &admin, statement()).await;
    let one = format!("{PATH}/{}", part(&text, 1)["jti"].as_str().unwrap());
    let stranger = service.admin("other").await;
    let clerk = service.host.token("acme", &["ecs.editor"]).await;
    for token in [&stranger, &clerk] {
        assert_eq!(service.post(PATH, token, statement()).await.status, 403);
        assert_eq!(service.get(PATH, token).await.status, 403);
        assert_eq!(service.delete(&one, token).await.status, 403);
    }
    let theirs = one.replace("acme", "other");
    assert_eq!(service.delete(&theirs, &stranger).await.status, 404);
    let operator = service.operator().await;
    assert_eq!(service.post(PATH, &operator, statement()).await.status, 201);
    assert_eq!(service.delete(&one, &operator).await.status, 204);
}

#[tokio::test]
async fn statements_are_listed_in_pages_without_their_text() {
    let (service, admin) = open().await;
    let body = with(statement(), "claims", json!({ "iso_cc": "SE" }));
    let mut jtis = Vec::new();
    for _ in 0..3 {
        let text = made(&service, &admin, body.clone()).await;
        jtis.push(part(&text, 1)["jti"].as_str().unwrap().to_owned());
    }
    jtis.sort();
    let first = service.get(&format!("{PATH}?limit=2"), &admin).await.body;
    assert_eq!(
        first["items"][0],
        json!({
            "jti": jtis[0], "softwareId": "till", "softwareVersion": "1", "usingGlobalTemplate": false,
            "claims": { "iso_cc": "SE" }, "autoApprove": false,
            "issuedAt": "2026-01-01T00:00:00.000Z", "expiresAt": "2026-01-08T00:00:00.000Z",
        })
    );
    assert_eq!(first["items"][1]["jti"], jtis[1]);
    let next = first["next"].as_str().unwrap();
    let rest = service
        .get(&format!("{PATH}?limit=2&cursor={next}"), &admin)
        .await
        .body;
    assert_eq!(rest["items"][0]["jti"], jtis[2]);
    assert_eq!(
        (rest["items"].as_array().unwrap().len(), &rest["next"]),
        (1, &Value::Null)
    );
    for wrong in ["limit=0", "cursor=x"] {
        let answer = service.get(&format!("{PATH}?{wrong}"), &admin).await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
}

/// Creates an administrator of the platform without the operator's role, a template of the platform that gives roles,
/// and a statement for it.
async fn platform(service: &Service, roles: &[&str]) -> (String, String) {
    let operator = service.operator().await;
    let path = "/v1/tenants/platform/templates";
    let made = service
        .post(path, &operator, template("till", json!({}), roles))
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    let admin = service.host.token("platform", &["iam.admin"]).await;
    (admin, "/v1/tenants/platform/software-statements".to_owned())
}

#[tokio::test]
async fn who_may_not_authorize_a_client_cannot_have_a_statement_do_it() {
    let service = Service::start().await;
    let (admin, path) = platform(&service, &["platform.operator"]).await;
    let approving = with(statement(), "autoApprove", true);
    let refused = service.post(&path, &admin, approving.clone()).await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(service.post(&path, &admin, statement()).await.status, 201);
    let operator = service.operator().await;
    assert_eq!(service.post(&path, &operator, approving).await.status, 201);
}

#[tokio::test]
async fn a_statement_approves_no_more_than_its_maker_could_when_it_was_made() {
    let service = Service::start().await;
    let (admin, path) = platform(&service, &["ecs.viewer"]).await;
    let answer = service
        .post(&path, &admin, with(statement(), "autoApprove", true))
        .await;
    let text = answer.body["softwareStatement"].clone();
    let operator = service.operator().await;
    let template_path = "/v1/tenants/platform/templates";
    let gone = service
        .delete(&format!("{template_path}/till/1"), &operator)
        .await;
    assert_eq!(gone.status, 204);
    let stronger = template("till", json!({}), &["platform.operator"]);
    assert_eq!(
        service
            .post(template_path, &operator, stronger)
            .await
            .status,
        201
    );
    let body = with(
        registration("platform", json!({ "number": 1 })),
        "softwareStatement",
        text,
    );
    let refused = service.register(&body).await;
    let rule = "$.softwareStatement approves less than the template gives now: make a new one";
    assert_eq!(messages(&refused), [rule]);
}

#[tokio::test]
async fn a_statement_for_the_global_template_takes_what_the_platform_wrote_there() {
    let service = Service::start().await;
    let operator = service.operator().await;
    let admin = service.admin("acme").await;
    let global = template("till", json!({ "required": ["number"] }), &["ecs.viewer"]);
    let path = "/v1/tenants/_/templates";
    assert_eq!(service.post(path, &operator, global).await.status, 201);
    let body = with(
        with(statement(), "autoApprove", true),
        "usingGlobalTemplate",
        true,
    );
    let text = made(&service, &admin, body).await;
    let own = show(&service, &text, json!({ "number": 1 })).await;
    let rule = "$.usingGlobalTemplate differs from the software statement";
    assert_eq!(messages(&own), [rule]);
    let body = with(
        registration("acme", json!({ "number": 1 })),
        "usingGlobalTemplate",
        true,
    );
    let registered = service
        .register(&with(body, "softwareStatement", text))
        .await;
    assert_eq!(registered.status, 201, "{}", registered.body);
    assert_eq!(registered.body["status"], "Authorized");
    let nowhere = service
        .post("/v1/tenants/_/software-statements", &operator, statement())
        .await;
    assert_eq!(nowhere.status, 400, "a statement is of one tenant");
}

#[tokio::test]
async fn an_approved_client_takes_the_place_of_one_that_was_pending_for_too_long() {
    let service = Service::configured(|config| config.tokens.pending_clients = 1).await;
    service.open_tenant("acme", &[]).await;
    let pending = async |number: u64| {
        let body = registration("acme", json!({ "number": number }));
        service.register(&body).await.status
    };
    assert_eq!(pending(1).await, 201);
    assert_eq!(pending(2).await, 429);
    service.clock.advance(Duration::from_secs(7 * 24 * 60 * 60));
    let admin = service.admin("acme").await;
    let text = made(&service, &admin, with(statement(), "autoApprove", true)).await;
    let approved = show(&service, &text, json!({ "number": 1 })).await;
    assert_eq!(approved.body["status"], "Authorized", "{}", approved.body);
    assert_eq!(pending(2).await, 201, "nobody else is pending");
    assert_eq!(pending(3).await, 429);
    service.host.run_due().await;
    let id = approved.body["clientId"].as_str().unwrap();
    let client = service
        .get(&format!("/v1/tenants/acme/clients/{id}"), &admin)
        .await;
    assert_eq!(client.body["status"], "Authorized");
}

#[tokio::test]
async fn a_record_that_cannot_be_read_keeps_no_statement_from_going() {
    let (service, admin) = open().await;
    let text = made(&service, &admin, with(statement(), "expiresIn", "90 s")).await;
    let (key, value) = ("client/broken".to_owned(), "{".into());
    let (queue, job) = ("pending".to_owned(), "broken".to_owned());
    let due = service.clock_at().plus(Duration::from_secs(90));
    let broken = Commit {
        partition: Partition::new("iam").unwrap(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: vec![
            Op::Put { key, value },
            Op::Enqueue {
                queue,
                job,
                due,
                body: Vec::new().into(),
            },
        ],
    };
    service.store.commit(broken).await.unwrap();
    service.clock.advance(Duration::from_secs(90));
    service.host.run_due().await;
    let jti = part(&text, 1)["jti"].as_str().unwrap().to_owned();
    assert!(!kept(&service).await.contains(&jti));
}
