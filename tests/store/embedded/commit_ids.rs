//! The ids of commits after a kill: each is known or forgotten as it was before, whether its outcome is on disk, is being
//! flushed or is in the journal, and whether it expired there.

use super::fake_disk::{FakeDisk, REDB};
use super::faults::named;
use super::*;
use crate::clock::StoppedClock;

const MINUTE: Duration = Duration::from_secs(60);

/// Makes the commits of these names, a minute apart.
fn commit_all(
    store: &EmbeddedStore,
    clock: &StoppedClock,
    names: std::ops::Range<usize>,
) -> Vec<(Commit, Committed)> {
    let once = |name| {
        clock.advance(MINUTE);
        let commit = named(name);
        let committed = block_on(store.commit(commit.clone())).unwrap();
        (commit, committed)
    };
    names.map(once).collect()
}

#[test]
fn after_a_kill_every_id_is_known_or_forgotten_as_before() {
    let disk = FakeDisk::default();
    let clock = Arc::new(StoppedClock::at(Timestamp(1_000_000)));
    let limits = FlushLimits {
        flush_at: 6_000,
        stall_at: 1 << 20,
        compaction_bytes: 1 << 20,
    };
    let open = |disk: &FakeDisk| disk.try_store_at(clock.clone(), limits).unwrap();
    // On disk; the first of them expire while they are there.
    let store = disk.try_store_at(clock.clone(), FlushLimits::default());
    let mut done = commit_all(&store.unwrap(), &clock, 0..20);

    let store = open(&disk);
    disk.block_syncs(&[REDB]);
    while !store.shared.state.read().unwrap().is_flushing() {
        let next = done.len();
        done.extend(commit_all(&store, &clock, next..next + 1));
    }
    let sealed = done.len();
    disk.wait_for_blocked_sync();
    let mut kills = Vec::new();
    for more in sealed..sealed + 30 {
        // What is on disk, what is being flushed and what is in the journal expires in turn.
        done.extend(commit_all(&store, &clock, more..more + 1));
        kills.push((disk.copy(), clock.now()));
    }
    disk.unblock_syncs();
    drop(store);

    for (disk, at) in kills {
        let clock = Arc::new(StoppedClock::at(at));
        let store = disk.try_store_at(clock, limits).unwrap();
        for (commit, first) in done.iter().filter(|(_, first)| first.at <= at) {
            let again = block_on(store.commit(commit.clone())).unwrap();
            if first.at >= at.minus(REMEMBER) {
                assert!(again.repeated, "{commit:?}");
                assert_eq!((again.at, again.revision), (first.at, first.revision));
            }
        }
        assert_eq!(store.health(), Health::Up);
    }
}
