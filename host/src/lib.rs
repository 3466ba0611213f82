//! Tillgate's host: serves the module's decisions, with the token service and the store around it.
//!
//! Read it in this order: [`app`] (what all features share), [`routes`] (the features and their routes), [`http`] (the
//! way of a request), then a feature from its `http.rs` inwards: [`conditions`], [`rates`], [`tokens`], [`webhooks`].
//! Below them: [`identity`] (who may do what), [`keys`] (signing keys), [`records`] (typed records), [`outbox`] (events in
//! the commit of their cause), [`feed`] (how memory stays fresh), [`snapshot`] (what a host can start with while its store
//! is away), [`runner`] (background jobs), [`egress`] (outgoing HTTP), [`metrics`] and [`readiness`] (what is seen from
//! outside), [`turns`] (work that keeps a processor busy), [`encoded`] (texts that answers share), [`engine`] (the module under wasmtime) and [`store`] (what is stored, and the promises). [`page`] is what
//! browsers get, [`operations`] what those get who operate a host, [`usage`] how much of its [`quota`]s a tenant uses.

pub mod app;
pub mod cli;
pub mod conditions;
pub mod config;
pub mod egress;
pub mod encoded;
pub mod engine;
pub mod error;
pub mod etag;
pub mod feed;
pub mod http;
pub mod identity;
pub mod keys;
mod memory;
pub mod metrics;
pub mod operations;
pub mod outbox;
pub mod page;
pub mod peer;
mod per_tenant;
pub mod quota;
pub mod rates;
pub mod readiness;
pub mod records;
pub mod routes;
pub mod runner;
pub mod snapshot;
pub mod tokens;
pub mod turns;
pub mod usage;
pub mod webhooks;

pub use tillgate_store as store;
pub use tillgate_store::clock;
