//! A software statement: an administrator's statement about future clients, compared with a client's own claims.
//!
//! A statement is a JWT that a client presents when it registers. Its record decides: the text must be, byte for byte,
//! the one that this service signed and stored the SHA-256 of. That proves all that the signature proves, costs less,
//! ends when the statement is withdrawn, and outlives the key that signed it, which is removed an hour after the next
//! one signs. Other services can verify the signature with the JWKS as long as the key is published. This module is
//! pure.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tillgate_api::schema::{time, uuid};
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::TenantId;
use tillgate_base::identity::{Permission, Permissions};
use tillgate_engine::Fault;
use tillgate_store::clock::Timestamp;
use uuid::Uuid;

use super::Registration;
use super::client_id::{Claims, Software};
use super::members::{claims_schema, name_schema};

/// The `typ` of a statement's header: no access token has it, so neither can be taken for the other.
pub(super) const TYPE: &str = "software-statement+jwt";

/// The default lifetime of a statement: long enough to install a shop's tills.
pub(super) const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

pub(super) const MAX_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The longest text that is read as a statement, in bytes: far longer than any statement.
pub(super) const MAX_TEXT: usize = 8 << 10;

/// The path of a statement in a registration.
const PATH: &str = "$.softwareStatement";

/// A statement to create.
#[derive(Clone, Debug)]
pub struct NewStatement {
    /// The software whose clients it is for.
    pub software: Software,
    /// `true` if they use the global template, `false` for their tenant's.
    pub using_global_template: bool,
    /// Claims that they have.
    pub claims: Claims,
    /// `true` if they are authorized at once.
    pub auto_approve: bool,
    /// The time for which it is valid.
    pub lifetime: Duration,
}

/// A statement as it is stored.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Statement {
    pub(super) software: Software,
    pub(super) using_global_template: bool,
    pub(super) claims: Claims,
    /// The platform-only permissions that its clients get without further approval; `None` if its clients stay pending.
    pub(super) approves: Option<Vec<String>>,
    pub(super) issued: Timestamp,
    pub(super) until: Timestamp,
    /// The SHA-256 of its text, hexadecimal.
    pub(super) sha256: String,
}

/// The claims of a statement, named as in a registration.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatementClaims<'a> {
    pub(super) iss: &'a str,
    pub(super) aud: &'a str,
    pub(super) jti: &'a str,
    pub(super) iat: u64,
    pub(super) nbf: u64,
    pub(super) exp: u64,
    pub(super) tenant_id: &'a TenantId,
    pub(super) software_id: &'a str,
    pub(super) software_version: &'a str,
    pub(super) using_global_template: bool,
    pub(super) claims: &'a Claims,
    pub(super) auto_approve: bool,
}

/// Returns the names of the permissions that only the platform's own clients may have.
pub(super) fn platform_only(permissions: Permissions) -> impl Iterator<Item = &'static str> {
    let reserved = permissions.iter().filter(|one| one.platform_only());
    reserved.map(Permission::as_str)
}

/// Returns the digest of a statement's text, as it is stored.
pub(super) fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// Returns the tenant and the id that a text claims to have. Neither is trusted before the text is compared with the
/// record.
pub(super) fn claimed_id(text: &str) -> Option<(TenantId, Uuid)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct UnverifiedClaims {
        tenant_id: String,
        jti: String,
    }
    let payload = text.split('.').nth(1)?;
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims: UnverifiedClaims = serde_json::from_slice(&payload).ok()?;
    let jti = Uuid::try_parse(&claims.jti).ok()?;
    Some((TenantId::new(&claims.tenant_id)?, jti))
}

/// Returns one error for everything that is not a valid statement, so as not to reveal which statements exist.
pub(super) fn unknown_statement() -> Error {
    let rule = "is not a statement of this service, was withdrawn, or has expired";
    Error::invalid(PATH, rule)
}

impl Statement {
    /// Returns whether it has not expired.
    pub(super) fn is_valid(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// Returns the claims of a client that registers with this statement of a tenant: its own, and those of the
    /// statement that it left out.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming every difference.
    pub(super) fn merge_claims(&self, tenant: &TenantId, client: &Registration) -> Result<Claims> {
        let same = [
            ("softwareId", self.software.id == client.software.id),
            (
                "softwareVersion",
                self.software.version == client.software.version,
            ),
            (
                "usingGlobalTemplate",
                self.using_global_template == client.using_global_template,
            ),
            ("tenantId", *tenant == client.tenant),
        ];
        let differing = same.iter().filter(|(_, same)| !same);
        let mut paths: Vec<String> = differing.map(|(name, _)| format!("$.{name}")).collect();
        let mut claims = self.claims.clone();
        for (name, claim) in &client.claims {
            let stated = claims.insert(name.clone(), claim.clone());
            if stated.is_some_and(|stated| stated != *claim) {
                paths.push(format!("$.claims.{name}"));
            }
        }
        if paths.is_empty() {
            return Ok(claims);
        }
        let fault = |path| Fault {
            path,
            message: "differs from the software statement".into(),
        };
        Err(Error::Invalid(paths.into_iter().map(fault).collect()))
    }

    /// Returns whether a client that would get these permissions is authorized at once.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it would get more platform-only permissions than the statement approves, because the
    /// template or a role has changed since.
    pub(super) fn approves(&self, permissions: Permissions) -> Result<bool> {
        let Some(approved) = &self.approves else {
            return Ok(false);
        };
        if platform_only(permissions).all(|name| approved.iter().any(|approved| approved == name)) {
            return Ok(true);
        }
        let rule = "approves less than the template gives now: make a new one";
        Err(Error::invalid(PATH, rule))
    }

    /// Returns the statement with this id in the form in which it is answered.
    pub(super) fn answered(self, jti: &str) -> AnsweredStatement {
        AnsweredStatement {
            auto_approve: self.approves.is_some(),
            claims: self.claims,
            expires_at: self.until.to_millis_text(),
            issued_at: self.issued.to_millis_text(),
            jti: jti.to_owned(),
            software_id: self.software.id,
            software_version: self.software.version,
            using_global_template: self.using_global_template,
        }
    }
}

/// A software statement, without its text.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SoftwareStatement")]
pub struct AnsweredStatement {
    auto_approve: bool,
    #[schemars(schema_with = "claims_schema")]
    claims: Claims,
    #[schemars(schema_with = "time")]
    expires_at: String,
    #[schemars(schema_with = "time")]
    issued_at: String,
    #[schemars(schema_with = "uuid")]
    jti: String,
    #[schemars(schema_with = "name_schema")]
    software_id: String,
    #[schemars(schema_with = "name_schema")]
    software_version: String,
    using_global_template: bool,
}
