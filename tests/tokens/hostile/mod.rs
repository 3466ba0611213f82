//! Hostile requests to the token service: one table for each subject, with requests and their expected answers.

mod bearer;
mod claims;
mod credentials;
mod form;
mod registration;
mod signature;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaEncoding};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};

use super::fixture::{Answer, Forge, Service, part};
use crate::support::wire::{Headers, Response, message, send, send_one};

// The reasons for refusing an access token.
const NO_TOKEN: &str = "a bearer token is needed";
const NOT_BEARER: &str = "the Authorization header must hold one bearer token";
const LONG: &str = "the token is longer than 12 KiB";
const NOT_JWS: &str = "the token is not a signed JWT";
const HEADER: &str = "the token's header is malformed";
const CRITICAL: &str = "the token's header has critical members that are not supported";
const TYPE: &str = "the token has the wrong type";
const ALGORITHM: &str = "the token's alg is not RS256";
const KEY: &str = "the token's kid is unknown";
const SIGNATURE: &str = "the token's signature is invalid";
const CLAIMS: &str = "the token's claims are malformed";
const ISSUER: &str = "the token's iss is not an issuer that is trusted here";
const AUDIENCE: &str = "the token is for another audience";
const EXPIRED: &str = "the token has expired";
const EARLY: &str = "the token is not valid yet";
const SUBJECT: &str = "the token's sub is not its client_id";
const UNAUTHORIZED: &str = "the token's client is not authorized";
const GONE: &str = "the token's client no longer exists";

/// A request with its expected answer.
#[derive(Clone)]
struct Case {
    name: String,
    request: Vec<u8>,
    status: u16,
    /// The error's sentence; at the token endpoint it follows the code. Empty if there is none.
    error: String,
}

/// Returns the rows of a table that expect the same answer; each has a name and the input of its request.
fn rows<N: Into<String>, I>(
    status: u16,
    error: &str,
    inputs: impl IntoIterator<Item = (N, I)>,
    request: impl Fn(I) -> Vec<u8>,
) -> Vec<Case> {
    let row = |(name, input): (N, I)| Case {
        name: name.into(),
        request: request(input),
        status,
        error: error.to_owned(),
    };
    inputs.into_iter().map(row).collect()
}

/// Returns a request to a protected route with these headers.
fn get(headers: Headers<'_>) -> Vec<u8> {
    message("GET /v1/tenants", headers, "")
}

/// Returns a request to a protected route with a token.
fn bearer(token: impl AsRef<str>) -> Vec<u8> {
    get(&[("authorization", &format!("Bearer {}", token.as_ref()))])
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        Self {
            status: response.status,
            headers: response.headers,
            body: serde_json::from_str(&response.body).unwrap_or_default(),
        }
    }
}

impl Service {
    /// Sends raw bytes on a new connection; returns the only answer.
    async fn send_bytes(&self, request: &[u8]) -> Answer {
        send_one(&self.host.url, request).await.into()
    }

    /// Sends raw bytes on a new connection; returns all answers.
    async fn send_all(&self, requests: &[u8]) -> Vec<Answer> {
        let responses = send(&self.host.url, requests).await;
        responses.into_iter().map(Answer::from).collect()
    }

    /// Asserts that a protected route answers each case as expected.
    async fn assert_each(&self, cases: Vec<Case>) {
        for case in cases {
            let answer = self.send_bytes(&case.request).await;
            assert_eq!(answer.status, case.status, "{}: {}", case.name, answer.body);
            if case.status == 401 {
                assert_unauthenticated(&answer, &case.error, &case.name);
            }
        }
    }

    /// Asserts that a token is refused with this error.
    async fn assert_refused(&self, token: &str, error: &str, name: &str) {
        let refused = rows(401, error, [(name, token)], bearer);
        self.assert_each(refused).await;
    }
}

/// Asserts a complete refusal: `tokens.md`, "Verifying a caller", and RFC 9457.
fn assert_unauthenticated(answer: &Answer, error: &str, name: &str) {
    let header = |name| answer.header(name);
    let challenge = Some("Bearer error=\"invalid_token\"");
    assert_eq!(header("www-authenticate"), challenge, "{name}");
    assert_eq!(header("cache-control"), Some("no-store"), "{name}");
    let media_type = Some("application/problem+json");
    assert_eq!(header("content-type"), media_type, "{name}");
    let instance = format!("urn:uuid:{}", header("correlation-id").unwrap());
    let problem = json!({
        "type": "about:blank", "title": "Unauthorized", "status": 401, "detail": error, "instance": instance,
        "statusCode": 401, "code": "unauthenticated", "error": "Unauthorized", "message": error,
    });
    assert_eq!(answer.body, problem, "{name}");
}

/// Asserts a complete answer of the token endpoint: `tokens.md`, "POST /oauth2/token".
fn assert_answer(answer: &Answer, status: u16, error: &str, name: &str) {
    assert_eq!(answer.status, status, "{name}: {}", answer.body);
    let header = |name| answer.header(name);
    assert_eq!(header("content-type"), Some("application/json"), "{name}");
    assert_eq!(header("cache-control"), Some("no-store"), "{name}");
    assert_eq!(header("pragma"), Some("no-cache"), "{name}");
    let challenge = (status == 401).then_some("Basic realm=\"tillgate\"");
    assert_eq!(header("www-authenticate"), challenge, "{name}");
    assert_eq!(header("allow"), (status == 405).then_some("POST"), "{name}");
    let waits = matches!(status, 429 | 503);
    assert_eq!(header("retry-after").is_some(), waits, "{name}");
    if status == 200 {
        assert!(answer.body["access_token"].is_string(), "{name}");
        return;
    }
    assert_eq!(answer.body.as_object().unwrap().len(), 2, "{name}");
    let text = |member: &str| answer.body[member].as_str().unwrap();
    let (code, description) = (text("error"), text("error_description"));
    assert_eq!(format!("{code}: {description}"), error, "{name}");
    let fits = |c| matches!(c, ' '..='~') && c != '"' && c != '\\';
    assert!(description.chars().all(fits), "{name}: {description}");
}

/// A service with one of its valid tokens, and the means to make others with its key.
struct Forgery {
    service: Service,
    forge: Forge,
    good: String,
    header: Value,
    claims: Value,
}

impl Forgery {
    async fn start() -> Self {
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

    /// Returns the parts of the valid token.
    fn parts(&self) -> [&str; 3] {
        let parts: Vec<&str> = self.good.split('.').collect();
        parts.try_into().expect("three parts")
    }

    /// Returns the valid header with another member.
    fn with(&self, member: &str, value: Value) -> Value {
        let mut header = self.header.clone();
        header[member] = value;
        header
    }

    /// Returns the valid claims under another header, signed with the service's key.
    fn under(&self, header: &Value) -> String {
        let claims = self.claims.to_string();
        self.forge.sign(&header.to_string(), &claims)
    }

    /// Returns claims under the valid header, signed with the service's key.
    fn of(&self, claims: &Value) -> String {
        let header = self.header.to_string();
        self.forge.sign(&header, &claims.to_string())
    }

    /// Returns two parts unchanged, signed with the service's key.
    fn signed(&self, header: &str, payload: &str) -> String {
        self.signed_as(&RSA_PKCS1_SHA256, &format!("{header}.{payload}"))
    }

    fn signed_as(&self, scheme: &'static dyn RsaEncoding, text: &str) -> String {
        let mut signature = vec![0; self.forge.pair.public_modulus_len()];
        let rng = SystemRandom::new();
        let pair = &self.forge.pair;
        pair.sign(scheme, &rng, text.as_bytes(), &mut signature)
            .unwrap();
        format!("{text}.{}", BASE64URL.encode(signature))
    }
}
