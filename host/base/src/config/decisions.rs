//! The decision log: where it is written, and how much of it is kept.

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

/// The value of `log` that means standard output.
const STDOUT: &str = "stdout";

/// The decision log.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Decisions {
    pub log: String,
    pub file_bytes: ByteSize,
    pub old_files: usize,
    pub queue_bytes: ByteSize,
}

impl Decisions {
    /// Returns whether decisions are logged to standard output.
    #[must_use]
    pub fn to_stdout(&self) -> bool {
        self.log == STDOUT
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.file_bytes < ByteSize::mib(1) {
            return Err("file_bytes must be at least 1 MiB");
        }
        if self.old_files == 0 {
            return Err("old_files must be at least 1");
        }
        if self.queue_bytes < ByteSize::kib(64) {
            return Err("queue_bytes must be at least 64 KiB");
        }
        Ok(())
    }
}
