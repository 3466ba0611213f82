//! Users' tokens of trusted issuers: whom they identify, what they allow, and where their keys come from.

use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::Algorithm;
use reqwest::Method;
use serde_json::{Value, json};
use tillgate::routes::Features;
use tillgate_base::app::App;
use tillgate_base::config::{Config, Flags, Loaded, TrustedIssuer};
use tillgate_store::MemoryStore;
use tillgate_store::clock::SystemClock;

use super::fixture::Service;
use crate::support::fifo::make_fifo;
use crate::support::issuer::{Answer, Issuer, SigningKey, set};
use crate::support::wait::{until, within};

const CONDITIONS: &str = "/api/v1/entity-conditions";

/// Starts a service that trusts an issuer with one key.
async fn trusting() -> (Service, Issuer, SigningKey) {
    let key = SigningKey::rsa("one");
    let issuer = Issuer::start(&[key.jwk()]).await;
    let service =
        Service::configured(|config| config.trusted_issuers = vec![issuer.trusted()]).await;
    (service, issuer, key)
}

/// Lists conditions with a token; returns the status.
async fn status(service: &Service, token: &str) -> u16 {
    service.get(CONDITIONS, token).await.status
}

/// Returns a shop admin's claims with one changed; null removes it.
fn changed(service: &Service, issuer: &Issuer, name: &str, value: Value) -> Value {
    let mut claims = issuer.claims(service.clock_at());
    let members = claims.as_object_mut().unwrap();
    members.remove(name);
    if !value.is_null() {
        members.insert(name.to_owned(), value);
    }
    claims
}

#[tokio::test]
async fn a_user_acts_for_the_tenant_of_the_claim_with_the_roles_of_their_groups() {
    let (service, issuer, key) = trusting().await;
    let token = key.sign(&issuer.claims(service.clock_at()));
    let beer = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 16 } });
    let path = format!("{CONDITIONS}/beer");
    assert_eq!(service.put(&path, &token, beer.clone()).await.status, 201);

    let client = service.host.token("shop", &["ecs.viewer"]).await;
    assert_eq!(service.get(&path, &client).await.status, 200);
    let other = service.host.token("other", &["ecs.viewer"]).await;
    assert_eq!(service.get(&path, &other).await.status, 404);

    let evaluate = "/api/v1/conditions/beer/evaluate";
    let answer = service.post(evaluate, &token, json!({})).await;
    assert_eq!(answer.status, 403, "editors do not evaluate");
    assert_eq!(
        service.get("/v1/tenants/shop/clients", &token).await.status,
        403
    );
}

#[tokio::test]
async fn a_user_whose_tenant_does_not_exist_is_refused_by_its_name_when_they_sign_in() {
    let (service, issuer, key) = trusting().await;
    let path = "/api/v1/caller";
    let claims = changed(
        &service,
        &issuer,
        "https://example.com/tenant",
        json!("shpo"),
    );
    let token = key.sign(&claims);
    let answer = service.get(path, &token).await;
    let message = "the token names the tenant shpo, which does not exist here";
    assert_eq!(
        (answer.status, &answer.body["message"]),
        (403, &json!(message))
    );
    let operator = service.operator().await;
    let created = service.put("/v1/tenants/shpo", &operator, json!({})).await;
    assert_eq!(created.status, 201);
    let answer = service.get(path, &token).await;
    assert_eq!(
        (answer.status, &answer.body["tenantId"]),
        (200, &json!("shpo"))
    );
}

#[tokio::test]
async fn permissions_are_taken_from_a_list_or_a_text_and_the_platforms_are_left_out() {
    let (service, issuer, key) = trusting().await;
    let list = json!([
        "ecs.condition.read",
        "ecs.global-condition.write",
        "no.such.thing",
        7
    ]);
    for said in [
        list,
        json!("no.such.thing  ecs.condition.read ecs.global-condition.write"),
    ] {
        let mut claims = changed(&service, &issuer, "permissions", said);
        claims["groups"] = json!([]);
        let token = key.sign(&claims);
        assert_eq!(status(&service, &token).await, 200);
        let beer = json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} });
        let global = "/api/v1/global-entity-conditions/beer";
        assert_eq!(service.put(global, &token, beer).await.status, 403);
    }
}

#[tokio::test]
async fn a_role_that_changes_changes_what_users_may_at_once() {
    let (service, issuer, key) = trusting().await;
    let token = key.sign(&issuer.claims(service.clock_at()));
    let clients = "/v1/tenants/shop/clients";
    assert_eq!(service.get(clients, &token).await.status, 403);
    let operator = service.operator().await;
    let role = json!({ "permissions": ["iam.clients.read"] });
    assert_eq!(
        service
            .put("/v1/roles/night-shift", &operator, role)
            .await
            .status,
        201
    );
    assert_eq!(service.get(clients, &token).await.status, 200);
    assert_eq!(
        service
            .delete("/v1/roles/night-shift", &operator)
            .await
            .status,
        204
    );
    assert_eq!(service.get(clients, &token).await.status, 403);
}

#[tokio::test]
async fn the_platform_is_named_only_by_an_issuer_that_may() {
    let key = SigningKey::p256("ec");
    let issuer = Issuer::start(&[key.jwk()]).await;
    let (any, mut some) = (issuer.trusted(), issuer.trusted());
    some.tenants = vec!["platform".to_owned()];
    some.groups
        .insert("ops".to_owned(), vec!["platform.operator".to_owned()]);
    for (trusted, platform, shop) in [(any, 401, 200), (some, 200, 401)] {
        let service = Service::configured(|config| config.trusted_issuers = vec![trusted]).await;
        let mut claims = changed(
            &service,
            &issuer,
            "https://example.com/tenant",
            json!("platform"),
        );
        claims["groups"] = json!(["ops"]);
        let operator = key.sign(&claims);
        assert_eq!(service.get("/v1/tenants", &operator).await.status, platform);
        let token = key.sign(&issuer.claims(service.clock_at()));
        assert_eq!(status(&service, &token).await, shop);
    }
}

#[tokio::test]
async fn claims_may_be_nested() {
    let key = SigningKey::rsa("one");
    let issuer = Issuer::start(&[key.jwk()]).await;
    let mut trusted = issuer.trusted();
    trusted.groups_claim = Some("/realm_access/roles".to_owned());
    trusted.tenant_claim = "/attributes/till~1gate".to_owned();
    let service = Service::configured(|config| config.trusted_issuers = vec![trusted]).await;
    let mut claims = changed(&service, &issuer, "groups", Value::Null);
    claims["realm_access"] = json!({ "roles": ["shop-admins"] });
    assert_eq!(status(&service, &key.sign(&claims)).await, 401);
    claims["attributes"] = json!({ "till/gate": "shop" });
    assert_eq!(status(&service, &key.sign(&claims)).await, 200);
}

#[tokio::test]
async fn a_token_with_a_fault_names_nobody() {
    let (service, issuer, key) = trusting().await;
    let now = service.clock_at().seconds();
    let faults = [
        ("iss", json!("https://login.example/none")),
        ("iss", json!([issuer.name])),
        ("iss", json!(format!("{}/", issuer.name))),
        ("iss", Value::Null),
        ("aud", Value::Null),
        ("aud", json!("tillgate2")),
        ("aud", json!([])),
        ("aud", json!([["tillgate"]])),
        ("aud", json!(["tillgate", 1])),
        ("aud", json!("https://api.tillgate.example")),
        ("exp", Value::Null),
        ("exp", json!((now + 600).to_string())),
        ("exp", json!(1e18)),
        ("exp", json!(-1)),
        ("exp", json!(now - 5)),
        ("nbf", json!(now + 6)),
        ("nbf", json!("0")),
        ("nbf", json!(0.5)),
        ("sub", Value::Null),
        ("sub", json!("")),
        ("sub", json!("anna\naction=\"role.put\"")),
        ("sub", json!("a".repeat(256))),
        ("https://example.com/tenant", Value::Null),
        ("https://example.com/tenant", json!("")),
        ("https://example.com/tenant", json!(["shop"])),
        ("https://example.com/tenant", json!("_")),
        ("https://example.com/tenant", json!("shop/../other")),
        ("https://example.com/tenant", json!("platform")),
    ];
    for (name, value) in faults {
        let told = format!("{name}: {value}");
        let token = key.sign(&changed(&service, &issuer, name, value));
        let answer = service.get(CONDITIONS, &token).await;
        assert_eq!(answer.status, 401, "{told}");
        assert_eq!(
            answer.header("www-authenticate"),
            Some("Bearer error=\"invalid_token\""),
            "{told}"
        );
    }
    let fits = [
        ("aud", json!(["other", "till"])),
        ("exp", json!(now - 4)),
        ("nbf", json!(now + 5)),
        ("iat", Value::Null),
        ("groups", json!({ "shop-admins": true })),
    ];
    for (name, value) in fits {
        let told = format!("{name}: {value}");
        let expected = if name == "groups" { 403 } else { 200 };
        let token = key.sign(&changed(&service, &issuer, name, value));
        assert_eq!(status(&service, &token).await, expected, "{told}");
    }
}

#[tokio::test]
async fn an_issuer_and_a_tenant_that_do_not_fit_are_named_as_what_they_are() {
    let (service, issuer, key) = trusting().await;
    let untrusted = "the token's iss is not an issuer that is trusted here";
    let no_text = "the token's claim of the tenant is not a string";
    let no_tenant = "the token's claim of the tenant is not a tenant id";
    let tenant = "https://example.com/tenant";
    let rows = [
        ("iss", json!("https://login.example/none"), untrusted),
        ("iss", json!(format!("{}/", issuer.name)), untrusted),
        (
            tenant,
            Value::Null,
            "the token has no claim that names its tenant",
        ),
        (tenant, json!(["shop"]), no_text),
        (tenant, json!(7), no_text),
        (tenant, json!({ "id": "shop" }), no_text),
        (tenant, json!(""), no_tenant),
        (tenant, json!("shop/../other"), no_tenant),
    ];
    for (name, value, detail) in rows {
        let told = format!("{name}: {value}");
        let token = key.sign(&changed(&service, &issuer, name, value));
        let refused = service.status_of(&token).await;
        assert_eq!(refused, (401, detail.to_owned()), "{told}");
    }
    // The key and the algorithm make no difference.
    let stray = SigningKey::p256("stray");
    let token = stray.sign(&changed(
        &service,
        &issuer,
        "iss",
        json!("https://a.example"),
    ));
    assert_eq!(service.status_of(&token).await, (401, untrusted.to_owned()));
}

#[tokio::test]
async fn the_token_of_a_user_in_two_hundred_groups_fits() {
    let (service, issuer, key) = trusting().await;
    let names = (0..199).map(|number| format!("0b8a5d3e-6c1f-4a52-9d7e-{number:012}"));
    let groups: Vec<String> = names.chain(["shop-admins".to_owned()]).collect();
    let token = key.sign(&changed(&service, &issuer, "groups", json!(groups)));
    assert!(token.len() > 10_000, "{}", token.len());
    assert_eq!(status(&service, &token).await, 200);
    let more: Vec<&String> = groups.iter().chain(&groups[..40]).collect();
    let token = key.sign(&changed(&service, &issuer, "groups", json!(more)));
    let told = "the token is longer than 12 KiB".to_owned();
    assert_eq!(service.status_of(&token).await, (401, told));
}

#[tokio::test]
async fn a_claim_that_is_there_twice_names_nobody() {
    let (service, issuer, key) = trusting().await;
    let claims = issuer.claims(service.clock_at()).to_string();
    let twice = claims.replacen('{', "{\"https://example.com/tenant\":\"other\",", 1);
    let raw: Box<serde_json::value::RawValue> = serde_json::from_str(&twice).unwrap();
    let token = key.sign_raw(raw.get());
    assert_eq!(status(&service, &token).await, 401);
    assert_eq!(status(&service, &key.sign_raw(&claims)).await, 200);
}

#[tokio::test]
async fn the_key_of_one_issuer_opens_nothing_of_another() {
    let (mine, theirs) = (SigningKey::rsa("same"), SigningKey::rsa("same"));
    let (one, two) = (
        Issuer::start(&[mine.jwk()]).await,
        Issuer::start(&[theirs.jwk()]).await,
    );
    let trusted = vec![one.trusted(), two.trusted()];
    let service = Service::configured(|config| config.trusted_issuers = trusted).await;
    let now = service.clock_at();
    assert_eq!(status(&service, &mine.sign(&one.claims(now))).await, 200);
    assert_eq!(status(&service, &theirs.sign(&two.claims(now))).await, 200);
    assert_eq!(status(&service, &theirs.sign(&one.claims(now))).await, 401);
    assert_eq!(status(&service, &mine.sign(&two.claims(now))).await, 401);

    // It does not sign for this service either, nor this service for it.
    let forge = service.forge().await;
    let mut own = one.claims(now);
    own["iss"] = json!(format!("{}/", service.host.url));
    assert_eq!(status(&service, &mine.sign(&own)).await, 401);
    let theirs = forge.sign(&forge.header().to_string(), &one.claims(now).to_string());
    assert_eq!(status(&service, &theirs).await, 401);
}

#[tokio::test]
async fn only_an_algorithm_of_the_key_is_taken() {
    let key = SigningKey::rsa("one");
    let mut bound = SigningKey::rsa("two");
    let mut jwk = bound.jwk();
    jwk["alg"] = json!("RS512");
    let mut plain = key.jwk();
    plain.as_object_mut().unwrap().remove("alg");
    let issuer = Issuer::start(&[plain, jwk]).await;
    let service =
        Service::configured(|config| config.trusted_issuers = vec![issuer.trusted()]).await;
    let claims = issuer.claims(service.clock_at());
    for (algorithm, expected) in [(Algorithm::RS256, 200), (Algorithm::PS384, 200)] {
        assert_eq!(
            status(&service, &key.sign_as(algorithm, &claims)).await,
            expected
        );
    }
    assert_eq!(
        status(&service, &bound.sign_as(Algorithm::RS256, &claims)).await,
        401
    );
    bound.algorithm = Algorithm::RS512;
    assert_eq!(status(&service, &bound.sign(&claims)).await, 200);
    for algorithm in ["HS256", "none", "ES256", "EdDSA"] {
        let header = json!({ "alg": algorithm, "kid": "one" }).to_string();
        let token = crate::support::issuer::hmac(
            &header,
            &claims.to_string(),
            key.jwk()["n"].as_str().unwrap(),
        );
        assert_eq!(status(&service, &token).await, 401, "{algorithm}");
    }
}

#[tokio::test]
async fn keys_of_no_use_leave_the_others() {
    let key = SigningKey::rsa("good");
    let mut private = SigningKey::rsa("private").jwk();
    private["d"] = json!("AQAB");
    let encrypts = |mut jwk: Value| {
        jwk["use"] = json!("enc");
        jwk
    };
    let keys = [
        json!({ "kid": "good", "kty": "oct", "k": "c2VjcmV0", "alg": "HS256" }),
        json!({ "kid": "use", "kty": "RSA", "use": 5, "n": "AQAB", "e": "AQAB" }),
        json!({ "kid": "weak", "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
        json!({ "kid": "odd", "kty": "LATTICE" }),
        json!("a key"),
        private,
        encrypts(SigningKey::rsa("good").jwk()),
        key.jwk(),
    ];
    let issuer = Issuer::start(&keys).await;
    let service =
        Service::configured(|config| config.trusted_issuers = vec![issuer.trusted()]).await;
    let token = key.sign(&issuer.claims(service.clock_at()));
    assert_eq!(status(&service, &token).await, 200);
}

#[tokio::test]
async fn an_unknown_key_is_asked_for_once_in_thirty_seconds() {
    let (service, issuer, key) = trusting().await;
    let claims = issuer.claims(service.clock_at());
    assert_eq!(status(&service, &key.sign(&claims)).await, 200);
    assert_eq!(issuer.requests(), 1, "at the start");

    let new = SigningKey::p256("two");
    issuer.publishes(&[key.jwk(), new.jwk()]);
    for number in 0..20 {
        let stray = SigningKey::p256(&format!("stray-{number}"));
        assert_eq!(status(&service, &stray.sign(&claims)).await, 401);
    }
    assert_eq!(
        status(&service, &new.sign(&claims)).await,
        401,
        "it cools down"
    );
    assert_eq!(issuer.requests(), 1);

    service.clock.advance(Duration::from_secs(30));
    assert_eq!(status(&service, &new.sign(&claims)).await, 200);
    assert_eq!(
        status(&service, &SigningKey::p256("stray").sign(&claims)).await,
        401
    );
    assert_eq!(issuer.requests(), 2);
}

#[tokio::test]
async fn many_that_ask_for_a_key_at_once_wait_for_one_fetch() {
    let (service, issuer, key) = trusting().await;
    let claims = issuer.claims(service.clock_at());
    assert_eq!(status(&service, &key.sign(&claims)).await, 200);
    let new = SigningKey::p256("two");
    issuer.publishes(&[new.jwk()]);
    issuer.holds(true);
    service.clock.advance(Duration::from_secs(31));
    let service = Arc::new(service);
    let waiting: Vec<_> = (0..50)
        .map(|number| {
            let mut claims = claims.clone();
            claims["jti"] = json!(number);
            let (service, token) = (Arc::clone(&service), new.sign(&claims));
            tokio::spawn(async move { status(&service, &token).await })
        })
        .collect();
    until("the issuer is asked again", async || issuer.requests() == 2).await;
    issuer.holds(false);
    for answer in waiting {
        let answer = within("the answer to one that waited", answer).await;
        assert_eq!(answer.unwrap(), 200);
    }
    assert_eq!(issuer.requests(), 2);
}

#[tokio::test]
async fn keys_stay_while_their_issuer_is_down_or_answers_nonsense() {
    let (service, issuer, key) = trusting().await;
    let claims = issuer.claims(service.clock_at());
    assert_eq!(status(&service, &key.sign(&claims)).await, 200);
    let nonsense = [
        Answer::Status(500, "no".to_owned()),
        Answer::Status(302, set(&[])),
        Answer::Status(200, "<html>".to_owned()),
        Answer::Status(200, "{}".to_owned()),
        Answer::Status(200, set(&[])),
        Answer::Status(
            200,
            set(&[json!({ "kty": "oct", "kid": "one", "k": "AA" })]),
        ),
        Answer::Status(200, " ".repeat(300_000)),
        Answer::Status(404, set(&[SigningKey::p256("one").jwk()])),
    ];
    for (number, answer) in nonsense.into_iter().enumerate() {
        issuer.answers(answer);
        service.clock.advance(Duration::from_secs(6 * 60));
        let claims = issuer.claims(service.clock_at());
        assert_eq!(status(&service, &key.sign(&claims)).await, 200, "{number}");
        assert_eq!(issuer.requests(), number + 2, "it was asked");
    }
}

#[tokio::test]
async fn a_key_that_its_issuer_withdrew_opens_nothing_after_five_minutes() {
    let (service, issuer, key) = trusting().await;
    let mut claims = issuer.claims(service.clock_at());
    claims["exp"] = json!(service.clock_at().seconds() + 86_400);
    let token = key.sign(&claims);
    assert_eq!(status(&service, &token).await, 200);
    issuer.publishes(&[SigningKey::p256("two").jwk()]);
    service.clock.advance(Duration::from_secs(299));
    assert_eq!(status(&service, &token).await, 200);
    service.clock.advance(Duration::from_secs(2));
    assert_eq!(status(&service, &token).await, 401);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_keeps_nobody_waiting_who_has_a_known_key() {
    let (service, issuer, key) = trusting().await;
    assert_eq!(
        status(&service, &key.sign(&issuer.claims(service.clock_at()))).await,
        200
    );
    issuer.answers(Answer::Hang);
    service.clock.advance(Duration::from_secs(6 * 60));
    let token = key.sign(&issuer.claims(service.clock_at()));
    assert_eq!(status(&service, &token).await, 200);
    let own = service.host.token("shop", &["ecs.viewer"]).await;
    assert_eq!(status(&service, &own).await, 200);
}

#[tokio::test]
async fn nothing_is_asked_of_an_address_that_a_token_brings() {
    let (service, issuer, key) = trusting().await;
    let claims = issuer.claims(service.clock_at());
    assert_eq!(status(&service, &key.sign(&claims)).await, 200);
    let canary = Issuer::start(&[]).await;
    let mut elsewhere = claims.clone();
    elsewhere["iss"] = json!(canary.url);
    assert_eq!(status(&service, &key.sign(&elsewhere)).await, 401);
    let stray = SigningKey::rsa("one");
    for member in ["jku", "x5u", "jwk"] {
        let brought = if member == "jwk" {
            stray.jwk()
        } else {
            json!(canary.url)
        };
        let header = json!({ "alg": "RS256", "kid": "one", member: brought }).to_string();
        let token = stray.sign_with(&header, &claims);
        assert_eq!(status(&service, &token).await, 401, "{member}");
    }
    assert_eq!((canary.requests(), issuer.requests()), (0, 1));
}

#[tokio::test]
async fn keys_of_a_file_are_read_at_the_start_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let (old, new) = (SigningKey::rsa("one"), SigningKey::p256("two"));
    std::fs::write(&path, set(&[old.jwk()])).unwrap();
    let issuer = Issuer::start(&[]).await;
    let mut trusted = issuer.trusted();
    trusted.jwks = format!("file:{}", path.display());
    let service = Service::configured(|config| config.trusted_issuers = vec![trusted]).await;
    let claims = issuer.claims(service.clock_at());
    assert_eq!(status(&service, &old.sign(&claims)).await, 200);
    std::fs::write(&path, set(&[old.jwk(), new.jwk()])).unwrap();
    assert_eq!(status(&service, &new.sign(&claims)).await, 200);
    std::fs::remove_file(&path).unwrap();
    service.clock.advance(Duration::from_secs(6 * 60));
    assert_eq!(
        status(&service, &new.sign(&issuer.claims(service.clock_at()))).await,
        200
    );
    assert_eq!(issuer.requests(), 0);
}

#[tokio::test]
async fn a_fifo_instead_of_an_issuers_file_keeps_neither_its_keys_nor_later_ones_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let (old, new) = (SigningKey::rsa("one"), SigningKey::p256("two"));
    std::fs::write(&path, set(&[old.jwk()])).unwrap();
    let issuer = Issuer::start(&[]).await;
    let mut trusted = issuer.trusted();
    trusted.jwks = format!("file:{}", path.display());
    let service = Service::configured(|config| config.trusted_issuers = vec![trusted]).await;
    make_fifo(&path);
    service.clock.advance(Duration::from_secs(6 * 60));
    let claims = issuer.claims(service.clock_at());
    assert_eq!(status(&service, &old.sign(&claims)).await, 200);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, set(&[old.jwk(), new.jwk()])).unwrap();
    service.clock.advance(Duration::from_secs(31));
    let claims = issuer.claims(service.clock_at());
    assert_eq!(status(&service, &new.sign(&claims)).await, 200);
}

#[tokio::test]
async fn a_users_change_is_audited_under_their_issuer_and_name() {
    let (service, issuer, key) = trusting().await;
    let mut claims = issuer.claims(service.clock_at());
    claims["permissions"] = json!(["iam.clients.read"]);
    let token = key.sign(&claims);
    let (caller, _) = service.host.features.tokens.verify(&token).await.unwrap();
    assert_eq!(&*caller.subject, format!("{}|anna", issuer.name));
    assert_eq!(caller.tenant.as_str(), "shop");
    let answer = service
        .call(
            Method::GET,
            "/v1/tenants/other/clients",
            &token,
            Value::Null,
        )
        .await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn a_configuration_that_trusts_wrongly_is_refused_with_the_place() {
    const RIGHT: &str = r#"
        issuer = "https://login.example"
        jwks = "file:keys.json"
        audiences = ["tillgate"]
        tenant_claim = "tenant"
        groups_claim = "groups"
        groups = { "shop-admins" = ["ecs.editor"] }
    "#;
    let faults = [
        (r#"issuer = """#, "issuer must not be empty"),
        (r#"jwks = "http://login.example/keys""#, "jwks must be"),
        (r#"jwks = "keys.json""#, "jwks must be"),
        (r#"jwks = "file:""#, "jwks must be"),
        (r#"audiences = []"#, "audiences must name"),
        (r#"audiences = "tillgate""#, "audiences"),
        (r#"tenant_claim = """#, "tenant_claim must not be empty"),
        (r#"groups = {}"#, "groups_claim and groups"),
        (r#"tenant_claims = "tenant""#, "tenant_claims"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tillgate.toml");
    let read = |tables: &[&str]| {
        let tables = tables
            .iter()
            .map(|table| format!("[[trusted_issuers]]\n{table}\n"));
        std::fs::write(&file, tables.collect::<String>()).unwrap();
        Loaded::read(Some(&file), &Flags::default())
    };
    let trusted = read(&[RIGHT]).unwrap().config.trusted_issuers;
    assert_eq!(trusted[0].groups["shop-admins"], ["ecs.editor"]);
    for (line, told) in faults {
        let name = line.split(' ').next().unwrap();
        let kept = RIGHT
            .lines()
            .filter(|line| line.split_whitespace().next() != Some(name));
        let table = kept.chain([line]).collect::<Vec<_>>().join("\n");
        let refused = read(&[&table]).unwrap_err();
        assert!(refused.contains(told), "{line}: {refused}");
    }
    assert!(
        read(&[RIGHT, RIGHT])
            .unwrap_err()
            .contains("trusted_issuers[1].issuer is a duplicate")
    );
}

#[tokio::test]
async fn a_host_whose_issuers_file_is_missing_does_not_start() {
    let trusted = TrustedIssuer {
        jwks: "file:no-such-file.json".to_owned(),
        ..Issuer::start(&[]).await.trusted()
    };
    let config = Config {
        trusted_issuers: vec![trusted],
        ..Loaded::read(None, &Flags::default()).unwrap().config
    };
    let clock = Arc::new(SystemClock);
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let app = App::start(config, store, clock).await.unwrap();
    let refused = Features::start(&app, None).await.unwrap_err();
    assert!(
        format!("{refused:?}").contains("no-such-file.json cannot be read"),
        "{refused:?}"
    );
}
