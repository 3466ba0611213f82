//! The embedded store on a disk whose writes, syncs and reads fail, in a child process (`support/failing_disk.rs`).

use std::sync::Arc;

use super::crashes::{Child, id_of, losses, open_when_free};
use super::fixture::*;
use super::support::failing_disk::{EIO, ENOSPC, EROFS, FailingDisk};
use tempfile::TempDir;
use tillgate_store::clock::{Clock, StoppedClock, SystemClock};
use tillgate_store::{CommitId, EmbeddedStore};

/// A store's folder, and the disk that it is on.
struct OnFailingDisk {
    folder: TempDir,
    disk: FailingDisk,
}

impl OnFailingDisk {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            disk: FailingDisk::new(),
        }
    }

    fn start(&self, task: &str) -> Child {
        Child::start_on_failing_disk(task, self.folder.path(), &self.disk)
    }

    /// Opens the store that the child has left.
    fn open(&self) -> EmbeddedStore {
        let clock = StoppedClock::at(SystemClock.now());
        open_when_free(self.folder.path(), &Arc::new(clock))
    }
}

/// Returns the commits that a child acknowledges (`crashes::fill`) until `failures` commits have failed or the child
/// has ended; each failure must contain `why`.
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

/// Returns the first commits of a child, which succeed.
fn begun(child: &mut Child) -> Vec<CommitId> {
    let lines = (0..10).map(|_| child.line().unwrap());
    lines
        .map(|line| id_of(line.strip_prefix("done ").unwrap()))
        .collect()
}

#[test]
fn a_commit_whose_sync_failed_is_unknown_and_its_repeat_is_applied_once() {
    let store = OnFailingDisk::new();
    let mut child = store.start("fill");
    let mut done = begun(&mut child);
    store.disk.fail("sync", EIO);
    done.extend(acknowledged(
        &mut child,
        5,
        "the outcome of the commit is unknown",
    ));
    store.disk.work_again("sync");
    let later = acknowledged(
        &mut child,
        usize::MAX,
        "the outcome of the commit is unknown",
    );
    assert!(later.len() >= 20, "it did not go on");
    done.extend(later);
    assert_eq!(block_on(losses(&store.open(), &done)), [""; 0]);
}

#[test]
fn a_process_killed_while_syncs_fail_has_lost_nothing_it_acknowledged() {
    let store = OnFailingDisk::new();
    let mut done = Vec::new();
    for _ in 0..3 {
        let mut child = store.start("fill");
        done.extend(begun(&mut child));
        store.disk.fail("sync", EIO);
        done.extend(acknowledged(&mut child, 3, "unknown"));
        child.kill();
        store.disk.work_again("sync");
        assert_eq!(block_on(losses(&store.open(), &done)), [""; 0]);
    }
}

#[test]
fn a_write_that_failed_changed_nothing_and_writes_go_on_by_themselves() {
    for (error, why) in [
        (ENOSPC, "tillgate.db: the disk is full"),
        (EROFS, "tillgate.db: disk I/O error"),
        (EIO, "tillgate.db: disk I/O error"),
    ] {
        let store = OnFailingDisk::new();
        let mut child = store.start("fill");
        let mut done = begun(&mut child);
        store.disk.fail("write", error);
        done.extend(acknowledged(&mut child, 5, why));
        store.disk.work_again("write");
        let later = acknowledged(&mut child, usize::MAX, why);
        assert!(later.len() >= 20, "it did not go on");
        done.extend(later);
        assert_eq!(block_on(losses(&store.open(), &done)), [""; 0]);
    }
}

#[test]
fn a_store_without_commits_notices_that_it_can_be_written_again() {
    let store = OnFailingDisk::new();
    let mut child = store.start("fail once");
    assert_eq!(child.line().unwrap(), "open");
    store.disk.fail("write", ENOSPC);
    assert_eq!(child.line().unwrap(), "failed");
    store.disk.work_again("write");
    assert_eq!(child.line().unwrap(), "up");
    assert_eq!(child.line().unwrap(), "done");
}

#[test]
fn a_disk_that_cannot_be_read_for_a_while_is_read_again_afterwards() {
    let store = OnFailingDisk::new();
    let mut child = store.start("read");
    assert_eq!(child.line().unwrap(), "read 200");
    store.disk.fail("read", EIO);
    let failed = std::iter::from_fn(|| child.line()).find(|line| !line.starts_with("read"));
    let failed = failed.unwrap();
    assert!(failed.contains("the store is unavailable"), "{failed}");
    assert!(failed.contains("or its disk fails"), "{failed}");
    store.disk.work_again("read");
    let read = std::iter::from_fn(|| child.line()).find(|line| line.starts_with("read"));
    assert_eq!(read.unwrap(), "read 200");
}

/// A closed store leaves none of the files that SQLite needs to open it, and there is no room to create them.
#[test]
fn a_closed_store_is_not_opened_on_a_full_disk_and_says_why() {
    let store = OnFailingDisk::new();
    drop(store.open());
    store.disk.fail("write", ENOSPC);
    let mut child = store.start("refused");
    let told = child.line().unwrap();
    assert!(told.ends_with("tillgate.db: the disk is full"), "{told}");
    store.disk.work_again("write");
    drop(store.open());
}
