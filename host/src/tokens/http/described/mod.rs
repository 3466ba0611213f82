//! What the API's documents say of the token service, a file for each group of routes. What these share stands here.

pub(super) mod clients;
pub(super) mod public;
pub(super) mod templates;

use tillgate_api::schema::{limit, tenant_id};

use super::schema;
use crate::http::Operation;

const ENTITY_TAG: (&str, &str) = ("ETag", "The version of what is answered, for `If-Match`.");

const NO_STORE: (&str, &str) = ("Cache-Control", "`no-store`: the answer has a secret.");

pub(super) fn with_tenant(operation: Operation) -> Operation {
    operation.path("tenantId", "The id of the tenant.", tenant_id)
}

fn with_owner(operation: Operation) -> Operation {
    let whose = "The id of the tenant, or `_` for the global templates.";
    operation.path("tenantId", whose, schema::owner)
}

fn with_limit(operation: Operation) -> Operation {
    operation.query("limit", "How many items the page has at most.", limit)
}
