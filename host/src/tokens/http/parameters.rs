//! Parameters that several routes have.

use crate::error::{Error, Result};
use crate::http::{Query, Request};
use crate::identity::{TENANT_RULE, TenantId};

/// The tenant of the path.
pub(super) fn tenant_of(request: &Request) -> Result<TenantId> {
    TenantId::new(request.param(0)?).ok_or_else(|| Error::invalid("$.tenantId", TENANT_RULE))
}

/// How many entries a page is to have, and the id of the entry after which it begins.
pub(super) fn page_of(
    query: &mut Query<'_>,
    is_id: impl FnOnce(&str) -> bool,
) -> (usize, Option<String>) {
    let cursor = query.cursor(|text| is_id(text).then(|| text.to_owned()));
    (query.limit(), cursor)
}
