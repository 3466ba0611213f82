//! Measures the store on Redis: commits per second, compared with plain `SET`s of the same bytes by the same client
//! over one connection; commits of many tenants on a cluster, compared with one server; decisions over HTTP, compared
//! with the embedded store; and how soon memory is fresh after the server comes back.
//!
//! A commit is a typical one: an entry, a message and a job of some 300 bytes each. Server and disk are real.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench fails by panicking and measures time, and nothing outside can reach it"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reqwest::Method;
use serde_json::json;
use tillgate_store::clock::{Clock, SystemClock};
use tillgate_store::{Commit, CommitId, EmbeddedStore, Op, Partition, RedisStore, RedisUrl, Store};
use tokio::runtime::Runtime;

#[path = "../../tests/support/host.rs"]
mod host;
#[path = "../../tests/support/load.rs"]
mod load;
#[path = "../../tests/support/redis.rs"]
mod redis_servers;
#[path = "../../tests/support/samples.rs"]
mod samples;
#[path = "../../tests/support/wait.rs"]
mod wait;

use self::host::Host;
use self::redis_servers::{Cluster, Server};
use self::wait::wait_for;

/// The number of concurrent committers.
const COMMITTERS: u64 = 64;

/// The number of times that the server goes away in each way, and the duration.
const ROUNDS: usize = 5;
const AWAY: Duration = Duration::from_secs(5);

/// The path of the decisions.
const EVALUATE: &str = "/api/v1/conditions/alcohol/evaluate";

/// The body of a message and of a job.
static BODY: [u8; 300] = [b'x'; 300];

fn typical(partition: &Partition) -> Commit {
    let (id, body) = (CommitId::random(), Bytes::from_static(&BODY));
    // Like a delivery that is retried in a minute, as in the benchmark of the embedded store.
    let due = SystemClock.now().plus(Duration::from_secs(60));
    let name = format!("{:032x}", id.0);
    let ops = vec![
        Op::Put {
            key: name.clone(),
            value: body.clone(),
        },
        Op::Append {
            log: "log".to_owned(),
            attributes: vec![("Tenant-Id".to_owned(), "tenant".to_owned())],
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

/// Runs something `times` times in total with `COMMITTERS` concurrent tasks; returns the duration.
async fn many<F: Future<Output = ()> + Send + 'static>(
    times: u64,
    once: impl Fn() -> F + Clone + Send + 'static,
) -> Duration {
    let begin = Instant::now();
    let tasks: Vec<_> = (0..COMMITTERS)
        .map(|task| {
            let (once, mine) = (
                once.clone(),
                times / COMMITTERS + u64::from(task < times % COMMITTERS),
            );
            tokio::spawn(async move {
                for _ in 0..mine {
                    once().await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    begin.elapsed()
}

fn commits(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    for fsync in ["always", "everysec"] {
        let options = ["--save", "", "--appendonly", "yes", "--appendfsync", fsync];
        let server = Server::with(&options);
        let mut group = criterion.benchmark_group(format!("redis commits, appendfsync {fsync}"));
        group.throughput(Throughput::Elements(1));

        let client = redis::Client::open(server.url()).unwrap();
        let connection = runtime
            .block_on(client.get_multiplexed_async_connection())
            .unwrap();
        let set = move || {
            let mut connection = connection.clone();
            async move {
                let mut command = redis::cmd("SET");
                // As many bytes as a commit has: three bodies and its names.
                command
                    .arg(format!("{:032x}", CommitId::random().0))
                    .arg([BODY; 3].concat());
                command.query_async::<()>(&mut connection).await.unwrap();
            }
        };
        group.bench_function(BenchmarkId::new("SET", COMMITTERS), |bencher| {
            bencher.iter_custom(|times| runtime.block_on(many(times, set.clone())));
        });

        server.cli(&["flushall"]);
        let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
        let store = Arc::new(RedisStore::connect(&url, Arc::new(SystemClock)).unwrap());
        let partition = Partition::new("tenant").unwrap();
        let commit = move || {
            let (store, commit) = (Arc::clone(&store), typical(&partition));
            async move { drop(store.commit(commit).await.unwrap()) }
        };
        group.bench_function(BenchmarkId::new("commit", COMMITTERS), |bencher| {
            bencher.iter_custom(|times| runtime.block_on(many(times, commit.clone())));
        });
        group.finish();
    }
}

/// Measures commits of many tenants on one server, and on three masters with a replica each. All share this machine.
fn many_tenants(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let (server, cluster) = (Server::durable(), Cluster::durable());
    let mut group = criterion.benchmark_group("redis commits of many tenants");
    group.throughput(Throughput::Elements(1));
    for (name, url) in [("one server", server.url()), ("cluster", cluster.url())] {
        let url = RedisUrl::parse(&url).unwrap().unwrap();
        let store = Arc::new(RedisStore::connect(&url, Arc::new(SystemClock)).unwrap());
        let turn = Arc::new(AtomicU64::new(0));
        let commit = move || {
            let tenant = turn.fetch_add(1, Ordering::Relaxed) % COMMITTERS;
            let partition = Partition::new(&format!("tenant-{tenant}")).unwrap();
            let (store, commit) = (Arc::clone(&store), typical(&partition));
            async move { drop(store.commit(commit).await.unwrap()) }
        };
        group.bench_function(BenchmarkId::new(name, COMMITTERS), |bencher| {
            bencher.iter_custom(|times| runtime.block_on(many(times, commit.clone())));
        });
    }
    group.finish();
}

/// Starts a host with a condition; returns it with a token.
async fn serve(store: Arc<dyn Store>) -> (Host, String) {
    let host = Host::start_on(store, Arc::new(SystemClock)).await;
    let token = host.token("shop", &["ecs.editor", "ecs.evaluator"]).await;
    let condition = json!({ "rule": "AGE_RESTRICTION", "condition_value": { "minimum_age": 18 } });
    let path = "/api/v1/entity-conditions/alcohol";
    let put = host.send(Method::PUT, path, &token, &condition).await;
    assert_eq!(put.0, 201);
    (host, token)
}

fn decisions(criterion: &mut Criterion) {
    let serving = Runtime::new().unwrap();
    let asking = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::durable();
    let clock = Arc::new(SystemClock);
    let stores: [(&str, Arc<dyn Store>); 2] = serving.block_on(async {
        let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
        [
            (
                "embedded",
                Arc::new(EmbeddedStore::open(folder.path(), clock.clone()).unwrap())
                    as Arc<dyn Store>,
            ),
            (
                "redis",
                Arc::new(RedisStore::connect(&url, clock.clone()).unwrap()),
            ),
        ]
    });
    let mut group = criterion.benchmark_group("evaluate over HTTP");
    group.throughput(Throughput::Elements(1));
    for (name, store) in stores {
        let (host, token) = serving.block_on(serve(store));
        let address = host.url.trim_start_matches("http://").to_owned();
        let bytes = load::request(&address, EVALUATE, &token, samples::AGE_REQUEST);
        let mut connections = asking.block_on(load::connect(&address, &bytes));
        group.bench_function(name, |bencher| {
            bencher
                .iter_custom(|times| asking.block_on(load::run(&mut connections, &bytes, times)));
        });
    }
    group.finish();
}

/// Returns whether a decision is made from memory that may be older than a second.
async fn is_stale(host: &Host, token: &str) -> bool {
    let request = host.request(Method::POST, EVALUATE, token);
    let request = request.header("content-type", "application/json");
    let answer = request.body(samples::AGE_REQUEST).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.headers().contains_key("tillgate-stale")
}

/// Measures how long decisions stay stale after the server is back, while nothing is written. Records the median and
/// the maximum in milliseconds for `tests/bench`, for a server that was killed and for one that was paused.
fn freshness(_: &mut Criterion) {
    let serving = Runtime::new().unwrap();
    let mut server = Server::durable();
    let (host, token) = serving.block_on(async {
        let url = RedisUrl::parse(&server.url()).unwrap().unwrap();
        serve(Arc::new(
            RedisStore::connect(&url, Arc::new(SystemClock)).unwrap(),
        ))
        .await
    });
    let stale = || serving.block_on(is_stale(&host, &token));
    let mut measure = |is_killed: bool| {
        let round = |_| {
            if is_killed {
                server.kill();
            } else {
                server.signal("STOP");
            }
            std::thread::sleep(AWAY);
            assert!(stale());
            // The server answers when `restart` returns, or right after the signal.
            if is_killed {
                server.restart();
            } else {
                server.signal("CONT");
            }
            let begin = Instant::now();
            wait_for("decisions are fresh", || !stale());
            begin.elapsed().as_secs_f64() * 1_000.0
        };
        let mut times: Vec<f64> = (0..ROUNDS).map(round).collect();
        times.sort_by(f64::total_cmp);
        [times[ROUNDS / 2], times[ROUNDS - 1]]
    };
    let (killed, paused) = (measure(true), measure(false));
    println!("fresh again after a kill {killed:.0?} ms, after a pause {paused:.0?} ms");
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../target/criterion/redis.json"
    );
    std::fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
    std::fs::write(
        file,
        json!({ "killed": killed, "paused": paused }).to_string(),
    )
    .unwrap();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(5));
    targets = commits, many_tenants, decisions, freshness
}
criterion_main!(benches);
