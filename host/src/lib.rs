//! Tillgate's host: serves the module's decisions, with the token service and the store around it.
//!
//! Read it in this order: [`app`] (what all features share), [`routes`] (the features and their routes), [`http`] (the
//! way of a request), then a feature from its `http` inwards: [`conditions`], [`rates`], [`tokens`], [`webhooks`].
//! Below them: [`data`] (records, and how memory stays fresh), [`jobs`] (the background runner), [`load`] (who waits for
//! whom, and how much), [`observe`] (what is seen from outside), [`identity`] (who may do what), [`keys`] (signing keys),
//! [`egress`] (outgoing HTTP), [`engine`] (the module under wasmtime) and [`store`] (what is stored, and the promises).
//! [`page`] is what browsers get. [`cli`], [`config`] and [`server`] are the process: arguments, settings, listeners, start
//! and stop.

pub mod app;
mod body;
pub mod cli;
pub mod conditions;
pub mod config;
pub mod data;
pub mod decision_log;
pub mod egress;
pub mod engine;
pub mod error;
pub mod http;
pub mod identity;
pub mod jobs;
pub mod keys;
pub mod load;
pub mod observe;
pub mod page;
pub mod rates;
pub mod routes;
pub mod server;
pub mod tokens;
pub mod webhooks;

pub use tillgate_store as store;
pub use tillgate_store::clock;
