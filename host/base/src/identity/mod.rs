//! Identity: tenants, permissions, the built-in roles, and the caller of a request.
//!
//! These types are the terms of `tokens.md`, "Permissions", for all features. They depend on no feature, token or
//! store. The token service turns a token into a [`Caller`].

mod by;
mod caller;
mod display_name;
mod network;
mod permission;
mod role;
mod secret;
mod tenant;

pub use self::by::By;
pub use self::caller::Caller;
pub use self::display_name::DisplayName;
pub use self::network::network;
pub use self::permission::{Permission, Permissions, is_permission};
pub use self::role::{OPERATOR, built_in, built_in_roles, built_in_with};
pub use self::secret::Secret;
pub use self::tenant::{NAME_RULE, NO_TENANT, STEP_RULE, TENANT_RULE, TenantId, is_name, is_step};
