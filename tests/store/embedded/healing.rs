//! What the embedded store does when its disk is full or fails, and works again: it reads on, refuses what it cannot
//! write, and goes on by itself with everything it acknowledged.

use std::time::Instant;

use super::fake_disk::{AfterFailedSync, REDB};
use super::faults::{named, names, partition, try_names};
use super::*;

/// Waits until the store can do everything again.
async fn healed(store: &EmbeddedStore) {
    let begin = Instant::now();
    while store.health() != Health::Up {
        let health = store.health();
        assert!(begin.elapsed() < Duration::from_secs(60), "{health:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Commits what is named from `first` on until one fails; returns how many succeeded in all, and the error.
async fn commit_until_it_fails(store: &EmbeddedStore, first: usize) -> (usize, CommitError) {
    for name in first.. {
        if let Err(error) = store.commit(named(name)).await {
            return (name, error);
        }
    }
    unreachable!("commits end with a failure only")
}

/// The names that [`names`] returns when these commits took effect.
fn up_to(end: usize) -> (Vec<String>, Vec<String>) {
    let mut all: Vec<String> = (0..end).map(|name| name.to_string()).collect();
    all.sort();
    (all.clone(), all)
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn after_a_failed_sync_reads_go_on_and_a_repeat_is_applied_once_when_the_disk_works_again() {
    for lost in [
        AfterFailedSync::Kept,
        AfterFailedSync::TakenForWritten,
        AfterFailedSync::Dropped,
    ] {
        let disk = FakeDisk::default();
        let store = disk.store();
        let (first, second) = (named(1), named(2));
        block_on(async {
            store.commit(named(0)).await.unwrap();
            let mut hints = store.hints(&partition());
            disk.state().after_failed_sync = lost;
            disk.state().syncs_left = Some(0);
            match store.commit(first.clone()).await {
                Err(CommitError::Unknown(why)) => assert!(why.contains("a test"), "{why}"),
                outcome => panic!("{outcome:?}"),
            }
            for _ in 0..3 {
                match store.commit(second.clone()).await {
                    Err(CommitError::Unavailable(why)) => assert!(why.contains("a test"), "{why}"),
                    outcome => panic!("{outcome:?}"),
                }
                // What is not known to be durable is not served.
                assert_eq!(names(&store).await, up_to(1));
                assert!(matches!(store.health(), Health::ReadOnly { .. }));
            }
            disk.mend();
            healed(&store).await;
            assert!(hints.has_changed().unwrap(), "nobody was told to look");
            hints.mark_unchanged();
            let done = store.commit(first.clone()).await.unwrap();
            let survived = !matches!(lost, AfterFailedSync::Dropped);
            assert_eq!(done.repeated, survived, "{lost:?}");
            assert!(!store.commit(second.clone()).await.unwrap().repeated);
            assert_eq!(names(&store).await, up_to(3));
        });
        let after = disk.after_a_power_cut(&mut random(7));
        drop(store);
        assert_eq!(block_on(names(&after.store())), up_to(3), "{lost:?}");
    }
}

#[test]
fn a_full_disk_is_read_on_and_written_again_once_there_is_room() {
    for room in [0, 10_000, 100_000, 1 << 20, 2 << 20] {
        for limits in [FlushLimits::default(), FakeDisk::SHORT] {
            let disk = FakeDisk::default();
            let store = disk.try_store_with(limits).unwrap();
            block_on(async {
                store.commit(named(0)).await.unwrap();
                let mut done = 1;
                // It fills up twice.
                for _ in 0..2 {
                    disk.fill_up_to(room);
                    let failed;
                    (done, failed) = commit_until_it_fails(&store, done).await;
                    assert!(matches!(failed, CommitError::Unavailable(_)), "{failed}");
                    assert!(matches!(store.health(), Health::ReadOnly { .. }));
                    assert_eq!(names(&store).await, up_to(done));
                    let full = store.commit(named(done)).await;
                    assert!(matches!(full, Err(CommitError::Unavailable(_))), "{full:?}");

                    disk.mend();
                    healed(&store).await;
                    assert_eq!(names(&store).await, up_to(done));
                    assert!(!store.commit(named(done)).await.unwrap().repeated);
                    done += 1;
                }
                let after = disk.after_a_power_cut(&mut random(1));
                assert_eq!(names(&after.store()).await, up_to(done));
                drop(store);
                assert_eq!(names(&disk.store()).await, up_to(done));
            });
        }
    }
}

#[test]
fn a_store_that_was_killed_on_a_full_disk_opens_there_and_heals() {
    for limits in [FlushLimits::default(), FakeDisk::SHORT] {
        let disk = FakeDisk::default();
        let store = disk.try_store_with(limits).unwrap();
        let done = block_on(async {
            disk.fill_up_to(100_000);
            commit_until_it_fails(&store, 0).await.0
        });
        let killed = disk.copy();
        drop(store);
        killed.fill_up_to(0);
        let store = killed.try_store_with(limits).unwrap();
        block_on(async {
            assert_eq!(names(&store).await, up_to(done));
            let (next, failed) = commit_until_it_fails(&store, done).await;
            assert!(matches!(failed, CommitError::Unavailable(_)), "{failed}");
            assert_eq!(names(&store).await, up_to(next));
            killed.mend();
            healed(&store).await;
            store.commit(named(next)).await.unwrap();
            assert_eq!(names(&store).await, up_to(next + 1));
        });
    }
}

#[test]
fn a_store_opens_on_a_disk_that_cannot_be_written_at_all() {
    let disk = FakeDisk::default();
    let store = disk.store();
    let done = 40;
    block_on(async {
        for name in 0..done {
            store.commit(named(name)).await.unwrap();
        }
    });
    let killed = disk.copy();
    drop(store);
    killed.state().writes_left = Some(0);
    let store = killed.store();
    block_on(async {
        assert!(matches!(store.health(), Health::ReadOnly { .. }));
        assert_eq!(names(&store).await, up_to(done));
        let refused = store.commit(named(done)).await;
        assert!(
            matches!(refused, Err(CommitError::Unavailable(_))),
            "{refused:?}"
        );
        killed.mend();
        healed(&store).await;
        store.commit(named(done)).await.unwrap();
        assert_eq!(names(&store).await, up_to(done + 1));
    });
}

#[test]
fn a_flush_that_fails_stops_no_read_and_loses_nothing() {
    let disk = FakeDisk::default();
    let store = disk.store();
    block_on(async {
        disk.state().broken = Some(REDB);
        let (done, failed) = commit_until_it_fails(&store, 0).await;
        assert!(failed.to_string().contains("the disk is broken"));
        assert_eq!(names(&store).await, up_to(done));
        disk.mend();
        healed(&store).await;
        assert_eq!(names(&store).await, up_to(done));
        store.commit(named(done)).await.unwrap();
        drop(store);
        assert_eq!(names(&disk.store()).await, up_to(done + 1));
    });
}

#[test]
fn a_disk_that_cannot_be_read_for_a_while_is_read_again_afterwards() {
    let disk = FakeDisk::default();
    let store = disk.journaling_store();
    block_on(async {
        for name in 0..400 {
            store.commit(named(name)).await.unwrap();
        }
        drop(store);
        let store = disk.journaling_store();
        disk.state().unreadable = true;
        store.scan(&partition(), "", None, 9_999).await.unwrap_err();
        assert!(matches!(store.health(), Health::Away { .. }));
        disk.mend();
        healed(&store).await;
        assert_eq!(names(&store).await, up_to(400));
    });
}

/// A disk that fails and works again at random moments, in random ways, while commits are repeated until their outcome is
/// known.
#[test]
fn whenever_the_disk_fails_every_commit_is_applied_once_and_survives_a_power_cut() {
    let (mut unknown, mut unavailable) = (0, 0);
    for seed in 0..20 {
        let mut random = random(seed);
        let disk = FakeDisk::default();
        let store = disk.store();
        block_on(async {
            for name in 0..60 {
                if random(6) == 0 {
                    let mut state = disk.state();
                    state.after_failed_sync = [
                        AfterFailedSync::Kept,
                        AfterFailedSync::TakenForWritten,
                        AfterFailedSync::Dropped,
                    ][random(3)];
                    match random(3) {
                        0 => state.syncs_left = Some(random(3)),
                        1 => state.writes_left = Some(random(12)),
                        _ => {
                            drop(state);
                            disk.fill_up_to(random(30_000));
                        }
                    }
                }
                let commit = named(name);
                loop {
                    match store.commit(commit.clone()).await {
                        Ok(_) => break,
                        Err(CommitError::Unknown(_)) => unknown += 1,
                        Err(CommitError::Unavailable(_)) => unavailable += 1,
                        Err(error) => panic!("{error}"),
                    }
                    // What the disk has dropped cannot be read until it is written again.
                    match try_names(&store).await {
                        Ok((entries, _)) => assert_eq!(entries.len(), name, "seed {seed}"),
                        Err(Unavailable(why)) => {
                            let after = disk.state().after_failed_sync;
                            let has_dropped = matches!(after, AfterFailedSync::Dropped);
                            let is_damaged = why.contains("damaged");
                            assert!(has_dropped && !is_damaged, "seed {seed}: {why}");
                        }
                    }
                    disk.mend();
                    healed(&store).await;
                    let (entries, messages) = names(&store).await;
                    assert_eq!(entries, messages, "seed {seed}: a commit is incomplete");
                }
            }
            assert_eq!(names(&store).await, up_to(60), "seed {seed}");
        });
        let after = disk.after_a_power_cut(&mut random);
        drop(store);
        assert_eq!(block_on(names(&after.store())), up_to(60), "seed {seed}");
    }
    assert!(unknown > 10 && unavailable > 10, "{unknown}, {unavailable}");
}

#[test]
fn damage_stops_writes_until_it_is_removed_and_reads_of_the_rest_go_on() {
    let disk = FakeDisk::default();
    let store = disk.journaling_store();
    let first = Partition::named("first");
    let damaged = Commit {
        partition: first.clone(),
        ..named(1)
    };
    block_on(async {
        store.commit(damaged.clone()).await.unwrap();
        for name in 0..60 {
            store.commit(named(name)).await.unwrap();
        }
    });
    drop(store);
    let mut file = disk.state().files[REDB].written.clone();
    let (value, mut windows) = ([b'v'; 300], file.windows(300));
    let place = windows.position(|window| window == value).unwrap();
    file[place] = b'w';
    disk.put(REDB, file);
    let store = disk.journaling_store();
    block_on(async {
        let keys = ["1".to_owned()];
        let unreadable = store.get(&first, &keys).await.unwrap_err();
        let message = "the folder a test is damaged, restore a copy";
        assert!(unreadable.0.contains(message), "{unreadable}");
        let commit = Commit {
            id: CommitId::random(),
            checks: vec![Check::Absent("1".to_owned())],
            ..damaged
        };
        for _ in 0..2 {
            match store.commit(commit.clone()).await {
                Err(CommitError::Unavailable(why)) => assert!(why.contains(message), "{why}"),
                outcome => panic!("{outcome:?}"),
            }
        }
        assert!(matches!(store.health(), Health::ReadOnly { .. }));
        let slice = store.read(&partition(), "log", Position(0), 99).await;
        assert_eq!(slice.unwrap().messages.len(), 60);
    });
}
