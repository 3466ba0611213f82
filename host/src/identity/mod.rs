//! Who may do what: tenants, permissions, the roles that hold them, and the caller of a request.
//!
//! The words of `tokens.md`, "Permissions", as types. Every feature relies on them; none of them knows a feature, a
//! token or a store. How a token becomes a [`Caller`] is the token service's business.

mod caller;
mod network;
mod permission;
mod role;
mod tenant;

pub use self::caller::Caller;
pub use self::network::network;
pub use self::permission::{Permission, Permissions, is_permission};
pub use self::role::{OPERATOR, built_in, built_in_roles};
pub use self::tenant::{NAME_RULE, NO_TENANT, TENANT_RULE, TenantId, is_name};
