//! Conditions, projects, decisions and the catalog. The module reads and writes these documents, so their schemas are
//! written by hand; `tests/api/openapi.rs` and the tests' generated requests compare them with what the module takes and
//! answers.

mod catalog;
mod conditions;
mod decisions;
mod ids;
mod projects;

pub use self::catalog::{catalog, catalog_event, condition_event, project_event};
pub use self::conditions::{
    Condition, condition, condition_or, condition_put, conditions, findings,
};
pub use self::decisions::{
    basket_decision, basket_request, condition_request, item_decision, project_request,
};
pub use self::ids::{CONDITION_ID, body_condition_id, condition_id, project_id};
pub use self::projects::{Project, project, project_put, projects, restrictions};
