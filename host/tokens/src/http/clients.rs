//! The clients of a tenant: their status, secrets and roles.

use std::sync::Arc;
use std::time::Duration;

use ::http::{Method, StatusCode};
use tillgate_api::problem::{CLIENT_NOT_FOUND, CLIENT_REVOKED, ROLE_RESERVED};
use tillgate_api::schema::{duration, schema_of};
use tillgate_api::{describe, read};
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_base::observe::audit::Line;
use tillgate_http::{
    Access, Audited, CURSOR_RULE, LIMIT, MAX_BODY, Operation, Query, QueryParameter, Reply,
    Request, Route, Tag, Takes,
};

use super::parameters::{ENTITY_TAG, NO_STORE, tenant_of, with_tenant};
use super::{no_content, secret, write_reply};
use crate::client::{AnsweredClient, Client, Credentials, Status, StatusChange};
use crate::client_id::is_id;
use crate::clients::{ListPage, PAGE_BYTES, line};
use crate::members::client_id_schema;
use crate::{Tokens, body};

const CLIENTS: &str = "/v1/tenants/{tenantId}/clients";
const CLIENT: &str = "/v1/tenants/{tenantId}/clients/{clientId}";
const AUTHORIZE: &str = "/v1/tenants/{tenantId}/clients/{clientId}/authorize";
const REVOKE: &str = "/v1/tenants/{tenantId}/clients/{clientId}/revoke";
const SECRET: &str = "/v1/tenants/{tenantId}/clients/{clientId}/secret";
const ROLES: &str = "/v1/tenants/{tenantId}/clients/{clientId}/roles";

const MAY_GRANT: &str = "The caller must be able to grant every permission that the client has.";

const STATUS: QueryParameter<Status> = QueryParameter {
    name: "status",
    about: "The status of the clients to list. Default: all.",
    schema: schema_of::<Status>,
    read: |text| Status::from_name(text).ok_or("must be Pending, Authorized or Revoked"),
};
const CURSOR: QueryParameter<String> = QueryParameter::cursor(client_id_schema, |text| {
    is_id(text).then(|| text.to_owned()).ok_or(CURSOR_RULE)
});
const OVERLAP: QueryParameter<Duration> = QueryParameter {
    name: "overlap",
    about: "The time for which earlier secrets stay valid: at most 30 days. Default: the setting `tokens.secret_overlap`.",
    schema: duration,
    read: body::overlap,
};

pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let (none, json) = (Takes::Nothing, Takes::Json(MAX_BODY));
    let read = Access::With(P::ClientsRead);
    let update = Access::With(P::ClientsUpdate);
    let delete = Access::With(P::ClientsDelete);
    vec![
        Route::new(Method::GET, CLIENTS, read, none, list_clients)
            .described(describe_list)
            .heavy()
            .reserving(PAGE_BYTES),
        Route::new(Method::GET, CLIENT, read, none, get_client).described(describe_get),
        Route::changing(
            Method::DELETE,
            CLIENT,
            delete,
            none,
            "client.deleted",
            delete_client,
        )
        .described(describe_delete),
        Route::changing(
            Method::PUT,
            AUTHORIZE,
            update,
            none,
            "client.authorized",
            authorize,
        )
        .described(describe_authorize),
        Route::changing(Method::PUT, REVOKE, update, none, "client.revoked", revoke)
            .described(describe_revoke),
        Route::changing(
            Method::POST,
            SECRET,
            update,
            none,
            "client.secret_renewed",
            renew_secret,
        )
        .described(describe_renew_secret),
        Route::changing(
            Method::PUT,
            ROLES,
            update,
            json,
            "client.roles_set",
            put_roles,
        )
        .described(describe_put_roles),
    ]
}

fn client(client: Client) -> Result<Reply> {
    write_reply(StatusCode::OK, &AnsweredClient::from(client))
}

async fn list_clients(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let mut query = Query::of(&request);
    let status = query.optional(&STATUS);
    let (limit, cursor) = (query.limit(), query.optional(&CURSOR));
    query.faults.none_or_error()?;
    let clients = tokens.clients(caller, &tenant, status, limit, cursor.as_deref());
    request.answer_json(&clients.await?)
}

async fn get_client(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let client = tokens.client(caller, &tenant, request.param(1)?).await?;
    request.answer_json(&AnsweredClient::from(client))
}

async fn delete_client(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let (id, preconditions) = (request.param(1)?, request.preconditions());
    let deleted = tokens.delete_client(caller, &tenant, id, &preconditions);
    deleted.await?;
    Ok(no_content().audited(line(&tenant, id)))
}

async fn authorize(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    change_status(&tokens, &request, StatusChange::Authorize).await
}

async fn revoke(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    change_status(&tokens, &request, StatusChange::Revoke).await
}

async fn change_status(
    tokens: &Tokens,
    request: &Request,
    change: StatusChange,
) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(request)?);
    let id = request.param(1)?;
    let changed = tokens.change_status(caller, &tenant, id, change);
    let (found, has_changed) = changed.await?;
    let reply = client(found)?;
    Ok(if has_changed {
        reply.audited(line(&tenant, id))
    } else {
        reply.unchanged()
    })
}

async fn renew_secret(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let (id, overlap) = (request.param(1)?, request.query(&OVERLAP)?);
    let new = tokens.renew_secret(caller, &tenant, id, overlap).await?;
    let reply = secret(Reply::of(StatusCode::OK, &new)?);
    Ok(reply.audited(line(&tenant, id)))
}

async fn put_roles(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    let (caller, tenant) = (request.caller()?, tenant_of(&request)?);
    let roles = read(&request.body, body::roles)?;
    let (id, preconditions) = (request.param(1)?, request.preconditions());
    let changed = tokens.set_roles(caller, &tenant, id, &roles, &preconditions);
    let (found, has_changed) = changed.await?;
    let line = Line {
        roles: Some(found.roles.join(" ")),
        ..line(&tenant, id)
    };
    let reply = client(found)?;
    Ok(if has_changed {
        reply.audited(line)
    } else {
        reply.unchanged()
    })
}

fn of_client(id: &'static str, summary: &'static str) -> Operation {
    with_tenant(Operation::new(id, Tag::Clients, summary))
        .path("clientId", "The id of the client.", client_id_schema)
        .refuses(&[CLIENT_NOT_FOUND])
}

fn describe_list() -> Operation {
    let operation = with_tenant(Operation::new(
        "listClients",
        Tag::Clients,
        "List the clients of a tenant",
    ))
    .query(&STATUS)
    .query(&CURSOR)
    .query(&LIMIT);
    operation
        .answers(
            200,
            "The clients, by id",
            schema_of::<ListPage<AnsweredClient>>,
        )
        .with_entity_tag()
}

fn describe_get() -> Operation {
    of_client("getClient", "Get a client")
        .answers(200, "The client", schema_of::<AnsweredClient>)
        .with_entity_tag()
}

fn describe_delete() -> Operation {
    of_client("deleteClient", "Delete a client")
        .says("From then on, its tokens are refused. The same claims may register again, and then get another secret.")
        .empty(204, "It was deleted")
        .with_preconditions()
}

fn describe_authorize() -> Operation {
    of_client("authorizeClient", "Authorize a client")
        .says(MAY_GRANT)
        .answers(
            200,
            "The client, which can now get tokens",
            schema_of::<AnsweredClient>,
        )
        .with_header(ENTITY_TAG.0, ENTITY_TAG.1)
        .refuses(&[CLIENT_REVOKED])
}

fn describe_revoke() -> Operation {
    of_client("revokeClient", "Revoke a client")
        .says("From then on, its tokens are refused, and it can never be authorized again. The caller must be able to grant every permission that the client has.")
        .answers(200, "The client, which can no longer get tokens", schema_of::<AnsweredClient>)
        .with_header(ENTITY_TAG.0, ENTITY_TAG.1)
}

fn describe_renew_secret() -> Operation {
    of_client("renewClientSecret", "Give a client a new secret")
        .says("A client has at most five valid secrets at once. The caller must be able to grant every permission that the client has.")
        .query(&OVERLAP)
        .answers(200, "The new secret", schema_of::<Credentials>)
        .with_header(NO_STORE.0, NO_STORE.1)
        .refuses(&[CLIENT_REVOKED])
}

fn describe_put_roles() -> Operation {
    of_client("putClientRoles", "Set the roles of a client")
        .says("The new roles replace the present ones. The caller must be able to grant every permission that the client has and every permission that it gets.")
        .takes(|generator| describe(generator, body::roles))
        .answers(200, "The client", schema_of::<AnsweredClient>)
        .with_preconditions()
        .refuses(&[ROLE_RESERVED])
}
