//! The view of a host from outside: metrics, readiness, the audit log and traces.

pub mod audit;
pub mod metrics;
pub mod readiness;
#[cfg_attr(not(feature = "opentelemetry"), path = "no_traces.rs")]
pub mod traces;
