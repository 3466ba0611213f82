//! What is seen of a host from outside: its metrics, and whether it can decide.

pub mod metrics;
pub mod readiness;
