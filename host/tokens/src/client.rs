//! A client: its record, the changes of its status, and its hashed secrets.
//!
//! This module is pure: nothing here reads or writes the store. Secrets are random, so a slow password hash would gain
//! nothing and delay every token: a keyed SHA-256 is stored (`tokens.md`, "client_id").

use std::fmt;
use std::net::IpAddr;

use aws_lc_rs::{hmac, rand};
use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use subtle::{Choice, ConstantTimeEq};
pub use tillgate_api::client_status::{Status, StatusChange};
use tillgate_api::schema::{made_by, tenant_id, time};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{By, DisplayName, Secret, TenantId};
use tillgate_store::clock::Timestamp;

use super::client_id::{Claim, Claims, Software};
use super::members::{
    RoleReference, claims_schema, client_id_schema, name_schema, roles_schema, secret_schema,
};

/// The most secrets of a client that are valid at once: the newest and those it replaced.
pub const MAX_SECRETS: usize = 5;

/// A client as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Client {
    /// Its id.
    pub id: String,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its software.
    pub software: Software,
    /// The claims that it registered with.
    pub claims: Claims,
    /// The roles it has.
    pub roles: Vec<String>,
    /// Its status.
    pub status: Status,
    /// The time of its registration.
    pub registered: Timestamp,
    /// The time at which it is removed unless it was authorized or revoked before.
    pub pending_until: Option<Timestamp>,
    /// The address that it was registered from, while it is pending; for IPv6, the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_from: Option<IpAddr>,
    /// The caller who last changed its roles, status or secret, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified_by: Option<By>,
    /// Its secrets, the newest last.
    pub secrets: Vec<HashedSecret>,
}

/// Returns a client's record without its secrets.
pub(super) fn without_secrets(record: &[u8]) -> Bytes {
    let client = serde_json::from_slice::<Client>(record);
    let client = client.map(|client| Client {
        secrets: Vec::new(),
        ..client
    });
    let record = client.and_then(|client| serde_json::to_vec(&client));
    record.unwrap_or_default().into()
}

impl Client {
    /// Returns whether it still exists. A client that was pending for too long does not, even before it is removed.
    #[must_use]
    pub fn exists(&self, now: Timestamp) -> bool {
        self.pending_until.is_none_or(|until| now < until)
    }

    /// Returns the name that people see: the claim `name` if it is a string, otherwise the software and its version.
    #[must_use]
    pub fn display_name(&self) -> Option<DisplayName> {
        let claimed = match self.claims.get("name") {
            Some(Claim::Text(name)) => DisplayName::new(name),
            _ => None,
        };
        let Software { id, version } = &self.software;
        claimed.or_else(|| DisplayName::new(&format!("{id} {version}")))
    }

    /// Returns the business unit that it has registered for, if its claims name one.
    #[must_use]
    pub fn business_unit(&self) -> Option<&str> {
        match self.claims.get("business_unit_id") {
            Some(Claim::Text(unit) | Claim::Number(unit)) => Some(unit),
            _ => None,
        }
    }

    /// Adds a secret. Earlier secrets stay valid until `overlap_end` at the latest.
    pub fn renew_secret(&mut self, secret: HashedSecret, now: Timestamp, overlap_end: Timestamp) {
        for old in &mut self.secrets {
            old.until = Some(
                old.until
                    .map_or(overlap_end, |until| until.min(overlap_end)),
            );
        }
        self.secrets
            .retain(|old| old.until.is_none_or(|until| now < until));
        self.secrets.push(secret);
        let surplus = self.secrets.len().saturating_sub(MAX_SECRETS);
        self.secrets.drain(..surplus);
    }
}

/// A client.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Client")]
pub struct AnsweredClient {
    #[schemars(schema_with = "claims_schema")]
    claims: Claims,
    #[schemars(schema_with = "client_id_schema")]
    client_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "made_by")]
    last_modified_by: Option<By>,
    #[schemars(schema_with = "time")]
    registered_at: String,
    /// The address that it registered from, while it is pending; for IPv6, the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("examples" = ["192.0.2.7"]))]
    registered_from: Option<IpAddr>,
    #[schemars(schema_with = "roles_schema")]
    roles: Vec<RoleReference>,
    #[schemars(schema_with = "name_schema")]
    software_id: String,
    #[schemars(schema_with = "name_schema")]
    software_version: String,
    status: Status,
    #[schemars(schema_with = "tenant_id")]
    tenant_id: TenantId,
}

/// The answer never contains a secret.
impl From<Client> for AnsweredClient {
    fn from(client: Client) -> Self {
        let roles = client.roles.into_iter().map(RoleReference::new);
        Self {
            claims: client.claims,
            client_id: client.id,
            last_modified_by: client.last_modified_by,
            registered_at: client.registered.to_millis_text(),
            registered_from: client.pending_from,
            roles: roles.collect(),
            software_id: client.software.id,
            software_version: client.software.version,
            status: client.status,
            tenant_id: client.tenant,
        }
    }
}

/// A client's id, and its new secret.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ClientCredentials")]
pub struct Credentials {
    /// The id.
    #[schemars(schema_with = "client_id_schema")]
    pub client_id: String,
    /// The secret. No later answer contains it.
    #[schemars(schema_with = "secret_schema")]
    pub client_secret: Secret,
}

/// The hash of a secret.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HashedSecret {
    /// HMAC-SHA-256 under the pepper, hexadecimal.
    hash: String,
    /// The time until which it is valid; `None` for the newest.
    until: Option<Timestamp>,
}

/// The key that secrets are hashed with. It has a record of its own in the store.
pub struct Pepper(hmac::Key);

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper")
    }
}

impl Pepper {
    /// Creates the pepper from these bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Hashes a secret that is valid until it is replaced.
    #[must_use]
    pub fn hash_secret(&self, secret: &Secret) -> HashedSecret {
        HashedSecret {
            hash: self.hash(secret),
            until: None,
        }
    }

    /// Returns whether a secret is one of those that are valid now. The work is the same for any number of secrets,
    /// including none, and wherever they differ.
    #[must_use]
    pub fn matches(&self, secrets: &[HashedSecret], presented: &Secret, now: Timestamp) -> bool {
        let presented = self.hash(presented);
        let padding = HashedSecret {
            hash: "0".repeat(64),
            until: Some(Timestamp(0)),
        };
        let padded = secrets
            .iter()
            .chain(std::iter::repeat(&padding))
            .take(MAX_SECRETS);
        let matched = padded.fold(Choice::from(0), |matched, secret| {
            let is_valid = u8::from(secret.until.is_none_or(|until| now < until));
            matched | (secret.hash.as_bytes().ct_eq(presented.as_bytes()) & Choice::from(is_valid))
        });
        matched.into()
    }

    fn hash(&self, secret: &Secret) -> String {
        hex::encode(hmac::sign(&self.0, secret.reveal().as_bytes()))
    }
}

/// Returns 32 random bytes as 64 lowercase hexadecimal digits: a secret, or the pepper.
///
/// # Errors
/// When the system has no random numbers.
pub fn random_secret() -> Result<Secret> {
    let mut bytes = [0; 32];
    rand::fill(&mut bytes)
        .map_err(|_| Error::Bug("the system has no random numbers".to_owned()))?;
    Ok(Secret::new(hex::encode(bytes)))
}
