//! Backups of the embedded store: made while it is written, restored into an empty folder, and the damage that they
//! detect.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::crashes::{Child, id_of, losses, open_when_free};
use super::fixture::*;
use tempfile::TempDir;
use tillgate_store::backup::{Contents, Progress, backup, inspect, restore};
use tillgate_store::clock::Timestamp;
use tillgate_store::{EmbeddedStore, Store};

/// Fills a store with something of each kind.
async fn fill(store: &EmbeddedStore) {
    for n in 0..50 {
        let everything = [
            put(format!("row-{n}"), vec![b'v'; 5_000]),
            append("log", "m"),
            enqueue("queue", &n.to_string(), START),
        ];
        store.commit(commit(everything)).await.unwrap();
    }
}

const FILLED: Contents = Contents {
    partitions: 1,
    entries: 50,
    messages: 50,
    jobs: 50,
    newest: Timestamp(START.0 + 49),
};

fn open(folder: &Path) -> EmbeddedStore {
    open_when_free(folder, &clock())
}

/// Returns the error of a refused backup or restore.
fn refused(done: Result<Contents, String>) -> String {
    done.unwrap_err()
}

#[test]
fn a_backup_restores_everything() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("backup");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let store = open(&from);
    block_on(fill(&store));
    let mut reported = Vec::new();
    let made = backup(&from, &file, &mut |progress| reported.push(progress));
    assert_eq!(made, Ok(FILLED));
    let last = reported.last().unwrap();
    assert!(last.done == last.total && last.total > 250_000, "{last:?}");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    block_on(store.commit(commit([put("later", "1")]))).unwrap();

    assert_eq!(restore(&file, &to, &mut |_: Progress| ()), Ok(FILLED));
    let restored = open(&to);
    let page = block_on(restored.scan(&partition(), "", None, 999)).unwrap();
    assert_eq!(page.entries.len(), 50);
    block_on(restored.commit(commit([put("row", "1")]))).unwrap();
    assert!(
        to.join("tillgate.db-wal").exists(),
        "a backup has no log, but a store must have one: without it, reads wait for writes"
    );
    assert_eq!(inspect(&from).unwrap().entries, 51);
}

/// Commits of an entry, a message and a job continue during the backup: it has all commits that were acknowledged
/// before it, and each commit in it is complete.
#[test]
fn a_backup_made_under_load_is_one_moment() {
    let folder = TempDir::new().unwrap();
    let from = folder.path().join("from");
    let mut child = Child::start("work", &from);
    let mut acknowledged = Vec::new();
    for round in 0..5 {
        for _ in 0..200 {
            acknowledged.push(id_of(&child.line().unwrap()));
        }
        let file = folder.path().join(format!("backup-{round}"));
        let to = folder.path().join(format!("to-{round}"));
        backup(&from, &file, &mut |_| ()).unwrap();
        restore(&file, &to, &mut |_| ()).unwrap();
        // Later than the leases of the child.
        let clock = clock();
        clock.set(Timestamp(u64::MAX / 4));
        let restored = open_when_free(&to, &clock);
        assert_eq!(block_on(losses(&restored, &acknowledged)), [""; 0]);
    }
}

#[test]
fn a_backup_never_overwrites() {
    let folder = TempDir::new().unwrap();
    let (store, file) = (folder.path().join("store"), folder.path().join("mine"));
    block_on(fill(&open(&store)));
    fs::write(&file, "mine").unwrap();
    let message = refused(backup(&store, &file, &mut |_| ()));
    assert!(message.ends_with("mine exists already"), "{message}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn a_backup_of_no_store_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("backup");
    let message = refused(backup(&folder.path().join("none"), &file, &mut |_| ()));
    assert!(message.contains("there is no store in"), "{message}");
    assert!(!file.exists());
    let nowhere = folder.path().join("none/backup");
    let store = folder.path().join("store");
    drop(open(&store));
    let message = refused(backup(&store, &nowhere, &mut |_| ()));
    assert!(message.contains("cannot write"), "{message}");
}

#[test]
fn a_restore_into_a_folder_with_something_in_it_is_refused() {
    let folder = TempDir::new().unwrap();
    let (store, file) = (folder.path().join("store"), folder.path().join("backup"));
    block_on(fill(&open(&store)));
    backup(&store, &file, &mut |_| ()).unwrap();
    let message = refused(restore(&file, &store, &mut |_| ()));
    assert!(
        message.contains("is not empty: it contains tillgate.db"),
        "{message}"
    );
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("mine"), "mine").unwrap();
    let message = refused(restore(&file, &other, &mut |_| ()));
    assert!(
        message.contains("is not empty: it contains mine"),
        "{message}"
    );
}

#[test]
fn what_is_not_a_backup_is_not_restored() {
    let folder = TempDir::new().unwrap();
    let (file, to) = (folder.path().join("backup"), folder.path().join("to"));
    let message = refused(restore(&file, &to, &mut |_| ()));
    assert!(message.contains("cannot read"), "{message}");
    let message = refused(restore(folder.path(), &to, &mut |_| ()));
    assert!(message.contains("it is not a regular file"), "{message}");
    for contents in [&b""[..], b"x", &[b'x'; 100_000]] {
        fs::write(&file, contents).unwrap();
        let message = refused(restore(&file, &to, &mut |_| ()));
        assert!(message.contains("backup is not a backup: "), "{message}");
        assert!(!to.exists());
    }
}

/// Overwrites a page in the middle of a file.
fn damage(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2 / 4_096 * 4_096;
    bytes[middle..middle + 4_096].fill(0xff);
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_damaged_page_is_found_by_a_check_a_backup_and_a_restore() {
    let folder = TempDir::new().unwrap();
    let (store, file) = (folder.path().join("store"), folder.path().join("backup"));
    block_on(fill(&open(&store)));
    assert_eq!(inspect(&store), Ok(FILLED));
    backup(&store, &file, &mut |_| ()).unwrap();
    damage(&file);
    let message = refused(restore(&file, &folder.path().join("to"), &mut |_| ()));
    assert!(message.contains("backup is damaged"), "{message}");

    damage(&store.join("tillgate.db"));
    let message = refused(inspect(&store));
    assert!(message.contains("tillgate.db is damaged"), "{message}");
    let message = refused(backup(&store, &folder.path().join("second"), &mut |_| ()));
    assert!(message.contains("is damaged"), "{message}");
    assert!(!folder.path().join("second").exists());
}

#[test]
fn a_damaged_store_is_refused_after_an_unclean_end() {
    let folder = TempDir::new().unwrap();
    block_on(fill(&open(folder.path())));
    damage(&folder.path().join("tillgate.db"));
    // A process that did not close the store leaves a log behind.
    fs::write(folder.path().join("tillgate.db-wal"), "a beginning").unwrap();
    let message = EmbeddedStore::open(folder.path(), clock()).unwrap_err();
    assert!(message.contains("is damaged"), "{message}");
}
