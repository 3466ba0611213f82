//! Projects, their findings and their history.

use tillgate_api::problem::{PROJECT_NOT_FOUND, QUOTA_EXCEEDED, TESTS_FAILED};

use super::{ACCEPT_FAILING, deleted, paged, schema, with_project_id};
use crate::http::{Operation, Tag};

pub(in crate::conditions::http) fn list_projects() -> Operation {
    let operation = Operation::new("listProjects", Tag::Projects, "List the tenant's projects")
        .answers(200, "The projects", schema::projects);
    operation.may_be_stale().with_entity_tag()
}

pub(in crate::conditions::http) fn get_project() -> Operation {
    let operation = with_project_id(Operation::new("getProject", Tag::Projects, "Get a project"))
        .answers(200, "The project", schema::project);
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(&[PROJECT_NOT_FOUND])
}

pub(in crate::conditions::http) fn get_restrictions() -> Operation {
    let operation = with_project_id(Operation::new(
        "getRestrictions",
        Tag::Projects,
        "Get the restrictions of a project",
    ))
    .answers(200, "The restrictions", schema::restrictions);
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(&[PROJECT_NOT_FOUND])
}

pub(in crate::conditions::http) fn put_project() -> Operation {
    with_project_id(Operation::new("putProject", Tag::Projects, "Create or replace a project"))
        .says("Restrictions of a type and property that are not exclusive are one check over all of their values. Tests are run first. Without `tests`, those that are there are kept, and run too; an empty list removes them.")
        .query("failingTests", ACCEPT_FAILING, schema::failing_tests)
        .with_note()
        .takes(schema::project_put)
        .answers(200, "It was replaced", schema::project)
        .answers(201, "It was created", schema::project)
        .with_preconditions()
        .refuses(&[TESTS_FAILED, QUOTA_EXCEEDED])
}

pub(in crate::conditions::http) fn delete_project() -> Operation {
    with_project_id(Operation::new(
        "deleteProject",
        Tag::Projects,
        "Delete a project",
    ))
    .with_note()
    .empty(204, "It was deleted")
    .with_preconditions()
    .refuses(&[PROJECT_NOT_FOUND])
}

pub(in crate::conditions::http) fn project_findings() -> Operation {
    let operation = with_project_id(Operation::new(
        "getProjectFindings",
        Tag::Projects,
        "Find out what is wrong with a project",
    ))
    .answers(
        200,
        "What is wrong with it, or probably is",
        schema::findings,
    );
    operation.may_be_stale().refuses(&[PROJECT_NOT_FOUND])
}

pub(in crate::conditions::http) fn project_history() -> Operation {
    let operation = Operation::new(
        "getProjectHistory",
        Tag::Projects,
        "Get the history of a project",
    );
    paged(with_project_id(operation))
        .answers(200, "The changes, newest first", schema::project_history)
        .refuses(&[PROJECT_NOT_FOUND])
}

pub(in crate::conditions::http) fn deleted_projects() -> Operation {
    let operation = Operation::new(
        "listDeletedProjects",
        Tag::Projects,
        "List the deleted projects of the tenant",
    );
    deleted(operation)
}
