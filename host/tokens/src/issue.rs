//! Issues tokens for secrets: the decisions of `POST /oauth2/token`, in the order of the table in `tokens.md`.
//!
//! Missing credentials, an unknown client, a wrong secret and a status other than `Authorized` get the same refusal
//! after the same work: in each case a record is read from the store, parsed and compared.

use std::collections::BTreeMap;
use std::net::IpAddr;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_base::config::Config;
use tillgate_base::data::feed::Subscriber;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::keys::PublicDocument;
use uuid::Uuid;

use super::client::{Client, Pepper, Status, random_secret};
use super::client_id::{Claim, Software, is_id};
use super::form::{BasicCredentials, Form};
use super::token_error::TokenError;
use super::{TOKEN_LIFETIME, Tokens, client_key};

/// The largest body of a token request: 8 KiB.
pub const MAX_FORM: usize = 8 << 10;

// The answer of `given.md` 2.6.
/// An access token.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "IssuedToken")]
pub struct Issued {
    /// A JWT, signed with RS256.
    access_token: String,
    /// The lifetime, in seconds.
    #[schemars(extend("const" = TOKEN_LIFETIME.as_secs()))]
    expires_in: u64,
    #[schemars(extend("const" = ""))]
    scope: &'static str,
    #[schemars(extend("const" = "bearer"))]
    token_type: &'static str,
}

/// The metadata of RFC 8414.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "AuthorizationServerMetadata")]
pub(super) struct Metadata {
    grant_types_supported: Vec<&'static str>,
    issuer: String,
    jwks_uri: String,
    registration_endpoint: String,
    response_types_supported: Vec<&'static str>,
    scopes_supported: Vec<&'static str>,
    token_endpoint: String,
    token_endpoint_auth_methods_supported: Vec<&'static str>,
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
    /// Answers a token request from its form and the credentials of its header.
    ///
    /// # Errors
    /// The reason why no token is issued.
    pub async fn issue(
        &self,
        credentials: Option<BasicCredentials>,
        form: &[u8],
        peer: IpAddr,
    ) -> Result<Issued, TokenError> {
        let form = Form::parse(form)?;
        let credentials = form.credentials(credentials, self.accepts_secret_in_form)?;
        let client = self.authenticate(credentials, peer).await?;
        match form.get("grant_type") {
            Some("client_credentials") => {}
            Some(_) => return Err(TokenError::UnsupportedGrant),
            None => return Err(TokenError::Malformed("grant_type is missing".to_owned())),
        }
        if form.get("audience") != Some(&self.audience) {
            return Err(TokenError::Audience(self.audience.clone()));
        }
        if form.get("scope").is_some_and(|scope| !scope.is_empty()) {
            return Err(TokenError::Scope);
        }
        Ok(self.token(&client).await?)
    }

    /// Returns the client that the credentials belong to, if it may have a token.
    async fn authenticate(
        &self,
        credentials: Option<BasicCredentials>,
        peer: IpAddr,
    ) -> Result<Client, TokenError> {
        let now = self.clock.now();
        let is_counted = credentials.is_some();
        let BasicCredentials { id, secret } = credentials.unwrap_or_default();
        if is_counted && let Some(wait) = self.wrong_secrets.wait(&id, peer, now) {
            return Err(TokenError::TooMany(wait));
        }
        // No tokens are issued while the store is unavailable, even to clients in the snapshot.
        self.registry.ensure_fresh(now).await?;
        // A malformed id costs the same lookup, of a key that no client has.
        let key = client_key(if is_id(&id) { &id } else { "." });
        let entry = self.records.entries(&[key]).await?.pop().flatten();
        let is_known = entry.is_some();
        let record = entry.map_or_else(|| self.absent_client.clone(), |entry| entry.value);
        let client: Client = serde_json::from_slice(&record)
            .map_err(|cause| Error::Bug(format!("a client is damaged: {cause}")))?;
        let is_right = self.pepper.matches(&client.secrets, &secret, now) & is_known;
        if is_counted {
            self.wrong_secrets.record(&id, peer, now, is_right);
        }
        if is_right && client.status == Status::Authorized {
            return Ok(client);
        }
        tracing::debug!(client = id, %peer, "a token was refused");
        Err(TokenError::UnknownClient)
    }

    async fn token(&self, client: &Client) -> Result<Issued> {
        let now = self.clock.now().seconds();
        let mut jti = Uuid::encode_buffer();
        let claims = TokenClaims {
            aud: [&self.audience],
            client_id: &client.id,
            exp: now.saturating_add(TOKEN_LIFETIME.as_secs()),
            ext: BTreeMap::new(),
            // A token older than its client's registration is refused, and a clock that was set back could cause that.
            iat: now.max(client.registered.seconds()),
            iss: &self.issuer,
            jti: Uuid::new_v4().hyphenated().encode_lower(&mut jti),
            nbf: now,
            scp: [],
            sub: &client.id,
        };
        let access_token = self.keys.sign("JWT", &claims).await?;
        let expires_in = TOKEN_LIFETIME.as_secs();
        Ok(Issued {
            access_token,
            expires_in,
            scope: "",
            token_type: "bearer",
        })
    }
}

/// Returns the record of a client that does not exist, with the shape and size of a real one.
pub(super) fn absent_client(platform: &TenantId) -> Result<Bytes> {
    let text = |text: &str| Claim::Text(text.to_owned());
    let claims = [
        ("business_unit_id", "0000"),
        ("iso_cc", "XX"),
        ("workstation_id", "0000"),
    ];
    let client = Client {
        id: "x".repeat(140),
        tenant: platform.clone(),
        software: Software {
            id: "absent".to_owned(),
            version: "0".to_owned(),
        },
        claims: claims
            .map(|(name, value)| (name.to_owned(), text(value)))
            .into(),
        roles: vec!["ecs.evaluator".to_owned()],
        status: Status::Authorized,
        registered: tillgate_store::clock::Timestamp(1_700_000_000_000_000),
        pending_until: None,
        pending_from: None,
        last_modified_by: None,
        secrets: vec![Pepper::new(b"absent").hash_secret(&random_secret()?)],
    };
    let json = serde_json::to_vec(&client).map_err(|cause| Error::Bug(cause.to_string()))?;
    Ok(json.into())
}

pub(super) fn registration_endpoint(config: &Config) -> String {
    config.public_url() + "/v1/registration"
}

pub(super) fn metadata(config: &Config) -> Result<PublicDocument> {
    let url = config.public_url();
    let mut methods = vec!["client_secret_basic"];
    if config.tokens.client_secret_post {
        methods.push("client_secret_post");
    }
    PublicDocument::new(&Metadata {
        grant_types_supported: vec!["client_credentials"],
        issuer: config.issuer(),
        jwks_uri: format!("{url}/.well-known/jwks.json"),
        registration_endpoint: registration_endpoint(config),
        response_types_supported: Vec::new(),
        scopes_supported: Vec::new(),
        token_endpoint: format!("{url}/oauth2/token"),
        token_endpoint_auth_methods_supported: methods,
    })
}
