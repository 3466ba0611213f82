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
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard};

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use redb::StorageBackend;

use super::super::{Check, CommitId, Op, Revision};
use super::*;
use crate::clock::StoppedClock;

/// A disk in memory that keeps apart what was written from what was synced.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    /// What is read.
    written: Vec<u8>,
    /// What is there after a power cut, at least.
    synced: Vec<u8>,
    /// What may be there after a power cut: changes since the last sync.
    unsynced: Vec<Change>,
    syncs: usize,
    /// How many writes and syncs go well from now on.
    good_for: Option<usize>,
    /// The same for syncs alone.
    good_syncs: Option<usize>,
    /// Syncs wait while this is set.
    holds_syncs: bool,
    /// Whether a sync waits.
    waiting: bool,
}

#[derive(Clone, Debug)]
enum Change {
    Length(usize),
    Bytes(usize, Vec<u8>),
}

impl Change {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Length(length) => to.resize(*length, 0),
            Self::Bytes(offset, bytes) => {
                let end = offset + bytes.len();
                to.resize(to.len().max(end), 0);
                to[*offset..end].copy_from_slice(bytes);
            }
        }
    }
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap()
    }

    fn store(&self) -> EmbeddedStore {
        self.try_store().unwrap()
    }

    fn try_store(&self) -> Result<EmbeddedStore, String> {
        let clock = Arc::new(StoppedClock::at(Timestamp(1_000_000)));
        let folder = Folder::on(self.clone()).map_err(|error| error.to_string())?;
        EmbeddedStore::start(folder, clock)
    }

    fn syncs(&self) -> usize {
        self.state().syncs
    }

    /// The disk after a power cut: of what was not synced, some is there, some is not, and some is
    /// half there, in no order.
    fn after_a_power_cut(&self, random: &mut impl FnMut(usize) -> usize) -> Self {
        let state = self.state();
        let mut kept = state.synced.clone();
        for change in &state.unsynced {
            match (random(3), change) {
                (0, _) => {}
                (1, Change::Bytes(offset, bytes)) if bytes.len() > 512 => {
                    let part = bytes[..random(bytes.len() / 512) * 512].to_vec();
                    Change::Bytes(*offset, part).apply(&mut kept);
                }
                _ => change.apply(&mut kept),
            }
        }
        drop(state);
        let disk = Self::default();
        disk.state().written.clone_from(&kept);
        disk.state().synced = kept;
        disk
    }

    fn hold_syncs(&self, hold: bool) {
        self.state().holds_syncs = hold;
        self.0.1.notify_all();
    }

    fn wait_for_a_sync(&self) {
        let patience = Duration::from_secs(60);
        let waited = self
            .0
            .1
            .wait_timeout_while(self.state(), patience, |state| !state.waiting);
        assert!(!waited.unwrap().1.timed_out(), "nothing was synced");
    }

    fn change(&self, change: Change) -> io::Result<()> {
        let mut state = self.state();
        state.work()?;
        change.apply(&mut state.written);
        state.unsynced.push(change);
        Ok(())
    }
}

impl State {
    fn work(&mut self) -> io::Result<()> {
        go(&mut self.good_for)
    }
}

fn go(good_for: &mut Option<usize>) -> io::Result<()> {
    match good_for {
        Some(0) => Err(io::Error::other("the disk is gone")),
        Some(left) => {
            *left -= 1;
            Ok(())
        }
        None => Ok(()),
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().written.len().try_into().unwrap())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        out.copy_from_slice(&self.state().written[offset..offset + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.change(Change::Length(len.try_into().unwrap()))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.state();
        state.waiting = true;
        self.0.1.notify_all();
        let mut state = self
            .0
            .1
            .wait_while(state, |state| state.holds_syncs)
            .unwrap();
        state.waiting = false;
        state.work()?;
        go(&mut state.good_syncs)?;
        state.syncs += 1;
        state.synced = state.written.clone();
        state.unsynced.clear();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Change::Bytes(offset.try_into().unwrap(), data.to_vec()))
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
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

fn random(mut seed: u64) -> impl FnMut(usize) -> usize {
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
    let store = disk.store();
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
    let store = disk.store();
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
    let store = disk.store();
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
