//! The routes of webhooks (`webhooks.md`): the identity provider's certificates in `certs.rs`, its keys in `keys.rs`.

mod certs;
mod keys;

use std::sync::Arc;

use super::Webhooks;
use crate::http::Route;

/// The routes.
pub fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let mut routes = certs::routes();
    routes.extend(keys::routes());
    routes
}
