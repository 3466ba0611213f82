//! Commits that share a record of the journal also share rows. Their messages and outcomes are found as if each commit
//! had been alone, whatever part of a row is trimmed, in memory and on disk.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::fake_disk::FakeDisk;
use super::*;
use crate::clock::StoppedClock;

const START: Timestamp = Timestamp(1_000_000);

fn partition() -> Partition {
    Partition::named("p")
}

/// A commit with up to three messages, some of them larger than a row may be.
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

/// Makes all commits share a record, and applies them to the model too.
async fn commit_together(
    disk: &FakeDisk,
    store: &EmbeddedStore,
    model: &MemoryStore,
    all: &[Commit],
) {
    let first = Commit {
        partition: partition(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: Vec::new(),
    };
    model.commit(first.clone()).await.unwrap();
    disk.block_journal_syncs();
    let mut first = store.commit(first);
    assert!((&mut first).now_or_never().is_none());
    disk.wait_for_blocked_sync();
    let before = disk.syncs();
    let mut rest: Vec<_> = all.iter().map(|one| store.commit(one.clone())).collect();
    for one in &mut rest {
        assert!(one.now_or_never().is_none());
    }
    disk.unblock_syncs();
    first.await.unwrap();
    for (done, one) in join_all(rest).await.into_iter().zip(all) {
        assert_eq!(done, model.commit(one.clone()).await);
    }
    assert_eq!(disk.syncs() - before, 2);
}

async fn assert_same_log(store: &EmbeddedStore, model: &MemoryStore) {
    let p = partition();
    let all = model.read(&p, "log", Position(0), 9_999).await.unwrap();
    for after in 0..=all.last.0 + 1 {
        for max in [1, 3, 9_999] {
            let after = Position(after);
            let read = store.read(&p, "log", after, max).await.unwrap();
            let expected = model.read(&p, "log", after, max).await.unwrap();
            assert_eq!(read, expected, "after {after:?}, {max}");
        }
    }
}

#[test]
fn messages_and_outcomes_that_share_a_record_are_found_and_trimmed_one_by_one() {
    for seed in 0..6 {
        let mut random = random(seed);
        let disk = FakeDisk::default();
        let clock = Arc::new(StoppedClock::at(START));
        let model = MemoryStore::new(clock.clone());
        let limits = FlushLimits::default();
        let open = || disk.try_store_at(clock.clone(), limits).unwrap();
        let mut store = open();
        let mut done = Vec::new();
        for round in 0_u64..3 {
            let some: Vec<Commit> = (0..20).map(|_| commit(&mut random)).collect();
            block_on(async {
                commit_together(&disk, &store, &model, &some).await;
                done.extend(some);
                assert_same_log(&store, &model).await;
                for max in [1, 2, 7] {
                    // Each commit is a microsecond after the one before.
                    let before = START.plus(Duration::from_micros(round * 21 + 12));
                    let gone = store.trim(&partition(), "log", before, max).await;
                    let expected = model.trim(&partition(), "log", before, max).await;
                    assert_eq!(gone, expected);
                    assert_same_log(&store, &model).await;
                }
                for again in &done {
                    let repeated = store.commit(again.clone()).await.unwrap();
                    assert!(repeated.repeated);
                    assert_eq!(repeated, model.commit(again.clone()).await.unwrap());
                }
            });
            // Before this from memory, now from disk.
            drop(store);
            store = open();
            block_on(assert_same_log(&store, &model));
        }
        clock.advance(REMEMBER + Duration::from_secs(1));
        block_on(async {
            for _ in 0..3 {
                let one = commit(&mut random);
                store.commit(one.clone()).await.unwrap();
                model.commit(one).await.unwrap();
            }
            for forgotten in &done {
                assert!(!store.commit(forgotten.clone()).await.unwrap().repeated);
            }
        });
    }
}

#[test]
fn a_store_outlives_the_runtime_that_it_answered_on() {
    let store = Arc::new(FakeDisk::default().journaling_store());
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
