//! Webhooks as tenants configure them: the request that sets one (`body.rs`, `event_type.rs`, `secrets.rs`), what is stored
//! and answered (`webhook.rs`, `filter/`, `answer.rs`), which keys sign when (`shared_keys.rs`), consumers (`consumer.rs`), how many there
//! are of webhooks and consumers (`quota.rs`), and the memory of it (`cache.rs`).

pub(super) mod answer;
pub(super) mod audit;
pub(super) mod body;
pub(super) mod cache;
pub(super) mod consumer;
pub(super) mod event_type;
pub(super) mod filter;
pub(super) mod quota;
pub(super) mod secrets;
pub(super) mod shared_keys;
pub(super) mod webhook;
