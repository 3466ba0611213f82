//! The signing keys, for operators. `tillgate keys` uses HTTP, because only one process may open an embedded store.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::KEY_WAITING;
use tillgate_api::schema::schema_of;
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_base::keys::KeyState;
use tillgate_http::{Access, Audited, Operation, Reply, Request, Route, Tag, Takes};

use crate::Tokens;

pub(super) fn routes() -> Vec<Route<Arc<Tokens>>> {
    let none = Takes::Nothing;
    let (read, rotate) = (Access::With(P::KeysRead), Access::With(P::KeysRotate));
    vec![
        Route::new(Method::GET, "/v1/keys", read, none, list).described(describe_list),
        Route::changing(
            Method::POST,
            "/v1/keys/rotate",
            rotate,
            none,
            "key.rotated",
            rotate_keys,
        )
        .described(describe_rotate),
    ]
}

async fn list(tokens: Arc<Tokens>, request: Request) -> Result<Reply> {
    request.answer_json(&tokens.keys().await?)
}

async fn rotate_keys(tokens: Arc<Tokens>, _: Request) -> Result<Audited> {
    let (key, line) = tokens.rotate_keys().await?;
    Ok(Reply::of(StatusCode::CREATED, &key)?.audited(line))
}

fn describe_list() -> Operation {
    Operation::new("listSigningKeys", Tag::Platform, "List the signing keys")
        .says("These keys sign access tokens and software statements.")
        .answers(200, "The keys, the newest last", schema_of::<Vec<KeyState>>)
        .with_entity_tag()
}

fn describe_rotate() -> Operation {
    Operation::new("rotateSigningKey", Tag::Platform, "Publish a new signing key")
        .says("The new key starts to sign once every cache of the JWKS has it. The previous key is removed when the last token that it signed has expired.")
        .answers(201, "The new key", schema_of::<KeyState>)
        .refuses(&[KEY_WAITING])
}
