//! Decisions.

use tillgate_api::problem::CONDITION_NOT_FOUND;
use tillgate_api::schema::flag;

use super::{engine, schema, with_condition_id};
use crate::http::{Operation, Tag};

const EXPLAIN: &str = "Whether each result says what was compared.";

pub(in crate::conditions::http) fn evaluate_condition() -> Operation {
    let operation = Operation::new("evaluateCondition", Tag::Decisions, "Decide about an item by a condition")
        .changes_nothing()
        .says("The tenant's condition decides if it is enabled, otherwise the global one if that is. A request is checked before its condition is looked up.");
    let operation = with_condition_id(operation)
        .query("explain", EXPLAIN, flag)
        .takes(schema::condition_request)
        .answers(200, "The decision", schema::item_decision);
    engine(operation).refuses(&[CONDITION_NOT_FOUND])
}

pub(in crate::conditions::http) fn evaluate_project() -> Operation {
    let operation = Operation::new("evaluateProjectRestrictions", Tag::Decisions, "Decide about an item on a project")
        .changes_nothing()
        .says("A project that the tenant does not have is a soft denial with the reason `project_restriction.project_unreachable`.")
        .query("explain", EXPLAIN, flag)
        .takes(
            schema::project_request)
        .answers(
            200,
            "The decision",
            schema::item_decision);
    engine(operation)
}

pub(in crate::conditions::http) fn evaluate_basket() -> Operation {
    let operation = Operation::new("evaluateBasket", Tag::Decisions, "Decide about a basket")
        .changes_nothing()
        .says("Up to 1,000 items with 64 conditions each, 100,000 results in all. `decision` is the worst one. A condition that is not in force makes its item `allow: false`, and counts as a soft denial.")
        .query("explain", EXPLAIN, flag)
        .takes(
            schema::basket_request)
        .answers(
            200,
            "The decisions, in the order of the items",
            schema::basket_decision);
    engine(operation)
}
