//! Values of bodies that only this program knows. `tillgate_api` has what all bodies share.

use tillgate_api::{Value, schema, values};
use tillgate_store::clock::Timestamp;

use crate::identity::{TENANT_RULE, TenantId};

/// Reads a time.
pub fn time(value: Value<'_, '_, '_>) -> Option<Timestamp> {
    values::time(value).map(Timestamp)
}

/// Parses a time in the format of RFC 3339; `None` before the epoch.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    values::parse_time(text).map(Timestamp)
}

/// Reads the id of a tenant.
pub fn tenant(value: Value<'_, '_, '_>) -> Option<TenantId> {
    value.parsed(schema::tenant_id_in_body, TenantId::new, TENANT_RULE)
}
