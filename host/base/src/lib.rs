//! What every feature of the host stands on. It knows neither HTTP routes nor any feature.
//!
//! [`app`] puts the parts together: [`config`] (settings), [`data`] (records, and how memory stays fresh), [`jobs`] (the
//! background runner), [`load`] (who waits for whom, and how much), [`observe`] (what is seen from outside), [`identity`]
//! (who may do what), [`keys`] (signing keys), [`egress`] (outgoing HTTP) and [`engine`] (the module under wasmtime).
//! [`error`] says what can go wrong, and [`body`] reads values that many bodies have.

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
