//! What the API's documents say of conditions, projects, decisions and the catalog.

use serde_json::{Value, json};

use super::schema;
use crate::http::schema::{flag, limit};
use crate::http::{Operation, Tag};

const EXPLAIN: &str = "Whether each result says what was compared.";
const ENGINE: (&str, &str) = ("Tillgate-Engine", "The SHA-256 of the module that decided.");
const ACCEPT_FAILING: &str = "`accept`: store it although tests of it fail.";
const PROJECT: &str = "0b8a5d3e-6c1f-4a52-9d7e-2f4b8c6d1e90";

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

fn age_condition() -> Value {
    json!({ "id": "alcohol", "rule": "AGE_RESTRICTION", "scope": "TENANT", "enabled": true, "condition_value": { "minimum_age": 18 } })
}

fn license_condition() -> Value {
    json!({ "id": "pesticide", "rule": "LICENSE_REQUIREMENT", "scope": "GLOBAL", "enabled": true, "condition_value": {} })
}

fn restrictions_example() -> Value {
    json!([{ "type": "WHITELIST", "propertyName": "productGroup", "allowedValues": ["timber", "fasteners"] }])
}

fn project_example() -> Value {
    json!({ "projectId": PROJECT, "name": "School, new building", "restrictions": restrictions_example() })
}

pub(super) fn evaluate_condition() -> Operation {
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

pub(super) fn evaluate_project() -> Operation {
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

pub(super) fn evaluate_basket() -> Operation {
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

pub(super) fn get_catalog() -> Operation {
    let operation = Operation::new("getCatalog", Tag::Catalog, "Get everything that is needed to decide elsewhere")
        .query("tests", "Whether rules come with their tests; that answer has an entity tag of its own.", flag)
        .answers(
            200,
            "The catalog",
            schema::catalog,
            json!({
                "tenantId": "acme", "digest": "gA5pPtUZFA5sF3ZQbZ0z2w",
                "engine": { "version": "0.1.0", "sha256": "0".repeat(64) },
                "global": [license_condition()], "tenant": [age_condition()], "projects": [project_example()],
            }),
        );
    operation.may_be_stale().with_entity_tag()
}

pub(super) fn catalog_changes() -> Operation {
    let operation = Operation::new("followCatalog", Tag::Catalog, "Follow the changes of the catalog")
        .says("Server-sent events: the digest of the catalog, `{\"digest\"}`, now and after each change. A comment comes every 15 seconds. Who reads too slowly is disconnected, and begins with the newest digest again.")
        .answers_as(
            "text/event-stream",
            200,
            "Events without end",
            crate::http::schema::text,
            json!("id: gA5pPtUZFA5sF3ZQbZ0z2w\ndata: {\"digest\":\"gA5pPtUZFA5sF3ZQbZ0z2w\"}\n\n"),
        );
    operation
        .may_be_stale()
        .refuses(409, "The tenant has as many event streams as it may.")
}

pub(super) fn list_conditions() -> Operation {
    let operation = Operation::new("listConditions", Tag::Conditions, "List the conditions that a tenant sees")
        .says("The global ones and the tenant's own, by id. Where both have an id, the global one is listed.")
        .answers(200, "The conditions", schema::conditions, json!([age_condition(), license_condition()]));
    operation.may_be_stale().with_entity_tag()
}

pub(super) fn get_condition() -> Operation {
    let operation = Operation::new("getCondition", Tag::Conditions, "Get a condition")
        .says("The global one if it exists, otherwise the tenant's.");
    let operation = with_condition_id(operation).answers(
        200,
        "The condition",
        schema::condition,
        age_condition(),
    );
    operation.may_be_stale().with_entity_tag().refuses(
        404,
        "Neither a global condition nor one of the tenant has this id.",
    )
}

fn put_of(operation: Operation) -> Operation {
    with_condition_id(operation)
        .says("The body of a GET can be sent back: `id` and `scope` must then be those of the path and of who writes. A member of `condition_value` or `tests` that is not known is an error. Tests are run first.")
        .query("failingTests", ACCEPT_FAILING, schema::failing_tests)
        .takes(schema::condition_put, json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } }))
        .or_takes("license", json!({ "rule": "LICENSE_REQUIREMENT", "condition_value": {} }))
        .or_takes("with a test", json!({
            "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 16 },
            "tests": [{
                "name": "fifteen is too young",
                "request": { "item": { "id": "cola" }, "context": { "customer": { "customer_age": 15 } } },
                "expect": { "decision": "HARD_DENY", "reasons": ["age_restriction.underage"] },
            }],
        }))
}

pub(super) fn put_condition() -> Operation {
    put_of(Operation::new("putCondition", Tag::Conditions, "Create or replace a condition of the tenant"))
        .answers(200, "It was replaced", schema::condition, age_condition())
        .answers(201, "It was created", schema::condition, age_condition())
        .with_preconditions()
        .refuses(409, "A global condition has this id, tests of it fail (`message` names each), or a quota is used up.")
}

pub(super) fn put_global_condition() -> Operation {
    let failing = "How many tests of tenants fail now.";
    put_of(Operation::new(
        "putGlobalCondition",
        Tag::Conditions,
        "Create or replace a global condition",
    ))
    .answers(
        200,
        "It was replaced",
        schema::condition,
        license_condition(),
    )
    .with_header("Tillgate-Failing-Tests", failing)
    .answers(
        201,
        "It was created",
        schema::condition,
        license_condition(),
    )
    .with_header("Tillgate-Failing-Tests", failing)
    .with_preconditions()
    .refuses(
        409,
        "Tests of it fail (`message` names each), or a quota is used up.",
    )
}

pub(super) fn delete_condition() -> Operation {
    with_condition_id(Operation::new(
        "deleteCondition",
        Tag::Conditions,
        "Delete a condition of the tenant",
    ))
    .empty(204, "It was deleted")
    .with_preconditions()
    .refuses(404, "The tenant has no condition with this id.")
    .refuses(409, "A global condition has this id.")
}

pub(super) fn delete_global_condition() -> Operation {
    with_condition_id(Operation::new(
        "deleteGlobalCondition",
        Tag::Conditions,
        "Delete a global condition",
    ))
    .empty(204, "It was deleted")
    .with_header(
        "Tillgate-Failing-Tests",
        "How many tests of tenants fail now.",
    )
    .with_preconditions()
    .refuses(404, "No global condition has this id.")
}

pub(super) fn list_projects() -> Operation {
    let operation = Operation::new("listProjects", Tag::Projects, "List the tenant's projects")
        .answers(
            200,
            "The projects",
            schema::projects,
            json!([project_example()]),
        );
    operation.may_be_stale().with_entity_tag()
}

pub(super) fn get_project() -> Operation {
    let operation = with_project_id(Operation::new("getProject", Tag::Projects, "Get a project"))
        .answers(200, "The project", schema::project, project_example());
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(404, "The tenant has no such project.")
}

pub(super) fn get_restrictions() -> Operation {
    let operation = with_project_id(Operation::new(
        "getRestrictions",
        Tag::Projects,
        "Get the restrictions of a project",
    ))
    .answers(
        200,
        "The restrictions",
        schema::restrictions,
        json!({ "restrictions": restrictions_example() }),
    );
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(404, "The tenant has no such project.")
}

pub(super) fn put_project() -> Operation {
    with_project_id(Operation::new("putProject", Tag::Projects, "Create or replace a project"))
        .says("Restrictions of a type and property that are not exclusive are one check over all of their values. Tests are run first.")
        .query("failingTests", ACCEPT_FAILING, schema::failing_tests)
        .takes(schema::project_put, json!({ "name": "School, new building", "restrictions": restrictions_example() }))
        .or_takes("every type", json!({ "restrictions": [
            { "type": "WHITELIST", "propertyName": "productGroup", "allowedValues": ["timber", "fasteners"] },
            { "type": "BLACKLIST", "propertyName": "brand", "deniedValues": ["acme"], "exclusive": true },
            { "type": "BOOLEAN", "propertyName": "fragile", "value": false },
            { "type": "WHITELISTEDITEMS", "itemIds": ["screw-4x40"] },
            { "type": "BLACKLISTEDITEMS", "itemIds": ["foam-0815"] },
        ] }))
        .answers(200, "It was replaced", schema::project, project_example())
        .answers(201, "It was created", schema::project, project_example())
        .with_preconditions()
        .refuses(409, "Tests of it fail (`message` names each), or a quota is used up.")
}

pub(super) fn delete_project() -> Operation {
    with_project_id(Operation::new(
        "deleteProject",
        Tag::Projects,
        "Delete a project",
    ))
    .empty(204, "It was deleted")
    .with_preconditions()
    .refuses(404, "The tenant has no such project.")
}

fn findings_example() -> Value {
    json!({ "findings": [{
        "kind": "INEFFECTIVE", "message": "A minimum age of 0 forbids nothing to anyone whose age is known.", "places": ["$.condition_value.minimum_age"],
    }] })
}

pub(super) fn condition_findings() -> Operation {
    let operation = with_condition_id(Operation::new(
        "getConditionFindings",
        Tag::Conditions,
        "Find out what is wrong with a condition",
    ))
    .answers(
        200,
        "What is wrong with it, or probably is",
        schema::findings,
        findings_example(),
    );
    operation.may_be_stale().refuses(
        404,
        "Neither a global condition nor one of the tenant has this id.",
    )
}

pub(super) fn project_findings() -> Operation {
    let operation = with_project_id(Operation::new(
        "getProjectFindings",
        Tag::Projects,
        "Find out what is wrong with a project",
    ))
    .answers(
        200,
        "What is wrong with it, or probably is",
        schema::findings,
        findings_example(),
    );
    operation
        .may_be_stale()
        .refuses(404, "The tenant has no such project.")
}

fn paged(operation: Operation) -> Operation {
    operation
        .query("limit", "How many items the page has at most.", limit)
        .query("cursor", "`next` of the page before.", schema::cursor)
}

fn history_example(after: &Value) -> Value {
    json!({ "items": [{
        "at": "2026-11-20T17:40:00.000Z", "by": { "clientId": "c2Z3OiBvZmZpY2VAMUBhY21l", "name": "office 1" },
        "action": "CREATED", "before": null, "after": after,
    }] })
}

pub(super) fn condition_history() -> Operation {
    let operation = Operation::new(
        "getConditionHistory",
        Tag::Conditions,
        "Get the history of a condition of the tenant",
    );
    paged(with_condition_id(operation))
        .answers(
            200,
            "The changes, newest first",
            schema::condition_history,
            history_example(&age_condition()),
        )
        .refuses(
            404,
            "There is neither such a condition nor a history of it.",
        )
}

pub(super) fn global_condition_history() -> Operation {
    let operation = Operation::new(
        "getGlobalConditionHistory",
        Tag::Conditions,
        "Get the history of a global condition",
    );
    paged(with_condition_id(operation))
        .answers(
            200,
            "The changes, newest first",
            schema::condition_history,
            history_example(&license_condition()),
        )
        .refuses(
            404,
            "There is neither such a condition nor a history of it.",
        )
}

pub(super) fn project_history() -> Operation {
    let operation = Operation::new(
        "getProjectHistory",
        Tag::Projects,
        "Get the history of a project",
    );
    paged(with_project_id(operation))
        .answers(
            200,
            "The changes, newest first",
            schema::project_history,
            history_example(&project_example()),
        )
        .refuses(404, "There is neither such a project nor a history of it.")
}
