//! An identity provider: it signs users' tokens with its own keys, and serves its JWK set on a free port.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64URL;
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tillgate_base::config::TrustedIssuer;
use tillgate_store::clock::Timestamp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The answer at the address of the JWK set.
#[derive(Clone)]
pub enum Answer {
    Status(u16, String),
    /// Sends the head, and then nothing.
    Hang,
}

/// A running provider.
pub struct Issuer {
    pub name: String,
    pub url: String,
    answer: Arc<Mutex<Answer>>,
    requests: Arc<AtomicUsize>,
    open: Arc<watch::Sender<bool>>,
    serving: JoinHandle<()>,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

pub struct SigningKey {
    pub kid: String,
    pub algorithm: Algorithm,
    key: EncodingKey,
}

impl SigningKey {
    pub fn rsa(kid: &str) -> Self {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let der: Pkcs8V1Der<'_> = pair.as_der().unwrap();
        // `jsonwebtoken` takes a PKCS #1 key, which is at the end of the PKCS #8 wrapper.
        let wrapped = der.as_ref();
        let begin = (20..30).find(|at| wrapped[*at..].starts_with(&[0x30, 0x82]));
        Self {
            kid: kid.to_owned(),
            algorithm: Algorithm::RS256,
            key: EncodingKey::from_rsa_der(&wrapped[begin.unwrap()..]),
        }
    }

    pub fn p256(kid: &str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        let der = pair.to_pkcs8v1().unwrap();
        Self {
            kid: kid.to_owned(),
            algorithm: Algorithm::ES256,
            key: EncodingKey::from_ec_der(der.as_ref()),
        }
    }

    pub fn jwk(&self) -> Value {
        let jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        let mut jwk = serde_json::to_value(jwk).unwrap();
        jwk["kid"] = json!(self.kid);
        jwk["use"] = json!("sig");
        jwk
    }

    pub fn sign(&self, claims: &Value) -> String {
        self.sign_as(self.algorithm, claims)
    }

    /// Signs the text of claims unchanged.
    pub fn sign_raw(&self, claims: &str) -> String {
        let header = json!({ "alg": self.algorithm, "kid": self.kid }).to_string();
        self.sign_text(&header, claims)
    }

    /// Signs claims under the text of a header.
    pub fn sign_with(&self, header: &str, claims: &Value) -> String {
        self.sign_text(header, &claims.to_string())
    }

    fn sign_text(&self, header: &str, claims: &str) -> String {
        let text = format!("{}.{}", BASE64URL.encode(header), BASE64URL.encode(claims));
        let signature = jsonwebtoken::crypto::sign(text.as_bytes(), &self.key, self.algorithm);
        format!("{text}.{}", signature.unwrap())
    }

    pub fn sign_as(&self, algorithm: Algorithm, claims: &Value) -> String {
        let mut header = Header::new(algorithm);
        header.kid = Some(self.kid.clone());
        jsonwebtoken::encode(&header, claims, &self.key).unwrap()
    }
}

/// Returns a token with an HMAC, whatever its header says.
pub fn hmac(header: &str, claims: &str, secret: &str) -> String {
    let text = format!("{}.{}", BASE64URL.encode(header), BASE64URL.encode(claims));
    let key = EncodingKey::from_secret(secret.as_bytes());
    let signature = jsonwebtoken::crypto::sign(text.as_bytes(), &key, Algorithm::HS256);
    format!("{text}.{}", signature.unwrap())
}

pub fn set(keys: &[Value]) -> String {
    json!({ "keys": keys }).to_string()
}

impl Issuer {
    pub async fn start(keys: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answer = Arc::new(Mutex::new(Answer::Status(200, set(keys))));
        let requests = Arc::new(AtomicUsize::new(0));
        let open = Arc::new(watch::Sender::new(true));
        let (answers, counts, opens) = (answer.clone(), requests.clone(), open.clone());
        let serving = tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                counts.fetch_add(1, Ordering::SeqCst);
                let answer = answers.lock().unwrap().clone();
                let mut opens = opens.subscribe();
                tokio::spawn(async move {
                    let mut head = [0; 4096];
                    let _ = socket.read(&mut head).await;
                    let _ = opens.wait_for(|open| *open).await;
                    let (status, body) = match answer {
                        Answer::Status(status, body) => (status, body),
                        Answer::Hang => (200, String::new()),
                    };
                    let hangs = matches!(status, 200) && body.is_empty();
                    let length = if hangs { 10 } else { body.len() };
                    let reply = format!(
                        "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nlocation: /elsewhere\r\nconnection: close\r\n\r\n{body}"
                    );
                    let _ = socket.write_all(reply.as_bytes()).await;
                    if hangs {
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Self {
            name: format!("https://login.example/{}", address.port()),
            url: format!("http://{address}/jwks.json"),
            answer,
            requests,
            open,
            serving,
        }
    }

    /// Returns how many times its JWK set was requested.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    pub fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    pub fn publishes(&self, keys: &[Value]) {
        self.answers(Answer::Status(200, set(keys)));
    }

    /// Holds requests, or releases them.
    pub fn holds(&self, holds: bool) {
        self.open.send_replace(!holds);
    }

    /// Returns the setting that trusts it: shop admins may write conditions, for any tenant.
    pub fn trusted(&self) -> TrustedIssuer {
        TrustedIssuer {
            issuer: self.name.clone(),
            jwks: self.url.clone(),
            audiences: vec!["tillgate".to_owned(), "till".to_owned()],
            tenant_claim: "https://example.com/tenant".to_owned(),
            permissions_claim: Some("permissions".to_owned()),
            groups_claim: Some("groups".to_owned()),
            groups: BTreeMap::from([(
                "shop-admins".to_owned(),
                vec!["ecs.editor".to_owned(), "night-shift".to_owned()],
            )]),
            tenants: Vec::new(),
        }
    }

    /// Returns the claims of a shop admin's token.
    pub fn claims(&self, now: Timestamp) -> Value {
        json!({
            "iss": self.name, "aud": "tillgate", "sub": "anna", "iat": now.seconds(),
            "exp": now.seconds() + 600, "https://example.com/tenant": "shop", "groups": ["shop-admins", "staff"],
        })
    }
}
