//! The base of the features: settings, accounts of what happens, jobs, memory, the module, and outgoing requests.

mod audit;
mod config;
mod egress;
mod engine;
mod feed;
mod jobs;
mod leftovers;
mod memory;
pub(crate) mod metrics;
mod quotas;
mod readiness;
mod roles;
mod room;
mod runner;
mod secret_urls;
#[cfg(feature = "opentelemetry")]
mod traces;
