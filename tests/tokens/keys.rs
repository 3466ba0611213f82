//! Signing keys: what is published, and how one key succeeds another.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tillgate_store::Partition;

use super::fixture::{Answer, Service, part};

async fn jwks(service: &Service) -> Answer {
    service
        .send(
            service
                .host
                .http
                .get(format!("{}/.well-known/jwks.json", service.host.url)),
        )
        .await
}

async fn kids(service: &Service) -> Vec<String> {
    let keys = jwks(service).await.body;
    let keys = keys["keys"].as_array().unwrap().clone();
    keys.iter()
        .map(|key| key["kid"].as_str().unwrap().to_owned())
        .collect()
}

async fn signing(service: &Service) -> String {
    part(&service.operator().await, 0)["kid"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn rotate(service: &Service) -> Answer {
    let operator = service.operator().await;
    service
        .post("/v1/keys/rotate", &operator, Value::Null)
        .await
}

async fn rotated(service: &Service) -> String {
    let answer = rotate(service).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["kid"].as_str().unwrap().to_owned()
}

/// Returns the keys as they are stored.
async fn record(service: &Service) -> Value {
    let partition = Partition::new("iam").unwrap();
    let kept = service.store.get(&partition, &["keys".to_owned()]).await;
    serde_json::from_slice(&kept.unwrap().remove(0).unwrap().value).unwrap()
}

#[tokio::test]
async fn the_jwks_has_the_public_half_and_may_be_kept_for_five_minutes() {
    let service = Service::start().await;
    let answer = jwks(&service).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("public, max-age=300"));
    let keys = answer.body["keys"].as_array().unwrap();
    assert_eq!(keys.len(), 1);
    let key = keys[0].as_object().unwrap();
    let members: Vec<&str> = key.keys().map(String::as_str).collect();
    assert_eq!(
        members,
        ["alg", "e", "kid", "kty", "n", "use"],
        "no private member, ever"
    );
    assert_eq!(
        (&key["alg"], &key["kty"], &key["use"]),
        (&"RS256".into(), &"RSA".into(), &"sig".into())
    );
    assert_eq!(key["e"], "AQAB");
    assert_eq!(
        BASE64URL.decode(key["n"].as_str().unwrap()).unwrap().len(),
        256
    );
    let members = format!(r#"{{"e":"AQAB","kty":"RSA","n":{}}}"#, key["n"]);
    assert_eq!(
        key["kid"],
        BASE64URL.encode(Sha256::digest(members)),
        "RFC 7638"
    );
    let etag = answer.header("etag").unwrap();
    let request = service
        .host
        .http
        .get(format!("{}/.well-known/jwks.json", service.host.url));
    let again = service.send(request.header("if-none-match", etag)).await;
    assert_eq!((again.status, again.body), (304, Value::Null));
}

#[tokio::test]
async fn a_new_key_is_published_at_once_signs_later_and_outlives_the_tokens_of_the_old() {
    let service = Service::start().await;
    let first = signing(&service).await;
    let second = rotated(&service).await;
    assert_ne!(first, second);
    assert_eq!(
        kids(&service).await,
        [first.clone(), second.clone()],
        "at once"
    );
    assert_eq!(signing(&service).await, first);
    let again = rotate(&service).await;
    assert_eq!(again.status, 409, "one waits already");
    service.clock.advance(Duration::from_secs(300));
    assert_eq!(
        signing(&service).await,
        first,
        "some cache may have the old JWKS"
    );
    service.clock.advance(Duration::from_secs(10));
    let last_moment = service.clock_at();
    assert_eq!(signing(&service).await, second);
    service
        .clock
        .set(last_moment.minus(Duration::from_micros(1)));
    let old = service.operator().await;
    assert_eq!(part(&old, 0)["kid"], first);
    service.clock.set(last_moment);
    service.clock.advance(Duration::from_secs(3_598));
    assert_eq!(service.status_of(&old).await.0, 200);
    assert_eq!(kids(&service).await.len(), 2);
    service.clock.advance(Duration::from_secs(12));
    assert_eq!(
        kids(&service).await,
        std::slice::from_ref(&second),
        "the last token of the old has expired"
    );
    let third = rotated(&service).await;
    assert_eq!(kids(&service).await, [second, third]);
    assert!(!record(&service).await.to_string().contains(&first));
}

#[tokio::test]
async fn private_keys_are_removed_first_and_public_keys_after_the_last_token() {
    let service = Service::start().await;
    let tokens = &service.host.features.tokens;
    let first = signing(&service).await;
    rotated(&service).await;
    let old = service.operator().await;
    let half = |record: &Value, index: usize| record[index]["private"].is_string();
    service.clock.advance(Duration::from_secs(319));
    service.host.run_due().await;
    assert!(
        half(&record(&service).await, 0),
        "another host may sign with it yet"
    );
    service.clock.advance(Duration::from_secs(1));
    service.host.run_due().await;
    let kept = record(&service).await;
    assert_eq!((half(&kept, 0), half(&kept, 1)), (false, true));
    assert_eq!(kept[0]["kid"], first);
    assert_eq!(kids(&service).await.len(), 2, "its tokens are taken still");
    assert_eq!(service.status_of(&old).await.0, 200);
    let another =
        crate::support::host::Host::start_on(service.store.clone(), service.clock.clone());
    assert_eq!(
        another.await.features.tokens.jwks().unwrap().json,
        tokens.jwks().unwrap().json
    );
    service.clock.advance(Duration::from_secs(3_599));
    service.host.run_due().await;
    assert_eq!(record(&service).await.as_array().unwrap().len(), 1);
    service.clock.advance(Duration::from_secs(24 * 60 * 60));
    service.host.run_due().await;
    assert!(half(&record(&service).await, 0), "the one that signs stays");
}

#[tokio::test]
async fn a_host_whose_clock_is_behind_signs_with_the_new_key_once_the_old_cannot() {
    let service = Service::start().await;
    let start = service.clock_at();
    let first = signing(&service).await;
    let second = rotated(&service).await;
    service.clock.advance(Duration::from_secs(320));
    service.host.run_due().await;
    service.clock.set(start.plus(Duration::from_secs(290)));
    let token = service.operator().await;
    assert_eq!(part(&token, 0)["kid"], second);
    assert_eq!(service.status_of(&token).await.0, 200);
    assert_eq!(kids(&service).await, [first, second]);
}

#[tokio::test]
async fn operators_see_where_each_key_is_in_its_life_and_no_private_half() {
    let service = Service::start().await;
    let first = signing(&service).await;
    let list = async || {
        service
            .get("/v1/keys", &service.operator().await)
            .await
            .body
    };
    let begun = "2026-01-01T00:00:00.000Z";
    let alone = json!([{ "kid": first, "status": "signing", "signsFrom": begun }]);
    assert_eq!(list().await, alone);
    let new = rotate(&service).await.body;
    let second = new["kid"].clone();
    let signs_from = "2026-01-01T00:05:10.000Z";
    assert_eq!(
        new,
        json!({ "kid": second, "status": "published", "signsFrom": signs_from })
    );
    let old = |status: &str| json!({ "kid": first, "status": status, "signsFrom": begun, "until": "2026-01-01T01:05:19.000Z" });
    assert_eq!(list().await, json!([old("signing"), new]));
    service.clock.advance(Duration::from_secs(310));
    let signs = json!({ "kid": second, "status": "signing", "signsFrom": signs_from });
    assert_eq!(list().await, json!([old("retiring"), signs]));
    service.clock.advance(Duration::from_secs(3_609));
    assert_eq!(list().await, json!([signs]));
    let waiting = rotate(&service).await.body["kid"].clone();
    let refused = service
        .post("/v1/keys/rotate", &service.operator().await, Value::Null)
        .await;
    assert_eq!(refused.status, 409);
    let told = refused.body["detail"].as_str().unwrap();
    assert!(told.contains(waiting.as_str().unwrap()), "{told}");
}

#[tokio::test]
async fn keys_are_the_platforms() {
    let service = Service::start().await;
    let admin = service.admin("acme").await;
    assert_eq!(service.get("/v1/keys", &admin).await.status, 403);
    assert_eq!(
        service
            .post("/v1/keys/rotate", &admin, Value::Null)
            .await
            .status,
        403
    );
    let operator = service.operator().await;
    let body = json!({ "permissions": ["iam.keys.read", "iam.keys.rotate"] });
    assert_eq!(
        service
            .put("/v1/roles/locksmith", &operator, body)
            .await
            .status,
        201
    );
    let tenants = service.host.token("acme", &["locksmith"]).await;
    assert_eq!(service.get("/v1/keys", &tenants).await.status, 403);
    let platforms = service.host.token("platform", &["locksmith"]).await;
    assert_eq!(service.get("/v1/keys", &platforms).await.status, 200);
}

#[tokio::test]
async fn hosts_that_start_at_once_share_one_key() {
    let service = Service::start().await;
    let start =
        || crate::support::host::Host::start_on(service.store.clone(), service.clock.clone());
    let (one, two) = tokio::join!(start(), start());
    let published = |host: &crate::support::host::Host| host.features.tokens.jwks().unwrap().json;
    assert_eq!(published(&one), published(&two));
    assert_eq!(published(&one), published(&service.host));
}
