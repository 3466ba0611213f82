//! Measures how long an embedded store with two million commits takes to open after `kill -9` under load, and checks
//! that no acknowledged commit is lost.
//!
//! In each round, another process fills a new store with 64 committers, one of which also claims and settles about
//! half of the jobs, and reports each acknowledged commit; it is killed while it works. Then the store is opened and
//! read. The page cache survives. Operations that wait for each other are measured in order: opening, a read, a claim,
//! a commit; then the rest is read.
//!
//!     cargo bench -p tillgate-store --profile release --bench recovery [COMMITS] [ROUNDS]
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark fails by panicking, prints what it measures, and nothing outside can reach it"
)]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tillgate_store::clock::{Clock, SystemClock};
use tillgate_store::{Commit, CommitId, EmbeddedStore, Op, Partition, Position, Store};
use tokio::runtime::Runtime;

mod workload;

use self::workload::{BODY, load, median, ms_since, processor_ms};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const COMMITS: u64 = 2_000_000;
const ROUNDS: usize = 3;

/// The number of concurrent committers.
const COMMITTERS: u8 = 64;

/// The number of jobs a claim asks for and of messages a read asks for, and the length of a lease.
const CLAIM: usize = 300;
const LEASE: Duration = Duration::from_secs(60);

/// The number of commits after which a committer works on the queue: by then all committers together have made about
/// twice as many jobs as it claims.
const WORK_EVERY: u64 = 10;

/// The number of entries or messages to read at once when all are counted.
const PAGE: usize = 10_000;

/// The number of acknowledged commits of each committer.
type Acknowledged = [u64; COMMITTERS as usize];

fn partition() -> Partition {
    Partition::new("tenant").unwrap()
}

/// Returns the key of a commit; keys sort in the order of the commits.
fn key(committer: u8, number: u64) -> String {
    format!("{committer:03}/{number:012}")
}

/// Returns a typical commit whose job is due at once.
fn commit(committer: u8, number: u64) -> Commit {
    let mut commit = workload::typical(&partition());
    commit.id = CommitId(u128::from(committer) << 64 | u128::from(number));
    for op in &mut commit.ops {
        match op {
            Op::Put { key: name, .. } => *name = key(committer, number),
            Op::Enqueue { due, .. } => *due = SystemClock.now(),
            _ => {}
        }
    }
    commit
}

/// Commits until it is killed; for each acknowledged commit, writes a byte that names the committer.
async fn fill(folder: &Path) {
    let store = EmbeddedStore::open(folder, Arc::new(SystemClock)).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    // Standard output without a buffer.
    let output = std::io::stdout().as_fd().try_clone_to_owned().unwrap();
    let output = Arc::new(File::from(output));
    for committer in 0..COMMITTERS {
        let (store, output) = (Arc::clone(&store), Arc::clone(&output));
        tokio::spawn(async move {
            for number in 0.. {
                store.commit(commit(committer, number)).await.unwrap();
                (&*output).write_all(&[committer]).unwrap();
                if committer == 0 && number % WORK_EVERY == 0 {
                    work(&store).await;
                }
            }
        });
    }
    std::future::pending().await
}

async fn work(store: &Arc<dyn Store>) {
    let claimed = store.claim(&partition(), "queue", LEASE, CLAIM).await;
    let jobs = claimed.unwrap().jobs;
    let settle = |job: tillgate_store::Job| Op::Settle {
        queue: "queue".to_owned(),
        job: job.id,
        lease: job.lease,
        next: None,
    };
    let ops = jobs.into_iter().map(settle).collect();
    let settle = Commit {
        partition: partition(),
        id: CommitId::random(),
        checks: Vec::new(),
        ops,
    };
    store.commit(settle).await.unwrap();
}

/// Lets another process fill the store, kills it after `commits` commits, and returns the acknowledged commits.
fn fill_until_killed(folder: &Path, commits: u64) -> Acknowledged {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["fill", folder.to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let (mut acknowledged, mut all, mut bytes) = ([0; COMMITTERS as usize], 0, [0; 4_096]);
    let mut is_killed = false;
    loop {
        let read = output.read(&mut bytes).unwrap();
        if read == 0 {
            break;
        }
        for committer in &bytes[..read] {
            acknowledged[usize::from(*committer)] += 1;
        }
        all += read as u64;
        if all >= commits && !is_killed {
            child.kill().unwrap();
            is_killed = true;
        }
    }
    assert!(is_killed, "the other process has failed");
    child.wait().unwrap();
    acknowledged
}

/// The measurements of a round, in milliseconds.
struct Times {
    open: f64,
    get: f64,
    claim: f64,
    commit: f64,
    /// The processor time of these four, which does not depend on other load of the machine.
    processor: f64,
    read: f64,
}

impl Times {
    /// Returns the time from the start until the first commit is answered.
    fn ready(&self) -> f64 {
        self.open + self.get + self.claim + self.commit
    }
}

async fn round(commits: u64) -> Times {
    let folder = tempfile::tempdir().unwrap();
    let begin = Instant::now();
    let acknowledged = fill_until_killed(folder.path(), commits);
    let filled = begin.elapsed().as_secs_f64();

    let (begin, processor) = (Instant::now(), processor_ms());
    let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock)).unwrap();
    let open = ms_since(begin);
    let begin = Instant::now();
    let middle = key(
        COMMITTERS / 2,
        acknowledged[usize::from(COMMITTERS / 2)] / 2,
    );
    let found = store.get(&partition(), &[middle]).await.unwrap();
    let get = ms_since(begin);
    assert!(found[0].is_some());
    let begin = Instant::now();
    let claimed = store.claim(&partition(), "queue", LEASE, CLAIM).await;
    let (claim, claimed) = (ms_since(begin), claimed.unwrap().jobs.len());
    let begin = Instant::now();
    let committed = store.commit(commit(COMMITTERS, 0)).await;
    let (commit, processor) = (ms_since(begin), processor_ms() - processor);
    assert!(!committed.unwrap().repeated);
    let begin = Instant::now();
    let after = Position(commits / 2);
    let slice = store.read(&partition(), "log", after, CLAIM).await;
    let read = ms_since(begin);
    assert_eq!(
        slice.unwrap().messages.len(),
        CLAIM.min(usize::try_from(commits / 2).unwrap())
    );

    let times = Times {
        open,
        get,
        claim,
        commit,
        processor,
        read,
    };
    let all: u64 = acknowledged.iter().sum();
    println!(
        "{all} acknowledged in {filled:.1} s, killed; opened in {open:.0} ms, first get in {get:.2} ms, \
         first claim of {claimed} in {claim:.2} ms, first commit in {commit:.2} ms, in all {:.0} ms, \
         {processor:.0} ms of processor time; first read of {CLAIM} messages in {read:.2} ms; load {}",
        times.ready(),
        load()
    );
    assert_complete(&store, &acknowledged).await;
    times
}

/// Asserts that every acknowledged commit is there, complete and only once, and that the newest commit of each
/// committer is remembered.
async fn assert_complete(store: &EmbeddedStore, acknowledged: &Acknowledged) {
    let (partition, mut entries) = (partition(), 0);
    for committer in 0..COMMITTERS {
        let (prefix, mut after, mut number) = (format!("{committer:03}/"), None, 0);
        loop {
            let page = store.scan(&partition, &prefix, after.as_deref(), PAGE);
            let page = page.await.unwrap();
            for (name, entry) in &page.entries {
                assert_eq!(*name, key(committer, number));
                assert_eq!(entry.value[..], BODY);
                number += 1;
            }
            after = page.entries.last().map(|(name, _)| name.clone());
            if !page.more {
                break;
            }
        }
        let least = acknowledged[usize::from(committer)];
        // The commit that was in progress may have taken effect too.
        assert!((least..=least + 1).contains(&number), "{number} of {least}");
        entries += number;
    }
    let (mut messages, mut after) = (0, Position(0));
    loop {
        let slice = store.read(&partition, "log", after, PAGE).await.unwrap();
        let Some(last) = slice.messages.last() else {
            assert_eq!(slice.last, after);
            break;
        };
        after = last.position;
        messages += slice.messages.len() as u64;
    }
    // One more commit was made after the kill.
    assert_eq!(messages, entries + 1);
    let newest = (0..COMMITTERS).map(|committer| {
        let number = acknowledged[usize::from(committer)] - 1;
        store.commit(commit(committer, number))
    });
    for repeated in join_all(newest).await {
        assert!(repeated.unwrap().repeated);
    }
    println!("all {entries} are there, whole, once and remembered");
}

fn main() {
    // Cargo passes `--bench`.
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let runtime = Runtime::new().unwrap();
    if let [command, folder] = &arguments[..]
        && command == "fill"
    {
        return runtime.block_on(fill(Path::new(folder)));
    }
    let number = |at: usize| {
        arguments
            .get(at)
            .map(|number| number.parse::<u64>().unwrap())
    };
    let commits = number(0).unwrap_or(COMMITS);
    let rounds = number(1).map_or(ROUNDS, |rounds| usize::try_from(rounds).unwrap());
    let times: Vec<Times> = (0..rounds)
        .map(|_| runtime.block_on(round(commits)))
        .collect();
    let sum_up = |what: &str, of: fn(&Times) -> f64| {
        let most = times.iter().map(of).fold(0.0, f64::max);
        let least = times.iter().map(of).fold(f64::MAX, f64::min);
        let middle = median(times.iter().map(of));
        println!("{what}: median {middle:.2} ms, {least:.2} to {most:.2} ms");
        (middle, most)
    };
    let (_, open) = sum_up("opening", |times| times.open);
    sum_up("first get", |times| times.get);
    // A write may wait for work that opening left behind.
    sum_up("first claim", |times| times.claim);
    sum_up("first commit", |times| times.commit);
    let (middle, most) = sum_up("from opening to the first commit's answer", Times::ready);
    sum_up("until then, processor time", |times| times.processor);
    sum_up("first read", |times| times.read);
    workload::record(
        "recovery",
        &format!("[{commits}, {open}, {middle}, {most}]"),
    );
}
