//! FIFOs, which block who opens them to read.

use std::path::Path;
use std::process::Command;

/// Makes a FIFO, which takes the place of the file that is there.
pub fn make_fifo(path: &Path) {
    let beside = path.with_extension("fifo");
    let made = Command::new("mkfifo").arg(&beside).status();
    assert!(made.unwrap().success(), "{}", beside.display());
    std::fs::rename(beside, path).unwrap();
}
