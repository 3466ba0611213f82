//! `tillgate copy`: from any store to any other; nothing is lost, and everything continues where it was.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tempfile::TempDir;
use tillgate_store::clock::{StoppedClock, Timestamp};
use tillgate_store::copy::{CopyError, Progress, copy};
use tillgate_store::portable::{Part, Portable};
use tillgate_store::{
    Check, Commit, CommitId, EmbeddedStore, MemoryStore, Op, Partition, Position, RedisStore,
    RedisUrl, Revision, Store,
};

use crate::support::redis::{shared, shared_cluster};

const NOW: Timestamp = Timestamp(1_767_225_600_000_000);
const MINUTE: Duration = Duration::from_secs(60);

fn partition(name: &str) -> Partition {
    Partition::new(name).unwrap()
}

fn clock() -> Arc<StoppedClock> {
    Arc::new(StoppedClock::at(NOW))
}

fn on_redis(url: &str) -> RedisStore {
    let url = format!("{url}?prefix={:032x}", CommitId::random().0);
    RedisStore::connect(&RedisUrl::parse(&url).unwrap().unwrap(), clock()).unwrap()
}

async fn commit(store: &dyn Store, of: &str, ops: Vec<Op>) -> tillgate_store::Committed {
    let commit = Commit {
        partition: partition(of),
        id: CommitId::random(),
        checks: Vec::new(),
        ops,
    };
    store.commit(commit).await.unwrap()
}

fn append(body: &str) -> Op {
    Op::Append {
        log: "log".to_owned(),
        attributes: vec![
            ("b".to_owned(), "1".to_owned()),
            ("a".to_owned(), body.to_owned()),
        ],
        body: Bytes::from(body.to_owned()),
    }
}

/// Fills a store with many entries, a trimmed log, and waiting, claimed and settled jobs.
async fn fill(store: &dyn Store) {
    for page in 0..3 {
        let ops = (0..700).map(|n| Op::Put {
            key: format!("row/{page}/{n}"),
            value: Bytes::from(vec![b'x'; n]),
        });
        commit(store, "shop", ops.collect()).await;
    }
    let delete = Op::Delete {
        key: "row/0/5".to_owned(),
    };
    commit(store, "shop", vec![delete]).await;
    for n in 0..30 {
        commit(
            store,
            "shop",
            vec![append(&format!("{n}-1")), append(&format!("{n}-2"))],
        )
        .await;
    }
    store
        .trim(
            &partition("shop"),
            "log",
            NOW.plus(Duration::from_micros(10)),
            9,
        )
        .await
        .unwrap();
    let jobs = (0..5_u64).map(|n| Op::Enqueue {
        queue: "queue".to_owned(),
        job: format!("job-{n}"),
        due: if n < 3 {
            Timestamp(n)
        } else {
            NOW.plus(MINUTE * u32::try_from(n).unwrap())
        },
        body: Bytes::from(format!("body-{n}")),
    });
    commit(store, "shop", jobs.collect()).await;
    let claimed = store
        .claim(&partition("shop"), "queue", MINUTE, 2)
        .await
        .unwrap();
    let done = Op::Settle {
        queue: "queue".to_owned(),
        job: claimed.jobs[0].id.clone(),
        lease: claimed.jobs[0].lease,
        next: None,
    };
    commit(store, "shop", vec![done]).await;
    commit(store, "another", vec![append("one")]).await;
    commit(store, "empty", Vec::new()).await;
}

/// Copies; returns the final progress.
async fn copied(from: &dyn Portable, to: &dyn Portable) -> Progress {
    let mut reports = 0;
    let all = copy((from, "it"), to, &mut |_| reports += 1).await.unwrap();
    assert!(reports > 10);
    all
}

#[tokio::test]
async fn everything_is_copied_from_store_to_store_and_continues_where_it_was() {
    let folder = TempDir::new().unwrap();
    let first = EmbeddedStore::open(&folder.path().join("1"), clock()).unwrap();
    fill(&first).await;
    let stores: Vec<Box<dyn Portable>> = vec![
        Box::new(first),
        Box::new(on_redis(&shared().url())),
        Box::new(on_redis(&shared_cluster().url())),
        Box::new(MemoryStore::new(clock())),
        Box::new(EmbeddedStore::open(&folder.path().join("2"), clock()).unwrap()),
        Box::new(on_redis(&shared().url())),
    ];
    let shop = partition("shop");
    for pair in stores.windows(2) {
        let (from, to) = (pair[0].as_ref(), pair[1].as_ref());
        let all = copied(from, to).await;
        assert_eq!(
            (all.partitions, all.entries > 2_090, all.jobs),
            (3, true, 4)
        );

        let before = from.read(&shop, "log", Position(0), 999).await.unwrap();
        let committed = commit(to, "shop", vec![append("next")]).await;
        let metadata = from.metadata(&shop).await.unwrap();
        assert_eq!(
            committed.revision,
            Revision(metadata.counters.revision.0 + 1)
        );
        assert!(committed.at > metadata.counters.at);
        assert!(committed.positions[0] > before.last);
        let after = to.read(&shop, "log", before.last, 999).await.unwrap();
        assert_eq!((after.messages.len(), after.trimmed), (1, before.trimmed));
        assert!(before.trimmed > Position(0));
        let row = to
            .get(&shop, &["row/1/7".to_owned()])
            .await
            .unwrap()
            .remove(0)
            .unwrap();
        assert_eq!((row.revision, row.value.len()), (Revision(2), 7));

        let due = to.claim(&shop, "queue", MINUTE, 9).await.unwrap();
        assert_eq!(due.jobs.len(), 1);
        assert!(due.jobs[0].lease > metadata.counters.lease);
        let settled = Commit {
            partition: shop.clone(),
            id: CommitId::random(),
            checks: vec![Check::At("row/1/7".to_owned(), row.revision)],
            ops: vec![Op::Settle {
                queue: "queue".to_owned(),
                job: due.jobs[0].id.clone(),
                lease: due.jobs[0].lease,
                next: Some(Timestamp(5)),
            }],
        };
        to.commit(settled).await.unwrap();
    }
}

/// Begins a copy and drops it after `times` reports.
async fn interrupted(from: &dyn Portable, to: &dyn Portable, times: u32) {
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let (mut stop, mut left) = (Some(stop), times);
    let mut count = |_: &Progress| {
        left -= 1;
        if left == 0 {
            let _ = stop.take().unwrap().send(());
        }
    };
    tokio::select! {
        biased;
        _ = stopped => {}
        _ = copy((from, "it"), to, &mut count) => panic!("it should have been interrupted"),
    }
}

#[tokio::test]
async fn an_interrupted_copy_continues() {
    let folder = TempDir::new().unwrap();
    let from = MemoryStore::new(clock());
    fill(&from).await;
    let to: [Box<dyn Portable>; 2] = [
        Box::new(on_redis(&shared().url())),
        Box::new(EmbeddedStore::open(folder.path(), clock()).unwrap()),
    ];
    for to in to {
        for times in [1, 3, 5, 7] {
            interrupted(&from, to.as_ref(), times).await;
        }
        assert_eq!(copied(&from, to.as_ref()).await.partitions, 3);
    }
}

#[tokio::test]
async fn a_repeated_restore_changes_nothing() {
    let folder = TempDir::new().unwrap();
    let from = MemoryStore::new(clock());
    fill(&from).await;
    let shop = partition("shop");
    let log = from.read(&shop, "log", Position(0), 999).await.unwrap();
    let jobs = from.jobs(&shop, "queue", None, 999).await.unwrap();
    assert!(log.messages.len() > 2 && jobs.len() > 2);
    let to: [Box<dyn Portable>; 3] = [
        Box::new(MemoryStore::new(clock())),
        Box::new(on_redis(&shared().url())),
        Box::new(EmbeddedStore::open(folder.path(), clock()).unwrap()),
    ];
    for to in to {
        // All but the last one, twice, then all: an interrupted copy repeats parts that it does not know to be copied.
        let most = log.messages.split_last().unwrap().1.to_vec();
        for messages in [most.clone(), most, log.messages.clone()] {
            let messages = Part::Messages("log".to_owned(), messages);
            to.restore(&shop, messages).await.unwrap();
            let again = Part::Jobs("queue".to_owned(), jobs.clone());
            to.restore(&shop, again).await.unwrap();
        }
        let copied = to.read(&shop, "log", Position(0), 999).await.unwrap();
        assert_eq!(copied.messages, log.messages, "{to:?}");
        assert_eq!(to.jobs(&shop, "queue", None, 999).await.unwrap(), jobs);
    }
}

#[tokio::test]
async fn only_an_empty_store_is_copied_into() {
    let (from, to) = (MemoryStore::new(clock()), MemoryStore::new(clock()));
    fill(&from).await;
    commit(&to, "other", Vec::new()).await;
    let refused = copy((&from, "it"), &to, &mut |_| ()).await;
    assert!(matches!(refused, Err(CopyError::Occupied(why)) if why.contains("not empty")));

    let folder = TempDir::new().unwrap();
    let all: [Box<dyn Portable>; 3] = [
        Box::new(MemoryStore::new(clock())),
        Box::new(on_redis(&shared().url())),
        Box::new(EmbeddedStore::open(folder.path(), clock()).unwrap()),
    ];
    for to in all {
        copied(&from, to.as_ref()).await;
        // The name of the source does not matter.
        for name in ["it", "another"] {
            let again = copy((&from, name), to.as_ref(), &mut |_| ()).await;
            assert_eq!(
                again.unwrap_err().to_string(),
                "nothing was done: this store has a copy of it that was finished at 2026-01-01T00:00:00.000Z; to copy \
                 again, use an empty store"
            );
        }
    }
}

#[tokio::test]
async fn a_difference_is_detected() {
    let (from, to) = (MemoryStore::new(clock()), on_redis(&shared().url()));
    fill(&from).await;
    let shop = partition("shop");
    let counters = from.metadata(&shop).await.unwrap().counters;
    interrupted(&from, &to, 1).await;
    // As if the partition were complete, although nothing in it was copied.
    to.restore(&shop, Part::Counters(counters)).await.unwrap();
    let different = copy((&from, "it"), &to, &mut |_| ()).await;
    assert!(
        matches!(different, Err(CopyError::Different { .. })),
        "{different:?}"
    );
}
