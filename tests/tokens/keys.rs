//! Signing keys: what is published, and how one follows another.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use serde_json::Value;
use sha2::{Digest, Sha256};

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
    let tokens = &service.host.app.tokens;
    let first = signing(&service).await;
    let second = tokens.rotate_keys().await.unwrap();
    assert_ne!(first, second);
    assert_eq!(
        kids(&service).await,
        [first.clone(), second.clone()],
        "at once"
    );
    assert_eq!(signing(&service).await, first);
    assert!(tokens.rotate_keys().await.is_err(), "one waits already");
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
        [second.clone()],
        "the last token of the old has expired"
    );
    let third = tokens.rotate_keys().await.unwrap();
    assert_eq!(kids(&service).await, [second, third]);
    let partition = tillgate::store::Partition::new("iam").unwrap();
    let kept = service
        .store
        .get(&partition, &["keys".to_owned()])
        .await
        .unwrap()
        .remove(0)
        .unwrap();
    assert!(
        !String::from_utf8_lossy(&kept.value).contains(&first),
        "its private half is gone"
    );
}

#[tokio::test]
async fn hosts_that_start_at_once_share_one_key() {
    let service = Service::start().await;
    let start =
        || crate::support::host::Host::start_on(service.store.clone(), service.clock.clone());
    let (one, two) = tokio::join!(start(), start());
    let published = |host: &crate::support::host::Host| host.app.tokens.jwks().unwrap().json;
    assert_eq!(published(&one), published(&two));
    assert_eq!(published(&one), published(&service.host));
}
