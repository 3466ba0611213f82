//! The allocator of the program.

/// What a commit allocates on a caller's thread is freed on the store's, which glibc's allocator makes wait for each
/// other: with this one 64 committers get a fifth more done.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
