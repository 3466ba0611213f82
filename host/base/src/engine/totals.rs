//! Totals of all instances of a pool. Each instance counts its own share.

use std::sync::atomic::{AtomicU64, AtomicUsize};

#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) instances: AtomicUsize,
    /// The bytes of their linear memory.
    pub(super) memory: AtomicUsize,
    /// The number of documents that they have prepared, and the bytes of these.
    pub(super) prepared: AtomicUsize,
    pub(super) prepared_bytes: AtomicUsize,
    /// Counts calls of [`EnginePool::release_unused`].
    pub(super) round: AtomicU64,
}
