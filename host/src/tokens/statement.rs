//! A software statement: what an administrator says of clients to come, held against what a client says of itself.
//!
//! A statement is a JWT that its holder shows when it registers. What counts is the record of it: the text shown must be,
//! byte for byte, the text that this service signed and has the SHA-256 of. That says all that a signature says, costs
//! less, ends when the statement is withdrawn, and outlives the key that signed it, which goes an hour after the next
//! one signs. Whoever else looks at a statement checks its signature with the JWKS as long as its key is there.
//! Pure: `statements.rs` keeps them.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use tillgate_engine::Fault;
use uuid::Uuid;

use super::Registration;
use super::client_id::{Claims, Software};
use super::permission::{Permission, Permissions};
use super::tenant::TenantId;
use crate::clock::Timestamp;
use crate::error::{Error, Result};

/// The `typ` of a statement's header: no access token has it, so none can be taken for the other.
pub(super) const TYPE: &str = "software-statement+jwt";

/// How long a statement is valid when nobody says: long enough to install a shop's tills.
pub(super) const LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long one may be valid.
pub(super) const MAX_LIFE: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The longest statement that is looked at; far longer than any that is made.
pub(super) const MAX_TEXT: usize = 8 << 10;

/// Where a registration carries it.
const PATH: &str = "$.softwareStatement";

/// What an administrator makes a statement of.
#[derive(Clone, Debug)]
pub struct NewStatement {
    /// Whose clients it is for.
    pub software: Software,
    /// Whether they register by the global template, or by their tenant's.
    pub using_global_template: bool,
    /// Claims that they have.
    pub claims: Claims,
    /// Whether they are authorized at once.
    pub auto_approve: bool,
    /// How long it is valid.
    pub life: Duration,
}

/// A statement as it is kept.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Statement {
    pub(super) software: Software,
    pub(super) using_global_template: bool,
    pub(super) claims: Claims,
    /// Which permissions of the platform's clients get without being asked, `None` when clients wait for approval.
    pub(super) approves: Option<Vec<String>>,
    pub(super) issued: Timestamp,
    pub(super) until: Timestamp,
    /// The SHA-256 of its text, hexadecimal.
    pub(super) sha256: String,
}

/// What a statement says, as it is signed: named as a registration names it.
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

/// The names of those that only the platform's own clients may hold.
pub(super) fn reserved(held: Permissions) -> impl Iterator<Item = &'static str> {
    let reserved = held.iter().filter(|held| held.platform_only());
    reserved.map(Permission::as_str)
}

/// How the text of a statement is kept.
pub(super) fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

/// Whose statement a text says it is, and which; nothing of it is true before the record says so.
pub(super) fn name_of(text: &str) -> Option<(TenantId, Uuid)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        tenant_id: String,
        jti: String,
    }
    let payload = text.split('.').nth(1)?;
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
    let named: Named = serde_json::from_slice(&payload).ok()?;
    let jti = Uuid::try_parse(&named.jti).ok()?;
    Some((TenantId::new(&named.tenant_id)?, jti))
}

/// One answer for all that is none: who shows it learns nothing about others.
pub(super) fn no_statement() -> Error {
    let rule = "is no statement of this service, was withdrawn, or has expired";
    Error::invalid(PATH, rule)
}

impl Statement {
    /// Whether it is still there.
    pub(super) fn is_there(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// The claims of a client that registers with this statement of a tenant: its own, and those of the statement that
    /// it left out.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming all in which the two differ.
    pub(super) fn claims_of(&self, tenant: &TenantId, client: &Registration) -> Result<Claims> {
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
            message: "is not what the software statement says".into(),
        };
        Err(Error::Invalid(paths.into_iter().map(fault).collect()))
    }

    /// Whether a client that would hold this is authorized at once.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it would hold more of what is the platform's than who made the statement handed out: the
    /// template or a role has changed since.
    pub(super) fn approves(&self, held: Permissions) -> Result<bool> {
        let Some(approved) = &self.approves else {
            return Ok(false);
        };
        if reserved(held).all(|name| approved.iter().any(|approved| approved == name)) {
            return Ok(true);
        }
        let rule = "approves less than the template gives by now: make another";
        Err(Error::invalid(PATH, rule))
    }

    /// The statement as administrators see it, without its text.
    pub(super) fn to_json(&self, jti: &str) -> serde_json::Value {
        json!({
            "jti": jti,
            "softwareId": self.software.id,
            "softwareVersion": self.software.version,
            "usingGlobalTemplate": self.using_global_template,
            "claims": self.claims,
            "autoApprove": self.approves.is_some(),
            "issuedAt": self.issued.to_millis_text(),
            "expiresAt": self.until.to_millis_text(),
        })
    }
}
