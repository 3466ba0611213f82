//! Unit tests of the embedded store that need its internals. They are compiled as a module of
//! `host/store/src/embedded/mod.rs`; tests that only need a real folder are in `tests/store/`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod formats;
mod model;

use std::future::Future;

use super::super::{Check, CommitId, Lease, MemoryStore, Op, REMEMBER, Revision};
use super::*;

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}
