//! The routes of the token service (`tokens.md`): its public ones here, administration in `admin.rs`, `statements.rs` and
//! `keys.rs`, the token endpoint in `oauth.rs`.

mod admin;
mod keys;
mod oauth;
mod statements;

use std::sync::Arc;

use ::http::header::CACHE_CONTROL;
use ::http::{HeaderValue, Method, StatusCode};
use serde::Serialize;

use super::body;
use super::keyring::Published;
use super::keys::JWKS_MAX_AGE;
use crate::app::App;
use crate::error::Result;
use crate::etag;
use crate::http::{Access, Reply, Request, Route, Takes};

/// The largest body of a registration: 64 KiB, since anyone may send one.
const MAX_REGISTRATION: usize = 64 << 10;

/// The routes.
pub fn routes() -> Vec<Route> {
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
        ),
        Route::new(
            Method::GET,
            "/.well-known/oauth-authorization-server",
            public,
            none,
            get_metadata,
        ),
        Route::new(
            Method::POST,
            "/v1/registration",
            public,
            Takes::Json(MAX_REGISTRATION),
            register,
        ),
    ];
    routes.extend(admin::routes());
    routes.extend(statements::routes());
    routes.extend(keys::routes());
    routes
}

async fn register(app: Arc<App>, request: Request) -> Result<Reply> {
    app.tokens.count_registration(request.peer)?;
    let registered = app
        .tokens
        .register(body::registration(&request.body)?)
        .await?;
    secret(Reply::of(StatusCode::CREATED, &registered)?)
}

/// An answer that holds a secret, which no cache may keep.
fn secret(reply: Reply) -> Result<Reply> {
    Ok(reply.with(CACHE_CONTROL, HeaderValue::from_static("no-store")))
}

async fn get_jwks(app: Arc<App>, request: Request) -> Result<Reply> {
    Ok(published(&request, &app.tokens.jwks()?))
}

async fn get_metadata(app: Arc<App>, request: Request) -> Result<Reply> {
    Ok(published(&request, app.tokens.metadata()))
}

/// What was asked for, with its entity tag; nothing when the caller has it.
fn tagged(request: &Request, found: &impl Serialize) -> Result<Reply> {
    let etag = etag::of_json(found)?;
    if request.has(&etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).tagged(etag));
    }
    Ok(Reply::of(StatusCode::OK, found)?.tagged(etag))
}

/// What was written, with its entity tag.
fn with_tag(status: StatusCode, stored: &impl Serialize) -> Result<Reply> {
    Ok(Reply::of(status, stored)?.tagged(etag::of_json(stored)?))
}

/// What anyone may read and keep for a while.
fn published(request: &Request, published: &Published) -> Reply {
    let reply = if request.has(&published.etag) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        Reply::json(StatusCode::OK, published.json.clone())
    };
    let max_age = format!("public, max-age={}", JWKS_MAX_AGE.as_secs());
    let max_age = HeaderValue::from_str(&max_age).unwrap_or(HeaderValue::from_static("no-store"));
    reply
        .tagged(published.etag.clone())
        .with(CACHE_CONTROL, max_age)
}
