//! Exchange rates, over HTTP: business units, rates, what shops use, and the topic (`rates.md`).

mod at_once;
mod bad_input;
mod bounds;
mod commands;
mod conditions;
mod consumer;
mod exact;
pub(crate) mod fixture;
mod history;
mod import;
mod large;
mod laws;
mod listener;
mod model;
mod topic;
mod trial;
mod units;
mod used;
