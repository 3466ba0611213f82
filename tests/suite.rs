//! The tests of the product: one binary, with one module for each crate and for each other subject.

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

mod hostile {
    mod fuzz;
}

mod store {
    mod hosts;
}

mod api;
mod base;
mod http;
mod layout;
mod program;
mod rates;
mod rules;
mod tokens;
mod vectors;
mod webhooks;
