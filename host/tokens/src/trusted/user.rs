//! A user's tenant, roles and permissions, read from the claims of a token. This module is pure.
//!
//! The permissions of the roles are looked up on every request, so that a change of a role takes effect at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use tillgate_base::config;
use tillgate_base::error::Result;
use tillgate_base::identity::{Caller, DisplayName, Permission, Permissions, TenantId};
use tillgate_engine::json::{Node, Scalar};

use crate::jws::refuse;
use crate::registry::Registry;

/// The longest `sub`, in bytes (OpenID Connect Core, section 2).
const MAX_SUBJECT: usize = 255;

/// The claims that may name a person (OpenID Connect Core, section 5.1), the best first.
const NAMES: [&str; 3] = ["name", "preferred_username", "email"];

/// A user whose token was verified.
#[derive(Debug)]
pub(crate) struct User {
    tenant: TenantId,
    subject: Arc<str>,
    name: Option<DisplayName>,
    /// The roles of their groups.
    roles: Vec<String>,
    /// The permissions that the token itself lists.
    permissions: Permissions,
}

impl User {
    /// Returns the user as a caller, with the permissions that their roles have now.
    pub(crate) fn caller(&self, registry: &Registry) -> Caller {
        let platform = registry.is_platform(&self.tenant);
        let of_roles = registry.roles().of(&self.roles, platform);
        let listed = if platform {
            self.permissions
        } else {
            self.permissions.without_platform_only()
        };
        Caller {
            tenant: self.tenant.clone(),
            subject: Arc::clone(&self.subject),
            name: self.name.clone(),
            unit: None,
            permissions: of_roles.union(listed),
            platform,
        }
    }
}

/// The meaning of the claims of an issuer's tokens.
#[derive(Debug)]
pub(super) struct ClaimMapping {
    tenant_claim: String,
    permissions_claim: Option<String>,
    groups_claim: Option<String>,
    groups: BTreeMap<String, Vec<String>>,
    /// The tenants that the issuer may name; if empty, all except the platform's.
    tenants: Vec<String>,
    platform: TenantId,
}

impl ClaimMapping {
    pub(super) fn new(trusted: &config::TrustedIssuer, platform: &TenantId) -> Self {
        Self {
            tenant_claim: trusted.tenant_claim.clone(),
            permissions_claim: trusted.permissions_claim.clone(),
            groups_claim: trusted.groups_claim.clone(),
            groups: trusted.groups.clone(),
            tenants: trusted.tenants.clone(),
            platform: platform.clone(),
        }
    }

    /// Returns the user that the claims of an issuer's token name.
    pub(super) fn user(&self, issuer: &str, claims: Node<'_, '_>) -> Result<User> {
        let Some(subject) = claims.member("sub").and_then(text).filter(is_subject) else {
            return refuse("the token's sub is missing or malformed");
        };
        let Some(tenant) = claim(claims, &self.tenant_claim) else {
            return refuse("the token has no claim that names its tenant");
        };
        let Some(tenant) = text(tenant) else {
            return refuse("the token's claim of the tenant is not a string");
        };
        let Some(tenant) = TenantId::new(tenant) else {
            return refuse("the token's claim of the tenant is not a tenant id");
        };
        if !self.may_name(&tenant) {
            return refuse("the token's issuer may not name this tenant");
        }
        let groups = self.groups_claim.as_deref();
        let groups = groups.and_then(|name| claim(claims, name));
        let roles = groups
            .into_iter()
            .flat_map(names)
            .filter_map(|group| self.groups.get(group))
            .flatten()
            .cloned()
            .collect();
        let listed = self.permissions_claim.as_deref();
        let listed = listed.and_then(|name| claim(claims, name));
        let permissions = listed
            .into_iter()
            .flat_map(names)
            .filter_map(Permission::from_name)
            .collect();
        Ok(User {
            tenant,
            // The name in the audit log. No client id has this form.
            subject: format!("{issuer}|{subject}").into(),
            name: display_name(claims),
            roles,
            permissions,
        })
    }

    fn may_name(&self, tenant: &TenantId) -> bool {
        if self.tenants.is_empty() {
            return *tenant != self.platform;
        }
        self.tenants.iter().any(|name| name == tenant.as_str())
    }
}

fn text<'d>(node: Node<'d, '_>) -> Option<&'d str> {
    node.text().map(AsRef::as_ref)
}

/// Returns the name of the person. An invalid one is left out: a name grants nothing, so it must not keep anyone out.
fn display_name(claims: Node<'_, '_>) -> Option<DisplayName> {
    let texts = NAMES.iter().filter_map(|name| claims.member(name));
    texts.filter_map(text).find_map(DisplayName::new)
}

fn is_subject(text: &&str) -> bool {
    (1..=MAX_SUBJECT).contains(&text.len()) && !text.contains(char::is_control)
}

/// Returns the claim with this name, or the one that a JSON pointer leads to (`/realm_access/roles`).
fn claim<'d, 'a>(claims: Node<'d, 'a>, name: &str) -> Option<Node<'d, 'a>> {
    let Some(pointer) = name.strip_prefix('/') else {
        return claims.member(name);
    };
    pointer.split('/').try_fold(claims, |node, segment| {
        node.member(&segment.replace("~1", "/").replace("~0", "~"))
    })
}

/// Returns the names in a claim: an array of strings, or one string separated by spaces, as in `scope`.
fn names<'d>(node: Node<'d, '_>) -> Vec<&'d str> {
    match node.scalar() {
        Scalar::Array => node.children().filter_map(text).collect(),
        Scalar::Text(text) => text.split(' ').filter(|name| !name.is_empty()).collect(),
        _ => Vec::new(),
    }
}
