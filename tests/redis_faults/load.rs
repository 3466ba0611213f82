//! Committers that commit without pause, and the count of what became of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tillgate::clock::{SystemClock, Timestamp};
use tillgate::store::{
    Commit, CommitError, CommitId, Op, Partition, Position, RedisStore, RedisUrl, Store,
    commit_surely,
};
use tokio::task::JoinHandle;

use crate::support::redis::{DEADLINE, shared};

/// How many commit at once, each to a partition of its own.
const COMMITTERS: usize = 6;

/// How a committer takes an unknown outcome.
#[derive(Clone, Copy)]
pub enum Committer {
    /// As the product does: the same commit again.
    Sure,
    /// As one would who takes a lost answer for a failure: anew.
    Naive,
}

/// Committers at work.
pub struct Load {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

struct Shared {
    store: RedisStore,
    acknowledged: Mutex<Vec<(usize, String)>>,
    failures: AtomicUsize,
    ending: AtomicBool,
}

/// What became of a load.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub acknowledged: usize,
    pub lost: usize,
    pub doubled: usize,
    /// Rows without a message, messages without a job and so on.
    pub half: usize,
}

pub fn open(url: &RedisUrl) -> RedisStore {
    RedisStore::connect(url, Arc::new(SystemClock)).unwrap()
}

/// A URL with keys that no other test has.
pub fn with_prefix(url: &str) -> RedisUrl {
    let url = format!("{url}?prefix={:032x}", CommitId::random().0);
    RedisUrl::parse(&url).unwrap().unwrap()
}

pub fn partition(committer: usize) -> Partition {
    Partition::new(&format!("shop-{committer}")).unwrap()
}

/// A commit of a row, a message and a job that bear a name.
fn whole(committer: usize, name: &str) -> Commit {
    let body = Bytes::from(name.to_owned());
    Commit {
        partition: partition(committer),
        id: CommitId::random(),
        checks: Vec::new(),
        ops: vec![
            Op::Put {
                key: format!("row/{name}"),
                value: body.clone(),
            },
            Op::Append {
                log: "log".to_owned(),
                attributes: Vec::new(),
                body: body.clone(),
            },
            Op::Enqueue {
                queue: "queue".to_owned(),
                job: name.to_owned(),
                due: Timestamp(0),
                body,
            },
        ],
    }
}

impl Load {
    pub fn start(url: &RedisUrl, committer: Committer) -> Self {
        let shared = Arc::new(Shared {
            store: open(url),
            acknowledged: Mutex::default(),
            failures: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
        });
        let tasks = (0..COMMITTERS).map(|number| {
            let shared = Arc::clone(&shared);
            tokio::spawn(async move { shared.work(number, committer).await })
        });
        Self {
            tasks: tasks.collect(),
            shared,
        }
    }

    /// Waits for so many acknowledgements more.
    pub async fn acknowledges(&self, more: usize) {
        let enough = self.acknowledged() + more;
        until("commits are acknowledged", || self.acknowledged() >= enough).await;
    }

    /// Waits until a commit has failed from now on: it is said, and nobody hangs.
    pub async fn fails(&self) {
        let before = self.shared.failures.load(Ordering::SeqCst);
        until("a commit fails", || {
            self.shared.failures.load(Ordering::SeqCst) > before
        })
        .await;
    }

    fn acknowledged(&self) -> usize {
        self.shared.acknowledged.lock().unwrap().len()
    }

    /// Ends the committers and counts, by a store of its own.
    pub async fn count(self, url: &RedisUrl) -> Count {
        let store = open(url);
        self.shared.ending.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
        let acknowledged = self.shared.acknowledged.lock().unwrap().clone();
        let mut count = Count {
            acknowledged: acknowledged.len(),
            ..Count::default()
        };
        for committer in 0..COMMITTERS {
            let there = found(&store, &partition(committer)).await;
            let mine = acknowledged
                .iter()
                .filter(|(number, _)| *number == committer);
            count.lost += mine.filter(|(_, name)| !there.contains_key(name)).count();
            for [rows, messages, jobs] in there.into_values() {
                count.doubled += messages.saturating_sub(1);
                count.half += usize::from(rows != 1 || messages == 0 || jobs != 1);
            }
        }
        count
    }
}

impl Shared {
    async fn work(&self, number: usize, committer: Committer) {
        let mut next = 0;
        while !self.ending.load(Ordering::SeqCst) {
            next += 1;
            let name = format!("{number}-{next}");
            if self.commit(number, &name, committer).await {
                self.acknowledged.lock().unwrap().push((number, name));
            } else {
                self.failures.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    /// Whether it was acknowledged.
    async fn commit(&self, number: usize, name: &str, committer: Committer) -> bool {
        match committer {
            Committer::Sure => commit_surely(&self.store, whole(number, name))
                .await
                .is_ok(),
            Committer::Naive => loop {
                match self.store.commit(whole(number, name)).await {
                    Err(CommitError::Unknown(_)) => {}
                    outcome => return outcome.is_ok(),
                }
            },
        }
    }
}

/// How often each name is there: as a row, a message and a job.
async fn found(store: &RedisStore, partition: &Partition) -> BTreeMap<String, [usize; 3]> {
    let mut found: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    let page = store
        .scan(partition, "row/", None, usize::MAX)
        .await
        .unwrap();
    for (_, entry) in &page.entries {
        found.entry(text(&entry.value)).or_default()[0] += 1;
    }
    let slice = store
        .read(partition, "log", Position::default(), usize::MAX)
        .await
        .unwrap();
    assert!(
        slice
            .messages
            .is_sorted_by(|a, b| a.publish_time < b.publish_time && a.position < b.position)
    );
    for message in &slice.messages {
        found.entry(text(&message.body)).or_default()[1] += 1;
    }
    loop {
        let claimed = store
            .claim(partition, "queue", Duration::from_secs(3_600), 500)
            .await
            .unwrap();
        if claimed.jobs.is_empty() {
            return found;
        }
        for job in claimed.jobs {
            found.entry(text(&job.body)).or_default()[2] += 1;
        }
    }
}

/// Waits for something, and gives up only so that a test that fails also ends.
pub async fn until(what: &str, there: impl Fn() -> bool) {
    let waiting = async {
        while !there() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(DEADLINE, waiting).await;
    assert!(waited.is_ok(), "it never came to this: {what}");
}

/// The control of all these tests: whatever becomes of a commit that should not, the count sees it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_count_sees_what_is_lost_doubled_or_half_there() {
    let url = with_prefix(&shared().url());
    let load = Load::start(&url, Committer::Sure);
    load.acknowledges(150).await;
    let commit = |commit| load.shared.store.commit(commit);
    // One that was told and is not there; two that were done again; three of which only a part was.
    let mut told = vec![(0, "lost".to_owned())];
    for name in ["again", "and again"] {
        told.push((1, name.to_owned()));
        commit(whole(1, name)).await.unwrap();
        commit(whole(1, name)).await.unwrap();
    }
    for part in 0..3 {
        let mut half = whole(2, &format!("half {part}"));
        half.ops.remove(part);
        commit(half).await.unwrap();
    }
    load.shared.acknowledged.lock().unwrap().extend(told);
    let count = load.count(&url).await;
    let expected = Count {
        acknowledged: count.acknowledged,
        lost: 1,
        doubled: 2,
        half: 3,
    };
    assert_eq!(count, expected);
}

impl Count {
    /// Nothing was lost, doubled or left half there, and there was something to lose.
    pub fn assert_whole(&self) {
        let expected = Self {
            acknowledged: self.acknowledged,
            ..Self::default()
        };
        assert_eq!(*self, expected);
        assert!(self.acknowledged > 100, "{self:?}");
    }
}
