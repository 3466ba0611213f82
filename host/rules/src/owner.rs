//! The owner of conditions: the platform or a tenant. It has its own file because writing and the history both need it,
//! and the one records the other.

use tillgate_base::identity::TenantId;

/// The owner of conditions.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// The platform.
    Platform,
    /// A tenant.
    Tenant(&'a TenantId),
}
