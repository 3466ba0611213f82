//! What the embedded store does when the disk fails, is slow, or loses power: cases that need a disk
//! of our own. All that a real folder can show is in `tests/store/`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::future::Future;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::super::{Check, CommitId, Op, Revision};
use super::disk::{Disk, JOURNAL, TABLE};
use super::*;

pub(super) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

fn partition() -> Partition {
    Partition::new("tenant").unwrap()
}

/// A commit of a row and a message with that name.
fn whole(name: usize) -> Commit {
    let (key, log, body) = (
        name.to_string(),
        "log".to_owned(),
        Bytes::from(name.to_string()),
    );
    let value = Bytes::from(vec![b'v'; 300 * (name % 20)]);
    let ops = vec![
        Op::Put { key, value },
        Op::Append {
            log,
            attributes: Vec::new(),
            body,
        },
    ];
    Commit {
        partition: partition(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops,
    }
}

/// The names of the rows and of the messages that are there, each in its order.
async fn names(store: &EmbeddedStore) -> (Vec<String>, Vec<String>) {
    let page = store.scan(&partition(), "", None, 9_999).await.unwrap();
    let slice = store
        .read(&partition(), "log", Position(0), 9_999)
        .await
        .unwrap();
    let mut messages: Vec<_> = slice
        .messages
        .iter()
        .map(|message| String::from_utf8(message.body.to_vec()).unwrap())
        .collect();
    messages.sort();
    (
        page.entries.into_iter().map(|(key, _)| key).collect(),
        messages,
    )
}

pub(super) fn random(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    }
}

#[test]
fn a_power_cut_loses_nothing_acknowledged_and_leaves_nothing_half() {
    let mut cut_in_the_middle = 0;
    for seed in 0..150 {
        let mut random = random(seed);
        let disk = Disk::default();
        let store = disk.store();
        disk.state().good_for = Some(random(120));
        let commits: Vec<Commit> = (0..60).map(whole).collect();
        let mut done = Vec::new();
        block_on(async {
            // A few at a time, so that there are many transactions to be cut in.
            for some in commits.chunks(1 + random(9)) {
                done.extend(join_all(some.iter().map(|commit| store.commit(commit.clone()))).await);
            }
        });
        let disk = disk.after_a_power_cut(&mut random);
        drop(store);

        let store = disk.store();
        block_on(async {
            let (rows, messages) = names(&store).await;
            assert_eq!(rows, messages, "seed {seed}: a commit is half there");
            for (name, outcome) in done.iter().enumerate() {
                let there = rows.contains(&name.to_string());
                match outcome {
                    Ok(_) => assert!(there, "seed {seed}: {name} was acknowledged and is lost"),
                    Err(CommitError::Unavailable(_)) => {
                        assert!(!there, "seed {seed}: {name} should not have happened");
                    }
                    Err(CommitError::Unknown(_)) => cut_in_the_middle += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            // Asking again with the same ids completes what was cut and doubles nothing.
            for (commit, outcome) in commits.iter().zip(&done) {
                let again = store.commit(commit.clone()).await.unwrap();
                assert!(again.repeated || outcome.is_err());
            }
            let (rows, messages) = names(&store).await;
            assert_eq!((rows.len(), messages.len()), (60, 60), "seed {seed}");
        });
    }
    assert!(
        cut_in_the_middle > 0,
        "no cut came in the middle of a commit"
    );
}

#[test]
fn after_a_failed_sync_the_outcome_is_unknown_and_then_nothing_goes_until_reopened() {
    let disk = Disk::default();
    let store = disk.store();
    let (first, second) = (whole(1), whole(2));
    block_on(async {
        store.commit(whole(0)).await.unwrap();
        disk.state().good_syncs = Some(0);
        match store.commit(first.clone()).await {
            Err(CommitError::Unknown(reason)) => assert!(reason.contains("a test"), "{reason}"),
            outcome => panic!("{outcome:?}"),
        }
        // The disk works again, but nobody knows what is on it.
        disk.state().good_syncs = None;
        for _ in 0..3 {
            let later = store.commit(second.clone()).await;
            assert!(
                matches!(later, Err(CommitError::Unavailable(_))),
                "{later:?}"
            );
        }
        let (p, now) = (partition(), Timestamp(u64::MAX));
        store.get(&p, &["0".to_owned()]).await.unwrap_err();
        store.scan(&p, "", None, 999).await.unwrap_err();
        store.read(&p, "log", Position(0), 9).await.unwrap_err();
        store.trim(&p, "log", now, 9).await.unwrap_err();
        store
            .claim(&p, "queue", Duration::ZERO, 9)
            .await
            .unwrap_err();
        store.partitions(None, 9).await.unwrap_err();
    });
    drop(store);
    let store = disk.store();
    block_on(async {
        store.commit(first).await.unwrap();
        assert!(!store.commit(second).await.unwrap().repeated);
        let all = ["0", "1", "2"].map(str::to_owned).to_vec();
        assert_eq!(names(&store).await, (all.clone(), all));
    });
}

#[test]
fn commits_that_wait_together_share_one_sync() {
    let disk = Disk::default();
    let store = disk.journaling_store();
    block_on(async {
        let before = disk.syncs();
        store.commit(whole(0)).await.unwrap();
        let syncs_of_one = disk.syncs() - before;

        disk.hold_syncs(true);
        let mut first = store.commit(whole(1));
        assert!((&mut first).now_or_never().is_none());
        disk.wait_for_a_sync();
        let mut rest: Vec<_> = (2..102).map(|name| store.commit(whole(name))).collect();
        for commit in &mut rest {
            assert!(commit.now_or_never().is_none());
        }
        disk.hold_syncs(false);
        first.await.unwrap();
        for commit in rest {
            commit.await.unwrap();
        }
        assert_eq!(disk.syncs() - before, 3 * syncs_of_one);
    });
}

#[test]
fn reads_neither_wait_for_a_sync_nor_see_what_is_not_durable() {
    let disk = Disk::default();
    let store = disk.journaling_store();
    block_on(async {
        store.commit(whole(0)).await.unwrap();
        disk.hold_syncs(true);
        let mut waiting = store.commit(whole(1));
        assert!((&mut waiting).now_or_never().is_none());
        disk.wait_for_a_sync();
        let keys = ["0".to_owned(), "1".to_owned()];
        let found = store
            .get(&partition(), &keys)
            .now_or_never()
            .unwrap()
            .unwrap();
        assert_eq!(
            found.iter().map(Option::is_some).collect::<Vec<_>>(),
            [true, false]
        );
        disk.hold_syncs(false);
        waiting.await.unwrap();
        assert!(store.get(&partition(), &keys).await.unwrap()[1].is_some());
    });
}

#[test]
fn what_changes_nothing_needs_no_sync() {
    let disk = Disk::default();
    let store = disk.journaling_store();
    block_on(async {
        let once = whole(0);
        store.commit(once.clone()).await.unwrap();
        let before = disk.syncs();
        assert!(store.commit(once).await.unwrap().repeated);
        let checks = vec![Check::At("0".to_owned(), Revision(9))];
        store
            .commit(Commit { checks, ..whole(1) })
            .await
            .unwrap_err();
        store
            .claim(&partition(), "queue", Duration::ZERO, 9)
            .await
            .unwrap();
        store
            .trim(&partition(), "log", Timestamp(0), 9)
            .await
            .unwrap();
        assert_eq!(disk.syncs(), before);
    });
}

#[test]
fn a_conflict_with_a_commit_that_is_not_durable_yet_waits_for_it() {
    let disk = Disk::default();
    let store = disk.store();
    block_on(async {
        disk.hold_syncs(true);
        let mut first = store.commit(whole(0));
        assert!((&mut first).now_or_never().is_none());
        disk.wait_for_a_sync();
        // These two share the next transaction.
        let mut makes = store.commit(whole(1));
        let checks = vec![Check::Absent("1".to_owned())];
        let mut conflicts = store.commit(Commit { checks, ..whole(2) });
        assert!((&mut makes).now_or_never().is_none());
        assert!((&mut conflicts).now_or_never().is_none());
        disk.state().good_syncs = Some(1);
        disk.hold_syncs(false);
        first.await.unwrap();
        for outcome in [makes.await, conflicts.await] {
            assert!(
                matches!(outcome, Err(CommitError::Unknown(_))),
                "{outcome:?}"
            );
        }
    });
}

/// A disk with commits 0, 1 and 20 in its journal and not filed, and where their records end.
fn journaled() -> (Disk, [usize; 3]) {
    let disk = Disk::default();
    let store = disk.journaling_store();
    let ends = [0, 1, 20].map(|name| {
        block_on(store.commit(whole(name))).unwrap();
        let state = disk.state();
        let journal = &state.files[JOURNAL[0]].written;
        journal.iter().rposition(|byte| *byte != 0).unwrap() + 1
    });
    // What a killed process leaves; closing would file it.
    (disk.copy(), ends)
}

fn with_journal(disk: &Disk, change: impl FnOnce(&mut Vec<u8>)) -> Disk {
    let disk = disk.copy();
    let mut journal = disk.state().files[JOURNAL[0]].written.clone();
    change(&mut journal);
    disk.put(JOURNAL[0], journal);
    disk
}

fn assert_has(disk: &Disk, expected: &[&str]) {
    // Twice, since the first opening files what it finds.
    for _ in 0..2 {
        let store = disk.store();
        let (rows, messages) = block_on(names(&store));
        assert_eq!(rows, expected);
        assert_eq!(messages, expected);
    }
}

#[test]
fn what_is_not_filed_yet_is_there_after_a_kill() {
    let (disk, _) = journaled();
    assert_has(&disk, &["0", "1", "20"]);
}

#[test]
fn a_record_that_ends_at_any_byte_was_never_acknowledged_and_is_dropped() {
    let (disk, [_, first, end]) = journaled();
    for cut in first..end {
        let torn = with_journal(&disk, |journal| journal[cut..].fill(0));
        let short = with_journal(&disk, |journal| journal.truncate(cut));
        for disk in [torn, short] {
            let store = disk.store();
            assert_eq!(block_on(names(&store)).0, ["0", "1"]);
            block_on(store.commit(whole(20))).unwrap();
            drop(store);
            assert_eq!(block_on(names(&disk.store())).1, ["0", "1", "20"]);
        }
    }
}

#[test]
fn a_flipped_bit_before_the_last_record_is_damage_and_said() {
    let (disk, [_, middle, _]) = journaled();
    for byte in 0..middle {
        let damaged = with_journal(&disk, |journal| journal[byte] ^= 1 << (byte % 8));
        // The padding between records says nothing.
        match damaged.try_store() {
            Ok(_) => assert_has(&damaged, &["0", "1", "20"]),
            Err(message) => {
                assert!(message.contains("is damaged, use a copy"), "{message}");
                assert!(
                    message.contains("its journal goes from record"),
                    "{message}"
                );
            }
        }
        let dropped = damaged
            .try_store()
            .is_ok_and(|store| block_on(names(&store)).0.len() < 3);
        assert!(!dropped, "byte {byte}");
    }
}

#[test]
fn a_flipped_bit_in_the_last_record_leaves_nothing_half() {
    let (disk, [_, last, end]) = journaled();
    for byte in last..end {
        let damaged = with_journal(&disk, |journal| journal[byte] ^= 1 << (byte % 8));
        let (rows, messages) = block_on(names(&damaged.store()));
        assert_eq!(rows, messages);
        assert!(rows.len() >= 2, "byte {byte}");
    }
}

#[test]
fn a_journal_without_the_records_that_the_table_lacks_is_damaged() {
    let disk = Disk::default();
    let store = disk.journaling_store();
    let old = disk.copy().state().files[TABLE].written.clone();
    block_on(store.commit(whole(0))).unwrap();
    drop(store);
    let store = disk.journaling_store();
    block_on(store.commit(whole(1))).unwrap();
    let newer = disk.copy();
    newer.put(TABLE, old);
    let message = newer.try_store().unwrap_err();
    assert!(message.contains("from record 0 to 2"), "{message}");
}

#[test]
fn a_crash_while_the_journal_is_filed_again_loses_nothing() {
    let (disk, _) = journaled();
    let mut cut = 0;
    for good_for in 0.. {
        let again = disk.copy();
        again.state().good_for = Some(good_for);
        let opened = again.try_store().is_ok();
        assert_has(&again.after_a_power_cut(&mut random(7)), &["0", "1", "20"]);
        if opened {
            break;
        }
        cut += 1;
    }
    assert!(cut > 3, "filing was never cut");
}

#[test]
fn while_a_file_is_filed_commits_go_on_and_reads_see_all() {
    let disk = Disk::default();
    let lengths = Lengths {
        enough: 6_000,
        full: 100_000,
        step: 1 << 20,
    };
    let store = disk.try_store_with(lengths).unwrap();
    block_on(async {
        disk.hold(&[TABLE]);
        let mut done = 0;
        while store
            .shared
            .state
            .read()
            .unwrap()
            .sealed
            .changes()
            .is_empty()
        {
            store.commit(whole(done)).await.unwrap();
            done += 1;
        }
        disk.wait_for_a_sync();
        for name in [done, done + 1] {
            store.commit(whole(name)).await.unwrap();
            let (rows, messages) = names(&store).await;
            assert_eq!((rows.len(), &rows), (name + 1, &messages));
        }
        // More than the other file may hold: these wait for the filing.
        let mut many = join_all((done + 2..done + 102).map(|name| store.commit(whole(name))));
        assert!((&mut many).now_or_never().is_none());
        disk.hold(&[]);
        let outcomes = many.await;
        assert!(outcomes.iter().all(Result::is_ok));
        let (rows, messages) = names(&store).await;
        assert_eq!((rows.len(), &rows), (done + 102, &messages));
    });
}

#[test]
fn a_filing_that_fails_stops_the_store_and_loses_nothing() {
    let disk = Disk::default();
    let store = disk.store();
    let mut acknowledged = Vec::new();
    block_on(async {
        disk.state().fails = Some(TABLE);
        for name in 0.. {
            match store.commit(whole(name)).await {
                Ok(_) => acknowledged.push(name.to_string()),
                Err(error) => {
                    assert!(error.to_string().contains("the disk is gone"), "{error}");
                    break;
                }
            }
        }
        store.partitions(None, 9).await.unwrap_err();
    });
    drop(store);
    disk.state().fails = None;
    acknowledged.sort();
    let expected: Vec<&str> = acknowledged.iter().map(String::as_str).collect();
    assert_has(&disk, &expected);
}
