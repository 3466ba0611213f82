//! Backups and restores that are killed: they leave files with keys, and the next command there removes those files,
//! but none that are in use.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;
use tillgate_store::EmbeddedStore;
use tillgate_store::clock::SystemClock;

use crate::support::hanging::{Hanging, unfinished};
use crate::support::host::Program;
use crate::support::wait::output;

/// A folder with a store and an empty folder for backups.
struct Stage(TempDir);

impl Stage {
    fn set() -> Self {
        let stage = Self(TempDir::new().unwrap());
        open(&stage.path("store"));
        fs::create_dir(stage.path("backups")).unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn backup(&self, name: &str) -> Command {
        let file = self.path("backups").join(name);
        command("backup", &file, &self.path("store"))
    }
}

/// Opens a store, or creates one, and closes it.
fn open(folder: &Path) {
    drop(EmbeddedStore::open(folder, Arc::new(SystemClock)).unwrap());
}

fn command(verb: &str, file: &Path, store: &Path) -> Command {
    let mut command = Program::command();
    command.arg(verb).arg(file);
    command.arg("--store");
    command.arg(format!("embedded:{}", store.display()));
    command
}

fn done(mut command: Command) {
    let output = output(&mut command);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_backup_removes_what_a_killed_one_has_left_and_nothing_that_another_one_writes() {
    let stage = Stage::set();
    let backups = stage.path("backups");
    let first = Hanging::start(stage.backup("first.db"), &backups);
    let left = unfinished(&backups);
    assert_eq!(left.len(), 1, "{left:?}");
    done(stage.backup("second.db"));
    assert_eq!(unfinished(&backups), left, "it is in use");
    drop(first);
    assert_eq!(unfinished(&backups), left, "it was killed");
    done(stage.backup("third.db"));
    assert_eq!(names(&backups), ["second.db", "third.db"]);
}

#[test]
fn a_folder_in_which_a_restore_was_killed_takes_another_one_or_is_begun_anew() {
    let stage = Stage::set();
    done(stage.backup("backup.db"));
    let backup = stage.path("backups").join("backup.db");
    for is_restored in [true, false] {
        let to = stage.path(&format!("restored-{is_restored}"));
        let restore = || command("restore", &backup, &to);
        drop(Hanging::start(restore(), &to));
        assert_eq!(unfinished(&to).len(), 1);
        if is_restored {
            done(restore());
        } else {
            open(&to);
        }
        assert_eq!(names(&to), ["tillgate.db", "tillgate.lock"]);
    }
}
