//! What the API's documents say of registration templates and software statements.

use tillgate_api::describe;
use tillgate_api::problem::{
    QUOTA_EXCEEDED, ROLE_RESERVED, SOFTWARE_STATEMENT_NOT_FOUND, TEMPLATE_EXISTS,
    TEMPLATE_NOT_FOUND,
};
use tillgate_api::schema::uuid;

use super::super::schema::{clients as schema, software_id, software_version};
use super::{ENTITY_TAG, with_limit, with_owner, with_tenant};
use crate::http::{Operation, Tag};
use crate::tokens::body;

fn of_template(id: &'static str, summary: &'static str) -> Operation {
    with_owner(Operation::new(id, Tag::Clients, summary))
        .path("softwareId", "The id of the software.", software_id)
        .path(
            "softwareVersion",
            "The version of the software.",
            software_version,
        )
}

pub(in crate::tokens::http) fn list_templates() -> Operation {
    with_owner(Operation::new(
        "listTemplates",
        Tag::Clients,
        "List the registration templates",
    ))
    .answers(200, "The templates, by software", schema::templates)
    .with_entity_tag()
}

pub(in crate::tokens::http) fn create_template() -> Operation {
    with_owner(Operation::new("createTemplate", Tag::Clients, "Create a registration template"))
        .says("Clients of the software register with it: their claims must match its schema, and they get its roles. The caller must be able to grant every permission of these. The template of a platform's administrator creates the tenant if there is none.")
        .takes(body::template_schema)
        .answers(201, "It was created", schema::template)
        .with_header(ENTITY_TAG.0, ENTITY_TAG.1)
        .refuses(&[ROLE_RESERVED, TEMPLATE_EXISTS, QUOTA_EXCEEDED])
}

pub(in crate::tokens::http) fn get_template() -> Operation {
    of_template("getTemplate", "Get a registration template")
        .answers(200, "The template", schema::template)
        .with_entity_tag()
        .refuses(&[TEMPLATE_NOT_FOUND])
}

pub(in crate::tokens::http) fn put_template() -> Operation {
    of_template("putTemplate", "Create or replace a registration template")
        .says("`softwareId` and `softwareVersion` must be those of the path. Clients that have registered with it stay as they are. The caller must be able to grant every permission of its roles.")
        .takes(body::template_schema)
        .answers(200, "It was replaced", schema::template)
        .answers(201, "It was created", schema::template)
        .with_preconditions()
        .refuses(&[ROLE_RESERVED, QUOTA_EXCEEDED])
}

pub(in crate::tokens::http) fn delete_template() -> Operation {
    of_template("deleteTemplate", "Delete a registration template")
        .says("Clients that have registered with it stay.")
        .empty(204, "It was deleted")
        .with_preconditions()
        .refuses(&[TEMPLATE_NOT_FOUND])
}

pub(in crate::tokens::http) fn create_statement() -> Operation {
    with_tenant(Operation::new(
        "createSoftwareStatement",
        Tag::Clients,
        "Create a software statement",
    ))
    .says("Any number of clients can register with it until it expires or is withdrawn. Its claims are those of each of them. With `autoApprove` they are authorized at once, so its text must be kept secret; the caller must then be able to grant every permission that the template gives.")
    .takes(
        |generator| describe(generator, body::statement))
    .answers(
        201,
        "It was created",
        schema::statement_text)
}

pub(in crate::tokens::http) fn list_statements() -> Operation {
    let operation = with_tenant(Operation::new(
        "listSoftwareStatements",
        Tag::Clients,
        "List the software statements of a tenant",
    ))
    .query("cursor", "`next` of the page before.", uuid);
    with_limit(operation)
        .answers(200, "Those that are valid, by id", schema::statements)
        .with_entity_tag()
}

pub(in crate::tokens::http) fn withdraw_statement() -> Operation {
    with_tenant(Operation::new(
        "withdrawSoftwareStatement",
        Tag::Clients,
        "Withdraw a software statement",
    ))
    .says("No client registers with it from then on. Those that have registered stay.")
    .path("jti", "The id of the statement.", uuid)
    .empty(204, "It was withdrawn")
    .refuses(&[SOFTWARE_STATEMENT_NOT_FOUND])
}
