//! The tables of `[[trusted_issuers]]`: identity providers whose tokens are accepted (`tokens.md`, "IAM user tokens").

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::safe_url::is_safe_url;

/// An identity provider whose tokens name users (`tokens.md`, "IAM user tokens").
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TrustedIssuer {
    pub issuer: String,
    pub jwks: String,
    pub audiences: Vec<String>,
    pub tenant_claim: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions_claim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_claim: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<String>,
}

impl TrustedIssuer {
    /// Checks all tables. No two may have the same issuer, and none may have this service's own.
    pub(super) fn check_all(tables: &[Self], own_issuer: &str) -> Result<(), String> {
        for (index, table) in tables.iter().enumerate() {
            let at = format!("trusted_issuers[{index}]");
            table.check().map_err(|fault| format!("{at}.{fault}"))?;
            let others = tables.iter().take(index);
            let mut taken = others.map(|other| &*other.issuer).chain([own_issuer]);
            if taken.any(|issuer| issuer == table.issuer) {
                return Err(format!("{at}.issuer is a duplicate, or this service's own"));
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.issuer.is_empty() {
            return Err("issuer must not be empty");
        }
        if !is_key_source(&self.jwks) {
            return Err("jwks must be file:PATH, an https URL, or an http URL of this machine");
        }
        if self.audiences.is_empty() || self.audiences.iter().any(String::is_empty) {
            return Err("audiences must name at least one audience");
        }
        if self.tenant_claim.is_empty() {
            return Err("tenant_claim must not be empty");
        }
        if self.groups_claim.is_some() == self.groups.is_empty() {
            return Err("groups_claim and groups must be set together");
        }
        if self.groups_claim.is_none() && self.permissions_claim.is_none() {
            return Err(
                "permissions_claim or groups_claim is required: without them users may do nothing",
            );
        }
        Ok(())
    }
}

/// Returns whether keys may come from a source: an attacker in the network must not be able to change them.
fn is_key_source(source: &str) -> bool {
    match source.strip_prefix("file:") {
        Some(path) => !path.is_empty(),
        None => is_safe_url(source),
    }
}
