//! The routes of the token service (`tokens.md`): the public ones here and in `oauth.rs` (the token endpoint), those for
//! administrators in a file for each resource. The domain says who may act on which tenant.

mod clients;
mod described;
mod keys;
mod oauth;
mod parameters;
mod roles;
mod schema;
mod statements;
mod templates;
mod tenants;

use std::sync::Arc;

use ::http::header::CACHE_CONTROL;
use ::http::{HeaderValue, Method, StatusCode};
use async_trait::async_trait;
use serde::Serialize;
use serde_json::json;
use tillgate_api::read;

use super::{JWKS_MAX_AGE, Tokens, body};
use crate::data::etag;
use crate::data::feed::Staleness;
use crate::error::Result;
use crate::http::{Access, Audited, Authenticate, Reply, Request, Route, Takes};
use crate::identity::{Caller, Permission};
use crate::keys::PublicDocument;

#[async_trait]
impl Authenticate for Tokens {
    async fn authenticate(&self, token: &str) -> Result<(Arc<Caller>, Staleness)> {
        self.verify(token).await
    }
}

/// The largest body of a registration: 64 KiB, because sending one needs no token.
const MAX_REGISTRATION: usize = 64 << 10;

/// The routes.
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
        .described(described::public::get_jwks),
        Route::new(
            Method::GET,
            "/.well-known/oauth-authorization-server",
            public,
            none,
            get_metadata,
        )
        .described(described::public::get_metadata),
        Route::new(
            Method::GET,
            "/api/v1/caller",
            Access::AnyCaller,
            none,
            get_caller,
        )
        .described(described::public::get_caller),
        Route::changing(
            Method::POST,
            "/v1/registration",
            public,
            Takes::Json(MAX_REGISTRATION),
            "client.registered",
            register,
        )
        .described(described::public::register),
    ];
    routes.extend(tenants::routes());
    routes.extend(templates::routes());
    routes.extend(clients::routes());
    routes.extend(roles::routes());
    routes.extend(statements::routes());
    routes.extend(keys::routes());
    routes
}

/// The caller's tenant and permissions, so that the page offers only what the caller may do.
async fn get_caller(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    let caller = request.caller()?;
    tokens.require_existing_tenant(caller).await?;
    let permissions = caller.permissions.iter().map(Permission::as_str);
    let answer = json!({
        "tenantId": caller.tenant.as_str(),
        "permissions": permissions.collect::<Vec<_>>(),
    });
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

/// An answer with a secret, which no cache may store.
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

/// The answer to a GET: JSON with its entity tag, or 304 when the caller has it.
fn read_reply(request: &Request, found: &impl Serialize) -> Result<Reply> {
    let etag = etag::of_json(found)?;
    if request.has(&etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).tagged(etag));
    }
    Ok(Reply::of(StatusCode::OK, found)?.tagged(etag))
}

/// The answer to a write: JSON with its entity tag.
fn write_reply(status: StatusCode, stored: &impl Serialize) -> Result<Reply> {
    Ok(Reply::of(status, stored)?.tagged(etag::of_json(stored)?))
}

/// A document that may be read without a token, and cached for a while.
fn public(request: &Request, document: &PublicDocument) -> Reply {
    let reply = if request.has(&document.etag) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        Reply::json(StatusCode::OK, document.json.clone())
    };
    let max_age = format!("public, max-age={}", JWKS_MAX_AGE.as_secs());
    let max_age = HeaderValue::from_str(&max_age).unwrap_or(HeaderValue::from_static("no-store"));
    reply
        .tagged(document.etag.clone())
        .with(CACHE_CONTROL, max_age)
}
