//! The public certificates that verify the bearer tokens of deliveries: a map from key id to certificate (`given.md`
//! 5.2).

use std::sync::Arc;

use ::http::header::CACHE_CONTROL;
use ::http::{HeaderValue, Method, StatusCode};
use schemars::{Schema, SchemaGenerator, json_schema};
use tillgate_api::problem::INTERNAL;
use tillgate_api::schema::component;
use tillgate_base::error::Result;
use tillgate_http::{Access, Operation, Reply, Request, Route, Tag, Takes};

use crate::Webhooks;
use crate::delivery::identity_provider::CERTIFICATES_MAX_AGE;

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
        .described(describe_get_certificates),
    ]
}

async fn get_certificates(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    let published = webhooks.identity().certificates()?;
    let reply = request.answer(published.etag, || {
        Reply::json(StatusCode::OK, published.json)
    });
    let max_age = format!("public, max-age={}", CERTIFICATES_MAX_AGE.as_secs());
    let max_age = HeaderValue::from_str(&max_age).unwrap_or(HeaderValue::from_static("no-store"));
    Ok(reply.with(CACHE_CONTROL, max_age))
}

/// Returns the schema of certificates by key id.
pub(super) fn certificates(generator: &mut SchemaGenerator) -> Schema {
    component(generator, "Certificates", |_| {
        json_schema!({
            "type": "object", "minProperties": 1,
            "description": "Certificates in PEM format, by the `kid` in the header of a token.",
            "additionalProperties": { "type": "string", "pattern": "^-----BEGIN CERTIFICATE-----" },
        })
    })
}

fn describe_get_certificates() -> Operation {
    Operation::new(
        "getWebhookCertificates",
        Tag::Tokens,
        "Get the certificates that verify the tokens of deliveries",
    )
    .says("A new certificate is published for longer than `max-age` before its key signs.")
    .answers(200, "The certificates, by key id", certificates)
    .with_header(
        "Cache-Control",
        "The time for which the answer may be cached: `public, max-age=3600`.",
    )
    .with_entity_tag()
    .refuses(&[INTERNAL])
}
