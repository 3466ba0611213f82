//! Parameters that several routes share: reading and describing them.

use schemars::{Schema, SchemaGenerator};
use tillgate_api::schema::tenant_id;
use tillgate_base::error::{Error, Result};
use tillgate_base::identity::{TENANT_RULE, TenantId};
use tillgate_http::{Operation, Request};

use crate::members::name_schema;

/// The header of an answer that has a secret.
pub(super) const NO_STORE: (&str, &str) = (
    "Cache-Control",
    "`no-store`, because the answer contains a secret.",
);

pub(super) const ENTITY_TAG: (&str, &str) =
    ("ETag", "The version of the resource, for `If-Match`.");

/// Reads the tenant from the path.
pub(super) fn tenant_of(request: &Request) -> Result<TenantId> {
    TenantId::new(request.param(0)?).ok_or_else(|| Error::invalid("$.tenantId", TENANT_RULE))
}

pub(super) fn with_tenant(operation: Operation) -> Operation {
    operation.path("tenantId", "The id of the tenant.", tenant_id)
}

/// Returns the schema of a name, with an example.
pub(super) fn name_such_as(generator: &mut SchemaGenerator, example: &str) -> Schema {
    let mut name = name_schema(generator);
    name.insert("examples".to_owned(), [example].as_slice().into());
    name
}
