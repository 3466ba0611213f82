//! A disk that fails on demand: a library (`failing_disk.c`) is preloaded into a process and makes writes, syncs and
//! reads of an embedded store's files fail.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// An operation that fails with this number never returns.
pub const HANG: u32 = 0;
pub const EIO: u32 = 5;
pub const ENOSPC: u32 = 28;
pub const EROFS: u32 = 30;

/// The faults of a process's disk; none at first.
pub struct FailingDisk(TempDir);

impl FailingDisk {
    pub fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// Makes this the disk of a process that is about to be started.
    pub fn apply(&self, command: &mut Command) {
        command
            .env("LD_PRELOAD", library())
            .env("FAILING_DISK", self.0.path());
    }

    /// From now on, `what` fails with an error number: `write`, `sync` or `read` of a store; `record-write` and so on
    /// of a decision log; `key-read` of a certificate's key; `unfinished-write` of files that have no name yet.
    pub fn fail(&self, what: &str, error: u32) {
        let unfinished = self.0.path().join("unfinished");
        fs::write(&unfinished, error.to_string()).unwrap();
        fs::rename(unfinished, self.0.path().join(what)).unwrap();
    }

    pub fn work_again(&self, what: &str) {
        fs::remove_file(self.0.path().join(what)).unwrap();
    }
}

/// Returns the library, compiled once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_folder, library) = LIBRARY.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let source = folder.path().join("failing_disk.c");
        fs::write(&source, include_str!("failing_disk.c")).unwrap();
        let library = folder.path().join("failing_disk.so");
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-o"]).arg(&library);
        let compiled = compile.arg(source).arg("-ldl").status();
        assert!(compiled.unwrap().success());
        (folder, library)
    });
    library
}
