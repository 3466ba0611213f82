//! Conditions, their findings and their history.

use tillgate_api::problem::{CONDITION_NOT_FOUND, ID_IS_GLOBAL, QUOTA_EXCEEDED, TESTS_FAILED};
use tillgate_api::schema::flag;

use super::{ACCEPT_FAILING, deleted, paged, schema, with_condition_id};
use crate::http::{Operation, Tag};

pub(in crate::conditions::http) fn list_conditions() -> Operation {
    let operation = Operation::new("listConditions", Tag::Conditions, "List the conditions that a tenant sees")
        .says("The global ones and the tenant's own, by id. Where both have an id, the global one is listed.")
        .answers(200, "The conditions", schema::conditions);
    operation.may_be_stale().with_entity_tag()
}

pub(in crate::conditions::http) fn get_condition() -> Operation {
    let operation = Operation::new("getCondition", Tag::Conditions, "Get a condition")
        .says("The global one if it exists, otherwise the tenant's.");
    let operation = with_condition_id(operation).answers(200, "The condition", schema::condition);
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(&[CONDITION_NOT_FOUND])
}

fn put_of(operation: Operation) -> Operation {
    with_condition_id(operation)
        .says("The body of a GET can be sent back: `id` and `scope` must then be those of the path and of who writes. A member of `condition_value` or `tests` that is not known is an error. Tests are run first. Without `tests`, those that are there are kept, and run too; an empty list removes them.")
        .query("failingTests", ACCEPT_FAILING, schema::failing_tests)
        .with_note()
        .takes(schema::condition_put)
}

pub(in crate::conditions::http) fn put_condition() -> Operation {
    put_of(Operation::new(
        "putCondition",
        Tag::Conditions,
        "Create or replace a condition of the tenant",
    ))
    .answers(200, "It was replaced", schema::condition)
    .answers(201, "It was created", schema::condition)
    .with_preconditions()
    .refuses(&[ID_IS_GLOBAL, TESTS_FAILED, QUOTA_EXCEEDED])
}

pub(in crate::conditions::http) fn put_global_condition() -> Operation {
    let failing = "How many tests of tenants fail now.";
    put_of(Operation::new(
        "putGlobalCondition",
        Tag::Conditions,
        "Create or replace a global condition",
    ))
    .query(
        "dryRun",
        "Whether to check and store nothing, and to answer 200 with whom the condition would concern.",
        flag,
    )
    .answers(
        200,
        "It was replaced, or what a dry run says",
        schema::condition_or_dry_run)
    .with_header("Tillgate-Failing-Tests", failing)
    .answers(
        201,
        "It was created",
        schema::condition)
    .with_header("Tillgate-Failing-Tests", failing)
    .with_preconditions()
    .refuses(&[TESTS_FAILED, QUOTA_EXCEEDED])
}

pub(in crate::conditions::http) fn delete_condition() -> Operation {
    with_condition_id(Operation::new(
        "deleteCondition",
        Tag::Conditions,
        "Delete a condition of the tenant",
    ))
    .with_note()
    .empty(204, "It was deleted")
    .with_preconditions()
    .refuses(&[CONDITION_NOT_FOUND, ID_IS_GLOBAL])
}

pub(in crate::conditions::http) fn delete_global_condition() -> Operation {
    with_condition_id(Operation::new(
        "deleteGlobalCondition",
        Tag::Conditions,
        "Delete a global condition",
    ))
    .with_note()
    .empty(204, "It was deleted")
    .with_header(
        "Tillgate-Failing-Tests",
        "How many tests of tenants fail now.",
    )
    .with_preconditions()
    .refuses(&[CONDITION_NOT_FOUND])
}

pub(in crate::conditions::http) fn condition_findings() -> Operation {
    let operation = with_condition_id(Operation::new(
        "getConditionFindings",
        Tag::Conditions,
        "Find out what is wrong with a condition",
    ))
    .answers(
        200,
        "What is wrong with it, or probably is",
        schema::findings,
    );
    operation.may_be_stale().refuses(&[CONDITION_NOT_FOUND])
}

pub(in crate::conditions::http) fn condition_history() -> Operation {
    let operation = Operation::new(
        "getConditionHistory",
        Tag::Conditions,
        "Get the history of a condition",
    )
    .says("That of the tenant's own, where it has or had one with this id, otherwise that of the global one.");
    paged(with_condition_id(operation))
        .answers(200, "The changes, newest first", schema::condition_history)
        .refuses(&[CONDITION_NOT_FOUND])
}

pub(in crate::conditions::http) fn global_condition_history() -> Operation {
    let operation = Operation::new(
        "getGlobalConditionHistory",
        Tag::Conditions,
        "Get the history of a global condition",
    )
    .says("Who has made a change, and why, is told to callers with `ecs.global-condition.write` alone: for others `by` is the platform.");
    paged(with_condition_id(operation))
        .answers(200, "The changes, newest first", schema::condition_history)
        .refuses(&[CONDITION_NOT_FOUND])
}

pub(in crate::conditions::http) fn deleted_conditions() -> Operation {
    let operation = Operation::new(
        "listDeletedConditions",
        Tag::Conditions,
        "List the deleted conditions of the tenant",
    );
    deleted(operation)
}

pub(in crate::conditions::http) fn deleted_global_conditions() -> Operation {
    let operation = Operation::new(
        "listDeletedGlobalConditions",
        Tag::Conditions,
        "List the deleted global conditions",
    );
    deleted(operation)
}
