//! The routes of the token service (`tokens.md`): the public ones are here and in `oauth.rs` (the token endpoint),
//! those for administrators in one file per resource. The domain decides who may act on which tenant.

mod clients;
mod keys;
mod oauth;
mod parameters;
mod roles;
mod statements;
mod templates;
mod tenants;

use std::sync::Arc;

use ::http::header::CACHE_CONTROL;
use ::http::{HeaderValue, Method, StatusCode};
use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Serialize;
use tillgate_api::problem::{
    CLIENT_EXISTS, INTERNAL, QUOTA_EXCEEDED, RATE_LIMITED, TOO_MUCH_WAITING,
};
use tillgate_api::schema::{schema_of, tenant_id};
use tillgate_api::{describe, read};
use tillgate_base::data::etag;
use tillgate_base::data::feed::Staleness;
use tillgate_base::error::Result;
use tillgate_base::identity::{Caller, Permission, TenantId};
use tillgate_base::keys::{JwkSet, PublicDocument};
use tillgate_http::{Access, Audited, Authenticate, Operation, Reply, Request, Route, Tag, Takes};

use self::parameters::NO_STORE;
use super::issue::Metadata;
use super::registration::Registered;
use super::{JWKS_MAX_AGE, Tokens, body};

/// Examples of the bodies of the operations, by operation id.
pub const EXAMPLES: &str = include_str!("examples.json");

#[async_trait]
impl Authenticate for Tokens {
    async fn authenticate(&self, token: &str) -> Result<(Arc<Caller>, Staleness)> {
        self.verify(token).await
    }
}

/// The largest body of a registration: 64 KiB, because sending one needs no token.
const MAX_REGISTRATION: usize = 64 << 10;

/// The caller of the request.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Caller")]
struct AnsweredCaller<'a> {
    /// The caller's permissions that a route here requires.
    permissions: Vec<&'static str>,
    #[schemars(schema_with = "tenant_id")]
    tenant_id: &'a TenantId,
}

/// Returns the routes of the token service.
pub fn routes() -> Vec<Route<Arc<Tokens>>> {
    let public = Access::Public;
    let none = Takes::Nothing;
    let mut routes = vec![
        oauth::route(),
        Route::new(
            Method::GET,
            "/.well-known/jwks.json",
            public,
            none,
            get_jwks,
        )
        .described(describe_jwks),
        Route::new(
            Method::GET,
            "/.well-known/oauth-authorization-server",
            public,
            none,
            get_metadata,
        )
        .described(describe_metadata),
        Route::new(
            Method::GET,
            "/api/v1/caller",
            Access::AnyCaller,
            none,
            get_caller,
        )
        .described(describe_caller),
        Route::changing(
            Method::POST,
            "/v1/registration",
            public,
            Takes::Json(MAX_REGISTRATION),
            "client.registered",
            register,
        )
        .described(describe_register),
    ];
    routes.extend(tenants::routes());
    routes.extend(templates::routes());
    routes.extend(clients::routes());
    routes.extend(roles::routes());
    routes.extend(statements::routes());
    routes.extend(keys::routes());
    routes
}

/// Returns the caller's tenant and permissions, so that the page offers only what the caller may do.
async fn get_caller(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let caller = request.caller()?;
    tokens.require_existing_tenant(caller).await?;
    let permissions = caller.permissions.iter().map(Permission::as_str);
    let answer = AnsweredCaller {
        permissions: permissions.collect(),
        tenant_id: &caller.tenant,
    };
    Reply::of(StatusCode::OK, &answer)
}

async fn register(tokens: Arc<Tokens>, request: Request) -> Result<Audited> {
    tokens.count_registration(request.peer)?;
    let registered = tokens
        .register(read(&request.body, body::registration)?, request.peer)
        .await?;
    let reply = secret(Reply::of(StatusCode::CREATED, &registered)?);
    Ok(reply.audited(registered.line()))
}

/// Marks an answer that has a secret, so that no cache stores it.
fn secret(reply: Reply) -> Reply {
    reply.with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

async fn get_jwks(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    Ok(public(&request, &tokens.jwks()?))
}

async fn get_metadata(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    Ok(public(&request, tokens.metadata()))
}

fn no_content() -> Reply {
    Reply::empty(StatusCode::NO_CONTENT)
}

/// Returns the answer to a write: JSON with its entity tag.
fn write_reply(status: StatusCode, stored: &impl Serialize) -> Result<Reply> {
    Ok(Reply::of(status, stored)?.tagged(etag::of_json(stored)?))
}

/// Answers with a document that may be read without a token and cached for a while.
fn public(request: &Request, document: &PublicDocument) -> Reply {
    let json = || Reply::json(StatusCode::OK, document.json.clone());
    let reply = request.answer(document.etag.clone(), json);
    let max_age = format!("public, max-age={}", JWKS_MAX_AGE.as_secs());
    let max_age = HeaderValue::from_str(&max_age).unwrap_or(HeaderValue::from_static("no-store"));
    reply.with(CACHE_CONTROL, max_age)
}

const MAX_AGE: &str = "The time for which the answer may be cached: `public, max-age=300`.";

fn describe_jwks() -> Operation {
    Operation::new("getJwks", Tag::Tokens, "Get the public keys of the token service")
        .says("These keys verify access tokens and software statements. A new key is published for longer than `max-age` before it signs.")
        .answers(200, "The keys, a JWK set (RFC 7517)", schema_of::<JwkSet>)
        .with_header("Cache-Control", MAX_AGE)
        .with_entity_tag()
        .refuses(&[INTERNAL])
}

fn describe_metadata() -> Operation {
    Operation::new(
        "getAuthorizationServerMetadata",
        Tag::Tokens,
        "Get the metadata of the token service",
    )
    .answers(200, "The metadata (RFC 8414)", schema_of::<Metadata>)
    .with_header("Cache-Control", MAX_AGE)
    .with_entity_tag()
}

fn describe_caller() -> Operation {
    Operation::new(
        "getCaller",
        Tag::Tokens,
        "Get the tenant and the permissions of the caller",
    )
    .answers(200, "The caller", schema_of::<AnsweredCaller>)
    .may_be_stale()
}

fn describe_register() -> Operation {
    Operation::new("registerClient", Tag::Clients, "Register a client")
        .says("A client registers itself, without a token. It is `Pending` and gets no tokens until an administrator authorizes it. A client that is not authorized in time is removed. With a software statement that approves its clients, it is `Authorized` at once. Its claims must match the schema of its template. Its id is made from its claims, its software and its tenant, and has at most 255 characters.")
        .takes(|generator| describe(generator, body::registration))
        .answers(201, "It was registered", schema_of::<Registered>)
        .with_header(NO_STORE.0, NO_STORE.1)
        .refuses(&[CLIENT_EXISTS, QUOTA_EXCEEDED, RATE_LIMITED, TOO_MUCH_WAITING])
}
