//! Webhooks: proof of the sender, the content of deliveries, and their outcome.

mod audit;
mod bad_input;
mod bounds;
mod certificates;
mod deliveries;
mod faults;
mod filters;
mod header_names;
mod journal;
mod kept_secrets;
mod outbox;
mod own_events;
mod pull;
mod pull_faults;
mod pull_laws;
mod pull_waiting;
mod quotas;
mod receivers;
mod resource;
mod secrets;
mod shared_keys;
pub(crate) mod shop;
mod signed_headers;
mod ssrf;
pub(crate) mod standard_webhooks;
mod trials;
