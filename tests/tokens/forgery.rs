//! Tokens that the service did not make, though its own key may have signed them, and what they are answered.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaEncoding};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};

use super::fixture::{Answer, Forge, Service, part};
use super::wire::message;

/// A service with a token of its own that is good, and the means to make others.
pub struct Forgery {
    pub service: Service,
    pub forge: Forge,
    pub good: String,
    pub header: Value,
    pub claims: Value,
}

impl Forgery {
    pub async fn start() -> Self {
        let service = Service::start().await;
        let good = service.operator().await;
        Self {
            forge: service.forge().await,
            header: part(&good, 0),
            claims: part(&good, 1),
            good,
            service,
        }
    }

    /// The good header with another member.
    pub fn with(&self, member: &str, value: Value) -> Value {
        let mut header = self.header.clone();
        header[member] = value;
        header
    }

    /// The good claims under another header, signed with the service's key.
    pub fn under(&self, header: &Value) -> String {
        self.forge
            .sign(&header.to_string(), &self.claims.to_string())
    }

    /// Two parts as they are, signed with the service's key.
    pub fn signed(&self, header: &str, payload: &str) -> String {
        self.signed_as(&RSA_PKCS1_SHA256, &format!("{header}.{payload}"))
    }

    pub fn signed_as(&self, scheme: &'static dyn RsaEncoding, text: &str) -> String {
        let mut signature = vec![0; self.forge.pair.public_modulus_len()];
        let rng = SystemRandom::new();
        self.forge
            .pair
            .sign(scheme, &rng, text.as_bytes(), &mut signature)
            .unwrap();
        format!("{text}.{}", BASE64URL.encode(signature))
    }

    pub async fn assert_each_refused(&self, rows: Vec<(&str, String, &str)>) {
        assert_eq!(self.service.status_of(&self.good).await.0, 200);
        for (case, token, why) in rows {
            assert_refused(&self.service, &token, why, case).await;
        }
    }
}

/// Asserts the whole of a refusal: `tokens.md`, "Verifying a caller", and RFC 9457.
pub fn assert_unauthenticated(answer: &Answer, why: &str, case: &str) {
    assert_eq!(answer.status, 401, "{case}: {}", answer.body);
    let header = |name| answer.header(name);
    let challenge = Some("Bearer error=\"invalid_token\"");
    assert_eq!(header("www-authenticate"), challenge, "{case}");
    assert_eq!(header("cache-control"), Some("no-store"), "{case}");
    let media_type = Some("application/problem+json");
    assert_eq!(header("content-type"), media_type, "{case}");
    let instance = format!("urn:uuid:{}", header("correlation-id").unwrap());
    let problem = json!({
        "type": "about:blank", "title": "Unauthorized", "status": 401, "detail": why, "instance": instance,
        "statusCode": 401, "error": "Unauthorized", "message": why,
    });
    assert_eq!(answer.body, problem, "{case}");
}

/// Asserts that a token names nobody, and why.
pub async fn assert_refused(service: &Service, token: &str, why: &str, case: &str) {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let request = message("GET /v1/tenants", &headers, "");
    assert_unauthenticated(&service.send_bytes(&request).await, why, case);
}
