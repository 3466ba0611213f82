//! The catalog.

use tillgate_api::problem::QUOTA_EXCEEDED;
use tillgate_api::schema::flag;

use super::schema;
use crate::http::{Operation, Tag};

pub(in crate::conditions::http) fn get_catalog() -> Operation {
    let operation = Operation::new(
        "getCatalog",
        Tag::Catalog,
        "Get everything that is needed to decide elsewhere",
    )
    .query(
        "tests",
        "Whether rules come with their tests; that answer has an entity tag of its own.",
        flag,
    )
    .answers(200, "The catalog", schema::catalog);
    operation.may_be_stale().with_entity_tag()
}

pub(in crate::conditions::http) fn catalog_changes() -> Operation {
    let operation = Operation::new("followCatalog", Tag::Catalog, "Follow the changes of the catalog")
        .says("Server-sent events: the digest of the catalog, `{\"digest\"}`, now and after each change. A comment comes every 15 seconds. Who reads too slowly is disconnected, and begins with the newest digest again.")
        .answers_as(
            "text/event-stream",
            200,
            "Events without end",
            tillgate_api::schema::text);
    operation.may_be_stale().refuses(&[QUOTA_EXCEEDED])
}
