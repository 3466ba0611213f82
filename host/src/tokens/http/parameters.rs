//! Parameters that several routes have.

use crate::error::{Error, Result};
use crate::http::Request;
use crate::identity::{TENANT_RULE, TenantId};

/// How many entries a page has, unless the request says otherwise, and at most.
const LIMIT: usize = 100;
const MAX_LIMIT: usize = 1_000;

/// The tenant of the path.
pub(super) fn tenant_of(request: &Request) -> Result<TenantId> {
    TenantId::new(request.param(0)?).ok_or_else(|| Error::invalid("$.tenantId", TENANT_RULE))
}

/// How many entries a page is to have, and the cursor after which it begins (`platform.md`, "HTTP conventions"): the id of
/// an entry.
pub(super) fn page_of(
    request: &Request,
    is_cursor: impl FnOnce(&str) -> bool,
) -> Result<(usize, Option<String>)> {
    let parameter = |name| request.query_param(name);
    let limit = parameter("limit").map_or(Ok(LIMIT), |limit| {
        let limit = limit.parse().ok();
        let limit = limit.filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(|| Error::invalid("$.limit", "must be 1 to 1000"))
    });
    let cursor = parameter("cursor").map(|cursor| match is_cursor(&cursor) {
        true => Ok(cursor),
        false => Err(Error::invalid(
            "$.cursor",
            "must be a cursor from an earlier answer",
        )),
    });
    Ok((limit?, cursor.transpose()?))
}
