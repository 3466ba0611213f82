//! How many durable commits a second the stores sustain, from one committer and from 64 at once.
//!
//! A commit is a typical one: an entry, a message and a job of some 300 bytes each. One committer measures the disk's
//! fsync; 64 measure what group commit gains. The memory store is there for comparison: the cost of everything but the
//! disk. At the end, one committer and 64 take turns, long enough that the journal is flushed too; the result goes into a
//! file for `tests/bench`, with the duration of an fsync.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark fails by panicking and measures time"
)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tillgate_store::clock::SystemClock;
use tillgate_store::{EmbeddedStore, MemoryStore, Store};
use tokio::runtime::Runtime;

mod workload;

use self::workload::commit_many;

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn commits(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(SystemClock);
    let embedded = EmbeddedStore::open(folder.path(), clock.clone()).unwrap();
    let stores: [(&str, Arc<dyn Store>); 2] = [
        ("embedded", Arc::new(embedded)),
        ("memory", Arc::new(MemoryStore::new(clock))),
    ];

    let mut group = criterion.benchmark_group("durable commits");
    group.throughput(Throughput::Elements(1));
    for (name, store) in stores {
        for committers in [1, 64] {
            group.bench_function(BenchmarkId::new(name, committers), |bencher| {
                bencher.iter_custom(|commits| {
                    runtime.block_on(commit_many(Arc::clone(&store), committers, commits))
                });
            });
        }
    }
}

/// How often one committer and 64 take turns, and how long each turn lasts.
const TURNS: u32 = 6;
const TURN_OF_ONE: Duration = Duration::from_secs(1);
const TURN_OF_MANY: Duration = Duration::from_secs(4);

/// How many commits a second so many committers make, and how many in all.
async fn commit_for(store: &Arc<dyn Store>, committers: u64, time: Duration) -> (f64, u64) {
    let (mut done, mut took) = (0, Duration::ZERO);
    while took < time {
        let some = 50 * committers;
        took += commit_many(Arc::clone(store), committers, some).await;
        done += some;
    }
    (done as f64 / took.as_secs_f64(), done)
}

/// The median of how many microseconds the disk takes to sync as much as a commit writes, into allocated blocks.
fn sync_us(folder: &Path) -> f64 {
    const TIMES: u64 = 300;
    let file = File::create(folder.join("sync")).unwrap();
    let some = [0; 4_096];
    (0..TIMES).for_each(|at| file.write_all_at(&some, at * 4_096).unwrap());
    file.sync_all().unwrap();
    let once = |at| {
        let start = Instant::now();
        file.write_all_at(&some, at * 4_096).unwrap();
        file.sync_data().unwrap();
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..TIMES).map(once).collect();
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn ratio(_: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let mut sync = sync_us(folder.path());
    let store = EmbeddedStore::open(folder.path(), Arc::new(SystemClock)).unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let (mut alone, mut together, mut all) = (0.0, 0.0, 0);
    Runtime::new().unwrap().block_on(async {
        for turn in 1..=TURNS {
            let (one, few) = commit_for(&store, 1, TURN_OF_ONE).await;
            let (many, most) = commit_for(&store, 64, TURN_OF_MANY).await;
            println!("turn {turn}: {one:.0}/s by one, {many:.0}/s by 64");
            (alone, together, all) = (alone + one, together + many, all + few + most);
        }
    });
    sync = f64::midpoint(sync, sync_us(folder.path()));
    let turns = f64::from(TURNS);
    let (alone, together) = (alone / turns, together / turns);
    println!(
        "embedded, {all} commits: {alone:.0}/s by one, {together:.0}/s by 64, {:.1} times as many; a \
         sync takes {sync:.0} us",
        together / alone
    );
    workload::record("store", &format!("[{alone}, {together}, {sync}]"));
}

criterion_group!(benches, commits, ratio);
criterion_main!(benches);
