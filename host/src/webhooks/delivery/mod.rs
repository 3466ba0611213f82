//! Delivering: the job of one attempt (`deliver.rs`), how much of a webhook goes on at once (`lane.rs`), the request
//! (`send.rs`) and who this service is to its receiver (`identity_provider.rs`), and what has come of it (`outcomes.rs`,
//! `health.rs`, `measured.rs`).

pub(super) mod bearer_cache;
pub(super) mod deliver;
pub(super) mod health;
pub(super) mod identity_provider;
pub(super) mod lane;
pub(super) mod measured;
pub(super) mod messages;
pub(super) mod outcomes;
pub(super) mod send;
