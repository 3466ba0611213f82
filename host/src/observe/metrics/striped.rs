//! Numbers that many threads count up. Each thread has a place of its own, so that none waits for a cache line that
//! another has just written; whoever reads adds the places up.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;
use prometheus_client::metrics::counter::Atomic;

/// More threads share places.
const PLACES: usize = 8;

thread_local! {
    /// The place of this thread.
    static PLACE: usize = {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        THREADS.fetch_add(1, Ordering::Relaxed) % PLACES
    };
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Striped<T = AtomicU64>([CachePadded<T>; PLACES]);

impl<T> Striped<T> {
    /// Something with a place for each thread.
    pub(crate) fn new(place: impl Fn() -> T) -> Self {
        Self(std::array::from_fn(|_| CachePadded::new(place())))
    }

    /// The place of this thread. While the thread ends, it has none.
    pub(crate) fn own(&self) -> &T {
        let [first, ..] = &self.0;
        let place = PLACE.try_with(|place| self.0.get(*place));
        place.ok().flatten().unwrap_or(first)
    }

    /// All places.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|place| &**place)
    }
}

/// What is answered by counting up is the number of this thread's place.
impl Atomic<u64> for Striped {
    fn inc(&self) -> u64 {
        self.inc_by(1)
    }

    fn inc_by(&self, more: u64) -> u64 {
        self.own().fetch_add(more, Ordering::Relaxed)
    }

    fn get(&self) -> u64 {
        self.all().map(|place| place.load(Ordering::Relaxed)).sum()
    }
}
