//! The caller of a request, and their permissions.

use std::sync::Arc;
use tillgate_api::problem::{OTHER_TENANT, PERMISSION_MISSING};

use super::{DisplayName, Permission, Permissions, TenantId, built_in_with};
use crate::error::{Error, Result};

/// A client or user whose token was verified.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant they act for; never a parameter of a request.
    pub tenant: TenantId,
    /// The client's id, or the issuer and the subject of a user.
    pub subject: Arc<str>,
    /// Their display name, if known.
    pub name: Option<DisplayName>,
    /// The business unit that a client registered for (its claim `business_unit_id`), if it has one.
    pub unit: Option<Arc<str>>,
    /// Their permissions.
    pub permissions: Permissions,
    /// True if they belong to the platform's own tenant.
    pub platform: bool,
}

impl Caller {
    /// Checks that the caller has a permission.
    ///
    /// # Errors
    /// [`Error::Denied`] naming the permission, and a role that has it.
    pub fn require(&self, permission: Permission) -> Result<()> {
        if self.permissions.contains(permission) {
            return Ok(());
        }
        Err(lacks(permission))
    }

    /// Returns whether they are a user of a trusted issuer: no client id has a `|`, which separates an issuer and a
    /// subject.
    #[must_use]
    pub fn is_user(&self) -> bool {
        self.subject.contains('|')
    }

    /// Checks that the caller may act on a tenant: their own, or any tenant if they are the platform's.
    ///
    /// # Errors
    /// [`Error::Denied`].
    pub fn require_tenant(&self, tenant: &str) -> Result<()> {
        if self.platform || self.tenant.as_str() == tenant {
            return Ok(());
        }
        Err(Error::Denied(
            OTHER_TENANT,
            "only callers of this tenant or of the platform may do this".to_owned(),
        ))
    }

    /// Checks that the caller may grant these permissions, or act on a client that has them. A platform-only permission
    /// may be granted only by callers that have it (`tokens.md`, "Permissions").
    ///
    /// # Errors
    /// [`Error::Denied`] naming the first permission that is missing.
    pub fn require_grantable(&self, permissions: Permissions) -> Result<()> {
        let missing = permissions
            .iter()
            .find(|one| one.platform_only() && !self.permissions.contains(*one));
        missing.map_or(Ok(()), |permission| Err(lacks(permission)))
    }
}

fn lacks(permission: Permission) -> Error {
    let role = built_in_with(permission);
    Error::Denied(
        PERMISSION_MISSING,
        format!("the permission {permission} is needed, which the role {role} has"),
    )
}
