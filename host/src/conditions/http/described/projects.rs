//! Projects, their findings and their history.

use serde_json::{Value, json};

use super::{
    ACCEPT_FAILING, PROJECT, deleted, findings_example, history_example, paged, project_example,
    schema, with_project_id,
};
use crate::http::{Operation, Tag};

pub(super) fn restrictions_example() -> Value {
    json!([{ "type": "WHITELIST", "propertyName": "productGroup", "allowedValues": ["timber", "fasteners"] }])
}

pub(in crate::conditions::http) fn list_projects() -> Operation {
    let operation = Operation::new("listProjects", Tag::Projects, "List the tenant's projects")
        .answers(
            200,
            "The projects",
            schema::projects,
            json!([project_example()]),
        );
    operation.may_be_stale().with_entity_tag()
}

pub(in crate::conditions::http) fn get_project() -> Operation {
    let operation = with_project_id(Operation::new("getProject", Tag::Projects, "Get a project"))
        .answers(200, "The project", schema::project, project_example());
    operation
        .may_be_stale()
        .with_entity_tag()
        .refuses(404, "The tenant has no such project.")
}

pub(in crate::conditions::http) fn get_restrictions() -> Operation {
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

pub(in crate::conditions::http) fn put_project() -> Operation {
    with_project_id(Operation::new("putProject", Tag::Projects, "Create or replace a project"))
        .says("Restrictions of a type and property that are not exclusive are one check over all of their values. Tests are run first. Without `tests`, those that are there are kept, and run too; an empty list removes them.")
        .query("failingTests", ACCEPT_FAILING, schema::failing_tests)
        .with_note()
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

pub(in crate::conditions::http) fn delete_project() -> Operation {
    with_project_id(Operation::new(
        "deleteProject",
        Tag::Projects,
        "Delete a project",
    ))
    .with_note()
    .empty(204, "It was deleted")
    .with_preconditions()
    .refuses(404, "The tenant has no such project.")
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
        findings_example(),
    );
    operation
        .may_be_stale()
        .refuses(404, "The tenant has no such project.")
}

pub(in crate::conditions::http) fn project_history() -> Operation {
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

pub(in crate::conditions::http) fn deleted_projects() -> Operation {
    let operation = Operation::new(
        "listDeletedProjects",
        Tag::Projects,
        "List the deleted projects of the tenant",
    );
    let by = json!({ "clientId": "c2Z3OiBvZmZpY2VAMUBhY21l", "name": "office 1" });
    deleted(
        operation,
        &json!({ "id": PROJECT, "name": "School, new building", "at": "2026-11-20T17:40:00.000Z", "by": by }),
    )
}
