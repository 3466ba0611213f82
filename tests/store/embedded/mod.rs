//! Unit tests of the embedded store that need its internals: a disk that fails, is slow or loses power, and a comparison
//! with the store in memory. They are compiled as a module of `host/store/src/embedded.rs`; everything that a real
//! folder can show is in `tests/store/`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod batches;
mod commit_ids;
mod damage;
mod fake_disk;
mod faults;
mod healing;
mod model;

use std::future::Future;

pub(super) use self::fake_disk::FakeDisk;
use super::super::{
    Check, Commit, CommitError, CommitId, Health, Lease, MemoryStore, Op, Partition, Position,
    REMEMBER, Revision, Store,
};
use super::*;

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// A sequence of pseudo-random numbers below a bound, the same for the same seed.
pub(super) fn random(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    }
}
