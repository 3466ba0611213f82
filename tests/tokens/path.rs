//! The normal path: a template, a registration, an authorization, a token, a call; then a revocation.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};
use tillgate_store::MemoryStore;

use super::fixture::{AUDIENCE, FORM, START, Service, part, registration};
use crate::support::host::{Host, take_modifier};
use crate::support::wait::until;

#[tokio::test]
async fn a_client_registers_is_authorized_gets_a_token_and_is_revoked() {
    let service = Service::start().await;
    let operator = service.operator().await;
    let admin = service.admin("acme").await;
    let template = json!({
        "softwareId": "till", "softwareVersion": "2.1", "name": "Till",
        "claimsSchema": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "required": ["iso_cc", "business_unit_id", "workstation_id"],
            "properties": {
                "iso_cc": { "type": "string", "pattern": "^[A-Z]{2}$" },
                "business_unit_id": { "type": "string" },
                "workstation_id": { "type": "number" },
            },
        },
        "roles": [{ "roleId": "ecs.evaluator" }],
    });
    let made = service
        .post("/v1/tenants/acme/templates", &admin, template.clone())
        .await;
    assert_eq!((made.status, &made.body), (201, &template));

    let body = json!({
        "softwareId": "till", "softwareVersion": "2.1", "usingGlobalTemplate": false, "tenantId": "acme",
        "claims": { "iso_cc": "SE", "business_unit_id": "0042", "workstation_id": 17 },
    });
    let registered = service.register(&body).await;
    assert_eq!(registered.status, 201, "{}", registered.body);
    assert_eq!(registered.header("cache-control"), Some("no-store"));
    let (id, secret) = (
        &registered.body["clientId"],
        &registered.body["clientSecret"],
    );
    let (id, secret) = (id.as_str().unwrap(), secret.as_str().unwrap());
    assert_eq!(
        registered.body,
        json!({
            "clientId": id, "clientSecret": secret, "softwareId": "till", "softwareVersion": "2.1",
            "tenantId": "acme", "status": "Pending",
        })
    );
    assert_eq!(
        String::from_utf8(BASE64URL.decode(id).unwrap()).unwrap(),
        "business_unit_id: \"0042\"\niso_cc: SE\nsfw: till@2.1@acme\ntid: acme\nworkstation_id: 17\n"
    );
    assert_eq!(secret.len(), 64);
    assert!(
        secret
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    );

    assert_eq!(
        service.send(service.ask(id, secret, FORM)).await.status,
        401,
        "it is pending"
    );
    let path = format!("/v1/tenants/acme/clients/{id}");
    let pending = service.get(&path, &admin).await.body;
    assert_eq!(pending["registeredFrom"], "127.0.0.1");
    let mut authorized = service
        .put(&format!("{path}/authorize"), &admin, Value::Null)
        .await;
    let client = json!({
        "clientId": id, "softwareId": "till", "softwareVersion": "2.1", "tenantId": "acme",
        "claims": { "iso_cc": "SE", "business_unit_id": "0042", "workstation_id": 17 },
        "roles": [{ "roleId": "ecs.evaluator" }], "status": "Authorized",
        "registeredAt": "2026-01-01T00:00:00.000Z",
    });
    assert_eq!(take_modifier(&mut authorized.body), "test 1");
    assert_eq!((authorized.status, &authorized.body), (200, &client));
    let mut found = service.get(&path, &admin).await.body;
    take_modifier(&mut found);
    assert_eq!(found, client);

    let issued = service.send(service.ask(id, secret, FORM)).await;
    assert_eq!(issued.status, 200, "{}", issued.body);
    assert_eq!(issued.header("content-type"), Some("application/json"));
    assert_eq!(issued.header("cache-control"), Some("no-store"));
    assert_eq!(issued.header("pragma"), Some("no-cache"));
    let token = issued.body["access_token"].as_str().unwrap();
    assert_eq!(
        issued.body,
        json!({ "access_token": token, "expires_in": 3599, "scope": "", "token_type": "bearer" })
    );
    let jwks = service.get("/.well-known/jwks.json", token).await.body;
    assert_eq!(
        part(token, 0),
        json!({ "alg": "RS256", "typ": "JWT", "kid": jwks["keys"][0]["kid"] })
    );
    let now = START.seconds();
    let claims = part(token, 1);
    let jti = claims["jti"].as_str().unwrap();
    assert_eq!(uuid::Uuid::parse_str(jti).unwrap().to_string(), jti);
    assert_eq!(
        claims,
        json!({
            "aud": [AUDIENCE], "client_id": id, "exp": now + 3599, "ext": {}, "iat": now,
            "iss": format!("{}/", service.host.url), "jti": jti, "nbf": now, "scp": [], "sub": id,
        })
    );

    let restrictions = "/api/v1/project-restrictions/evaluate";
    assert_eq!(
        service.post(restrictions, token, json!({})).await.status,
        400,
        "it may ask"
    );
    let condition = service.get("/api/v1/entity-conditions", token).await;
    assert_eq!(condition.status, 403, "it may not read");

    let revoked = service
        .put(&format!("{path}/revoke"), &admin, Value::Null)
        .await;
    assert_eq!(
        (revoked.status, &revoked.body["status"]),
        (200, &json!("Revoked"))
    );
    let refused = service.post(restrictions, token, json!({})).await;
    assert_eq!(refused.status, 401, "revoking works at once");
    assert_eq!(
        refused.header("www-authenticate"),
        Some("Bearer error=\"invalid_token\"")
    );
    assert_eq!(
        service.send(service.ask(id, secret, FORM)).await.status,
        401
    );
    assert_eq!(
        service
            .put(&format!("{path}/authorize"), &admin, Value::Null)
            .await
            .status,
        409
    );
    assert_eq!(service.delete(&path, &admin).await.status, 204);
    assert_eq!(service.get(&path, &admin).await.status, 404);
    assert_eq!(
        service.get("/v1/tenants", &operator).await.body[0]["tenantId"],
        "acme"
    );
}

#[tokio::test]
async fn the_operator_is_made_once_even_by_hosts_that_share_a_store() {
    let service = Service::start().await;
    let again = service
        .host
        .features
        .tokens
        .ensure_operator(|_| panic!("nothing is to be kept"));
    assert!(!again.await.unwrap());
    let other = Host::start_on(service.store.clone(), service.clock.clone()).await;
    let made = other
        .features
        .tokens
        .ensure_operator(|_| panic!("nothing is to be kept"));
    assert!(!made.await.unwrap());
}

#[tokio::test]
async fn nothing_is_made_when_the_operators_credentials_cannot_be_kept() {
    let clock = std::sync::Arc::new(tillgate_store::clock::StoppedClock::at(START));
    let store = std::sync::Arc::new(MemoryStore::new(clock.clone()));
    let host = Host::start_on(store, clock).await;
    let full = |_: &tillgate_tokens::Credentials| Err(std::io::Error::other("the disk is full"));
    assert!(host.features.tokens.ensure_operator(full).await.is_err());
    assert!(
        host.features
            .tokens
            .ensure_operator(|_| Ok(()))
            .await
            .unwrap()
    );
}

#[tokio::test]
async fn what_one_host_revokes_another_refuses_and_what_it_issues_another_takes() {
    let service = Service::start().await;
    service.open_tenant("acme", &["iam.admin"]).await;
    let till = service.till("acme", 1).await;
    let operator = service.operator().await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    let token = service.token_of(&till).await;
    let issuer = format!("{}/", service.host.url);
    let other = Host::start_configured(service.store.clone(), service.clock.clone(), |config| {
        config.issuer = issuer;
    });
    let other = other.await;
    assert_eq!(other.get("/v1/tenants/acme/clients", &token).await.0, 200);
    service
        .put(&format!("{path}/revoke"), &operator, Value::Null)
        .await;
    // Its memory is refreshed by itself, after a notification from the store.
    until("the other host refuses the token", async || {
        let (status, _) = other.get("/v1/tenants/acme/clients", &token).await;
        assert!(status == 200 || status == 401, "{status}");
        status == 401
    })
    .await;
}

#[tokio::test]
async fn a_client_that_was_deleted_and_registers_again_is_another() {
    let service = Service::start().await;
    service.open_tenant("acme", &["iam.admin"]).await;
    let operator = service.operator().await;
    let first = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", first.client_id);
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    let used = service.token_of(&first).await;
    let unused = service.token_of(&first).await;
    assert_eq!(service.status_of(&used).await.0, 403);
    assert_eq!(service.delete(&path, &operator).await.status, 204);
    assert_eq!(
        service.status_of(&used).await,
        (401, "the token's client no longer exists".to_owned())
    );
    service.clock.advance(std::time::Duration::from_secs(60));
    let second = service.till("acme", 1).await;
    assert_eq!(second.client_id, first.client_id);
    assert_ne!(second.client_secret.reveal(), first.client_secret.reveal());
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    assert_eq!(
        service
            .send(service.ask(&first.client_id, first.client_secret.reveal(), FORM))
            .await
            .status,
        401
    );
    assert_eq!(
        service.status_of(&service.token_of(&second).await).await.0,
        403
    );
    for old in [used, unused] {
        assert_eq!(
            service.status_of(&old).await,
            (401, "the token's client no longer exists".to_owned())
        );
    }
    let again = service
        .register(&registration("acme", json!({ "number": 1 })))
        .await;
    assert_eq!(again.status, 409);
}

#[tokio::test]
async fn tokens_are_valid_after_the_clock_was_set_back() {
    let service = Service::start().await;
    service.open_tenant("acme", &["iam.admin"]).await;
    let operator = service.operator().await;
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    let hour = std::time::Duration::from_secs(60 * 60);
    service.clock.set(START.minus(hour));
    let token = service.token_of(&till).await;
    assert_eq!(service.status_of(&token).await.0, 403);
    let (claims, now) = (part(&token, 1), START.minus(hour).seconds());
    let times = ["nbf", "iat", "exp"].map(|claim| claims[claim].as_u64().unwrap());
    assert_eq!(times, [now, START.seconds(), now + 3_599]);
    // The clock was set back, and continues.
    service.clock.advance(std::time::Duration::from_secs(3_598));
    assert_eq!(service.status_of(&token).await.0, 403);

    let deleted = service.delete(&path, &service.operator().await).await;
    assert_eq!(deleted.status, 204);
    assert_eq!(
        service.status_of(&token).await,
        (401, "the token's client no longer exists".to_owned())
    );
}

#[tokio::test]
async fn an_old_token_stays_invalid_after_delete_and_reregistration() {
    let service = Service::start().await;
    service.open_tenant("acme", &["iam.admin"]).await;
    let operator = service.operator().await;
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    let authorize = format!("{path}/authorize");
    service.put(&authorize, &operator, Value::Null).await;
    let old = service.token_of(&till).await;
    let issuer = format!("{}/", service.host.url);
    let configure = |config: &mut tillgate_base::config::Config| config.issuer = issuer;
    let (store, clock) = (service.store.clone(), service.clock.clone());
    let other = Host::start_configured(store, clock, configure).await;
    assert!(other.features.tokens.verify(&old).await.is_ok());
    service.delete(&path, &operator).await;
    service.clock.advance(std::time::Duration::from_secs(1));
    let again = service.till("acme", 1).await;
    service.put(&authorize, &operator, Value::Null).await;
    let new = service.token_of(&again).await;
    other.run_due().await;
    assert!(other.features.tokens.verify(&old).await.is_err());
    assert!(other.features.tokens.verify(&new).await.is_ok());
}

#[tokio::test]
async fn the_metadata_says_where_everything_is() {
    let service = Service::start().await;
    let url = &service.host.url;
    let answer = service
        .send(
            service
                .host
                .http
                .get(format!("{url}/.well-known/oauth-authorization-server")),
        )
        .await;
    assert_eq!(
        answer.body,
        json!({
            "issuer": format!("{url}/"),
            "token_endpoint": format!("{url}/oauth2/token"),
            "jwks_uri": format!("{url}/.well-known/jwks.json"),
            "registration_endpoint": format!("{url}/v1/registration"),
            "grant_types_supported": ["client_credentials"],
            "response_types_supported": [],
            "scopes_supported": [],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        })
    );
}

#[tokio::test]
async fn the_documents_of_an_issuer_are_found_where_clients_look_that_do_not_expect_its_slash() {
    let service = Service::start().await;
    for name in ["oauth-authorization-server", "jwks.json"] {
        let right = service.get(&format!("/.well-known/{name}"), "").await;
        assert_eq!(right.status, 200, "{name}");
        // Spring puts the issuer's path after the well-known name; others put the name after the issuer.
        for path in [
            format!("/.well-known/{name}/"),
            format!("//.well-known/{name}"),
        ] {
            let found = service.get(&path, "").await;
            assert_eq!(
                (found.status, found.body),
                (200, right.body.clone()),
                "{path}"
            );
        }
    }
    for path in [
        "//.well-known/openid-configuration",
        "/.well-known/openid-configuration/",
        "//.well-known/jwks.json/",
        "///.well-known/jwks.json",
        "/.well-known/",
        "//oauth2/token",
    ] {
        assert_eq!(service.get(path, "").await.status, 404, "{path}");
    }
}
