//! Memory: the allocator, and giving back to the system what is free.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// What a commit allocates on a caller's thread is freed on the store's, which glibc's allocator makes wait for each
/// other: with this one 64 committers get a fifth more done. Without huge pages (`no_thp`), since a huge page is given back
/// to the system only when all of it is free.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

thread_local! {
    static GAVE_BACK: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Gives back to the system what is free, unless this thread did so within this time. To be called when a thread has
/// nothing to do: the allocator itself gives back only after thousands of allocations, which a host that is idle again does
/// not make.
///
/// What belongs to a thread only the thread itself can give away, but the part that takes long, to tell the system, is
/// done by whichever thread comes first: it should be none that serves requests.
pub(crate) fn give_back(every: Duration) {
    let now = Instant::now();
    let is_due = |at: Instant| now.duration_since(at) >= every;
    if GAVE_BACK.get().is_none_or(is_due) {
        GAVE_BACK.set(Some(now));
        collect();
    }
}

#[expect(unsafe_code, reason = "the allocator has no safe function for this")]
fn collect() {
    // SAFETY: It takes no pointers, and any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_collect(false) };
}
