//! The keys of the identity provider, for operators. `tillgate keys --of webhooks` asks for them.

use std::sync::Arc;

use ::http::{Method, StatusCode};

use super::described::registry as described;
use crate::data::etag;
use crate::error::Result;
use crate::http::{Access, Audited, Reply, Request, Route, Takes};
use crate::identity::Permission as P;
use crate::webhooks::Webhooks;

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let none = Takes::Nothing;
    let (read, rotate) = (Access::With(P::KeysRead), Access::With(P::KeysRotate));
    let path = "/v1/webhook-keys/rotate";
    vec![
        Route::new(Method::GET, "/v1/webhook-keys", read, none, list)
            .described(described::list_keys),
        Route::changing(Method::POST, path, rotate, none, "key.rotated", rotate_keys)
            .described(described::rotate_identity_key),
    ]
}

async fn list(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let keys = webhooks.identity().keys().await?;
    let etag = etag::of_json(&keys)?;
    if request.has(&etag) {
        return Ok(Reply::empty(StatusCode::NOT_MODIFIED).tagged(etag));
    }
    Ok(Reply::of(StatusCode::OK, &keys)?.tagged(etag))
}

async fn rotate_keys(webhooks: Arc<Webhooks>, _: Request) -> Result<Audited> {
    let (key, line) = webhooks.identity().rotate_keys().await?;
    Ok(Reply::of(StatusCode::CREATED, &key)?.audited(line))
}
