//! Exchange rates over HTTP: business units, rates, the rates that shops use, and the topic (`rates.md`).

mod ages;
mod at_once;
mod bad_input;
mod bounds;
mod charts;
mod commands;
mod conditions;
mod consumer;
mod cursors;
mod exact;
pub(crate) mod fixture;
mod guard;
mod history;
mod import;
mod import_zip;
mod large;
mod laws;
mod listener;
mod model;
mod reference_history;
mod reference_pieces;
mod topic;
mod trial;
mod units;
mod used;
