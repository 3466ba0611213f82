//! Data that persists when the embedded store is closed and opened again.

use std::path::Path;
use std::sync::Arc;

use super::crashes::{Child, id_of, losses, open_when_free};
use super::fixture::*;
use futures_util::FutureExt;
use tempfile::TempDir;
use tillgate_store::clock::{StoppedClock, Timestamp};
use tillgate_store::{
    Commit, CommitError, CommitId, Committed, EmbeddedStore, Position, REMEMBER, Revision, Store,
};

/// Opens a store whose clock is stopped at `now`.
fn open(folder: &Path, now: Timestamp) -> EmbeddedStore {
    open_when_free(folder, &Arc::new(StoppedClock::at(now)))
}

async fn commit_to(store: &EmbeddedStore, ops: impl Into<Vec<tillgate_store::Op>>) -> Committed {
    store.commit(commit(ops)).await.unwrap()
}

#[test]
fn everything_persists_over_a_restart() {
    let folder = TempDir::new().unwrap();
    let (p, other) = (partition(), named("other"));
    let once = commit([
        put("a", "1"),
        append_with("log", &[("x", "y")], "m"),
        enqueue("queue", "job", START),
    ]);
    let contents = async |store: &EmbeddedStore| {
        let page = store.scan(&p, "", None, 99).await.unwrap();
        let slice = store.read(&p, "log", Position(0), 99).await.unwrap();
        (page, slice, store.partitions(None, 99).await.unwrap())
    };
    block_on(async {
        let store = open(folder.path(), START);
        let first = store.commit(once.clone()).await.unwrap();
        commit_to(&store, [put("b", ""), delete("a"), put("c", "3")]).await;
        store
            .commit(Commit {
                partition: other.clone(),
                ..commit([put("z", "")])
            })
            .await
            .unwrap();
        let before = contents(&store).await;
        drop(store);

        let store = open(folder.path(), START);
        assert_eq!(contents(&store).await, before);
        let again = store.commit(once).await.unwrap();
        assert_eq!(
            again,
            Committed {
                repeated: true,
                ..first
            }
        );
        assert_eq!(commit_to(&store, []).await.revision, Revision(3));
        assert_eq!(
            store
                .claim(&p, "queue", MINUTE, 9)
                .await
                .unwrap()
                .jobs
                .len(),
            1
        );
    });
}

#[test]
fn publish_times_increase_over_restarts_with_the_clock_set_back() {
    let folder = TempDir::new().unwrap();
    block_on(async {
        let mut last = Timestamp::default();
        for now in [
            START,
            START.minus(HOUR),
            START.minus(HOUR * 2),
            Timestamp(0),
        ] {
            let store = open(folder.path(), now);
            for _ in 0..3 {
                let at = commit_to(&store, [append("log", "m")]).await.at;
                assert!(at > last);
                last = at;
            }
        }
    });
}

#[test]
fn positions_are_not_reused_after_a_trim_and_a_restart() {
    let folder = TempDir::new().unwrap();
    block_on(async {
        let store = open(folder.path(), START);
        let old = commit_to(&store, [append("log", "1"), append("log", "2")])
            .await
            .positions;
        assert_eq!(
            store
                .trim(&partition(), "log", START.plus(HOUR), 9)
                .await
                .unwrap(),
            2
        );
        drop(store);
        let store = open(folder.path(), START);
        let slice = store
            .read(&partition(), "log", Position(0), 9)
            .await
            .unwrap();
        assert_eq!((slice.last, slice.trimmed), (old[1], old[1]));
        assert!(commit_to(&store, [append("log", "3")]).await.positions[0] > old[1]);
    });
}

#[test]
fn all_leases_end_at_a_restart_and_leases_still_increase() {
    let folder = TempDir::new().unwrap();
    block_on(async {
        let store = open(folder.path(), START);
        commit_to(
            &store,
            [enqueue("queue", "a", START), enqueue("queue", "b", START)],
        )
        .await;
        let claim = async |store: &EmbeddedStore| {
            let claimed = store.claim(&partition(), "queue", MINUTE, 9).await;
            claimed.unwrap()
        };
        let claimed = claim(&store).await.jobs;
        commit_to(&store, [settle("queue", "a", claimed[0].lease, None)]).await;
        assert_eq!(claim(&store).await.jobs, []);
        drop(store);

        // The clock is stopped, so the lease would last for another minute.
        let store = open(folder.path(), START);
        let again = claim(&store).await.jobs;
        assert_eq!((ids(&again), again[0].attempt), (vec!["b"], 2));
        assert!(again[0].lease > claimed[0].lease && again[0].lease > claimed[1].lease);
        let late = store
            .commit(commit([settle("queue", "b", claimed[1].lease, None)]))
            .await;
        assert_eq!(late, lost("queue", "b"));
    });
}

#[test]
fn what_a_killed_process_had_claimed_is_free_at_the_next_start() {
    let folder = TempDir::new().unwrap();
    let mut child = Child::start("claim", folder.path());
    assert_eq!(child.line().unwrap(), "claimed 3");
    child.kill();
    let store = open_when_free(folder.path(), &clock());
    let claimed = block_on(store.claim(&partition(), "queue", MINUTE, 9)).unwrap();
    assert_eq!(ids(&claimed.jobs), ["a", "b", "c"]);
}

#[test]
fn a_job_that_is_due_before_all_that_were_claimed_is_claimed_after_restarts() {
    let folder = TempDir::new().unwrap();
    let claim = async |store: &EmbeddedStore| {
        let claimed = store.claim(&partition(), "queue", MINUTE, 1).await;
        claimed.unwrap().jobs
    };
    block_on(async {
        let store = open(folder.path(), START);
        for job in ["a", "b"] {
            commit_to(&store, [enqueue("queue", job, START)]).await;
        }
        assert_eq!(ids(&claim(&store).await), vec!["a"]);
        drop(store);

        let store = open(folder.path(), START);
        let earlier = START.minus(HOUR);
        commit_to(&store, [enqueue("queue", "earlier", earlier)]).await;
        drop(store);

        let store = open(folder.path(), START);
        assert_eq!(ids(&claim(&store).await), vec!["earlier"]);
        assert_eq!(ids(&claim(&store).await), vec!["a"]);
        assert_eq!(ids(&claim(&store).await), vec!["b"]);
        assert_eq!(ids(&claim(&store).await), Vec::<&str>::new());
    });
}

#[test]
fn ids_are_remembered_over_restarts_for_a_quarter_of_an_hour() {
    let folder = TempDir::new().unwrap();
    let once = commit([append("log", "m")]);
    block_on(async {
        open(folder.path(), START)
            .commit(once.clone())
            .await
            .unwrap();
        for minutes in 1..=3 {
            let store = open(folder.path(), START.plus(REMEMBER / 3 * minutes));
            commit_to(&store, []).await;
            assert!(store.commit(once.clone()).await.unwrap().repeated);
        }
    });
}

#[test]
fn requests_that_were_submitted_before_the_store_is_dropped_are_done() {
    let folder = TempDir::new().unwrap();
    block_on(async {
        let store = open(folder.path(), START);
        for n in 0..100 {
            // Polled once, so that it is submitted, then dropped.
            assert!(
                store
                    .commit(commit([put(format!("{n:03}"), "")]))
                    .now_or_never()
                    .is_none()
            );
        }
        drop(store);
        let store = open(folder.path(), START);
        let page = store.scan(&partition(), "", None, 999).await.unwrap();
        assert_eq!(page.entries.len(), 100);
    });
}

#[test]
fn a_hundred_restarts_change_nothing() {
    let folder = TempDir::new().unwrap();
    block_on(async {
        commit_to(
            &open(folder.path(), START),
            [put("a", "1"), append("log", "m")],
        )
        .await;
        for _ in 0..100 {
            let store = open(folder.path(), START);
            assert_eq!(
                store
                    .scan(&partition(), "", None, 9)
                    .await
                    .unwrap()
                    .entries
                    .len(),
                1
            );
        }
        let store = open(folder.path(), START);
        assert_eq!(commit_to(&store, []).await.revision, Revision(2));
    });
}

/// Returns the acknowledged commits that a child prints, until `failures` commits have failed or the child has ended.
/// See `crashes::fill`.
fn outcomes_of(child: &mut Child, folder: &Path, failures: usize) -> Vec<CommitId> {
    let (mut acknowledged, mut failed) = (Vec::new(), 0);
    while failed < failures
        && let Some(line) = child.line()
    {
        match line.split_once(' ').unwrap() {
            ("done", id) => acknowledged.push(id_of(id)),
            ("failed", why) => {
                assert!(why.starts_with("the store is unavailable"), "{why}");
                assert!(why.contains(&*folder.to_string_lossy()), "{why}");
                failed += 1;
            }
            _ => panic!("{line}"),
        }
    }
    acknowledged
}

/// The disk fills up in the middle of commits, and has room again while the process continues.
#[test]
fn a_full_disk_is_reported_and_written_again_once_there_is_room() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path(), START));
    let mut child = Child::start_on_small_disk("fill", folder.path());
    let mut acknowledged = outcomes_of(&mut child, folder.path(), 5);
    assert!(!acknowledged.is_empty(), "it was full from the start");
    child.make_room();
    let later = outcomes_of(&mut child, folder.path(), usize::MAX);
    assert!(later.len() >= 20, "it did not go on");
    acknowledged.extend(later);
    let store = open(folder.path(), START);
    assert_eq!(block_on(losses(&store, &acknowledged)), [""; 0]);
}

#[test]
fn a_process_killed_on_a_full_disk_starts_there_and_goes_on_once_there_is_room() {
    let folder = TempDir::new().unwrap();
    drop(open(folder.path(), START));
    let mut acknowledged = Vec::new();
    for _ in 0..3 {
        let mut child = Child::start_on_small_disk("fill", folder.path());
        acknowledged.extend(outcomes_of(&mut child, folder.path(), 3));
        child.kill();
        acknowledged.extend(outcomes_of(&mut child, folder.path(), usize::MAX));
    }
    assert!(!acknowledged.is_empty(), "it was full from the start");
    let mut child = Child::start_on_small_disk("fill", folder.path());
    acknowledged.extend(outcomes_of(&mut child, folder.path(), 3));
    child.make_room();
    acknowledged.extend(outcomes_of(&mut child, folder.path(), usize::MAX));
    let store = open(folder.path(), START);
    assert_eq!(block_on(losses(&store, &acknowledged)), [""; 0]);
}

#[test]
fn a_conflict_does_not_stop_the_store() {
    let folder = TempDir::new().unwrap();
    block_on(async {
        let store = open(folder.path(), START);
        commit_to(&store, [put("a", "1")]).await;
        for _ in 0..10 {
            let conflict = store
                .commit(commit_if([absent("a")], [put("a", "2")]))
                .await;
            assert_eq!(conflict, Err(CommitError::Conflict(absent("a"))));
        }
        assert_eq!(
            commit_to(&store, [put("a", "3")]).await.revision,
            Revision(2)
        );
    });
}
