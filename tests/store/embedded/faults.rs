//! What the embedded store does when the disk fails, is slow, or loses power.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;

use super::fake_disk::{FakeDisk, JOURNAL, REDB};
use super::*;

pub(super) fn partition() -> Partition {
    Partition::new("tenant").unwrap()
}

/// A commit that puts an entry and appends a message, both with that name.
pub(super) fn named(name: usize) -> Commit {
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

/// The sorted names of the entries and of the messages.
pub(super) async fn names(store: &EmbeddedStore) -> (Vec<String>, Vec<String>) {
    try_names(store).await.unwrap()
}

pub(super) async fn try_names(
    store: &EmbeddedStore,
) -> Result<(Vec<String>, Vec<String>), Unavailable> {
    let page = store.scan(&partition(), "", None, 9_999).await?;
    let slice = store.read(&partition(), "log", Position(0), 9_999).await?;
    let mut messages: Vec<_> = slice
        .messages
        .iter()
        .map(|message| String::from_utf8(message.body.to_vec()).unwrap())
        .collect();
    messages.sort();
    let entries = page.entries.into_iter().map(|(key, _)| key);
    Ok((entries.collect(), messages))
}

#[test]
fn a_power_cut_loses_no_acknowledged_commit_and_leaves_none_incomplete() {
    let mut unknown = 0;
    for seed in 0..150 {
        let mut random = random(seed);
        let disk = FakeDisk::default();
        let store = disk.store();
        disk.state().writes_left = Some(random(120));
        let commits: Vec<Commit> = (0..60).map(named).collect();
        let mut done = Vec::new();
        block_on(async {
            // A few at a time, so that there are many batches to interrupt.
            for some in commits.chunks(1 + random(9)) {
                done.extend(join_all(some.iter().map(|commit| store.commit(commit.clone()))).await);
            }
        });
        let disk = disk.after_a_power_cut(&mut random);
        drop(store);

        let store = disk.store();
        block_on(async {
            let (entries, messages) = names(&store).await;
            assert_eq!(entries, messages, "seed {seed}: a commit is incomplete");
            for (name, outcome) in done.iter().enumerate() {
                let exists = entries.contains(&name.to_string());
                match outcome {
                    Ok(_) => assert!(exists, "seed {seed}: {name} was acknowledged and is lost"),
                    Err(CommitError::Unavailable(_)) => {
                        assert!(!exists, "seed {seed}: {name} should not have happened");
                    }
                    Err(CommitError::Unknown(_)) => unknown += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            // Repeating with the same ids completes what was interrupted and applies nothing twice.
            for (commit, outcome) in commits.iter().zip(&done) {
                let again = store.commit(commit.clone()).await.unwrap();
                assert!(again.repeated || outcome.is_err());
            }
            let (entries, messages) = names(&store).await;
            assert_eq!((entries.len(), messages.len()), (60, 60), "seed {seed}");
        });
    }
    assert!(unknown > 0, "no cut interrupted a commit");
}

#[test]
fn commits_that_wait_together_share_one_sync() {
    let disk = FakeDisk::default();
    let store = disk.journaling_store();
    block_on(async {
        let before = disk.syncs();
        store.commit(named(0)).await.unwrap();
        let syncs_of_one = disk.syncs() - before;

        disk.block_journal_syncs();
        let mut first = store.commit(named(1));
        assert!((&mut first).now_or_never().is_none());
        disk.wait_for_blocked_sync();
        let mut rest: Vec<_> = (2..102).map(|name| store.commit(named(name))).collect();
        for commit in &mut rest {
            assert!(commit.now_or_never().is_none());
        }
        disk.unblock_syncs();
        first.await.unwrap();
        for commit in rest {
            commit.await.unwrap();
        }
        assert_eq!(disk.syncs() - before, 3 * syncs_of_one);
    });
}

#[test]
fn reads_neither_wait_for_a_sync_nor_see_what_is_not_durable() {
    let disk = FakeDisk::default();
    let store = disk.journaling_store();
    block_on(async {
        store.commit(named(0)).await.unwrap();
        disk.block_journal_syncs();
        let mut waiting = store.commit(named(1));
        assert!((&mut waiting).now_or_never().is_none());
        disk.wait_for_blocked_sync();
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
        disk.unblock_syncs();
        waiting.await.unwrap();
        assert!(store.get(&partition(), &keys).await.unwrap()[1].is_some());
    });
}

#[test]
fn what_changes_nothing_needs_no_sync() {
    let disk = FakeDisk::default();
    let store = disk.journaling_store();
    block_on(async {
        let once = named(0);
        store.commit(once.clone()).await.unwrap();
        let before = disk.syncs();
        assert!(store.commit(once).await.unwrap().repeated);
        let checks = vec![Check::At("0".to_owned(), Revision(9))];
        store
            .commit(Commit { checks, ..named(1) })
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
    let disk = FakeDisk::default();
    let store = disk.store();
    block_on(async {
        disk.block_journal_syncs();
        let mut first = store.commit(named(0));
        assert!((&mut first).now_or_never().is_none());
        disk.wait_for_blocked_sync();
        // These two share the next batch.
        let mut creates = store.commit(named(1));
        let checks = vec![Check::Absent("1".to_owned())];
        let mut conflicts = store.commit(Commit { checks, ..named(2) });
        assert!((&mut creates).now_or_never().is_none());
        assert!((&mut conflicts).now_or_never().is_none());
        disk.state().syncs_left = Some(1);
        disk.unblock_syncs();
        first.await.unwrap();
        for outcome in [creates.await, conflicts.await] {
            assert!(
                matches!(outcome, Err(CommitError::Unknown(_))),
                "{outcome:?}"
            );
        }
    });
}

/// A disk with commits 0, 1 and 20 in its journal and not flushed, and the offsets at which their records end.
fn journaled() -> (FakeDisk, [usize; 3]) {
    let disk = FakeDisk::default();
    let store = disk.journaling_store();
    let ends = [0, 1, 20].map(|name| {
        block_on(store.commit(named(name))).unwrap();
        let state = disk.state();
        let journal = &state.files[JOURNAL[0]].written;
        journal.iter().rposition(|byte| *byte != 0).unwrap() + 1
    });
    // What a killed process leaves; closing would flush it.
    (disk.copy(), ends)
}

fn with_journal(disk: &FakeDisk, change: impl FnOnce(&mut Vec<u8>)) -> FakeDisk {
    let disk = disk.copy();
    let mut journal = disk.state().files[JOURNAL[0]].written.clone();
    change(&mut journal);
    disk.put(JOURNAL[0], journal);
    disk
}

fn assert_contains(disk: &FakeDisk, expected: &[&str]) {
    // Twice, since the first opening flushes what it finds.
    for _ in 0..2 {
        let store = disk.store();
        let (entries, messages) = block_on(names(&store));
        assert_eq!(entries, expected);
        assert_eq!(messages, expected);
    }
}

#[test]
fn what_is_not_flushed_survives_a_kill() {
    let (disk, _) = journaled();
    assert_contains(&disk, &["0", "1", "20"]);
}

#[test]
fn a_last_record_that_is_cut_anywhere_was_never_acknowledged_and_is_dropped() {
    let (disk, [_, first, end]) = journaled();
    for cut in first..end {
        let torn = with_journal(&disk, |journal| journal[cut..].fill(0));
        let short = with_journal(&disk, |journal| journal.truncate(cut));
        for disk in [torn, short] {
            let store = disk.store();
            assert_eq!(block_on(names(&store)).0, ["0", "1"]);
            block_on(store.commit(named(20))).unwrap();
            drop(store);
            assert_eq!(block_on(names(&disk.store())).1, ["0", "1", "20"]);
        }
    }
}

#[test]
fn a_flipped_bit_before_the_last_record_is_reported_as_damage() {
    let (disk, [_, middle, _]) = journaled();
    for byte in 0..middle {
        let damaged = with_journal(&disk, |journal| journal[byte] ^= 1 << (byte % 8));
        // Padding between records has no meaning.
        match damaged.try_store() {
            Ok(_) => assert_contains(&damaged, &["0", "1", "20"]),
            Err(message) => {
                assert!(message.contains("is damaged, restore a copy"), "{message}");
                assert!(
                    message.contains("its journal continues from record"),
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
fn a_flipped_bit_in_the_last_record_leaves_no_commit_incomplete() {
    let (disk, [_, last, end]) = journaled();
    for byte in last..end {
        let damaged = with_journal(&disk, |journal| journal[byte] ^= 1 << (byte % 8));
        let (entries, messages) = block_on(names(&damaged.store()));
        assert_eq!(entries, messages);
        assert!(entries.len() >= 2, "byte {byte}");
    }
}

#[test]
fn a_journal_that_misses_records_is_damaged() {
    let disk = FakeDisk::default();
    let store = disk.journaling_store();
    let old = disk.copy().state().files[REDB].written.clone();
    block_on(store.commit(named(0))).unwrap();
    drop(store);
    let store = disk.journaling_store();
    block_on(store.commit(named(1))).unwrap();
    let newer = disk.copy();
    newer.put(REDB, old);
    let message = newer.try_store().unwrap_err();
    assert!(message.contains("from record 0 with record 2"), "{message}");
}

#[test]
fn a_crash_during_recovery_loses_nothing() {
    let (disk, _) = journaled();
    let mut crashes = 0;
    for writes_left in 0.. {
        let again = disk.copy();
        again.state().writes_left = Some(writes_left);
        let store = again.store();
        assert_eq!(block_on(names(&store)).0, ["0", "1", "20"]);
        let opened = store.health() == Health::Up;
        drop(store);
        assert_contains(&again.after_a_power_cut(&mut random(7)), &["0", "1", "20"]);
        if opened {
            break;
        }
        crashes += 1;
    }
    assert!(crashes > 3, "recovery was never interrupted");
}

#[test]
fn during_a_flush_commits_continue_and_reads_see_everything() {
    let disk = FakeDisk::default();
    let limits = FlushLimits {
        flush_at: 6_000,
        stall_at: 100_000,
        compaction_bytes: 1 << 20,
    };
    let store = disk.try_store_with(limits).unwrap();
    block_on(async {
        disk.block_syncs(&[REDB]);
        let mut done = 0;
        while !store.shared.state.read().unwrap().is_flushing() {
            store.commit(named(done)).await.unwrap();
            done += 1;
        }
        disk.wait_for_blocked_sync();
        for name in [done, done + 1] {
            store.commit(named(name)).await.unwrap();
            let (entries, messages) = names(&store).await;
            assert_eq!((entries.len(), &entries), (name + 1, &messages));
        }
        // More than the other file may hold: these stall until the flush has finished.
        let mut many = join_all((done + 2..done + 102).map(|name| store.commit(named(name))));
        assert!((&mut many).now_or_never().is_none());
        disk.unblock_syncs();
        let outcomes = many.await;
        assert!(outcomes.iter().all(Result::is_ok));
        let (entries, messages) = names(&store).await;
        assert_eq!((entries.len(), &entries), (done + 102, &messages));
    });
}
