//! Whose conditions are written or read: the platform's or a tenant's. It stands apart because writing and the history both
//! need it, and the one records the other.

use tillgate_base::identity::TenantId;

/// Whose conditions are meant.
#[derive(Clone, Copy, Debug)]
pub enum Owner<'a> {
    /// The platform's.
    Platform,
    /// A tenant's.
    Tenant(&'a TenantId),
}
