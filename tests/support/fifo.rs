//! FIFOs, which block a process that opens them to read.

use std::path::Path;
use std::process::Command;

/// Makes a FIFO in place of the file at this path.
pub fn make_fifo(path: &Path) {
    let beside = path.with_extension("fifo");
    let made = Command::new("mkfifo").arg(&beside).status();
    assert!(made.unwrap().success(), "{}", beside.display());
    std::fs::rename(beside, path).unwrap();
}
