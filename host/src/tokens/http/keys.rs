//! The signing keys, for operators: `tillgate keys` asks here, since one process alone may open the store.

use std::sync::Arc;

use ::http::{Method, StatusCode};

use super::tagged;
use crate::app::App;
use crate::error::Result;
use crate::http::{Access, Reply, Request, Route, Takes};
use crate::tokens::permission::Permission as P;

/// The routes.
pub(super) fn routes() -> Vec<Route> {
    let none = Takes::Nothing;
    let (read, rotate) = (Access::With(P::KeysRead), Access::With(P::KeysRotate));
    vec![
        Route::new(Method::GET, "/v1/keys", read, none, list),
        Route::new(Method::POST, "/v1/keys/rotate", rotate, none, rotate_keys),
    ]
}

async fn list(app: Arc<App>, request: Request) -> Result<Reply> {
    tagged(&request, &app.tokens.keys().await?)
}

async fn rotate_keys(app: Arc<App>, request: Request) -> Result<Reply> {
    let key = app.tokens.rotate_keys(request.caller()?).await?;
    Reply::of(StatusCode::CREATED, &key)
}
