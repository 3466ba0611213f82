//! Who is asking: what a token that was verified says of its holder, and every feature may rely on.

use std::sync::Arc;

use super::permission::{Permission, Permissions};
use super::tenant::TenantId;
use crate::error::{Error, Result};

/// Who is asking, with what they may do.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant they act for; never a parameter of a request.
    pub tenant: TenantId,
    /// The client's or user's id.
    pub subject: Arc<str>,
    /// What they may do.
    pub permissions: Permissions,
    /// Whether they are of the platform's own tenant.
    pub platform: bool,
}

impl Caller {
    /// Nothing, when the caller may.
    ///
    /// # Errors
    /// [`Error::Denied`] naming the permission.
    pub fn may(&self, permission: Permission) -> Result<()> {
        if self.permissions.contains(permission) {
            return Ok(());
        }
        Err(Error::Denied(format!(
            "the permission {permission} is needed"
        )))
    }
}
