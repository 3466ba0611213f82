//! The signing keys, for operators. `tillgate keys` uses HTTP, because only one process may open an embedded store.

use std::sync::Arc;

use ::http::{Method, StatusCode};

use super::described::platform as described;
use super::read_reply;
use crate::error::Result;
use crate::http::{Access, Audited, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::tokens::Tokens;

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let none = Takes::Nothing;
    let (read, rotate) = (Access::With(P::KeysRead), Access::With(P::KeysRotate));
    vec![
        Route::new(Method::GET, "/v1/keys", read, none, list).described(described::list_keys),
        Route::changing(
            Method::POST,
            "/v1/keys/rotate",
            rotate,
            none,
            "key.rotated",
            rotate_keys,
        )
        .described(described::rotate_keys),
    ]
}

async fn list(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    read_reply(&request, &tokens.keys().await?)
}

async fn rotate_keys(tokens: Arc<Tokens>, _: Request) -> Result<Audited> {
    let (key, line) = tokens.rotate_keys().await?;
    Ok(Reply::of(StatusCode::CREATED, &key)?.audited(line))
}
