//! The base of every feature of the host. It knows neither HTTP routes nor any feature.
//!
//! [`app`] assembles the parts: [`config`] (settings), [`data`] (records, and keeping memory fresh), [`jobs`] (the
//! background runner), [`load`] (limits by requester), [`observe`] (metrics, readiness, the audit log and traces),
//! [`identity`] (callers and permissions), [`keys`] (signing keys), [`egress`] (outgoing HTTP) and [`engine`] (the
//! module under wasmtime). [`error`] has the errors, and [`body`] reads values that many bodies have.

pub mod app;
pub mod body;
pub mod config;
pub mod data;
pub mod egress;
pub mod engine;
pub mod error;
pub mod identity;
pub mod jobs;
pub mod keys;
pub mod load;
pub mod observe;
