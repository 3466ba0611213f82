//! The keys of the identity provider, for operators. `tillgate keys --of webhooks` asks for them.

use std::sync::Arc;

use ::http::{Method, StatusCode};
use tillgate_api::problem::KEY_WAITING;
use tillgate_api::schema::schema_of;
use tillgate_base::error::Result;
use tillgate_base::identity::Permission as P;
use tillgate_base::keys::KeyState;
use tillgate_http::{Access, Audited, Operation, Reply, Request, Route, Tag, Takes};

use crate::Webhooks;

pub(super) fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let none = Takes::Nothing;
    let (read, rotate) = (Access::With(P::KeysRead), Access::With(P::KeysRotate));
    let path = "/v1/webhook-keys/rotate";
    vec![
        Route::new(Method::GET, "/v1/webhook-keys", read, none, list).described(describe_list_keys),
        Route::changing(Method::POST, path, rotate, none, "key.rotated", rotate_keys)
            .described(describe_rotate_identity_key),
    ]
}

async fn list(webhooks: Arc<Webhooks>, request: Request) -> Result<Reply> {
    request.answer_json(&webhooks.identity().keys().await?)
}

async fn rotate_keys(webhooks: Arc<Webhooks>, _: Request) -> Result<Audited> {
    let (key, line) = webhooks.identity().rotate_keys().await?;
    Ok(Reply::of(StatusCode::CREATED, &key)?.audited(line))
}

fn describe_list_keys() -> Operation {
    Operation::new(
        "listWebhookKeys",
        Tag::Platform,
        "List the keys that sign the tokens of deliveries",
    )
    .answers(200, "The keys, newest last", schema_of::<Vec<KeyState>>)
    .with_entity_tag()
}

fn describe_rotate_identity_key() -> Operation {
    Operation::new(
        "rotateWebhookKey",
        Tag::Platform,
        "Publish a new key for the tokens of deliveries",
    )
    .says(
        "The new key signs once every cache of the certificates has it. The \
            previous key is removed when the last token that it signed has expired.",
    )
    .answers(201, "The new key", schema_of::<KeyState>)
    .refuses(&[KEY_WAITING])
}
