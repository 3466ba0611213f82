//! Values of bodies that only this program knows. What all bodies have in common is `tillgate_api`.

use tillgate_api::{Value, schema, values};
use tillgate_store::clock::Timestamp;

use crate::identity::{TENANT_RULE, TenantId};

/// A time.
pub fn time(value: Value<'_, '_, '_>) -> Option<Timestamp> {
    values::time(value).map(Timestamp)
}

/// The time that a text in the format of RFC 3339 names; none before the epoch.
pub fn parse_time(text: &str) -> Option<Timestamp> {
    values::parse_time(text).map(Timestamp)
}

/// The id of a tenant.
pub fn tenant(value: Value<'_, '_, '_>) -> Option<TenantId> {
    value.parsed(schema::tenant_id_in_body, TenantId::new, TENANT_RULE)
}
