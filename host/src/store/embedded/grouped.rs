//! Commits that share a record share rows too: what they say of messages and outcomes is found in them as if each had
//! been alone, whatever part of a row is trimmed, and wherever the row lies.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::super::{CommitId, MemoryStore, Op};
use super::disk::Disk;
use super::tests::{block_on, random};
use super::*;
use crate::clock::StoppedClock;

const START: Timestamp = Timestamp(1_000_000);

fn partition() -> Partition {
    Partition::named("p")
}

/// A commit with up to three messages, some of them larger than a row gets.
fn commit(random: &mut impl FnMut(usize) -> usize) -> Commit {
    let append = |bytes: usize| Op::Append {
        log: "log".to_owned(),
        attributes: vec![("bytes".to_owned(), bytes.to_string())],
        body: Bytes::from(vec![b'x'; bytes]),
    };
    let bytes = |random: &mut dyn FnMut(usize) -> usize| match random(20) {
        0 => 70_000,
        _ => random(3_000),
    };
    let messages = random(4);
    Commit {
        partition: partition(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: (0..messages).map(|_| append(bytes(random))).collect(),
    }
}

/// Has all of them share a record, and the memory store do the same.
async fn commit_together(disk: &Disk, store: &EmbeddedStore, plain: &MemoryStore, all: &[Commit]) {
    let first = Commit {
        partition: partition(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: Vec::new(),
    };
    plain.commit(first.clone()).await.unwrap();
    disk.hold_syncs(true);
    let mut first = store.commit(first);
    assert!((&mut first).now_or_never().is_none());
    disk.wait_for_a_sync();
    let before = disk.syncs();
    let mut rest: Vec<_> = all.iter().map(|one| store.commit(one.clone())).collect();
    for one in &mut rest {
        assert!(one.now_or_never().is_none());
    }
    disk.hold_syncs(false);
    first.await.unwrap();
    for (done, one) in join_all(rest).await.into_iter().zip(all) {
        assert_eq!(done, plain.commit(one.clone()).await);
    }
    assert_eq!(disk.syncs() - before, 2);
}

async fn assert_same_log(store: &EmbeddedStore, plain: &MemoryStore) {
    let p = partition();
    let all = plain.read(&p, "log", Position(0), 9_999).await.unwrap();
    for after in 0..=all.last.0 + 1 {
        for max in [1, 3, 9_999] {
            let after = Position(after);
            let read = store.read(&p, "log", after, max).await.unwrap();
            let expected = plain.read(&p, "log", after, max).await.unwrap();
            assert_eq!(read, expected, "after {after:?}, {max}");
        }
    }
}

#[test]
fn messages_and_outcomes_of_a_record_are_found_and_trimmed_one_by_one() {
    for seed in 0..6 {
        let mut random = random(seed);
        let disk = Disk::default();
        let clock = Arc::new(StoppedClock::at(START));
        let plain = MemoryStore::new(clock.clone());
        let lengths = Lengths::default();
        let open = || disk.try_store_at(clock.clone(), lengths).unwrap();
        let mut store = open();
        let mut done = Vec::new();
        for round in 0_u64..3 {
            let some: Vec<Commit> = (0..20).map(|_| commit(&mut random)).collect();
            block_on(async {
                commit_together(&disk, &store, &plain, &some).await;
                done.extend(some);
                assert_same_log(&store, &plain).await;
                for max in [1, 2, 7] {
                    // Each commit is a microsecond after the one before.
                    let before = START.plus(Duration::from_micros(round * 21 + 12));
                    let gone = store.trim(&partition(), "log", before, max).await;
                    let expected = plain.trim(&partition(), "log", before, max).await;
                    assert_eq!(gone, expected);
                    assert_same_log(&store, &plain).await;
                }
                for again in &done {
                    let repeated = store.commit(again.clone()).await.unwrap();
                    assert!(repeated.repeated);
                    assert_eq!(repeated, plain.commit(again.clone()).await.unwrap());
                }
            });
            // Once from the journal's layers, once from what was filed.
            drop(store);
            store = open();
            block_on(assert_same_log(&store, &plain));
        }
        clock.advance(super::super::REMEMBER + Duration::from_secs(1));
        block_on(async {
            for _ in 0..3 {
                let one = commit(&mut random);
                store.commit(one.clone()).await.unwrap();
                plain.commit(one).await.unwrap();
            }
            for forgotten in &done {
                assert!(!store.commit(forgotten.clone()).await.unwrap().repeated);
            }
        });
    }
}

#[test]
fn a_store_outlives_the_runtime_that_it_answered_from() {
    let store = Arc::new(Disk::default().journaling_store());
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap();
        runtime.block_on(async {
            let all = (0..200).map(|_| {
                let (store, one) = (Arc::clone(&store), commit(&mut |_| 1));
                tokio::spawn(async move { store.commit(one).await })
            });
            for done in join_all(all).await {
                assert!(!done.unwrap().unwrap().repeated);
            }
        });
    }
}
