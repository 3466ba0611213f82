//! From a secret to a token: what `POST /oauth2/token` decides, in the order of `tokens.md`'s table.
//!
//! No credentials, an unknown client, a wrong secret and a status that is not `Authorized` are one refusal, after the
//! same work: a record is read from the store, parsed and compared for each. Statuses and headers are `http.rs`'s.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::client::{Client, Pepper, Status, random_secret};
use super::client_id::{Claim, MAX_ID, Software};
use super::form::{Form, Shown};
use super::keyring::Published;
use super::keys::TOKEN_LIFE;
use super::tenant::TenantId;
use super::{Tokens, client_key};
use crate::config::Config;
use crate::error::{Error, Result};

/// The largest body of a token request: 8 KiB.
pub const MAX_FORM: usize = 8 << 10;

/// Why there is no token.
#[derive(Debug)]
pub enum Refusal {
    /// The request is not one.
    Malformed(String),
    /// The client is not known, has not shown its secret, or may not have a token.
    UnknownClient,
    /// Another grant than `client_credentials` was asked for.
    UnsupportedGrant,
    /// The audience is not the one that this says is needed.
    Audience(String),
    /// A scope was asked for; there are none.
    Scope,
    /// Too many wrong secrets in a row.
    TooMany(Duration),
    /// Nothing the client did.
    Failed(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A token, as it is answered (`given.md` 2.6).
#[derive(Clone, Debug, Serialize)]
pub struct Issued {
    access_token: String,
    expires_in: u64,
    scope: &'static str,
    token_type: &'static str,
}

/// Exactly the claims of `given.md` 2.6.
#[derive(Serialize)]
struct TokenClaims<'a> {
    aud: [&'a str; 1],
    client_id: &'a str,
    exp: u64,
    ext: BTreeMap<(), ()>,
    iat: u64,
    iss: &'a str,
    jti: &'a str,
    nbf: u64,
    scp: [&'a str; 0],
    sub: &'a str,
}

impl Tokens {
    /// Answers a token request: its form, and the credentials of its header.
    ///
    /// # Errors
    /// Why not.
    pub async fn issue(
        &self,
        shown: Option<Shown>,
        form: &[u8],
        peer: IpAddr,
    ) -> Result<Issued, Refusal> {
        let form = Form::parse(form)?;
        let shown = form.check_authentication(shown)?;
        let client = self.authenticate(shown, peer).await?;
        match form.get("grant_type") {
            Some("client_credentials") => {}
            Some(_) => return Err(Refusal::UnsupportedGrant),
            None => return Err(Refusal::Malformed("grant_type is missing".to_owned())),
        }
        if form.get("audience") != Some(&self.audience) {
            return Err(Refusal::Audience(self.audience.clone()));
        }
        if form.get("scope").is_some_and(|scope| !scope.is_empty()) {
            return Err(Refusal::Scope);
        }
        Ok(self.token(&client).await?)
    }

    /// The client whose credentials are shown, when it may have a token.
    async fn authenticate(&self, shown: Option<Shown>, peer: IpAddr) -> Result<Client, Refusal> {
        let now = self.clock.now();
        let counted = shown.is_some();
        let Shown { id, secret } = shown.unwrap_or_default();
        if counted && let Some(wait) = self.wrong_secrets.wait(&id, peer, now) {
            return Err(Refusal::TooMany(wait));
        }
        // What is no id is looked up all the same, under a name that no client has.
        let key = client_key(if is_id(&id) { &id } else { "." });
        let entry = self.ledger.entries(&[key]).await?.pop().flatten();
        let known = entry.is_some();
        let record = entry.map_or_else(|| self.nobody.clone(), |entry| entry.value);
        let client: Client = serde_json::from_slice(&record)
            .map_err(|cause| Error::Bug(format!("a client is damaged: {cause}")))?;
        let right = self.pepper.opens(&client.secrets, &secret, now) & known;
        if counted {
            self.wrong_secrets.note(&id, peer, now, right);
        }
        if right && client.status == Status::Authorized {
            return Ok(client);
        }
        tracing::debug!(client = id, %peer, "a token was refused");
        Err(Refusal::UnknownClient)
    }

    async fn token(&self, client: &Client) -> Result<Issued> {
        let now = self.clock.now();
        let iat = now.seconds();
        let mut jti = Uuid::encode_buffer();
        let claims = TokenClaims {
            aud: [&self.audience],
            client_id: &client.id,
            exp: iat.saturating_add(TOKEN_LIFE.as_secs()),
            ext: BTreeMap::new(),
            iat,
            iss: &self.issuer,
            jti: Uuid::new_v4().hyphenated().encode_lower(&mut jti),
            nbf: iat,
            scp: [],
            sub: &client.id,
        };
        let access_token = self.sign("JWT", &claims).await?;
        let expires_in = TOKEN_LIFE.as_secs();
        Ok(Issued {
            access_token,
            expires_in,
            scope: "",
            token_type: "bearer",
        })
    }

    /// A JWT of some claims and of a type, signed with the key that signs now.
    pub(super) async fn sign(&self, typ: &'static str, claims: &impl Serialize) -> Result<String> {
        let key = self.registry.keys().signing(self.clock.now()).cloned();
        let key = key.ok_or_else(|| Error::Bug("there is no signing key".to_owned()))?;
        let claims = serde_json::to_vec(claims).map_err(|cause| Error::Bug(cause.to_string()))?;
        self.signers.sign(key, typ, claims).await
    }
}

fn is_id(text: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    (1..=MAX_ID).contains(&text.len()) && text.bytes().all(allowed)
}

/// The record of a client that is not there, like those that are.
pub(super) fn nobody(platform: &TenantId) -> Result<Bytes> {
    let text = |text: &str| Claim::Text(text.to_owned());
    let claims = [
        ("business_unit_id", "0000"),
        ("iso_cc", "XX"),
        ("workstation_id", "0000"),
    ];
    let nobody = Client {
        id: "x".repeat(140),
        tenant: platform.clone(),
        software: Software {
            id: "nobody".to_owned(),
            version: "0".to_owned(),
        },
        claims: claims
            .map(|(name, value)| (name.to_owned(), text(value)))
            .into(),
        roles: vec!["ecs.evaluator".to_owned()],
        status: Status::Authorized,
        registered: crate::clock::Timestamp(1_700_000_000_000_000),
        pending_until: None,
        secrets: vec![Pepper::new(b"nobody").seal(&random_secret()?)],
    };
    let json = serde_json::to_vec(&nobody).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(json.into())
}

/// Where clients register.
pub(super) fn registration_endpoint(config: &Config) -> String {
    config.public_url() + "/v1/registration"
}

/// The metadata of RFC 8414.
pub(super) fn metadata(config: &Config) -> Published {
    let url = config.public_url();
    Published::new(&json!({
        "issuer": config.issuer(),
        "token_endpoint": format!("{url}/oauth2/token"),
        "jwks_uri": format!("{url}/.well-known/jwks.json"),
        "registration_endpoint": registration_endpoint(config),
        "grant_types_supported": ["client_credentials"],
        "response_types_supported": [],
        "scopes_supported": [],
        "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    }))
}
