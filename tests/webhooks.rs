//! Webhooks: who deliveries are from, what receivers get, and what becomes of it.

mod audit;
mod bad_input;
mod bounds;
mod certificates;
mod deliveries;
mod journal;
mod kept_secrets;
mod listen;
mod quotas;
mod resource;
mod secrets;
pub(crate) mod shop;
mod ssrf;
mod trials;
