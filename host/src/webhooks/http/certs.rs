//! The certificates that verify the bearer tokens of deliveries, for everyone: a map from key id to certificate
//! (`given.md` 5.2).

use std::sync::Arc;

use ::http::header::CACHE_CONTROL;
use ::http::{HeaderValue, Method, StatusCode};

use super::described::registry as described;
use crate::error::Result;
use crate::http::{Access, Reply, Request, Route, Takes};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery::identity_provider::CERTIFICATES_MAX_AGE;

/// The routes.
pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let (public, none) = (Access::Public, Takes::Nothing);
    vec![
        Route::new(
            Method::GET,
            "/oauth2/v1/certs",
            public,
            none,
            get_certificates,
        )
        .described(described::get_certificates),
    ]
}

async fn get_certificates(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let published = webhooks.identity().certificates()?;
    let reply = if request.has(&published.etag) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        Reply::json(StatusCode::OK, published.json)
    };
    let max_age = format!("public, max-age={}", CERTIFICATES_MAX_AGE.as_secs());
    let max_age = HeaderValue::from_str(&max_age).unwrap_or(HeaderValue::from_static("no-store"));
    Ok(reply.tagged(published.etag).with(CACHE_CONTROL, max_age))
}
