//! The tests of the product: one binary, with one module for each subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]
#![allow(unreachable_pub, reason = "nothing outside can reach a test")]

mod support {
    pub mod authority;
    pub mod documented;
    pub mod ecb;
    pub mod exposition;
    pub mod failing_disk;
    pub mod fifo;
    pub mod hanging;
    pub mod host;
    pub mod issuer;
    pub mod log;
    pub mod receiver;
    pub mod redis;
    pub mod script;
    pub mod sizes;
    pub mod stores;
    pub mod switched;
    pub mod wait;
    pub mod wire;
}

mod asyncapi;
mod audit;
mod bad_input;
mod bounds;
mod cli;
mod conditions;
mod config;
mod connections;
mod cors;
mod decision_log;
mod disk_faults;
mod doctor;
mod egress;
mod engine;
mod escaping;
mod evaluate;
mod explain;
mod feed;
mod files;
mod findings;
mod first_start;
mod fuzz;
mod headers;
mod import_rates;
mod jobs;
mod layout;
mod leftovers;
mod listen;
mod managed_by;
mod memory;
mod metrics;
mod openapi;
mod openapi_answers;
mod openapi_examples;
mod operations;
mod outbox;
mod page;
mod program;
mod pull_faults;
mod queries;
mod quotas;
mod rates;
mod rates_crash;
mod readiness;
mod redis;
mod redis_faults;
mod reference;
mod roles;
mod room;
mod rule_history;
mod rule_tests;
mod runner;
mod secret_urls;
mod snapshot;
mod stale;
mod stopping;
mod streams;
mod tail;
mod tls;
mod tokens;
#[cfg(feature = "opentelemetry")]
mod traces;
mod unfinished;
mod unknown_members;
mod vectors;
mod vectors_http;
mod webhooks;
mod webhooks_faults;
