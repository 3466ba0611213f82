//! The schemas of conditions, projects, decisions and the catalog, for the documents of the API. They are by hand, as the
//! module's reader and writer of them are; `tests/openapi.rs` and the generated requests of the tests hold them to what is
//! answered. What several of them share stands here.

mod changes;
mod conditions;
mod decisions;
mod projects;

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::component;

pub(super) use self::changes::{catalog, condition_history, deleted, project_history};
pub(crate) use self::changes::{catalog_event, condition_event, project_event};
pub(super) use self::conditions::{
    condition, condition_or_dry_run, condition_put, conditions, findings,
};
pub(super) use self::decisions::{
    basket_decision, basket_request, condition_request, item_decision, project_request,
};
pub(super) use self::projects::{project, project_put, projects, restrictions};
pub(in crate::conditions) use tillgate_api::ids::{CONDITION_ID, body_condition_id, project_id};

/// The id of a condition.
pub(super) fn condition_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": CONDITION_ID, "not": { "enum": [".", ".."] },
        "examples": ["alcohol"],
    })
}

fn decision(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Decision", |_| {
        json_schema!({
            "type": "string", "enum": ["ALLOW", "SOFT_DENY", "HARD_DENY"],
            "description": "SOFT_DENY: something was not asked yet, and asking may turn the decision. HARD_DENY: what is known denies it.",
        })
    })
}

/// What is to happen when tests fail.
pub(super) fn failing_tests(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "accept" })
}
