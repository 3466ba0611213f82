//! A load of committers that commit without pause, and the count of lost, duplicated and incomplete commits.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tillgate_store::clock::{SystemClock, Timestamp};
use tillgate_store::{
    Commit, CommitError, CommitId, Op, Partition, Position, RedisStore, RedisUrl, Store,
    commit_surely,
};
use tokio::task::JoinHandle;

use crate::support::redis::shared;
use crate::support::wait::{until, within};

/// The number of concurrent committers, each with its own partition.
const COMMITTERS: usize = 6;

/// The reaction of a committer to an unknown outcome.
#[derive(Clone, Copy)]
pub enum Committer {
    /// Repeats the commit with the same id, as the product does.
    Sure,
    /// Makes a new commit, as if the lost reply meant a failure.
    Naive,
}

/// A running load.
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

/// The result of a load.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub acknowledged: usize,
    pub lost: usize,
    pub duplicated: usize,
    /// Entries without a message, messages without a job and so on.
    pub incomplete: usize,
}

pub fn open(url: &RedisUrl) -> RedisStore {
    RedisStore::connect(url, Arc::new(SystemClock)).unwrap()
}

/// Returns a URL with a unique prefix.
pub fn with_prefix(url: &str) -> RedisUrl {
    let url = format!("{url}?prefix={:032x}", CommitId::random().0);
    RedisUrl::parse(&url).unwrap().unwrap()
}

pub fn partition(committer: usize) -> Partition {
    Partition::new(&format!("shop-{committer}")).unwrap()
}

/// Returns a commit of an entry, a message and a job with this name.
fn complete(committer: usize, name: &str) -> Commit {
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

    /// Waits for `more` further acknowledgements.
    pub async fn acknowledges(&self, more: usize) {
        let enough = self.acknowledged() + more;
        until("commits are acknowledged", async || {
            self.acknowledged() >= enough
        })
        .await;
    }

    /// Waits for a commit to fail, which shows that committers get errors and do not hang.
    pub async fn fails(&self) {
        let before = self.shared.failures.load(Ordering::SeqCst);
        until("a commit fails", async || {
            self.shared.failures.load(Ordering::SeqCst) > before
        })
        .await;
    }

    fn acknowledged(&self) -> usize {
        self.shared.acknowledged.lock().unwrap().len()
    }

    /// Ends the load and counts over a separate connection.
    pub async fn count(self, url: &RedisUrl) -> Count {
        let store = open(url);
        self.shared.ending.store(true, Ordering::SeqCst);
        for task in self.tasks {
            within("the end of a committer", task).await.unwrap();
        }
        let acknowledged = self.shared.acknowledged.lock().unwrap().clone();
        let mut count = Count {
            acknowledged: acknowledged.len(),
            ..Count::default()
        };
        for committer in 0..COMMITTERS {
            let found = found(&store, &partition(committer)).await;
            let mine = acknowledged
                .iter()
                .filter(|(number, _)| *number == committer);
            count.lost += mine.filter(|(_, name)| !found.contains_key(name)).count();
            for [rows, messages, jobs] in found.into_values() {
                count.duplicated += messages.saturating_sub(1);
                count.incomplete += usize::from(rows != 1 || messages == 0 || jobs != 1);
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

    /// Makes the commit; returns whether it was acknowledged.
    async fn commit(&self, number: usize, name: &str, committer: Committer) -> bool {
        match committer {
            Committer::Sure => commit_surely(&self.store, complete(number, name))
                .await
                .is_ok(),
            Committer::Naive => loop {
                match self.store.commit(complete(number, name)).await {
                    Err(CommitError::Unknown(_)) => {}
                    outcome => return outcome.is_ok(),
                }
            },
        }
    }
}

/// Returns how many times each name exists as an entry, a message and a job.
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

/// The control of all these tests: the count detects every kind of violation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_count_detects_lost_duplicated_and_incomplete_commits() {
    let url = with_prefix(&shared().url());
    let load = Load::start(&url, Committer::Sure);
    load.acknowledges(150).await;
    let commit = |commit| load.shared.store.commit(commit);
    // One acknowledged commit that does not exist, two that were applied twice, three that are incomplete.
    let mut acknowledged = vec![(0, "lost".to_owned())];
    for name in ["again", "and again"] {
        acknowledged.push((1, name.to_owned()));
        commit(complete(1, name)).await.unwrap();
        commit(complete(1, name)).await.unwrap();
    }
    for part in 0..3 {
        let mut incomplete = complete(2, &format!("incomplete {part}"));
        incomplete.ops.remove(part);
        commit(incomplete).await.unwrap();
    }
    load.shared
        .acknowledged
        .lock()
        .unwrap()
        .extend(acknowledged);
    let count = load.count(&url).await;
    let expected = Count {
        acknowledged: count.acknowledged,
        lost: 1,
        duplicated: 2,
        incomplete: 3,
    };
    assert_eq!(count, expected);
}

impl Count {
    /// Asserts that nothing was lost, duplicated or left incomplete, and that there was something to lose.
    pub fn assert_intact(&self) {
        let expected = Self {
            acknowledged: self.acknowledged,
            ..Self::default()
        };
        assert_eq!(*self, expected);
        assert!(self.acknowledged > 100, "{self:?}");
    }
}
