//! How many durable commits a second the stores take, from one committer and from 64 at once.
//!
//! A commit is the usual one: a row, a message and a job of some 300 bytes. What one committer gets
//! is the disk's fsync; what 64 get shows what sharing it is worth. The memory store is there for
//! comparison: it is the price of everything but the disk.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark fails by panicking and measures time"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tillgate::clock::{SystemClock, Timestamp};
use tillgate::store::{Commit, CommitId, EmbeddedStore, MemoryStore, Op, Partition, Store};
use tokio::runtime::Runtime;

fn usual(partition: &Partition) -> Commit {
    let (id, body) = (CommitId::random(), Bytes::from_static(&[b'x'; 300]));
    let (name, due) = (format!("{:032x}", id.0), Timestamp(1 << 60));
    let (value, attributes) = (
        body.clone(),
        vec![("Tenant-Id".to_owned(), "tenant".to_owned())],
    );
    let ops = vec![
        Op::Put {
            key: name.clone(),
            value,
        },
        Op::Append {
            log: "log".to_owned(),
            attributes,
            body: body.clone(),
        },
        Op::Enqueue {
            queue: "queue".to_owned(),
            job: name,
            due,
            body,
        },
    ];
    Commit {
        partition: partition.clone(),
        id,
        checks: Vec::new(),
        ops,
    }
}

/// How long it takes `committers` at once to do so many commits together.
async fn commit_many(store: Arc<dyn Store>, committers: u64, commits: u64) -> Duration {
    let partition = Partition::new("tenant").unwrap();
    let start = Instant::now();
    let tasks: Vec<_> = (0..committers)
        .map(|task| {
            let (store, partition) = (Arc::clone(&store), partition.clone());
            let mine = commits / committers + u64::from(task < commits % committers);
            tokio::spawn(async move {
                for _ in 0..mine {
                    store.commit(usual(&partition)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    start.elapsed()
}

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

criterion_group!(benches, commits);
criterion_main!(benches);
