//! The schemas of the token service's answers and parameters, for the documents of the API, a file for each group of routes.
//! Those of bodies are made by what reads them (`tokens/body.rs`).

pub(super) mod clients;
pub(super) mod public;

use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::schema::schema_of;

use crate::tokens::client::Status;
use crate::tokens::members::{claims_schema as claims, name_schema as name, schema_of_claims};

fn name_such_as(generator: &mut SchemaGenerator, example: &str) -> Schema {
    let mut name = name(generator);
    name.insert("examples".to_owned(), [example].as_slice().into());
    name
}

/// The id of a software.
pub(super) fn software_id(generator: &mut SchemaGenerator) -> Schema {
    name_such_as(generator, "till")
}

/// The version of a software.
pub(super) fn software_version(generator: &mut SchemaGenerator) -> Schema {
    name_such_as(generator, "1")
}

/// The id of a role.
pub(super) fn role_id(generator: &mut SchemaGenerator) -> Schema {
    name_such_as(generator, "shop-manager")
}

/// Whose templates they are: a tenant's, or the global ones.
pub(super) fn owner(generator: &mut SchemaGenerator) -> Schema {
    name_such_as(generator, "acme")
}

/// The id of a client.
pub(super) fn client_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9_-]{1,255}$", "examples": ["c2Z3OiB0aWxsQDFAYWNtZQp0aWQ6IGFjbWUK"],
    })
}

fn roles_of(name: &Schema) -> Schema {
    json_schema!({
        "type": "array", "maxItems": 50,
        "description": "Roles that exist, each once.",
        "items": { "type": "object", "required": ["roleId"], "properties": { "roleId": name } },
    })
}

fn page(of: &Schema) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["items"],
        "properties": {
            "items": { "type": "array", "items": of, "description": "They may be fewer than asked for, even none, and more may follow all the same." },
            "next": { "type": "string", "description": "The `cursor` of the next page; absent on the last one." },
        },
    })
}

fn secret() -> Schema {
    json_schema!({ "type": "string", "pattern": "^[0-9a-f]{64}$", "description": "It is shown here and never again." })
}

/// The status of a client.
pub(super) fn status(generator: &mut SchemaGenerator) -> Schema {
    schema_of::<Status>(generator)
}
