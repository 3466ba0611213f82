//! The identity provider: the certificates that it publishes, and the bearer tokens that they verify.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tillgate_engine::receiver::{
    Certificates, Delivery, Fetched, Next, Options, Refusal, Scheme, WebhookVerifier,
};
use tillgate_store::clock::{Clock, StoppedClock, Timestamp};
use tillgate_store::{MemoryStore, Partition, Store};
use x509_cert::Certificate;
use x509_cert::der::{DecodePem, Encode};

use crate::support::host::{Host, read};

const RECEIVER: &str = "https://erp.example/hook";

/// The time that receivers may cache the certificates, and the lifetime of a bearer token.
const HOUR: Duration = Duration::from_secs(3_600);

/// Hosts on one store, with a clock stopped at the start of 2026.
struct Shop {
    store: Arc<MemoryStore>,
    clock: Arc<StoppedClock>,
}

impl Shop {
    fn open() -> Self {
        let clock = Arc::new(StoppedClock::at(Timestamp(1_767_225_600_000_000)));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self { store, clock }
    }

    async fn host(&self) -> Host {
        Host::start_on(self.store.clone(), self.clock.clone()).await
    }
}

async fn get_certificates(host: &Host) -> Response {
    let request = host.http.get(format!("{}/oauth2/v1/certs", host.url));
    request.send().await.unwrap()
}

/// Returns the published certificates, by key id.
async fn certificates(host: &Host) -> BTreeMap<String, Certificate> {
    let published: BTreeMap<String, String> = get_certificates(host).await.json().await.unwrap();
    let certificates = published.into_iter();
    certificates
        .map(|(kid, pem)| (kid, Certificate::from_pem(pem).unwrap()))
        .collect()
}

async fn kids(host: &Host) -> Vec<String> {
    certificates(host).await.into_keys().collect()
}

async fn bearer(host: &Host, audience: &str) -> Arc<str> {
    let identity = host.features.webhooks.identity();
    identity.bearer(audience).await.unwrap()
}

/// Returns the first (0) or second (1) part of a token.
fn part(token: &str, index: usize) -> Value {
    let part = token.split('.').nth(index).unwrap();
    serde_json::from_slice(&BASE64URL.decode(part).unwrap()).unwrap()
}

fn kid(token: &str) -> String {
    part(token, 0)["kid"].as_str().unwrap().to_owned()
}

/// Returns whether a signature of a text is from the key of a certificate.
fn signs(certificate: &Certificate, text: &[u8], signature: &[u8]) -> bool {
    let key = certificate.tbs_certificate().subject_public_key_info();
    let key = key.subject_public_key.raw_bytes();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
    key.verify(text, signature).is_ok()
}

async fn rotated(host: &Host) -> String {
    let token = host.token("platform", &["platform.operator"]).await;
    let path = "/v1/webhook-keys/rotate";
    let (status, key) = host.send(Method::POST, path, &token, &Value::Null).await;
    assert_eq!((status, &key["status"]), (201, &json!("published")));
    key["kid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_published_certificate_verifies_a_bearer_token_that_says_who_sends_it() {
    let host = Shop::open().host().await;
    let token = bearer(&host, RECEIVER).await;
    let certificates = certificates(&host).await;
    let header = json!({ "alg": "RS256", "typ": "JWT", "kid": kid(&token) });
    assert_eq!(part(&token, 0), header);
    let (text, signature) = token.rsplit_once('.').unwrap();
    let signature = BASE64URL.decode(signature).unwrap();
    assert!(signs(
        &certificates[&kid(&token)],
        text.as_bytes(),
        &signature
    ));
    let claims = part(&token, 1);
    let account = claims["sub"].as_str().unwrap();
    assert!(account.parse::<u64>().is_ok(), "{account}");
    let expected = json!({
        "aud": RECEIVER,
        "azp": account,
        "sub": account,
        "email": "dispatcher@tillgate.example",
        "email_verified": true,
        "iss": "https://identity.tillgate.example",
        "iat": 1_767_225_600,
        "exp": 1_767_225_600 + 3_600,
    });
    assert_eq!(claims, expected);
}

#[tokio::test]
async fn the_engines_receiver_accepts_a_bearer_token_by_the_certificates_as_they_are_published() {
    let shop = Shop::open();
    let host = shop.host().await;
    let answer = get_certificates(&host).await;
    let cache_control = answer.headers()["cache-control"]
        .to_str()
        .unwrap()
        .to_owned();
    let body = answer.bytes().await.unwrap();
    let now = shop.clock.now().seconds();
    let certificates = Certificates::new();
    assert_eq!(certificates.next(now), Next::Fetch);
    let fetched = Fetched {
        body: &body,
        cache_control: Some(&cache_control),
        age: None,
    };
    certificates.fetched(&fetched, now).unwrap();
    let scheme = Scheme::Bearer {
        audience: RECEIVER.to_owned(),
        email: host.app.config.webhooks.service_account_email.clone(),
        issuer: host.app.config.webhooks.issuer.clone(),
    };
    let verifier = WebhookVerifier::new(Options::new(scheme, None)).unwrap();
    let body = br#"{"id":"1","time":"2026-01-01T00:00:00.000Z","type":"a.v1","data":"e30=","dataencoding":"base64"}"#;
    let verify = async |audience: &str| {
        let authorization = format!("Bearer {}", bearer(&host, audience).await);
        let headers = [("authorization", authorization.as_bytes())];
        let delivery = Delivery {
            headers: &headers,
            body,
        };
        verifier.verify(&delivery, &certificates, now)
    };
    assert_eq!(verify(RECEIVER).await.unwrap().data, b"{}");
    let refused = verify("https://wms.example/hook").await;
    assert_eq!(refused, Err(Refusal::WrongAudience));
}

#[tokio::test]
async fn a_certificate_is_self_signed_does_not_expire_and_is_not_the_key_of_access_tokens() {
    let host = Shop::open().host().await;
    let certificates = certificates(&host).await;
    assert_eq!(certificates.len(), 1);
    let (kid, certificate) = certificates.first_key_value().unwrap();
    let content = certificate.tbs_certificate();
    assert_eq!(content.subject().to_string(), "CN=Tillgate webhooks");
    assert_eq!(content.issuer(), content.subject());
    let (text, signature) = (content.to_der().unwrap(), certificate.signature());
    assert!(signs(certificate, &text, signature.raw_bytes()));
    let validity = content.validity();
    assert_eq!(validity.not_before.to_string(), "2025-12-31T00:00:00Z");
    assert_eq!(validity.not_after.to_string(), "9999-12-31T23:59:59Z");
    let (_, keys) = host.get("/.well-known/jwks.json", "").await;
    assert!(!keys.to_string().contains(kid.as_str()));
}

#[tokio::test]
async fn anyone_may_read_the_certificates_and_keep_them_for_an_hour() {
    let host = Shop::open().host().await;
    let answer = get_certificates(&host).await;
    assert_eq!(answer.status(), 200);
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/json");
    assert_eq!(header("cache-control"), "public, max-age=3600");
    let request = host.http.get(format!("{}/oauth2/v1/certs", host.url));
    let request = request.header("if-none-match", header("etag"));
    assert_eq!(read(request.send().await.unwrap()).await.0, 304);
    let published = answer.text().await.unwrap();
    assert!(published.contains("-----BEGIN CERTIFICATE-----\\n"));
    assert!(!published.contains("PRIVATE"));
}

#[tokio::test]
async fn a_new_key_is_published_an_hour_before_it_signs_and_the_old_one_until_its_tokens_expired() {
    let shop = Shop::open();
    let host = shop.host().await;
    let first = kid(&bearer(&host, RECEIVER).await);
    let second = rotated(&host).await;
    let mut both = [first.clone(), second.clone()];
    both.sort();
    assert_eq!(kids(&host).await, both, "at once");
    shop.clock.advance(HOUR);
    assert_eq!(kid(&bearer(&host, RECEIVER).await), first);
    shop.clock.advance(Duration::from_secs(10));
    assert_eq!(kid(&bearer(&host, RECEIVER).await), second);
    assert_eq!(kids(&host).await, both, "the old key's tokens are valid");
    shop.clock.advance(Duration::from_secs(10));
    host.run_due().await;
    shop.clock.advance(HOUR);
    host.run_due().await;
    assert_eq!(kids(&host).await, std::slice::from_ref(&second));
    let stored = Partition::new("identity-provider").unwrap();
    let stored = shop.store.get(&stored, &["keys".to_owned()]).await.unwrap();
    let stored = String::from_utf8_lossy(&stored[0].as_ref().unwrap().value).into_owned();
    assert!(!stored.contains(&first));
}

#[tokio::test]
async fn all_hosts_publish_the_same_bytes_also_after_a_restart() {
    let shop = Shop::open();
    let (one, two) = tokio::join!(shop.host(), shop.host());
    let published = async |host: &Host| get_certificates(host).await.text().await.unwrap();
    let first = published(&one).await;
    assert_eq!(published(&two).await, first);
    let second = rotated(&one).await;
    // A host signs according to the store, even if its memory is older.
    shop.clock.advance(HOUR + Duration::from_secs(10));
    assert_eq!(kid(&bearer(&two, RECEIVER).await), second);
    let both = published(&one).await;
    assert_ne!(both, first);
    assert_eq!(published(&two).await, both);
    drop((one, two));
    shop.clock.advance(Duration::from_secs(5));
    let again = shop.host().await;
    assert_eq!(published(&again).await, both);
    assert_eq!(kid(&bearer(&again, RECEIVER).await), second);
}

#[tokio::test]
async fn a_bearer_token_is_signed_once_for_an_audience_and_renewed_five_minutes_before_it_expires()
{
    let shop = Shop::open();
    let host = shop.host().await;
    let all = (0..64).map(|_| bearer(&host, RECEIVER));
    let all = futures_util::future::join_all(all).await;
    let token = Arc::clone(&all[0]);
    assert!(all.iter().all(|other| Arc::ptr_eq(other, &token)), "once");
    let other = bearer(&host, "https://wms.example/hook").await;
    assert_eq!(part(&other, 1)["aud"], "https://wms.example/hook");
    shop.clock.advance(HOUR - Duration::from_secs(301));
    assert_eq!(bearer(&host, RECEIVER).await, token);
    shop.clock.advance(Duration::from_secs(1));
    let renewed = bearer(&host, RECEIVER).await;
    assert_ne!(renewed, token);
    assert_eq!(part(&renewed, 1)["iat"], shop.clock.now().seconds());
    // Setting the clock back does not make a token last longer.
    shop.clock.advance(Duration::from_secs(60));
    let later = shop.clock.now();
    shop.clock.set(later.minus(2 * HOUR));
    let earlier = bearer(&host, RECEIVER).await;
    assert_eq!(part(&earlier, 1)["exp"], later.seconds() - 3_600);
}

#[tokio::test]
async fn the_service_account_is_as_configured_and_its_id_follows_from_its_address() {
    let shop = Shop::open();
    let started = async |email: &str, id: &str| {
        let (store, clock) = (shop.store.clone(), shop.clock.clone());
        let host = Host::start_configured(store, clock, |config| {
            config.webhooks.issuer = "https://id.shop.example".to_owned();
            config.webhooks.service_account_email = email.to_owned();
            config.webhooks.service_account_id = id.to_owned();
        });
        part(&bearer(&host.await, RECEIVER).await, 1)
    };
    let claims = started("a@shop.example", "").await;
    assert_eq!(claims["iss"], "https://id.shop.example");
    assert_eq!(claims["email"], "a@shop.example");
    assert_eq!(claims["sub"], started("a@shop.example", "").await["sub"]);
    assert_ne!(claims["sub"], started("b@shop.example", "").await["sub"]);
    let claims = started("a@shop.example", "4711").await;
    assert_eq!(
        (&claims["sub"], &claims["azp"]),
        (&json!("4711"), &json!("4711"))
    );
}

#[tokio::test]
async fn the_keys_are_the_platforms() {
    let host = Shop::open().host().await;
    let admin = host.token("acme", &["iam.admin"]).await;
    let operator = host.token("platform", &["platform.operator"]).await;
    let path = "/v1/webhook-keys";
    assert_eq!(host.get(path, &admin).await.0, 403);
    let (status, keys) = host.get(path, &operator).await;
    assert_eq!(status, 200);
    let kid = kid(&bearer(&host, RECEIVER).await);
    let begun = "2026-01-01T00:00:00.000Z";
    let expected = json!([{ "kid": kid, "status": "signing", "signsFrom": begun }]);
    assert_eq!(keys, expected);
    let rotate = format!("{path}/rotate");
    let refused = host.send(Method::POST, &rotate, &admin, &Value::Null).await;
    assert_eq!(refused.0, 403);
    rotated(&host).await;
    let again = host.send(Method::POST, &rotate, &operator, &Value::Null);
    assert_eq!(again.await.0, 409);
}
