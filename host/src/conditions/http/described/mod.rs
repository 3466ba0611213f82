//! What the API's documents say of conditions, projects, decisions and the catalog. What several operations share stands here.

mod catalog;
mod conditions;
mod decisions;
mod projects;

use tillgate_api::schema::{cursor, limit};

pub(super) use self::catalog::{catalog_changes, get_catalog};
pub(super) use self::conditions::{
    condition_findings, condition_history, delete_condition, delete_global_condition,
    deleted_conditions, deleted_global_conditions, get_condition, global_condition_history,
    list_conditions, put_condition, put_global_condition,
};
pub(super) use self::decisions::{evaluate_basket, evaluate_condition, evaluate_project};
pub(super) use self::projects::{
    delete_project, deleted_projects, get_project, get_restrictions, list_projects,
    project_findings, project_history, put_project,
};
use super::schema;
use crate::http::Operation;

const ENGINE: (&str, &str) = ("Tillgate-Engine", "The SHA-256 of the module that decided.");
const ACCEPT_FAILING: &str = "`accept`: store it although tests of it fail.";

fn engine(operation: Operation) -> Operation {
    operation.with_header(ENGINE.0, ENGINE.1).may_be_stale()
}

fn with_condition_id(operation: Operation) -> Operation {
    operation.path(
        "conditionId",
        "The id of the condition; of a license condition, also the id of the license.",
        schema::condition_id,
    )
}

fn with_project_id(operation: Operation) -> Operation {
    operation.path("projectId", "The id of the project.", schema::project_id)
}

fn paged(operation: Operation) -> Operation {
    operation
        .query("limit", "How many items the page has at most.", limit)
        .query("cursor", "`next` of the page before.", cursor)
}

/// A list of what was deleted.
fn deleted(operation: Operation) -> Operation {
    paged(operation)
        .says("What was deleted within the time for which its history is kept, and is not there again. Its history has the last version: a PUT of that with `If-None-Match: *` brings it back.")
        .answers(200, "What was deleted, the latest first", schema::deleted)
}
