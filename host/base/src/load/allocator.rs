//! The program's allocator, and giving free memory back to the system.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The store's thread frees what a commit allocates on a caller's thread, and glibc's allocator makes the two wait for
/// each other: with this one, 64 committers get a fifth more done. Huge pages are off (`no_thp`), since a huge page is
/// given back to the system only when all of it is free.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The shortest interval at which a thread gives memory back: one that serves requests, and one of lower priority.
const SERVING: Duration = Duration::from_secs(4);
const LOW_PRIORITY: Duration = Duration::from_millis(250);

thread_local! {
    static GAVE_BACK: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Gives back this thread's free memory. Call it when a thread that serves requests has nothing to do: the allocator
/// itself gives memory back only after thousands of allocations, which an idle host does not make.
pub fn give_back() {
    collect_every(SERVING, false);
}

/// Gives back the free memory of a thread of lower priority, and tells the system what all threads have given back,
/// which takes long.
pub(super) fn give_all_back() {
    collect_every(LOW_PRIORITY, true);
}

fn collect_every(pause: Duration, all: bool) {
    let now = Instant::now();
    let is_due = |at: Instant| now.duration_since(at) >= pause;
    if GAVE_BACK.get().is_none_or(is_due) {
        GAVE_BACK.set(Some(now));
        collect(all);
    }
}

#[expect(unsafe_code, reason = "the allocator has no safe function for this")]
fn collect(all: bool) {
    // SAFETY: It takes no pointers, and any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_collect(all) };
}
