//! Exchange rates, over HTTP: business units, rates, what shops use, and the topic (`rates.md`).

mod bad_input;
mod commands;
mod consumer;
mod exact;
mod fixture;
mod laws;
mod listener;
mod model;
mod topic;
mod trial;
mod units;
mod used;
