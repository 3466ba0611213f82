//! Two hosts on one store: each applies the other's changes as soon as the store notifies it, and neither signs with a
//! key that the other does not publish.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;

use super::fixture::{FORM, Service, part};
use crate::support::host::{Host, read};
use crate::support::wait::until;

/// Starts another host on the store of a service, with the same issuer.
async fn beside(service: &Service) -> Host {
    let issuer = service.host.app.config.issuer();
    let (store, clock) = (service.store.clone(), service.clock.clone());
    Host::start_configured(store, clock, |config| config.issuer = issuer).await
}

async fn kids(host: &Host) -> Vec<String> {
    let (_, keys) = host.get("/.well-known/jwks.json", "").await;
    let keys = keys["keys"].as_array().unwrap().clone();
    let kid = |key: &Value| key["kid"].as_str().unwrap().to_owned();
    keys.iter().map(kid).collect()
}

/// Returns a token of the operator from one of the hosts.
async fn token_from(host: &Host, service: &Service) -> String {
    let (id, secret) = (
        &service.operator.client_id,
        service.operator.client_secret.reveal(),
    );
    crate::support::host::token(&host.http, &host.url, id, secret).await
}

#[tokio::test]
async fn what_becomes_of_a_client_on_one_host_holds_on_the_other() {
    let service = Service::start().await;
    service.open_tenant("acme", &["iam.admin"]).await;
    let other = beside(&service).await;
    let operator = service.operator().await;
    let till = service.till("acme", 1).await;
    let path = format!("/v1/tenants/acme/clients/{}", till.client_id);
    let ask = async |host: &Host| {
        let form = "application/x-www-form-urlencoded";
        let request = host.http.post(format!("{}/oauth2/token", host.url));
        let request = request.basic_auth(&till.client_id, Some(till.client_secret.reveal()));
        let request = request.header("content-type", form).body(FORM);
        read(request.send().await.unwrap()).await
    };
    assert_eq!(ask(&other).await.0, 401, "it is pending there too");
    service
        .put(&format!("{path}/authorize"), &operator, Value::Null)
        .await;
    let (status, issued) = ask(&other).await;
    assert_eq!(status, 200, "a secret is looked up in the store");
    let token = issued["access_token"].as_str().unwrap();
    for host in [&service.host, &other] {
        assert_eq!(host.get("/v1/tenants/acme/clients", token).await.0, 200);
    }
    // First its roles change, then its status.
    let roles = serde_json::json!({ "roles": [{ "roleId": "ecs.viewer" }] });
    service
        .put(&format!("{path}/roles"), &operator, roles)
        .await;
    let list = "/v1/tenants/acme/clients";
    let told = async |status| {
        let what = format!("the other host answers {status}");
        until(&what, async || other.get(list, token).await.0 == status).await;
    };
    told(403).await;
    service
        .put(&format!("{path}/revoke"), &operator, Value::Null)
        .await;
    told(401).await;
    assert_eq!(ask(&other).await.0, 401);
    service.delete(&path, &operator).await;
    until("the other host knows that the client is gone", async || {
        let (_, problem) = other.get(list, token).await;
        problem["detail"] == "the token's client no longer exists"
    })
    .await;
}

#[tokio::test]
async fn a_key_made_on_one_host_is_published_by_both_before_either_signs_with_it() {
    let service = Service::start().await;
    let other = beside(&service).await;
    let hosts = [&service.host, &other];
    let first = kids(&other).await;
    let operator = service.operator().await;
    let rotate = "/v1/keys/rotate";
    let rotated = service.post(rotate, &operator, Value::Null).await;
    let second = rotated.body["kid"].as_str().unwrap().to_owned();
    let both = [first[0].clone(), second.clone()];
    until("the other host publishes the new key", async || {
        kids(&other).await == both
    })
    .await;
    assert_eq!(kids(&service.host).await, both);
    let again = other.request(Method::POST, rotate, &operator);
    let (status, _) = read(again.send().await.unwrap()).await;
    assert_eq!(status, 409, "one that waits is enough for both");
    let kid_of = async |host| part(&token_from(host, &service).await, 0)["kid"].clone();
    for host in hosts {
        assert_eq!(kid_of(host).await, first[0]);
    }
    // A client that fetched the keys just before may keep them for 300 seconds.
    service.clock.advance(Duration::from_secs(300));
    for host in hosts {
        assert_eq!(kid_of(host).await, first[0]);
    }
    let old = token_from(&other, &service).await;
    service.clock.advance(Duration::from_secs(10));
    for host in hosts {
        assert_eq!(kid_of(host).await, second);
        let new = token_from(host, &service).await;
        for verifier in hosts {
            assert_eq!(verifier.get("/v1/tenants", &new).await.0, 200);
            assert_eq!(verifier.get("/v1/tenants", &old).await.0, 200);
        }
    }
    service.clock.advance(Duration::from_secs(3_599 + 10));
    for host in hosts {
        assert_eq!(kids(host).await, std::slice::from_ref(&second));
        assert_eq!(host.get("/v1/tenants", &old).await.0, 401);
    }
    other.run_due().await;
}
