//! What all instances of a pool take together, counted by each of them.

use std::sync::atomic::{AtomicU64, AtomicUsize};

/// What all instances take together.
#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) instances: AtomicUsize,
    /// The bytes of their linear memory.
    pub(super) memory: AtomicUsize,
    /// The documents that they have prepared, and the bytes of these.
    pub(super) prepared: AtomicUsize,
    pub(super) prepared_bytes: AtomicUsize,
    /// Counts calls of [`EnginePool::release_unused`].
    pub(super) round: AtomicU64,
}
