//! The routes of webhooks (`webhooks.md`): the resource in `webhooks.rs`, publishing and signing events in `events.rs`,
//! pulling them in `consumers.rs`, the journal in `deliveries.rs`, the certificates of the identity provider in
//! `certs.rs`, its keys in `keys.rs`. The API documentation of a route stands beside its handler.

mod certs;
mod consumers;
mod deliveries;
mod events;
mod keys;
mod path;
mod webhooks;

use std::sync::Arc;

use tillgate_http::Route;

use super::Webhooks;
pub use super::events::own_schema::{delivery_event, envelope_of, ping_event, webhook_event};
pub use super::events::schema::envelope;

/// Examples of the operations' bodies, by operation id.
pub const EXAMPLES: &str = include_str!("examples.json");

/// Returns the routes of webhooks.
pub fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let mut routes = webhooks::routes();
    routes.extend(events::routes());
    routes.extend(consumers::routes());
    routes.extend(deliveries::routes());
    routes.extend(certs::routes());
    routes.extend(keys::routes());
    routes
}
