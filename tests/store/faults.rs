//! The embedded store on a disk that fails: a library that is preloaded into a child (`faults.c`) lets its writes, syncs
//! and reads fail while the test wants it to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use super::crashes::{Child, id_of, losses, open_when_free};
use super::fixture::*;
use tempfile::TempDir;
use tillgate_store::clock::{Clock, StoppedClock, SystemClock};
use tillgate_store::{CommitId, EmbeddedStore};

const EIO: u32 = 5;
const ENOSPC: u32 = 28;
const EROFS: u32 = 30;

/// A folder of a store, and the faults of its disk.
struct Disk {
    folder: TempDir,
    faults: TempDir,
}

impl Disk {
    fn new() -> Self {
        let (folder, faults) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        Self { folder, faults }
    }

    fn start(&self, task: &str) -> Child {
        Child::start_on_failing_disk(task, self.folder.path(), self.faults.path(), library())
    }

    /// From now on, `what` fails with an error number: `write`, `sync` or `read`.
    fn fail(&self, what: &str, error: u32) {
        let unfinished = self.faults.path().join("unfinished");
        fs::write(&unfinished, error.to_string()).unwrap();
        fs::rename(unfinished, self.faults.path().join(what)).unwrap();
    }

    fn work_again(&self, what: &str) {
        fs::remove_file(self.faults.path().join(what)).unwrap();
    }

    /// Opens what the child has left.
    fn open(&self) -> EmbeddedStore {
        let clock = StoppedClock::at(SystemClock.now());
        open_when_free(self.folder.path(), &Arc::new(clock))
    }
}

/// The library of `faults.c`, compiled once.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_folder, library) = LIBRARY.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        let library = folder.path().join("faults.so");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../tests/store/faults.c"
            ))
            .arg("-ldl")
            .status();
        assert!(compiled.unwrap().success());
        (folder, library)
    });
    library
}

/// The commits that a child acknowledges (`crashes::fill`), until so many have failed or it has ended; each failure must
/// contain `why`.
fn acknowledged(child: &mut Child, failures: usize, why: &str) -> Vec<CommitId> {
    let (mut acknowledged, mut failed) = (Vec::new(), 0);
    while failed < failures
        && let Some(line) = child.line()
    {
        match line.split_once(' ').unwrap() {
            ("done", id) => acknowledged.push(id_of(id)),
            ("failed", error) => {
                assert!(error.contains(why), "{error}");
                failed += 1;
            }
            _ => panic!("{line}"),
        }
    }
    acknowledged
}

/// The first commits of a child, which succeed.
fn begun(child: &mut Child) -> Vec<CommitId> {
    let lines = (0..10).map(|_| child.line().unwrap());
    lines
        .map(|line| id_of(line.strip_prefix("done ").unwrap()))
        .collect()
}

#[test]
fn a_commit_whose_sync_failed_is_unknown_and_its_repeat_is_applied_once() {
    let disk = Disk::new();
    let mut child = disk.start("fill");
    let mut done = begun(&mut child);
    disk.fail("sync", EIO);
    done.extend(acknowledged(
        &mut child,
        5,
        "the outcome of the commit is unknown",
    ));
    disk.work_again("sync");
    let later = acknowledged(
        &mut child,
        usize::MAX,
        "the outcome of the commit is unknown",
    );
    assert!(later.len() >= 20, "it did not go on");
    done.extend(later);
    assert_eq!(block_on(losses(&disk.open(), &done)), [""; 0]);
}

#[test]
fn a_process_killed_while_syncs_fail_has_lost_nothing_it_acknowledged() {
    let disk = Disk::new();
    let mut done = Vec::new();
    for _ in 0..3 {
        let mut child = disk.start("fill");
        done.extend(begun(&mut child));
        disk.fail("sync", EIO);
        done.extend(acknowledged(&mut child, 3, "unknown"));
        child.kill();
        disk.work_again("sync");
        assert_eq!(block_on(losses(&disk.open(), &done)), [""; 0]);
    }
}

#[test]
fn a_write_that_failed_changed_nothing_and_writes_go_on_by_themselves() {
    for (error, why) in [
        (ENOSPC, "tillgate.db: the disk is full"),
        (EROFS, "tillgate.db: disk I/O error"),
        (EIO, "tillgate.db: disk I/O error"),
    ] {
        let disk = Disk::new();
        let mut child = disk.start("fill");
        let mut done = begun(&mut child);
        disk.fail("write", error);
        done.extend(acknowledged(&mut child, 5, why));
        disk.work_again("write");
        let later = acknowledged(&mut child, usize::MAX, why);
        assert!(later.len() >= 20, "it did not go on");
        done.extend(later);
        assert_eq!(block_on(losses(&disk.open(), &done)), [""; 0]);
    }
}

#[test]
fn a_store_without_commits_notices_that_it_can_be_written_again() {
    let disk = Disk::new();
    let mut child = disk.start("fail once");
    assert_eq!(child.line().unwrap(), "open");
    disk.fail("write", ENOSPC);
    assert_eq!(child.line().unwrap(), "failed");
    disk.work_again("write");
    assert_eq!(child.line().unwrap(), "up");
    assert_eq!(child.line().unwrap(), "done");
}

#[test]
fn a_disk_that_cannot_be_read_for_a_while_is_read_again_afterwards() {
    let disk = Disk::new();
    let mut child = disk.start("read");
    assert_eq!(child.line().unwrap(), "read 200");
    disk.fail("read", EIO);
    let failed = std::iter::from_fn(|| child.line()).find(|line| !line.starts_with("read"));
    let failed = failed.unwrap();
    assert!(failed.contains("the store is unavailable"), "{failed}");
    assert!(failed.contains("or its disk fails"), "{failed}");
    disk.work_again("read");
    let read = std::iter::from_fn(|| child.line()).find(|line| line.starts_with("read"));
    assert_eq!(read.unwrap(), "read 200");
}
