//! Measures how long a claim takes as a queue grows old: in rounds that claim jobs and settle them, on the embedded
//! store and on Redis, and in the first claim after a restart.
//!
//! A round claims 300 jobs and settles each with its own commit, all at once. Rounds alternate between completing all
//! jobs and making all jobs due again. Occasionally a worker is lost: one of its jobs is not settled, and is claimed
//! again after its lease has ended.
//!
//! A claim waits for one sync of the disk. For comparison, before each round the same disk syncs 4 KiB appended to
//! another file.
//!
//!     cargo bench -p tillgate-store --profile release --bench claims [ROUNDS]
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark fails by panicking, prints what it measures, and nothing outside can reach it"
)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use tillgate_store::clock::{Clock, SystemClock};
use tillgate_store::{
    Commit, CommitId, EmbeddedStore, Job, Op, Partition, RedisStore, RedisUrl, Store,
};
use tokio::runtime::Runtime;

#[path = "../../../tests/support/redis.rs"]
mod redis_servers;
#[path = "../../../tests/support/wait.rs"]
mod wait;
mod workload;

use self::redis_servers::Server;
use self::workload::{BODY, load, median, ms_since, processor_ms};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of jobs a claim asks for.
const CLAIM: usize = 300;

/// The number of jobs in the queue at first. The rounds claim more than these, so jobs that are due again are claimed
/// too.
const JOBS: usize = 100_000;

/// The longest a claim may take.
const GOAL_MS: f64 = 5.0;

/// The number of rounds, and how many of them one line sums up.
const ROUNDS: usize = 600;
const WINDOW: usize = 100;

/// One worker is lost in this many rounds.
const LOST: usize = 50;

/// Short enough that the leases of lost workers end while the bench runs.
const LEASE: Duration = Duration::from_secs(5);

const QUEUE: &str = "queue";

/// The milliseconds that a claim took, and those of processor time. The latter do not depend on other load of the
/// machine but include the store's background work.
struct Took {
    time: f64,
    of_processor: f64,
    /// The milliseconds that the disk took just before to sync 4 KiB.
    sync: f64,
}

impl Took {
    /// Prints how long a first claim took; returns the milliseconds.
    fn print_first(&self, what: &str) -> f64 {
        let (time, of_processor) = (self.time, self.of_processor);
        println!(
            "{what}: {time:.2} ms, {of_processor:.2} of processor time; load {}",
            load()
        );
        time
    }
}

struct Queue {
    store: Arc<dyn Store>,
    partition: Partition,
    /// A file next to those of the store, to time a sync.
    beside: File,
}

impl Queue {
    fn new(store: impl Store, folder: &Path) -> Self {
        Self {
            store: Arc::new(store),
            partition: Partition::new("tenant").unwrap(),
            beside: tempfile::tempfile_in(folder).unwrap(),
        }
    }

    fn embedded(folder: &Path) -> Self {
        let store = EmbeddedStore::open(folder, Arc::new(SystemClock)).unwrap();
        Self::new(store, folder)
    }

    fn redis(server: &Server) -> Self {
        let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
        let store = RedisStore::connect(&url, Arc::new(SystemClock)).unwrap();
        Self::new(store, &std::env::temp_dir())
    }

    fn commit(&self, ops: Vec<Op>) -> Commit {
        Commit {
            partition: self.partition.clone(),
            id: CommitId::random(),
            checks: Vec::new(),
            ops,
        }
    }

    async fn fill(&self) {
        let enqueue = |_| Op::Enqueue {
            queue: QUEUE.to_owned(),
            job: format!("{:032x}", CommitId::random().0),
            due: SystemClock.now(),
            body: Bytes::from_static(&BODY),
        };
        for _ in 0..JOBS / 1_000 {
            let commit = self.commit((0..1_000).map(enqueue).collect());
            self.store.commit(commit).await.unwrap();
        }
    }

    /// Claims jobs; returns them and how long it took.
    async fn claim(&self) -> (Vec<Job>, Took) {
        let begin = Instant::now();
        (&self.beside).write_all(&[0; 4_096]).unwrap();
        self.beside.sync_data().unwrap();
        let sync = ms_since(begin);
        let (begin, of_processor) = (Instant::now(), processor_ms());
        let claimed = self.store.claim(&self.partition, QUEUE, LEASE, CLAIM).await;
        let took = Took {
            time: ms_since(begin),
            of_processor: processor_ms() - of_processor,
            sync,
        };
        let jobs = claimed.unwrap().jobs;
        assert_eq!(jobs.len(), CLAIM);
        (jobs, took)
    }

    async fn settle(&self, jobs: Vec<Job>, is_done: bool) {
        let next = (!is_done).then(|| SystemClock.now());
        let commits = jobs.into_iter().map(|Job { id: job, lease, .. }| {
            let queue = QUEUE.to_owned();
            self.store.commit(self.commit(vec![Op::Settle {
                queue,
                job,
                lease,
                next,
            }]))
        });
        for settled in join_all(commits).await {
            settled.unwrap();
        }
    }

    /// Claims and settles; returns how long the claim took.
    async fn round(&self, round: usize) -> Took {
        let (mut jobs, took) = self.claim().await;
        if round.is_multiple_of(LOST) {
            jobs.pop();
        }
        self.settle(jobs, !round.is_multiple_of(2)).await;
        took
    }

    /// Prints how long the claims of `rounds` rounds take; returns the highest median of a window, and the maximum.
    async fn rounds(&self, name: &str, rounds: usize) -> (f64, f64) {
        let mut all = Vec::new();
        for round in 1..=rounds {
            all.push(self.round(round).await);
        }
        let mut medians = Vec::new();
        for (at, window) in all.chunks(WINDOW).enumerate() {
            let (first, last) = (at * WINDOW + 1, at * WINDOW + window.len());
            let middle = median(window.iter().map(|took| took.time));
            println!(
                "{name}, rounds {first} to {last}: first {:.2} ms, last {:.2} ms, least {:.2} ms, median \
                 {middle:.2} ms, maximum {:.2} ms; processor time of this process: median {:.2} ms; \
                 a sync of 4 KiB: median {:.2} ms, maximum {:.2} ms",
                window[0].time,
                window[window.len() - 1].time,
                window.iter().map(|took| took.time).fold(f64::MAX, f64::min),
                maximum(window.iter().map(|took| took.time)),
                median(window.iter().map(|took| took.of_processor)),
                median(window.iter().map(|took| took.sync)),
                maximum(window.iter().map(|took| took.sync)),
            );
            medians.push(middle);
        }
        let most = maximum(all.iter().map(|took| took.time));
        let middle = median(all.iter().map(|took| took.time));
        let mut slow: Vec<_> = (1..).zip(&all).collect();
        slow.retain(|(_, took)| took.time > GOAL_MS);
        slow.sort_by(|(_, one), (_, other)| other.time.total_cmp(&one.time));
        let worst = slow.iter().take(8);
        let worst: Vec<String> = worst
            .map(|(round, took)| {
                let (time, of_processor) = (took.time, took.of_processor);
                format!("{time:.1} ms in round {round}, {of_processor:.1} of processor time")
            })
            .collect();
        let syncs = all.iter().map(|took| took.sync);
        let slow_syncs = syncs.clone().filter(|sync| *sync > GOAL_MS).count();
        println!(
            "{name}, all: median {middle:.2} ms, maximum {most:.2} ms, {} of {rounds} above {GOAL_MS} ms; \
             a sync of 4 KiB: median {:.2} ms, maximum {:.2} ms, {slow_syncs} above {GOAL_MS} ms; \
             load {}\n  the longest: {}",
            slow.len(),
            median(syncs.clone()),
            maximum(syncs),
            load(),
            worst.join("; "),
        );
        (maximum(medians), most)
    }
}

fn maximum(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(0.0, f64::max)
}

/// Runs the rounds, then the first claims after closing the store and after killing it.
async fn embedded(rounds: usize) -> [f64; 4] {
    let folder = tempfile::tempdir().unwrap();
    let queue = Queue::embedded(folder.path());
    queue.fill().await;
    let (middle, most) = queue.rounds("embedded", rounds).await;
    drop(queue);
    let queue = Queue::embedded(folder.path());
    let (jobs, closed) = queue.claim().await;
    queue.settle(jobs, false).await;
    drop(queue);
    let closed = closed.print_first("embedded, the first claim after it was closed");
    work_until_killed(folder.path());
    let queue = Queue::embedded(folder.path());
    let (_, killed) = queue.claim().await;
    let killed = killed.print_first("embedded, the first claim after a kill");
    [middle, most, closed, killed]
}

async fn redis(rounds: usize) -> [f64; 3] {
    let mut server = Server::durable();
    let queue = Queue::redis(&server);
    queue.fill().await;
    let (middle, most) = queue.rounds("redis", rounds).await;
    drop(queue);
    server.restart();
    let queue = Queue::redis(&server);
    // Connects, and loads the script.
    let other = queue.store.claim(&queue.partition, "other", LEASE, 1);
    other.await.unwrap();
    let (_, killed) = queue.claim().await;
    let killed = killed.print_first("redis, the first claim after the server was killed");
    [middle, most, killed]
}

/// Starts a process that works on the queue, and kills it while it works.
fn work_until_killed(folder: &Path) {
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args(["work", folder.to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    let at_work = lines.nth(WINDOW - 1);
    worker.kill().unwrap();
    worker.wait().unwrap();
    at_work.expect("it works until it is killed").unwrap();
}

/// Works on the queue until it is killed; prints a line after each round.
async fn work(folder: &Path) {
    let queue = Queue::embedded(folder);
    for round in 1.. {
        // All jobs are due again, so that there is always enough to do.
        queue.round(round * 2).await;
        println!("{round}");
    }
}

fn main() {
    // Cargo passes `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let runtime = Runtime::new().unwrap();
    if let [command, folder] = &arguments[..]
        && command == "work"
    {
        return runtime.block_on(work(Path::new(folder)));
    }
    let rounds = arguments
        .first()
        .map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let embedded = runtime.block_on(embedded(rounds));
    let redis = runtime.block_on(redis(rounds));
    workload::record("claims", &format!("[{embedded:?}, {redis:?}]"));
}
