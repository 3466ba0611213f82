//! Rules: conditions, projects, decisions, and everything that is kept about them.

mod conditions;
mod decision_log;
mod evaluate;
mod explain;
mod findings;
mod rule_history;
mod rule_tests;
mod snapshot;
mod stale;
