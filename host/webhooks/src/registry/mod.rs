//! Webhooks as tenants configure them: the request that sets one (`body.rs`, `event_type.rs`, `secrets.rs`), the stored
//! and the returned form (`webhook.rs`, `filter/`, `answer.rs`), the keys that sign at a time (`shared_keys.rs`),
//! consumers (`consumer.rs`), the numbers of webhooks and consumers (`quota.rs`), and the cache of it (`cache.rs`).

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
