//! What the API's documents say of clients.

use tillgate_api::describe;
use tillgate_api::problem::{CLIENT_NOT_FOUND, CLIENT_REVOKED, ROLE_RESERVED};
use tillgate_api::schema::duration;

use super::super::schema::{client_id, clients as schema, status};
use super::{ENTITY_TAG, NO_STORE, with_limit, with_tenant};
use crate::http::{Operation, Tag};
use crate::tokens::body;

const MAY_GRANT: &str = "The caller must be able to grant every permission that the client has.";

fn of_client(id: &'static str, summary: &'static str) -> Operation {
    with_tenant(Operation::new(id, Tag::Clients, summary))
        .path("clientId", "The id of the client.", client_id)
        .refuses(&[CLIENT_NOT_FOUND])
}

pub(in crate::tokens::http) fn list_clients() -> Operation {
    let operation = with_tenant(Operation::new(
        "listClients",
        Tag::Clients,
        "List the clients of a tenant",
    ))
    .query("status", "Only those with this status.", status)
    .query("cursor", "`next` of the page before.", client_id);
    with_limit(operation)
        .answers(200, "The clients, by id", schema::clients)
        .with_entity_tag()
}

pub(in crate::tokens::http) fn get_client() -> Operation {
    of_client("getClient", "Get a client")
        .answers(200, "The client", schema::client)
        .with_entity_tag()
}

pub(in crate::tokens::http) fn delete_client() -> Operation {
    of_client("deleteClient", "Delete a client")
        .says("Its tokens are refused from then on. The same claims may register again, and get another secret.")
        .empty(204, "It was deleted")
        .with_preconditions()
}

pub(in crate::tokens::http) fn authorize() -> Operation {
    of_client("authorizeClient", "Authorize a client")
        .says(MAY_GRANT)
        .answers(200, "The client, which may get tokens", schema::client)
        .with_header(ENTITY_TAG.0, ENTITY_TAG.1)
        .refuses(&[CLIENT_REVOKED])
}

pub(in crate::tokens::http) fn revoke() -> Operation {
    of_client("revokeClient", "Revoke a client")
        .says("Its tokens are refused from then on, and it can never be authorized again. The caller must be able to grant every permission that the client has.")
        .answers(200, "The client, which gets no tokens", schema::client)
        .with_header(ENTITY_TAG.0, ENTITY_TAG.1)
}

pub(in crate::tokens::http) fn renew_secret() -> Operation {
    of_client("renewClientSecret", "Give a client a new secret")
        .says("At most five secrets of a client are valid at once. The caller must be able to grant every permission that the client has.")
        .query(
            "overlap",
            "How long the secrets before it stay valid, at most 30 days; without it, as long as is configured.",
            duration,
        )
        .answers(
            200,
            "The new secret",
            schema::credentials)
        .with_header(NO_STORE.0, NO_STORE.1)
        .refuses(&[CLIENT_REVOKED])
}

pub(in crate::tokens::http) fn put_roles() -> Operation {
    of_client("putClientRoles", "Set the roles of a client")
        .says("They replace those that it has. The caller must be able to grant every permission that the client has, and that it gets.")
        .takes(|generator| describe(generator, body::roles))
        .answers(200, "The client", schema::client)
        .with_preconditions()
        .refuses(&[ROLE_RESERVED])
}
