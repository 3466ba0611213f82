//! The routes of webhooks (`webhooks.md`): the resource in `webhooks.rs`, publishing and signing events in `events.rs`, asking
//! for them in `consumers.rs`, the journal in `deliveries.rs`, the certificates of the identity provider in `certs.rs`, its
//! keys in `keys.rs`. What the API's documents say of a route stands beside its handler.

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

/// Examples of the bodies of its operations, by their ids.
pub const EXAMPLES: &str = include_str!("examples.json");

/// The routes.
pub fn routes() -> Vec<Route<Arc<Webhooks>>> {
    let mut routes = webhooks::routes();
    routes.extend(events::routes());
    routes.extend(consumers::routes());
    routes.extend(deliveries::routes());
    routes.extend(certs::routes());
    routes.extend(keys::routes());
    routes
}
