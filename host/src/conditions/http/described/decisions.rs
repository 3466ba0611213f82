//! Decisions.

use serde_json::json;

use super::{PROJECT, engine, schema, with_condition_id};
use crate::http::schema::flag;
use crate::http::{Operation, Tag};

const EXPLAIN: &str = "Whether each result says what was compared.";

pub(in crate::conditions::http) fn evaluate_condition() -> Operation {
    let operation = Operation::new("evaluateCondition", Tag::Decisions, "Decide about an item by a condition")
        .changes_nothing()
        .says("The tenant's condition decides if it is enabled, otherwise the global one if that is. A request is checked before its condition is looked up.");
    let operation = with_condition_id(operation)
        .query("explain", EXPLAIN, flag)
        .takes(
            schema::condition_request,
            json!({ "item": { "id": "beer-0.5l" }, "context": { "customer": { "customer_age": 17 } } }),
        )
        .or_takes("license", json!({ "item": { "id": "spray" }, "context": { "customer": { "licenses": ["pesticide"] } } }))
        .or_takes("nothing is known", json!({ "item": { "id": "beer-0.5l" }, "context": {} }))
        .answers(
            200,
            "The decision",
            schema::item_decision,
            json!({ "id": "beer-0.5l", "allow": false, "results": [{
                "id": "alcohol", "allow": false, "decision": "HARD_DENY", "reason": "age_restriction.underage", "rule": "AGE_RESTRICTION",
            }] }),
        );
    engine(operation).refuses(404, "No condition with this id is in force.")
}

pub(in crate::conditions::http) fn evaluate_project() -> Operation {
    let operation = Operation::new("evaluateProjectRestrictions", Tag::Decisions, "Decide about an item on a project")
        .changes_nothing()
        .says("A project that the tenant does not have is a soft denial with the reason `project_restriction.project_unreachable`.")
        .query("explain", EXPLAIN, flag)
        .takes(
            schema::project_request,
            json!({ "projectId": PROJECT, "item": { "id": "paint-white", "additionalProperties": { "productGroup": "paint" } } }),
        )
        .answers(
            200,
            "The decision",
            schema::item_decision,
            json!({ "id": "paint-white", "allow": false, "results": [{
                "allow": false, "decision": "HARD_DENY", "reason": "project_restriction.whitelist_not_met",
                "rule": "PROJECT_RESTRICTION", "source": "PROJECT_RESTRICTION", "restriction": "productGroup",
            }] }),
        );
    engine(operation)
}

pub(in crate::conditions::http) fn evaluate_basket() -> Operation {
    let operation = Operation::new("evaluateBasket", Tag::Decisions, "Decide about a basket")
        .changes_nothing()
        .says("Up to 1,000 items with 64 conditions each, 100,000 results in all. `decision` is the worst one. A condition that is not in force makes its item `allow: false`, and counts as a soft denial.")
        .query("explain", EXPLAIN, flag)
        .takes(
            schema::basket_request,
            json!({ "items": [{ "id": "bread" }, { "id": "beer-0.5l", "conditionIds": ["alcohol"] }], "context": {} }),
        )
        .answers(
            200,
            "The decisions, in the order of the items",
            schema::basket_decision,
            json!({ "allow": false, "decision": "SOFT_DENY", "items": [
                { "id": "bread", "allow": true, "results": [] },
                { "id": "beer-0.5l", "allow": false, "results": [{
                    "id": "alcohol", "allow": false, "decision": "SOFT_DENY", "reason": "age_restriction.missing_context", "rule": "AGE_RESTRICTION",
                }] },
            ] }),
        );
    engine(operation)
}
