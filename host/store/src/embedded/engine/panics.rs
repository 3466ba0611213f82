//! Turning panics of redb into errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs work on redb, which panics on some kinds of damage; a panic becomes an error that says so.
pub(in super::super) fn catch_panics<T>(
    work: impl FnOnce() -> Result<T, redb::Error>,
) -> Result<T, redb::Error> {
    let damaged = |_| Err(redb::Error::Corrupted("it cannot be read".to_owned()));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(damaged)
}
