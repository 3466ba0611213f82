//! What is seen of a host from outside: its metrics, whether it can decide, and the audit log.

pub mod audit;
pub mod metrics;
pub mod readiness;
