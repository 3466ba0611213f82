//! Webhooks as tenants configure them: as they are stored and answered (`webhook.rs`), as they are in memory (`cache.rs`),
//! and which of them are served by a listener (`seat.rs`).

pub(super) mod body;
pub(super) mod cache;
pub(super) mod event_type;
pub(super) mod seat;
pub(super) mod secrets;
pub(super) mod webhook;
