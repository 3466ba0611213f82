//! The allocator of the program.

/// What a commit allocates on a caller's thread is freed on the store's, which glibc's allocator makes wait for each
/// other: with this one 64 committers get a fifth more done. Without huge pages (`no_thp`), since a huge page is given back
/// to the system only when all of it is free.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
