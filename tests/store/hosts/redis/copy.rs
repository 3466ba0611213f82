//! `tillgate copy` as a program; `store/redis_store/copy.rs` tests its result.

use std::sync::Arc;

use bytes::Bytes;
use tempfile::TempDir;
use tillgate_store::clock::SystemClock;
use tillgate_store::{Commit, CommitId, EmbeddedStore, Op, Partition, Store};

use crate::support::host::Program;
use crate::support::redis::shared;
use crate::support::wait::output;

/// Returns a commit with an entry, a message and a job.
fn commit(name: &str) -> Commit {
    let (text, body) = (|| name.to_owned(), Bytes::from(name.to_owned()));
    let put = Op::Put {
        key: text(),
        value: body.clone(),
    };
    let append = Op::Append {
        log: "log".to_owned(),
        attributes: Vec::new(),
        body: body.clone(),
    };
    let enqueue = Op::Enqueue {
        queue: "queue".to_owned(),
        job: text(),
        due: tillgate_store::clock::Timestamp(u64::MAX),
        body,
    };
    Commit {
        partition: Partition::new("shop").unwrap(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: vec![put, append, enqueue],
    }
}

#[test]
fn the_program_copies_and_prints_what() {
    let folder = TempDir::new().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let path = folder.path().join("store");
    runtime.block_on(async {
        let store = EmbeddedStore::open(&path, Arc::new(SystemClock)).unwrap();
        for name in ["beer", "wine"] {
            store.commit(commit(name)).await.unwrap();
        }
    });
    let to = format!("{}?prefix={:032x}", shared().url(), CommitId::random().0);
    let program = |from: &str| {
        let mut command = Program::command();
        output(command.args(["copy", "--from", from, "--to", &to]))
    };
    let from = format!("embedded:{}", path.display());
    let output = program(&from);
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        printed.contains("1 partitions, 2 entries, 2 messages"),
        "{printed}"
    );
    let again = program(&from);
    assert_eq!(
        (again.status.code(), again.stdout.as_slice()),
        (Some(1), b"".as_slice())
    );
    let told = String::from_utf8(again.stderr).unwrap();
    let done = format!(
        "tillgate: nothing was done: this store has a copy of {from} that was finished at 20"
    );
    // Warnings about an unsafe server come first.
    let last = told.lines().last().unwrap();
    assert!(last.starts_with(&done), "{told}");
}
