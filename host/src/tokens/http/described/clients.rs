//! What the API's documents say of clients.

use serde_json::{Value, json};

use super::super::schema::{client_id, clients as schema, status};
use super::{CLIENT_ID, ENTITY_TAG, NO_STORE, SECRET, with_limit, with_tenant};
use crate::http::schema::duration;
use crate::http::{Operation, Tag};

const UNKNOWN: &str = "The tenant has no client with this id.";
const MAY_GRANT: &str = "The caller must be able to grant every permission that the client has.";

fn of_client(id: &'static str, summary: &'static str) -> Operation {
    with_tenant(Operation::new(id, Tag::Clients, summary))
        .path("clientId", "The id of the client.", client_id)
        .refuses(404, UNKNOWN)
}

fn example(status: &str) -> Value {
    json!({
        "claims": {}, "clientId": CLIENT_ID, "registeredAt": "2026-11-20T17:40:00.000Z", "roles": [{ "roleId": "ecs.editor" }],
        "softwareId": "till", "softwareVersion": "1", "status": status, "tenantId": "acme",
    })
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
        .answers(
            200,
            "The clients, by id",
            schema::clients,
            json!({ "items": [example("Authorized")], "next": CLIENT_ID }),
        )
        .with_entity_tag()
}

pub(in crate::tokens::http) fn get_client() -> Operation {
    of_client("getClient", "Get a client")
        .answers(200, "The client", schema::client, example("Pending"))
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
        .answers(
            200,
            "The client, which may get tokens",
            schema::client,
            example("Authorized"),
        )
        .with_header(ENTITY_TAG.0, ENTITY_TAG.1)
        .refuses(409, "The client is revoked, which is for ever.")
}

pub(in crate::tokens::http) fn revoke() -> Operation {
    of_client("revokeClient", "Revoke a client")
        .says("Its tokens are refused from then on, and it can never be authorized again. The caller must be able to grant every permission that the client has.")
        .answers(200, "The client, which gets no tokens", schema::client, example("Revoked"))
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
            schema::credentials,
            json!({ "clientId": CLIENT_ID, "clientSecret": SECRET }),
        )
        .with_header(NO_STORE.0, NO_STORE.1)
        .refuses(409, "The client is revoked.")
}

pub(in crate::tokens::http) fn put_roles() -> Operation {
    of_client("putClientRoles", "Set the roles of a client")
        .says("They replace those that it has. The caller must be able to grant every permission that the client has, and that it gets.")
        .takes(schema::client_roles, json!({ "roles": [{ "roleId": "ecs.editor" }] }))
        .answers(200, "The client", schema::client, example("Authorized"))
        .with_preconditions()
}
